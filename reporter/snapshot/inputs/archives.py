"""Reads tar archives as a stream, and of zip archives only the entries that are used.

Nothing is unpacked to disk, and no path or link may lead out of an archive. Real support bundles
have links: troubleshoot.sh writes `cluster-resources/custom-resources/<crd>/<ns>.json` and links
`<ns>.yaml` to it (replicatedhq/troubleshoot, pkg/collect/cluster_resources.go, v0.133.0).
"""

import posixpath
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import IO, BinaryIO, ClassVar, Final, NoReturn, Self, TypeAlias, cast

from reporter.snapshot.inputs import files

Unpacked: TypeAlias = tuple[str, bytes] | files.LeftOut
"""The path of an entry within the archive and its content; or why it is left out."""

_BUFFER: Final = 512 * files.BLOCK
_LEADS_OUT: Final = "a link that leads out of the archive"
_NOT_THERE: Final = "a link to a file that is not in the archive"
_EXTENDED: Final = frozenset({
    tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
})  # fmt: skip


class _Header(tarfile.TarInfo):
    """A tar header with a size limit on long names and attributes, which Python reads into memory.

    `ended`: the end marker was read. Python also takes a damaged or missing header for the end.
    """

    ended: ClassVar[bool] = False

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError:
            cls.ended = len(buf) == files.BLOCK and not any(buf)
            raise
        limits = files.INPUT_LIMITS
        most = limits.header if header.type in _EXTENDED else limits.unpacked
        if not 0 <= header.size <= most:
            raise _TooLargeError
        return header

    def _refuse_sparse(self, *_: object) -> NoReturn:
        # Python would read the map of a sparse file into memory, however long it is.
        raise _SparseError

    _proc_sparse = _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _refuse_sparse


class _SparseError(Exception):
    """An entry is a sparse file."""


class _TooLargeError(Exception):
    """A header or an entry claims a size beyond the limits."""


@dataclass(frozen=True, slots=True)
class _Member:
    header: tarfile.TarInfo
    open: Callable[[], IO[bytes] | None]


def is_tar(block: bytes) -> bool:
    if len(block) < files.BLOCK:
        return False
    try:
        tarfile.TarInfo.frombuf(block[: files.BLOCK], tarfile.ENCODING, "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


@dataclass(slots=True)
class _Seen:
    links: dict[str, str] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)
    wanted: list[str] = field(default_factory=list)


def read_tar(
    open_stream: Callable[[], files.CountedStream], name: str, budget: files.Budget
) -> Iterator[Unpacked]:
    """Yield the useful entries of a tar in their order, and then the files behind links.

    A link is followed only if its target's own name has no ending that is read.
    """
    seen = _Seen()
    for member in _members(open_stream(), name, budget):
        header = member.header
        path = path_inside(header.name)
        if path is None or header.isdev():
            yield from _left_out(header.name, path, name=name)
        elif header.issym() or header.islnk():
            yield from _see_link(seen, path, header, name=name)
        elif header.isreg():
            seen.files.add(path)
            if files.use_of(path) is not files.Use.NOTHING:
                yield path, _tar_content(member, name, path, most=budget.limits.file)
    more: dict[str, list[str]] = {}
    for link in seen.wanted:
        target = followed(link, seen.links, budget.limits.links)
        if target is None or target not in seen.files:
            yield files.left_out(name, link, _NOT_THERE)
        elif files.use_of(target) is files.Use.NOTHING:
            more.setdefault(target, []).append(link)
    if more:
        yield from _read_again(open_stream, more, name, budget=budget)


def _read_again(
    open_stream: Callable[[], files.CountedStream],
    wanted: dict[str, list[str]],
    name: str,
    *,
    budget: files.Budget,
) -> Iterator[Unpacked]:
    """Yield files under the names of the links that point to them."""
    for member in _members(open_stream(), name, budget):
        links = wanted.pop(path_inside(member.header.name) or "", [])
        if links and member.header.isreg():
            raw = _tar_content(member, name, links[0], most=budget.limits.file)
            yield from ((link, raw) for link in links)


def _see_link(
    seen: _Seen, path: str, header: tarfile.TarInfo, *, name: str
) -> Iterator[files.LeftOut]:
    # The target of a hard link is relative to the root of the archive.
    hard = header.islnk()
    target = path_inside(header.linkname) if hard else target_inside(path, header.linkname)
    if target is not None:
        seen.links[path] = target
    if files.use_of(path) is files.Use.NOTHING:
        return
    if target is None:
        yield files.left_out(name, path, _LEADS_OUT)
    else:
        seen.wanted.append(path)


def _tar_content(member: _Member, name: str, path: str, *, most: int) -> bytes:
    if files.use_of(path) is files.Use.LOG and not member.header.issparse():
        with _tar_errors(name):
            log = member.open()
            return files.end_of(log, path) if log else b""
    if member.header.size > most or member.header.issparse():
        raise files.DumpError(files.too_large(files.shown(name, member.header.name), most))
    with _tar_errors(name):
        file = member.open()
        raw = file.read(most + 1) if file else b""
    if len(raw) < member.header.size:
        raise files.BrokenArchiveError(f"{name}: the archive is cut off; copy it again")
    return raw


def _members(stream: files.CountedStream, name: str, budget: files.Budget) -> Iterator[_Member]:

    class OwnHeader(_Header):
        """The headers of this archive alone."""

    with ExitStack() as opened:
        with _tar_errors(name):
            source = cast("IO[bytes]", stream)
            tar = opened.enter_context(
                tarfile.open(fileobj=source, mode="r|", bufsize=_BUFFER, tarinfo=OwnHeader)
            )
        while True:
            with _tar_errors(name):
                header = tar.next()
            if header is None:
                break
            budget.spend("entries", 1, name)
            yield _Member(header, partial(tar.extractfile, header))
            # Extended attributes may claim a huge size, which Python would skip block by block.
            if not 0 <= header.size <= budget.limits.unpacked:
                raise files.DumpError(_too_large(name))
            # Python keeps every header in memory, and there may be very many.
            tar.members.clear()  # type: ignore[attr-defined]  # typeshed has only the method
    if not OwnHeader.ended:
        raise files.BrokenArchiveError(f"{name}: the archive is cut off or damaged; copy it again")


@contextmanager
def _tar_errors(name: str) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, ValueError, OverflowError, IndexError) as error:
        raise files.BrokenArchiveError(
            f"{name}: the archive is damaged or cut off: {error}"
        ) from None
    except _TooLargeError:
        raise files.DumpError(_too_large(name)) from None
    except _SparseError:
        why = "it contains a sparse file; pack it again with tar, without -S"
        raise files.DumpError(f"{name}: {why}") from None
    except RecursionError:
        why = "the archive is damaged: its headers do not end"
        raise files.BrokenArchiveError(f"{name}: {why}") from None


def _too_large(name: str) -> str:
    return f"{name}: an entry says that it is larger than what is read; unpack it yourself"


ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
"""First bytes of a zip; the second form is that of an empty one."""

_END: Final = b"PK\x05\x06"
_END_BYTES: Final = 22
_LONGEST_COMMENT: Final = 2**16
_LOCATOR: Final = b"PK\x06\x07"
_LOCATOR_BYTES: Final = 20
_LINK_BYTES: Final = 4096
_OUTSIDE: Final = ".."
_ENCRYPTED: Final = 0x1
_LOG_BYTES: Final = 64 * files.MOST_BYTES
_METHODS: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})


@dataclass(frozen=True, slots=True)
class _Found:
    entries: dict[str, zipfile.ZipInfo] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)


def read_zip(file: BinaryIO, name: str, budget: files.Budget) -> Iterator[Unpacked]:
    """Yield the useful entries of a zip in their order, and then the files behind links."""
    with _zip_errors(name):
        _require_small_index(file, name, budget)
        archive = zipfile.ZipFile(file)
    found = _Found()
    for entry in archive.infolist():
        budget.spend("entries", 1, name)
        path = path_inside(entry.filename)
        if path is None or not entry.filename or _is_device(entry.external_attr >> 16):
            yield from _left_out(entry.filename, path, name=name)
        elif stat.S_ISLNK(entry.external_attr >> 16):
            raw = _zip_content(archive, entry, _LINK_BYTES, name=name)
            budget.spend("unpacked", len(raw), name)
            target = raw.decode("utf-8", "surrogateescape")
            found.links[path] = target_inside(path, target) or _OUTSIDE
        elif not entry.is_dir():
            found.entries[path] = entry
            if files.use_of(path) is not files.Use.NOTHING:
                yield _entry(archive, entry, path, name=name, budget=budget)
    for link in found.links:
        if files.use_of(link) is not files.Use.NOTHING:
            yield from _behind(link, found, archive, name=name, budget=budget)


def _left_out(entry: str, path: str | None, *, name: str) -> Iterator[files.LeftOut]:
    if path is None:
        yield files.left_out(name, entry, "its path leads out of the archive")
    elif not entry:
        yield files.LeftOut(name, "an entry has no name")
    elif files.use_of(path) is not files.Use.NOTHING:
        yield files.left_out(name, path, files.NO_FILE)


def _is_device(mode: int) -> bool:
    # Archives made on other systems than Unix do not record file types.
    return stat.S_IFMT(mode) not in {0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK}


def _behind(
    link: str, found: _Found, archive: zipfile.ZipFile, *, name: str, budget: files.Budget
) -> Iterator[Unpacked]:
    """Yield the file behind a link, or nothing if that file is read anyway."""
    target = followed(link, found.links, budget.limits.links)
    if target == _OUTSIDE:
        yield files.left_out(name, link, _LEADS_OUT)
    elif target is None or target not in found.entries:
        yield files.left_out(name, link, _NOT_THERE)
    elif files.use_of(target) is files.Use.NOTHING:
        yield _entry(archive, found.entries[target], link, name=name, budget=budget)


def _entry(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: str, *, name: str, budget: files.Budget
) -> Unpacked:
    if entry.flag_bits & _ENCRYPTED:
        return files.left_out(name, path, "it is encrypted; unpack it and name the folder")
    if entry.compress_type not in _METHODS:
        return files.left_out(name, path, "its compression is not read; unpack it yourself")
    if files.use_of(path) is files.Use.LOG:
        if entry.file_size > _LOG_BYTES:
            return files.left_out(name, path, "a log that is too large; unpack it yourself")
        with _zip_errors(name), archive.open(entry) as log:
            # The size in the index may be false, but `zipfile` reads no more than that.
            raw = files.end_of(log, path)
        budget.spend("unpacked", entry.file_size, name)
        return path, raw
    raw = _zip_content(archive, entry, budget.limits.file, name=name)
    budget.spend("unpacked", len(raw), name)
    return path, raw


def _zip_content(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int, *, name: str
) -> bytes:
    # The size in the index may be false.
    with _zip_errors(name), archive.open(entry) as file:
        raw = file.read(most + 1)
    if len(raw) > most:
        raise files.DumpError(files.too_large(files.shown(name, entry.filename), most))
    return raw


def _require_small_index(file: BinaryIO, name: str, budget: files.Budget) -> None:
    """Refuse a central directory that would take Python too much memory."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _LONGEST_COMMENT - _END_BYTES - _LOCATOR_BYTES))
    tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + _END_BYTES:
        raise files.BrokenArchiveError(f"{name}: the archive is cut off or damaged; copy it again")
    (index,) = struct.unpack_from("<L", tail, at + 12)
    locator = tail[max(0, at - _LOCATOR_BYTES) : at]
    if locator.startswith(_LOCATOR):
        (record,) = struct.unpack_from("<Q", locator, 8)
        file.seek(record)
        longer = file.read(56)
        index = max(index, struct.unpack_from("<Q", longer, 40)[0])
    file.seek(0)
    if index > budget.limits.index:
        raise files.DumpError(
            f"{name}: it has too many entries; unpack it yourself and name the folder"
        )


@contextmanager
def _zip_errors(name: str) -> Iterator[None]:
    try:
        yield
    except (
        zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, OSError,
        NotImplementedError, RuntimeError,
    ) as error:  # fmt: skip
        raise files.BrokenArchiveError(
            f"{name}: the archive is damaged or cut off: {error}"
        ) from None


def path_inside(name: str) -> str | None:
    path = posixpath.normpath(name.replace("\\", "/").replace("\0", ""))
    if path == ".." or path.startswith(("/", "../")):
        return None
    return path


def target_inside(link: str, target: str) -> str | None:
    if target.startswith("/"):
        return None
    return path_inside(posixpath.join(posixpath.dirname(link), target))


def followed(path: str, links: Mapping[str, str], most: int) -> str | None:
    """Resolve links of files and folders in a path; None after more than `most` links."""
    for _ in range(most):
        parts = path.split("/")
        starts = (("/".join(parts[:count]), count) for count in range(1, len(parts) + 1))
        found = next((each for each in starts if each[0] in links), None)
        if found is None:
            return path
        link, count = found
        path = posixpath.normpath(posixpath.join(links[link], *parts[count:]))
    return None
