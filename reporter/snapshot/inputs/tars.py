"""Tar archives, read as a stream: nothing is unpacked, and nothing is read twice without need."""

import tarfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import IO, ClassVar, Final, NoReturn, Self, TypeAlias, cast

from reporter.snapshot.inputs.files import NO_FILE, LeftOut, Use, shown, use_of
from reporter.snapshot.inputs.limits import (
    INPUT_LIMITS,
    BrokenArchiveError,
    Budget,
    DumpError,
    too_large,
)
from reporter.snapshot.inputs.links import followed, path_inside, target_inside
from reporter.snapshot.inputs.logs import end_of
from reporter.snapshot.inputs.streams import BLOCK, CountedStream

Unpacked: TypeAlias = tuple[str, bytes] | LeftOut
"""An entry that is read: its path in the archive and what it holds; or why it is left out."""

_BUFFER: Final = 512 * BLOCK
_EXTENDED: Final = frozenset(
    {
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
    }
)


class _Header(tarfile.TarInfo):
    """A header of which long names and attributes, which Python reads at once, are bounded.

    Attributes:
        ended: the end of the archive was met. Python takes what is cut off or damaged behind the
            first header for the end, too.

    """

    ended: ClassVar[bool] = False

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Return the header that stands in a block."""
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError:
            cls.ended = len(buf) == BLOCK and not any(buf)
            raise
        most = INPUT_LIMITS.header if header.type in _EXTENDED else INPUT_LIMITS.unpacked
        if not 0 <= header.size <= most:
            raise _TooLargeError
        return header

    def _refuse_sparse(self, *_: object) -> NoReturn:
        # The map of a sparse file is read at once, however long it is.
        raise _SparseError

    _proc_sparse = _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _refuse_sparse


class _SparseError(Exception):
    """An entry is a sparse file."""


class _TooLargeError(Exception):
    """A header or an entry says that it is larger than all that is read."""


@dataclass(frozen=True, slots=True)
class _Member:
    """An entry of a tar, and what reads it."""

    header: tarfile.TarInfo
    open: Callable[[], IO[bytes] | None]


def is_tar(block: bytes) -> bool:
    """Tell whether a first block is that of a tar: its checksum fits."""
    if len(block) < BLOCK:
        return False
    try:
        tarfile.TarInfo.frombuf(block[:BLOCK], tarfile.ENCODING, "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


@dataclass(slots=True)
class _Seen:
    """What a first pass over an archive saw."""

    links: dict[str, str] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)
    wanted: list[str] = field(default_factory=list)


def read_tar(
    open_stream: Callable[[], CountedStream], name: str, budget: Budget
) -> Iterator[Unpacked]:
    """Yield the entries of a tar that are of use, in their order, and then what links add.

    A link is read where what it points to has an ending that is not read by itself.

    Args:
        open_stream: opens the archive from its start.
        name: of the archive, for messages.
        budget: what may be read.

    Raises:
        DumpError: the archive is damaged, cut off, or more than is read.

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
            if use_of(path) is not Use.NOTHING:
                yield path, _content(member, name, path, most=budget.limits.file)
    more: dict[str, list[str]] = {}
    for link in seen.wanted:
        target = followed(link, seen.links, budget.limits.links)
        if target is None or target not in seen.files:
            yield LeftOut(shown(name, link), "a link to a file that is not in the archive")
        elif use_of(target) is Use.NOTHING:
            more.setdefault(target, []).append(link)
    if more:
        yield from _read_again(open_stream, more, name, budget=budget)


def _left_out(entry: str, path: str | None, *, name: str) -> Iterator[LeftOut]:
    if path is None:
        yield LeftOut(shown(name, entry), "its path leads out of the archive")
    elif use_of(path) is not Use.NOTHING:
        yield LeftOut(shown(name, path), NO_FILE)


def _see_link(seen: _Seen, path: str, header: tarfile.TarInfo, *, name: str) -> Iterator[LeftOut]:
    # The target of a hard link is named from the root of the archive.
    hard = header.islnk()
    target = path_inside(header.linkname) if hard else target_inside(path, header.linkname)
    if target is not None:
        seen.links[path] = target
    if use_of(path) is Use.NOTHING:
        return
    if target is None:
        yield LeftOut(shown(name, path), "a link that leads out of the archive")
    else:
        seen.wanted.append(path)


def _read_again(
    open_stream: Callable[[], CountedStream],
    wanted: dict[str, list[str]],
    name: str,
    *,
    budget: Budget,
) -> Iterator[Unpacked]:
    """Yield files under the names of the links that lead to them."""
    for member in _members(open_stream(), name, budget):
        links = wanted.pop(path_inside(member.header.name) or "", [])
        if links and member.header.isreg():
            raw = _content(member, name, links[0], most=budget.limits.file)
            yield from ((link, raw) for link in links)


def _content(member: _Member, name: str, path: str, *, most: int) -> bytes:
    if use_of(path) is Use.LOG and not member.header.issparse():
        with _errors(name):
            log = member.open()
            return end_of(log, path) if log else b""
    if member.header.size > most or member.header.issparse():
        raise DumpError(too_large(shown(name, member.header.name), most))
    with _errors(name):
        file = member.open()
        raw = file.read(most + 1) if file else b""
    if len(raw) < member.header.size:
        raise BrokenArchiveError(f"{name}: the archive is cut off; copy it again")
    return raw


def _members(stream: CountedStream, name: str, budget: Budget) -> Iterator[_Member]:

    class OwnHeader(_Header):
        """The headers of this archive alone."""

    with ExitStack() as opened:
        with _errors(name):
            source = cast("IO[bytes]", stream)
            tar = opened.enter_context(
                tarfile.open(fileobj=source, mode="r|", bufsize=_BUFFER, tarinfo=OwnHeader)
            )
        while (header := _next(tar, name)) is not None:
            budget.enter(name)
            yield _Member(header, partial(tar.extractfile, header))
            # Extended attributes may name another size, and Python would skip it block by block.
            if not 0 <= header.size <= budget.limits.unpacked:
                raise DumpError(_too_large(name))
            # Python keeps every header, of which there may be very many.
            tar.members.clear()  # type: ignore[attr-defined]  # typeshed has only the method
    if not OwnHeader.ended:
        raise BrokenArchiveError(f"{name}: the archive is cut off or damaged; copy it again")


def _next(tar: tarfile.TarFile, name: str) -> tarfile.TarInfo | None:
    with _errors(name):
        return tar.next()


@contextmanager
def _errors(name: str) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, ValueError, OverflowError, IndexError) as error:
        raise BrokenArchiveError(f"{name}: the archive is damaged or cut off: {error}") from None
    except _TooLargeError:
        raise DumpError(_too_large(name)) from None
    except _SparseError:
        raise DumpError(
            f"{name}: it holds a sparse file; pack it again without (tar without -S)"
        ) from None
    except RecursionError:
        raise BrokenArchiveError(
            f"{name}: the archive is damaged: its headers do not end"
        ) from None


def _too_large(name: str) -> str:
    return f"{name}: an entry says that it is larger than what is read; unpack it yourself"
