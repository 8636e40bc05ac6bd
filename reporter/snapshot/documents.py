"""The documents of a dump: files, folders and standard input, YAML or JSON.

What cannot be opened is an error that ends the evaluation; what cannot be parsed is one broken
document, which costs no other.
"""

import json
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from reporter.model.text import clean, cut
from reporter.yaml_reader.decoding import decoded
from reporter.yaml_reader.limits import LIMITS, Unreadable
from reporter.yaml_reader.reading import YamlReader

STDIN: Final = "-"
Source: TypeAlias = Path | Literal["-"]

SUFFIXES: Final = (".yaml", ".yml", ".json")
"""Endings of the files that are read in a folder; a file named by itself may have any."""

MAX_BYTES: Final = LIMITS.size
"""Most bytes of one file; a cluster of a thousand models stays well below."""

_CAUSE_BYTES: Final = 200
_JSON_START: Final = re.compile(r"""\s*\{\s*["}]""")
_SPACE: Final = re.compile(r"\s*")


class DumpError(Exception):
    """A dump that cannot be evaluated; the message says why and is meant for the user."""


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed document, and the file that it is from."""

    source: str
    value: object


@dataclass(frozen=True, slots=True)
class BrokenDocument:
    """A document that could not be parsed, and why."""

    source: str
    cause: str


def sources_of(arguments: Sequence[str]) -> list[Source]:
    """Return what `--from` arguments name, each once; `-` is standard input."""
    return [STDIN if each == STDIN else Path(each) for each in dict.fromkeys(arguments)]


def read_documents(sources: Sequence[Source]) -> Iterator[Document | BrokenDocument]:
    """Yield the documents of all sources, file by file in the order of their names.

    Raises:
        DumpError: a source cannot be opened, or is too large.

    """
    reader = YamlReader()
    for source in sources:
        if source == STDIN:
            yield from _parse("standard input", _read_stdin(), reader)
            continue
        for path in _files(Path(source)):
            yield from _parse(str(path), _read(path), reader)


def _files(source: Path) -> Iterator[Path]:
    if not source.exists():
        raise DumpError(f"{source}: no such file or folder")
    if not source.is_dir():
        yield source
        return
    found = False
    for folder, subfolders, names in os.walk(source, onerror=_refuse):
        subfolders.sort()
        for name in sorted(names):
            # Hidden files are editors' and archivers' leftovers.
            if name.endswith(SUFFIXES) and not name.startswith("."):
                found = True
                yield Path(folder) / name
    if not found:
        raise DumpError(f"{source}: the folder holds no {', '.join(SUFFIXES)} files")


def _refuse(error: OSError) -> None:
    raise DumpError(f"{error.filename}: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_size > MAX_BYTES:
                raise DumpError(_too_large(str(path)))
            return _bounded(str(path), file.read(MAX_BYTES + 1))
    except OSError as error:
        raise DumpError(f"{path}: {_reason(error)}") from error


def _read_stdin() -> bytes:
    return _bounded("standard input", sys.stdin.buffer.read(MAX_BYTES + 1))


def _bounded(source: str, raw: bytes) -> bytes:
    if len(raw) > MAX_BYTES:
        raise DumpError(_too_large(source))
    return raw


def _too_large(source: str) -> str:
    return f"{source}: larger than {MAX_BYTES // (1024 * 1024)} MiB; split it by kind"


def _parse(source: str, raw: bytes, reader: YamlReader) -> Iterator[Document | BrokenDocument]:
    for value in _values(source, raw, reader):
        if isinstance(value, Unreadable):
            yield BrokenDocument(source, cut(clean(str(value)), _CAUSE_BYTES))
        else:
            yield Document(source, value)


def _values(source: str, raw: bytes, reader: YamlReader) -> Iterator[object]:
    try:
        text = decoded(raw)
    except Unreadable as error:
        yield error
        return
    is_json = source.endswith(".json")
    if is_json or _JSON_START.match(text):
        yield from _parse_json(text, None if is_json else reader)
    else:
        yield from reader.documents(text)


def _parse_json(text: str, reader: YamlReader | None) -> Iterator[object]:
    """Yield the values of a JSON text: one, one on each line, or several in a row.

    Where `reader` is given, what is not JSON may still be YAML, which looks like it.
    """
    try:
        yield msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        yield from _parse_json_row(text, reader)


def _parse_json_row(text: str, reader: YamlReader | None) -> Iterator[object]:
    decoder = json.JSONDecoder()
    position = _skip_space(text, 0)
    while position < len(text):
        try:
            value, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            if reader is None:
                yield Unreadable(f"it is not valid JSON: {error.msg}", error.lineno)
            else:
                yield from reader.documents(text[position:], text.count("\n", 0, position) + 1)
            return
        except RecursionError:
            yield Unreadable("it is nested too deeply")
            return
        yield value
        position = _skip_space(text, position)


def _skip_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position
