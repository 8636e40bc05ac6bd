"""YAML text becomes plain values, within bounds.

libyaml's events are turned into values directly: no node tree, no recursion, and far quicker than
a full load. Scalars are read the way kubectl reads them, except that times stay text, as they do
in JSON. Tags that would make other objects are refused.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import yaml

try:
    from yaml import CSafeLoader as Parser
except ImportError:  # PyYAML was built without libyaml
    from yaml import SafeLoader as Parser  # type: ignore[assignment]  # same interface

Value: TypeAlias = object

MAX_DEPTH: Final = 200
"""Deepest nesting that is read; schemas in CustomResourceDefinitions stay below 100."""

MAX_EXPANSION: Final = 1_000_000
"""Most values that aliases may add to one stream of documents."""

_DOCUMENT_START: Final = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_NO_CONTENT: Final = re.compile(r"(?:[ \t]*(?:#.*|%.*|\.\.\.|---)?[ \t]*(?:\r?\n|\Z))*")
_INTEGER: Final = re.compile(r"[-+]?(?:0x[0-9a-fA-F_]+|0o?[0-7_]+|0b[01_]+|0|[1-9][0-9_]*)")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_WORDS: Final[dict[str, Value]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "-.inf", ".nan", ".NaN", ".NAN"), None),
}
_NUMBER_STARTS: Final = frozenset("0123456789+-.")
_EXACT_DIGITS: Final = 18
_TAG: Final = "tag:yaml.org,2002:"
_PLAIN_TAGS: Final = frozenset(_TAG + name for name in ("int", "float", "bool", "null"))
_TEXT_TAGS: Final = frozenset({"!", *(_TAG + name for name in ("str", "binary", "timestamp"))})
_COLLECTION_TAGS: Final = frozenset({"!", _TAG + "map", _TAG + "seq"})
_MERGE: Final = "<<"


class ParseError(Exception):
    """A text that cannot be parsed, or is beyond the bounds; the message says where and why."""


@dataclass(slots=True)
class AliasBudget:
    """How many values aliases may still add."""

    left: int = MAX_EXPANSION

    def spend(self, size: int) -> None:
        """Take `size` values off.

        Raises:
            ParseError: there are not so many left.

        """
        self.left -= size
        if self.left < 0:
            raise ParseError(f"its aliases expand to more than {MAX_EXPANSION} values")


def parse_yaml(text: str, budget: AliasBudget, line: int = 0) -> Iterator[Value | ParseError]:
    """Yield the value of each document that is not empty, or what is wrong with it.

    Documents are parsed one by one, so that a broken one costs no other. `line` is the number of
    lines before `text` in its file.
    """
    starts = [match.start() for match in _DOCUMENT_START.finditer(text)]
    for start, end in zip([0, *starts], [*starts, len(text)], strict=True):
        chunk = text[start:end]
        if not _NO_CONTENT.fullmatch(chunk):
            yield from _parse_chunk(chunk, line, budget)
        line += chunk.count("\n")


def _parse_chunk(chunk: str, line: int, budget: AliasBudget) -> Iterator[Value | ParseError]:
    builder = _Builder(budget)
    try:
        for event in yaml.parse(chunk, Loader=Parser):
            if isinstance(event, yaml.DocumentEndEvent):
                if builder.root is not None:
                    yield builder.root
                builder = _Builder(budget)
            else:
                builder.take(event)
    except ParseError as error:
        yield ParseError(f"document at line {line + 1}: {error}")
    except (yaml.YAMLError, ValueError) as error:
        yield ParseError(_explain(error, line))


def _explain(error: Exception, line: int) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or error
    return f"line {line + (mark.line if mark else 0) + 1}: {problem}"


_NO_KEY: Final = object()


@dataclass(slots=True)
class _Frame:
    """A collection that is being filled, and the number of values in it so far."""

    value: dict[str, Value] | list[Value]
    anchor: str | None
    key: object = _NO_KEY
    size: int = 1
    merged: list[Value] | None = None


class _Builder:
    """Builds one document's value from its events."""

    def __init__(self, budget: AliasBudget) -> None:
        self.root: Value = None
        self._budget = budget
        self._frames: list[_Frame] = []
        self._anchors: dict[str, tuple[Value, int]] = {}

    def take(self, event: yaml.Event) -> None:
        """Take the next event of the document.

        Raises:
            ParseError: the document is beyond the bounds.

        """
        match event:
            case yaml.ScalarEvent():
                self._scalar(event)
            case yaml.MappingStartEvent():
                self._open({}, event)
            case yaml.SequenceStartEvent():
                self._open([], event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._close()
            case yaml.AliasEvent():
                self._alias(event.anchor or "")

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        if self._awaits_key():
            # Keys are text in JSON: `1:` and `true:` are "1" and "true".
            self._add(event.value, 1)
            return
        value = _scalar_value(event)
        if event.anchor:
            self._anchors[event.anchor] = (value, 1)
        self._add(value, 1)

    def _awaits_key(self) -> bool:
        if not self._frames:
            return False
        frame = self._frames[-1]
        return isinstance(frame.value, dict) and frame.key is _NO_KEY

    def _open(
        self, value: dict[str, Value] | list[Value], event: yaml.CollectionStartEvent
    ) -> None:
        if len(self._frames) >= MAX_DEPTH:
            raise ParseError(f"it is nested more than {MAX_DEPTH} levels deep")
        if event.tag and event.tag not in _COLLECTION_TAGS:
            raise ParseError(f"the tag {event.tag} is not accepted")
        if self._awaits_key():
            raise ParseError("a key is not plain text")
        self._frames.append(_Frame(value, event.anchor))

    def _close(self) -> None:
        frame = self._frames.pop()
        if frame.merged and isinstance(frame.value, dict):
            for source in frame.merged:
                _merge(frame.value, source)
        if frame.anchor:
            self._anchors[frame.anchor] = (frame.value, frame.size)
        self._add(frame.value, frame.size)

    def _alias(self, anchor: str) -> None:
        if anchor not in self._anchors:
            raise ParseError(f"the alias {anchor!r} stands before or inside what it names")
        value, size = self._anchors[anchor]
        self._budget.spend(size)
        self._add(value, size)

    def _add(self, value: Value, size: int) -> None:
        if not self._frames:
            self.root = value
            return
        frame = self._frames[-1]
        frame.size += size
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.key is _NO_KEY:
            frame.key = value
        else:
            self._set(frame, frame.value, value)
            frame.key = _NO_KEY

    @staticmethod
    def _set(frame: _Frame, mapping: dict[str, Value], value: Value) -> None:
        if not isinstance(frame.key, str):
            raise ParseError("a key is not plain text")
        if frame.key == _MERGE:
            frame.merged = [
                *(frame.merged or ()),
                *(value if isinstance(value, list) else (value,)),
            ]
        else:
            mapping[frame.key] = value


def _merge(target: dict[str, Value], source: Value) -> None:
    if not isinstance(source, dict):
        raise ParseError("the value of a merge key is not a mapping")
    for key, value in source.items():
        target.setdefault(key, value)


def _scalar_value(event: yaml.ScalarEvent) -> Value:
    text: str = event.value
    if event.tag in _PLAIN_TAGS or (event.tag is None and event.implicit[0]):
        return _plain_value(text)
    if event.tag is None or event.tag in _TEXT_TAGS:
        return text
    raise ParseError(f"the tag {event.tag} is not accepted")


def _plain_value(text: str) -> Value:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    if _INTEGER.fullmatch(text):
        return _integer(text.replace("_", ""))
    return float(text) if _FLOAT.fullmatch(text) else text


def _integer(text: str) -> Value:
    digits = text.lstrip("+-")
    if len(digits) > _EXACT_DIGITS:
        # Beyond 64 bits a JSON number has no exact meaning.
        return float(text) if digits.isdecimal() else text
    if digits.startswith("0") and digits.isdecimal() and len(digits) > 1:
        return int(text, 8)
    return int(text, 0)
