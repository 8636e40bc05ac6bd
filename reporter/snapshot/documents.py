"""The documents of a dump, YAML or JSON; `inputs/` reads the files that they are in.

What cannot be opened is an error that ends the evaluation; what cannot be parsed is one broken
document, which costs no other.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from reporter.model.text import clean, cut
from reporter.snapshot.inputs.cluster_info import without_logs
from reporter.snapshot.inputs.files import LeftOut, PageFile
from reporter.snapshot.inputs.layouts import Layouts
from reporter.snapshot.inputs.limits import INPUT_LIMITS, Budget, DumpError, InputLimits
from reporter.snapshot.inputs.reading import STDIN, Source, read_files
from reporter.yaml_reader.decoding import decoded
from reporter.yaml_reader.limits import Unreadable
from reporter.yaml_reader.reading import YamlReader

__all__ = [
    "STDIN",
    "BrokenDocument",
    "Document",
    "DumpError",
    "PageFile",
    "Source",
    "read_documents",
    "read_inputs",
    "sources_of",
]

_CAUSE_BYTES: Final = 200
_JSON_START: Final = re.compile(r"""\s*\{\s*["}]""")
_SPACE: Final = re.compile(r"\s*")


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


def read_documents(
    sources: Sequence[Source], limits: InputLimits = INPUT_LIMITS
) -> Iterator[Document | BrokenDocument]:
    """Yield the documents of all sources, file by file in the order of their names.

    Raises:
        DumpError: a source cannot be opened, or is too large.

    """
    for each in read_inputs(sources, limits):
        if not isinstance(each, PageFile):
            yield each


def read_inputs(
    sources: Sequence[Source], limits: InputLimits = INPUT_LIMITS
) -> Iterator[Document | BrokenDocument | PageFile]:
    """Yield the documents of all sources, and the pages of metrics that are in archives.

    Raises:
        DumpError: a source cannot be opened, or is too large.

    """
    reader, budget = YamlReader(), Budget(limits)
    for source in sources:
        layouts = Layouts()
        for file in read_files([source], budget):
            if isinstance(file, PageFile):
                yield file
            elif isinstance(file, LeftOut):
                yield BrokenDocument(clean(file.source), cut(clean(file.cause), _CAUSE_BYTES))
            else:
                values = _values(file.source, without_logs(file.raw), reader)
                for value in layouts.documents(file.source, file.path, values):
                    yield _document(file.source, value)
        for name, value in layouts.rest():
            yield _document(name or str(source), value)


def _document(source: str, value: object) -> Document | BrokenDocument:
    if isinstance(value, Unreadable):
        return BrokenDocument(source, cut(clean(str(value)), _CAUSE_BYTES))
    return Document(source, value)


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
