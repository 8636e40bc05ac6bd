"""Parses the documents of a dump, YAML or JSON; `inputs/` reads their files.

A source that cannot be opened ends the evaluation with an error. A document that cannot be parsed
is reported as broken, and the others are still read.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from reporter.model.paths import Steps, look
from reporter.model.text import clean, cut
from reporter.snapshot.dump_served import part
from reporter.snapshot.inputs import files
from reporter.snapshot.inputs.layouts import Layouts, logs_in, without_logs
from reporter.snapshot.inputs.reading import STDIN, Source, read_files
from reporter.yaml_reader.limits import Unreadable
from reporter.yaml_reader.reading import Ending, YamlReader, decoded

_CAUSE_BYTES: Final = 280
_NEXT_JSON: Final = re.compile(r"^\{", re.MULTILINE)
_JSON_START: Final = re.compile(r"""\s*\{\s*["}]""")
_SPACE: Final = re.compile(r"\s*")
_WHOLE: Final = 8
"""How often at most a value is parsed from the whole rest of a text."""


@dataclass(frozen=True, slots=True)
class Document:
    """`ending`: whether the document may be cut off."""

    source: str
    value: object
    ending: Ending = Ending.WHOLE


@dataclass(frozen=True, slots=True)
class BrokenDocument:
    """A document that could not be parsed, and why; `Unreadable` explains the readable parts."""

    source: str
    cause: str
    part: object = None
    unfinished: object = None


def sources_of(arguments: Sequence[str]) -> list[Source]:
    """Return the sources named by `--from` arguments, without duplicates; `-` is stdin."""
    return [STDIN if each == STDIN else Path(each) for each in dict.fromkeys(arguments)]


def read_documents(
    sources: Sequence[Source], limits: files.InputLimits = files.INPUT_LIMITS
) -> Iterator[Document | BrokenDocument]:
    """Yield the documents of all sources, file by file, sorted by name."""
    for each in read_inputs(sources, limits):
        if not isinstance(each, (files.PageFile, files.LogFile)):
            yield each


def read_inputs(
    sources: Sequence[Source], limits: files.InputLimits = files.INPUT_LIMITS
) -> Iterator[Document | BrokenDocument | files.PageFile | files.LogFile]:
    """Yield the documents and logs of all sources, and the metrics pages of archives."""
    reader, budget = YamlReader(), files.Budget(limits)
    for source in sources:
        layouts, endings = Layouts(), _Endings()
        for file in read_files([source], budget):
            if isinstance(file, (files.PageFile, files.LogFile)):
                yield file
            elif isinstance(file, files.LeftOut):
                yield BrokenDocument(clean(file.source), cut(clean(file.cause), _CAUSE_BYTES))
            else:
                budget.spend("documents", len(file.raw), file.source)
                logs = logs_in(file.source, file.raw)
                yield from (each for each in logs if budget.keep_log(len(each.raw)))
                values = endings.noted(_values(file.source, without_logs(file.raw), reader))
                for value in layouts.documents(file.source, file.path, values):
                    yield _document(file.source, value, endings.of(value))
        for name, value in layouts.rest():
            yield _document(name or str(source), value, endings.of(value))


@dataclass(slots=True)
class _Endings:
    """The endings of incomplete values: layouts pass on only the values, some of them later."""

    _open: dict[int, tuple[object, Ending]] = field(default_factory=dict)

    def noted(self, values: Iterable[tuple[object, Ending]]) -> Iterator[object]:
        for value, ending in values:
            if ending is not Ending.WHOLE:
                # Keeping the value too prevents that its id is reused.
                self._open[id(value)] = (value, ending)
            yield value

    def of(self, value: object) -> Ending:
        return self._open.get(id(value), (value, Ending.WHOLE))[1]


def _document(source: str, value: object, ending: Ending) -> Document | BrokenDocument:
    if isinstance(value, Unreadable):
        cause = cut(clean(str(value)), _CAUSE_BYTES)
        return BrokenDocument(source, cause, value.part, value.unfinished)
    return Document(source, value, ending)


def _values(source: str, raw: bytes, reader: YamlReader) -> Iterator[tuple[object, Ending]]:
    is_json = source.endswith(".json")
    try:
        text = decoded(raw)
        if is_json or _JSON_START.match(text) or _NEXT_JSON.search(text):
            reader.count_json(text)
    except Unreadable as error:
        yield error, Ending.WHOLE
        return
    if is_json or _JSON_START.match(text):
        try:
            yield msgspec.json.decode(text), Ending.WHOLE
        except (msgspec.DecodeError, RecursionError):
            # Unless the file is named *.json, it may still be YAML that looks like JSON.
            yield from _parse_json_row(text, reader, is_json=is_json)
    elif _NEXT_JSON.search(text):
        # Output of `kubectl get -o json` was appended to that of `-o yaml`.
        yield from _parse_json_row(text, reader, is_json=False)
    else:
        yield from _parse_yaml(text, reader)


def _parse_yaml(text: str, reader: YamlReader, line: int = 1) -> Iterator[tuple[object, Ending]]:
    for passage in reader.passages(text, line):
        yield from ((value, passage.ending) for value in passage.values)


def _parse_json_row(
    text: str, reader: YamlReader, *, is_json: bool
) -> Iterator[tuple[object, Ending]]:
    row = _JsonRow(text)
    position = _skip_space(text, 0)
    while position < len(text):
        start = position
        row.line += text.count("\n", row.counted, start)
        row.counted = start
        try:
            value, position = row.decoded(start)
        except RecursionError:
            yield Unreadable("it is nested too deeply"), Ending.WHOLE
            position = row.next_edge(start)
        except ValueError as error:
            position = row.next_edge(start)
            found = _parse_yaml(text[start:position], reader, row.line)
            fault = _not_json(error, row, [*found]) if is_json else None
            yield from [(fault, Ending.WHOLE)] if fault else found
        else:
            yield value, Ending.WHOLE
            position = _skip_space(text, position)


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not a JSON number")


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)


@dataclass(slots=True)
class _JsonRow:
    """A text that contains a sequence of JSON values.

    A loop of `kubectl get -o json` starts each value at the left edge. So a value is first parsed
    from the text before the next such edge, and from the whole rest only a few times: otherwise a
    text of many unclosed values would take quadratic time.
    """

    text: str
    line: int = 1
    counted: int = 0
    _edge: int = 0
    _whole: int = _WHOLE

    def next_edge(self, start: int) -> int:
        if self._edge <= start:
            found = _NEXT_JSON.search(self.text, start + 1)
            self._edge = found.start() if found else len(self.text)
        return self._edge

    def decoded(self, start: int) -> tuple[object, int]:
        end = self.next_edge(start)
        try:
            value, size = _DECODER.raw_decode(self.text[start:end])
        except ValueError:
            if end == len(self.text) or self.text[start] not in "{[" or not self._whole:
                raise
            self._whole -= 1
            return _DECODER.raw_decode(self.text, start)
        return value, start + size


def _not_json(error: ValueError, row: _JsonRow, found: list[tuple[object, Ending]]) -> Unreadable:
    """Return the JSON fault with the parts that could be read: YAML reads JSON up to the fault."""
    line = row.line
    if isinstance(error, json.JSONDecodeError):
        # The error counts lines within its own input: a part, or the whole text.
        line = error.lineno + (0 if error.doc is row.text else row.line - 1)
    fault = Unreadable(f"it is not valid JSON: {getattr(error, 'msg', error)}", line)
    for value, _ in found[:1]:
        if isinstance(value, Unreadable):
            fault.part, fault.unfinished = value.part, value.unfinished
        else:
            fault.part = value
    return fault


def _skip_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


_SHOWN: Final = 60


def objects_in(documents: Sequence[Document | BrokenDocument]) -> Iterator[object]:
    """Yield the objects of documents, including the items of lists."""
    for each in documents:
        value = each.value if isinstance(each, Document) else None
        items = part(value, "items")
        yield from items if isinstance(items, list) else [value]


def of_kind(objects: Sequence[object], group: str, kind: str) -> list[object]:
    return [
        each
        for each in objects
        if part(each, "kind") == kind and str(part(each, "apiVersion")).rpartition("/")[0] == group
    ]


def describe_path(objects: Sequence[object], steps: Steps, crd: object, *, read: bool) -> str:
    """Say in how many objects a path has a value, with an example; and if the schema lacks it."""
    values = [first[1] for each in objects for first in list(look(each, steps))[:1]]
    parts = [] if _in_schema(crd, steps) else ["not in the schema of its CRD"]
    if values:
        parts.insert(0, f"in {len(values)}, such as {cut(clean(str(values[0])), _SHOWN)}")
    elif read and objects:
        parts.insert(0, "never found")
    return "; ".join(parts)


def _in_schema(crd: object, steps: Steps) -> bool:
    """True if the schema of some version allows the field, or if no CRD is known."""
    schemas = part(crd, "spec", "versions")
    versions = schemas if isinstance(schemas, list) else []
    known = [part(each, "schema", "openAPIV3Schema") for each in versions]
    return crd is None or any(_allows(each, steps) for each in known)


def _allows(schema: object, steps: Steps) -> bool:
    for step in steps:
        if not isinstance(schema, dict) or schema.get("x-kubernetes-preserve-unknown-fields"):
            return True
        inner = part(schema, "properties", step.name) if step.name else schema.get("items")
        schema = inner if inner is not None else schema.get("additionalProperties")
        if schema is None and step.name != "metadata":
            return False
    return True
