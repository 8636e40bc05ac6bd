"""Zip archives: only entries that are of use are decompressed, one at a time."""

import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from reporter.snapshot.inputs.files import NO_FILE, LeftOut, Use, shown, use_of
from reporter.snapshot.inputs.limits import BrokenArchiveError, Budget, DumpError, too_large
from reporter.snapshot.inputs.links import followed, path_inside, target_inside
from reporter.snapshot.inputs.logs import MOST_BYTES, end_of
from reporter.snapshot.inputs.tars import Unpacked

ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
"""How a zip begins; the second one is empty."""

_END: Final = b"PK\x05\x06"
_END_BYTES: Final = 22
_LONGEST_COMMENT: Final = 2**16
_LOCATOR: Final = b"PK\x06\x07"
_LOCATOR_BYTES: Final = 20
_LINK_BYTES: Final = 4096
_OUTSIDE: Final = ".."
_ENCRYPTED: Final = 0x1
_LOG_BYTES: Final = 64 * MOST_BYTES
_METHODS: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})


@dataclass(frozen=True, slots=True)
class _Found:
    """The entries of an archive, and where its links point."""

    entries: dict[str, zipfile.ZipInfo] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)


def read_zip(file: BinaryIO, name: str, budget: Budget) -> Iterator[Unpacked]:
    """Yield the entries of a zip that are of use, in their order, and then what links add.

    Raises:
        DumpError: the archive is damaged, cut off, or more than is read.

    """
    with _errors(name):
        _require_small_index(file, name, budget)
        archive = zipfile.ZipFile(file)
    found = _Found()
    for entry in archive.infolist():
        budget.enter(name)
        path = path_inside(entry.filename)
        if path is None or not entry.filename or _is_device(entry.external_attr >> 16):
            yield from _left_out(entry, path, name=name)
        elif stat.S_ISLNK(entry.external_attr >> 16):
            target = _link_target(archive, entry, name, budget=budget)
            found.links[path] = target_inside(path, target) or _OUTSIDE
        elif not entry.is_dir():
            found.entries[path] = entry
            if use_of(path) is not Use.NOTHING:
                yield _entry(archive, entry, path, name=name, budget=budget)
    for link in found.links:
        if use_of(link) is not Use.NOTHING:
            yield from _behind(link, found, archive, name=name, budget=budget)


def _left_out(entry: zipfile.ZipInfo, path: str | None, *, name: str) -> Iterator[LeftOut]:
    if path is None:
        yield LeftOut(shown(name, entry.filename), "its path leads out of the archive")
    elif not entry.filename:
        yield LeftOut(name, "an entry has no name")
    elif use_of(path) is not Use.NOTHING:
        yield LeftOut(shown(name, path), NO_FILE)


def _is_device(mode: int) -> bool:
    # What was packed elsewhere than on Unix says nothing of the kind of a file.
    return stat.S_IFMT(mode) not in {0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK}


def _behind(
    link: str, found: _Found, archive: zipfile.ZipFile, *, name: str, budget: Budget
) -> Iterator[Unpacked]:
    """Yield what a link adds: nothing where its target is read anyway."""
    target = followed(link, found.links, budget.limits.links)
    if target == _OUTSIDE:
        yield LeftOut(shown(name, link), "a link that leads out of the archive")
    elif target is None or target not in found.entries:
        yield LeftOut(shown(name, link), "a link to a file that is not in the archive")
    elif use_of(target) is Use.NOTHING:
        yield _entry(archive, found.entries[target], link, name=name, budget=budget)


def _entry(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: str, *, name: str, budget: Budget
) -> Unpacked:
    if entry.flag_bits & _ENCRYPTED:
        return LeftOut(shown(name, path), "it is encrypted; unpack it and name the folder")
    if entry.compress_type not in _METHODS:
        return LeftOut(shown(name, path), "its compression is not read; unpack it yourself")
    if use_of(path) is Use.LOG:
        if entry.file_size > _LOG_BYTES:
            return LeftOut(shown(name, path), "a log that is too large; unpack it yourself")
        with _errors(name), archive.open(entry) as log:
            # What the index says of the size need not be true: `zipfile` reads no more than that.
            raw = end_of(log, path)
        budget.unpack(entry.file_size, name)
        return path, raw
    raw = _content(archive, entry, budget.limits.file, name=name)
    budget.unpack(len(raw), name)
    return path, raw


def _link_target(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str, *, budget: Budget
) -> str:
    raw = _content(archive, entry, _LINK_BYTES, name=name)
    budget.unpack(len(raw), name)
    return raw.decode("utf-8", "surrogateescape")


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int, *, name: str) -> bytes:
    # What the index says of the size need not be true.
    with _errors(name), archive.open(entry) as file:
        raw = file.read(most + 1)
    if len(raw) > most:
        raise DumpError(too_large(shown(name, entry.filename), most))
    return raw


def _require_small_index(file: BinaryIO, name: str, budget: Budget) -> None:
    """Refuse a central directory that Python would need very much memory for."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _LONGEST_COMMENT - _END_BYTES - _LOCATOR_BYTES))
    tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + _END_BYTES:
        raise BrokenArchiveError(f"{name}: the archive is cut off or damaged; copy it again")
    (index,) = struct.unpack_from("<L", tail, at + 12)
    locator = tail[max(0, at - _LOCATOR_BYTES) : at]
    if locator.startswith(_LOCATOR):
        (record,) = struct.unpack_from("<Q", locator, 8)
        file.seek(record)
        longer = file.read(56)
        index = max(index, struct.unpack_from("<Q", longer, 40)[0])
    file.seek(0)
    if index > budget.limits.index:
        raise DumpError(f"{name}: it has too many entries; unpack it yourself and name the folder")


@contextmanager
def _errors(name: str) -> Iterator[None]:
    try:
        yield
    except (
        zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, OSError,
        NotImplementedError, RuntimeError,
    ) as error:  # fmt: skip
        raise BrokenArchiveError(f"{name}: the archive is damaged or cut off: {error}") from None
