"""A dump as one archive: a file for each resource, the header, what was refused, pages of metrics."""

import gzip
import io
import json
import os
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Final

from reporter.model.text import unseen_escaped

_MODE: Final = 0o600


@dataclass(frozen=True, slots=True)
class Member:
    """A file of the archive."""

    name: str
    raw: bytes

    @classmethod
    def of_documents(cls, name: str, documents: Iterable[object]) -> "Member":
        """Return a file of JSON documents in a row."""
        texts = (
            unseen_escaped(json.dumps(each, indent=1, ensure_ascii=False)) for each in documents
        )
        return cls(name, "".join(f"{text}\n" for text in texts).encode("utf-8", "backslashreplace"))


def write_archive(
    file: BinaryIO, members: Iterable[Member], *, folder: str, moment: datetime
) -> None:
    """Write a `.tgz`; the same members and moment give the same bytes."""
    seconds = int(moment.timestamp())
    with (
        gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=seconds) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for member in members:
            header = tarfile.TarInfo(f"{folder}/{member.name}")
            header.size, header.mtime, header.mode = len(member.raw), seconds, _MODE
            tar.addfile(header, io.BytesIO(member.raw))


def create(path: Path) -> BinaryIO:
    """Create a file that only its owner may read.

    Raises:
        FileExistsError: there is one of that name already, or a link.
        OSError: it cannot be created.

    """
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE)
    return os.fdopen(number, "wb")
