"""Reads the sources that a user names: files, folders, archives and standard input.

A named archive is recognised by its first bytes, not by its name, and nothing is unpacked to disk.
Archives inside folders and other archives are read too, as support bundles are often sent as a zip
of a `.tar.gz`. They are recognised by their names, because there may be thousands of other files.
"""

import io
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final, Literal, TypeAlias

from reporter.snapshot.inputs import files
from reporter.snapshot.inputs.archives import ZIP, is_tar, read_tar, read_zip
from reporter.snapshot.inputs.layouts import logs_in

STDIN: Final = "-"
Source: TypeAlias = Path | Literal["-"]

_NULL: Final = Path(os.devnull)
_NO_FILES: Final = f"has no {', '.join(files.SUFFIXES)} files"


@dataclass(frozen=True, slots=True)
class _Opened:
    name: str
    path: PurePosixPath
    open: files.Opener
    depth: int = 0


def read_files(
    sources: Sequence[Source], budget: files.Budget | None = None
) -> Iterator[files.InputFile | files.LeftOut]:
    """Yield the files of all sources; those of folders sorted by name."""
    budget = budget or files.Budget()
    for source in sources:
        if source == STDIN:
            raw = _bounded("standard input", sys.stdin.buffer.read(budget.limits.file + 1), budget)
            yield from _of_bytes("standard input", PurePosixPath(STDIN), raw, budget=budget)
        elif Path(source).is_dir():
            yield from _of_folder(Path(source), budget)
        else:
            yield from _of_path(Path(source), PurePosixPath(Path(source).name), budget)


def _of_path(
    path: Path, place: PurePosixPath, budget: files.Budget
) -> Iterator[files.InputFile | files.LeftOut]:
    if not path.exists():
        raise files.DumpError(f"{path}: no such file or folder")
    if path.is_block_device() or (path.is_char_device() and path.resolve() != _NULL):
        raise files.DumpError(f"{path}: a device, which is not read")
    try:
        with path.open("rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                # A pipe cannot be read again.
                raw = _bounded(str(path), file.read(budget.limits.file + 1), budget)
                yield from _of_bytes(str(path), place, raw, budget=budget)
                return
        yield from _of_file(_Opened(str(path), place, _opener(path)), budget)
    except OSError as error:
        raise files.DumpError(f"{path}: {_reason(error)}") from error


def _of_bytes(
    name: str, place: PurePosixPath, raw: bytes, *, budget: files.Budget, depth: int = 0
) -> Iterator[files.InputFile | files.LeftOut]:
    yield from _of_file(_Opened(name, place, partial(io.BytesIO, raw), depth), budget)


def _of_folder(folder: Path, budget: files.Budget) -> Iterator[files.InputFile | files.LeftOut]:
    root = folder.resolve()
    found = False
    for each, subfolders, names in os.walk(folder, onerror=_refuse):
        subfolders.sort()
        for name in sorted(names):
            path = Path(each) / name
            place = PurePosixPath(root.name, path.relative_to(folder))
            use = files.Use.LOG if files.is_log(str(place)) else files.use_of(name)
            if use is files.Use.NOTHING:
                continue
            found = True
            if path.is_symlink() and (reason := _why_not_followed(path, root)) is not None:
                yield from (files.LeftOut(str(path), reason) for _ in [0] if reason)
                continue
            if not path.is_file():
                # Opening a pipe would block until another process writes to it.
                yield files.LeftOut(str(path), files.NO_FILE)
            elif use is files.Use.LOG:
                yield from _logs(str(path), place, _end_of(path, str(place)), budget=budget)
            elif use is files.Use.ARCHIVE:
                opened = _Opened(str(path), place, _opener(path))
                yield from _archive_inside(opened, budget)
            else:
                yield files.InputFile(str(path), place, _read(path, budget))
    if not found:
        raise files.DumpError(f"{folder}: the folder {_NO_FILES}")


def _why_not_followed(link: Path, root: Path) -> str | None:
    """Return why a link is not followed, empty if its target is read anyway; None to follow it."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        return "a link to a file that is not there"
    if not target.is_relative_to(root):
        return "a link that leads out of the folder"
    return "" if files.use_of(target.name) is not files.Use.NOTHING else None


def _of_file(file: _Opened, budget: files.Budget) -> Iterator[files.InputFile | files.LeftOut]:
    if _is_archive(file, budget):
        yield from _inside(file, budget)
        return
    with file.open() as opened:
        raw = _bounded(file.name, opened.read(budget.limits.file + 1), budget)
    what = files.looks_like(raw)
    yield files.LeftOut(file.name, what) if what else files.InputFile(file.name, file.path, raw)


def _is_archive(file: _Opened, budget: files.Budget) -> bool:
    with file.open() as opened:
        stream = files.decompressed(opened, file.name, budget)
        opened.seek(0)
        start = opened.read(max(map(len, (files.GZIP, *ZIP))))
        opened.seek(0)
        return start.startswith((files.GZIP, *ZIP)) or is_tar(stream.peek())


def _inside(file: _Opened, budget: files.Budget) -> Iterator[files.InputFile | files.LeftOut]:
    if file.depth >= budget.limits.depth:
        yield files.LeftOut(
            file.name, f"more than {budget.limits.depth} archives inside of each other"
        )
        return
    with ExitStack() as stack:

        def opened_again() -> BinaryIO:
            return stack.enter_context(file.open())

        opened = opened_again()
        start = opened.read(max(map(len, ZIP)))
        opened.seek(0)
        stream = files.decompressed(opened, file.name, budget)
        if start.startswith(ZIP):
            unpacked = read_zip(opened, file.name, budget)
        elif is_tar(stream.peek()):
            unpacked = read_tar(
                lambda: files.decompressed(opened_again(), file.name, budget), file.name, budget
            )
        else:
            raw = _bounded(file.name, stream.read(budget.limits.file + 1), budget)
            name = file.name.removesuffix(".gz")
            place = file.path.with_name(file.path.name.removesuffix(".gz") or file.path.name)
            yield from _of_bytes(name, place, raw, budget=budget, depth=file.depth + 1)
            return
        found = False
        for each in unpacked:
            found = True
            if isinstance(each, files.LeftOut):
                yield each
            else:
                yield from _entry(file, *each, budget=budget)
    if not found:
        raise files.BrokenArchiveError(f"{file.name}: the archive {_NO_FILES}")


def _entry(
    archive: _Opened, path: str, raw: bytes, *, budget: files.Budget
) -> Iterator[files.InputFile | files.LeftOut]:
    name, place = files.shown(archive.name, path), PurePosixPath(path)
    match files.use_of(path):
        case files.Use.PAGE:
            budget.spend("pages", len(raw), archive.name)
            yield files.PageFile(name, place, raw)
        case files.Use.LOG:
            yield from _logs(name, place, raw, budget=budget)
        case files.Use.ARCHIVE if len(raw) > budget.limits.nested:
            yield files.LeftOut(
                name, "an archive inside of an archive that is too large; unpack it"
            )
        case files.Use.ARCHIVE:
            opened = _Opened(name, place, partial(io.BytesIO, raw), archive.depth + 1)
            yield from _archive_inside(opened, budget)
        case _:
            yield files.InputFile(name, place, raw)


def _logs(
    name: str, place: PurePosixPath, raw: bytes, *, budget: files.Budget
) -> Iterator[files.LogFile]:
    log = files.log_of(str(place))
    for each in [files.LogFile(name, place, raw, log)] if log else logs_in(name, raw):
        if budget.keep_log(len(each.raw)):
            yield each


def _archive_inside(
    file: _Opened, budget: files.Budget
) -> Iterator[files.InputFile | files.LeftOut]:
    """Yield the files of an archive that the user did not name; if it is broken, skip only it."""
    try:
        yield from _inside(file, budget)
    except files.BrokenArchiveError as error:
        yield files.LeftOut(file.name, str(error).removeprefix(f"{file.name}: "))


def _opener(path: Path) -> files.Opener:
    return lambda: path.open("rb")


def _refuse(error: OSError) -> None:
    raise files.DumpError(f"{error.filename}: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _read(path: Path, budget: files.Budget) -> bytes:
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > budget.limits.file:
                raise files.DumpError(files.too_large(str(path), budget.limits.file))
            return _bounded(str(path), file.read(budget.limits.file + 1), budget)
    except OSError as error:
        raise files.DumpError(f"{path}: {_reason(error)}") from error


def _end_of(log: Path, place: str) -> bytes:
    try:
        if not log.is_file():
            return b""
        with log.open("rb") as file:
            # A day's log may be gigabytes long.
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - files.MOST_OF_POD))
            return files.end_of(file, place)
    except OSError:
        return b""


def _bounded(name: str, raw: bytes, budget: files.Budget) -> bytes:
    if len(raw) > budget.limits.file:
        raise files.DumpError(files.too_large(name, budget.limits.file))
    return raw
