"""Archives whose bytes come from names, contents and what can be executed, and from nothing else."""

import gzip
import os
import tarfile
from pathlib import Path
from typing import IO, Final, cast

_EXECUTABLE: Final = 0o111


def pack(folder: Path, archive: Path) -> None:
    """Pack the files below a folder; compressed, if the name of the archive ends in `gz`.

    Their time is `SOURCE_DATE_EPOCH`, 0 where there is none.
    """
    with archive.open("wb") as raw:
        if not archive.name.endswith("gz"):
            _write(folder, raw)
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=_epoch()) as packed:
            _write(folder, cast(IO[bytes], packed))


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive that we, or a tool that we started, have made."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")


def _write(folder: Path, stream: IO[bytes]) -> None:
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            tar.add(path, path.relative_to(folder), filter=_nobodys)


def _nobodys(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.mode = 0o755 if info.mode & _EXECUTABLE else 0o644
    info.mtime = _epoch()
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


def _epoch() -> int:
    return int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
