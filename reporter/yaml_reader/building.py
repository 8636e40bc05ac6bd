"""Builds plain values from parser events, without a tree of nodes and without recursion.

A scalar has the value that Kubernetes gives it. kubectl, Helm, Istio and KAITO's scaler read YAML
with sigs.k8s.io/yaml, which converts it to JSON through go-yaml v2; the rules here are those of
v1.6.0 with go.yaml.in/yaml/v2 v2.4.2 (resolve.go there). Without quotes and a tag,

- the empty scalar, `~` and `null` are null;
- `true`, `yes` and `on` are true, `false`, `no` and `off` are false, also as `Yes` and `YES`;
- integers are decimal, hexadecimal (`0x1F`), octal (`0644`, `0o644`) or binary (`0b11`), with `_`
  anywhere after the first digit. Integers that do not fit into 64 bits are floats, or text;
- floats need neither a point nor a signed exponent: `1e3`, `.5`, `08`. Numbers beyond the range of
  floats, such as `1e400`, are text;
- everything else is text, including times (`2026-11-20`) and base-60 numbers (`12:30`).

A scalar that does not fit its tag (`!!int`) is refused.

The rules differ from Kubernetes where following it would lose information:

- `y` and `n` are text. kubectl writes such a text in quotes; other programs (PyYAML) do not.
- `.inf` and `.nan` are text, which a numeric field refuses by name. Kubernetes refuses the whole
  document: JSON has no such number.
- A key is the text as written. Kubernetes turns `yes:` into `true`, and `0x10:` into `16`.
- An explicit key wins over a merged one (`<<`), as https://yaml.org/type/merge.html says. In
  go-yaml v2 the later of the two wins.
- `!!binary` is kept as written, as in Kubernetes' own objects (`data` of a Secret).
- Tags other than YAML's own are refused. Kubernetes ignores them, although their author meant
  something by them.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Final, Literal, TypeAlias

import yaml

from reporter.yaml_reader.limits import BeyondLimits, Limits, Unreadable

DuplicateKeys: TypeAlias = Literal["last", "refuse"]
"""How to treat a repeated key of a mapping: the last one counts, or the text is refused."""

_SHOWN: Final = 80


class _Merge(str):
    """The merge key `<<`, distinguished from equal text by its identity."""

    __slots__ = ()


_MERGE: Final = _Merge("<<")


@dataclass(slots=True)
class _List:
    anchor: str | None = None
    before: int = 0
    value: list[object] = field(default_factory=list)
    add: Callable[[object], None] = field(init=False)

    def __post_init__(self) -> None:
        self.add = self.value.append


@dataclass(slots=True)
class _Mapping:
    """A mapping that is being filled.

    `before` is the node count at its start. `key` is the key of the next value, or None if a key is
    next. `merged` are the values of `<<`; the mapping's own keys override them.
    """

    anchor: str | None = None
    before: int = 0
    value: dict[str, object] = field(default_factory=dict)
    key: str | None = None
    merged: list[object] | None = None

    def add(self, value: object) -> None:
        key = self.key
        if key is None:
            raise Unreadable("a key is not plain text")
        if key is _MERGE:
            sources = value if isinstance(value, list) else [value]
            self.merged = self.merged if self.merged is not None else []
            self.merged += sources
        else:
            self.value[key] = value
        self.key = None

    def has(self, key: str) -> bool:
        return self.merged is not None if key is _MERGE else key in self.value

    def merge(self) -> None:
        for source in self.merged or ():
            if not isinstance(source, dict):
                raise Unreadable("the value of a merge key is not a mapping")
            for key, value in source.items():
                self.value.setdefault(key, value)


@dataclass(slots=True)
class Builder:
    """Builds the values of documents from their events.

    `nodes` and `aliases` count down the nodes that may still be read, and added by aliases.
    `documents` includes null documents.
    """

    limits: Limits
    nodes: int
    aliases: int
    duplicate_keys: DuplicateKeys
    documents: list[object] = field(default_factory=list)
    _added: int = 0
    _top: _List | _Mapping = field(default_factory=_List)
    _below: list[_List | _Mapping] = field(default_factory=list)
    _anchors: dict[str, tuple[object, int]] = field(default_factory=dict)

    def handlers(self) -> Mapping[type[yaml.Event], Callable[..., None]]:
        """Return the handler of each event type; handlers may raise `Unreadable` without a line."""
        return {
            yaml.ScalarEvent: self._scalar,
            yaml.AliasEvent: self._alias,
            yaml.MappingStartEvent: self._start_mapping,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceStartEvent: self._start_list,
            yaml.SequenceEndEvent: self._end,
            yaml.DocumentStartEvent: self._start_document,
            yaml.DocumentEndEvent: self._end_document,
            yaml.StreamStartEvent: _ignore,
            yaml.StreamEndEvent: _ignore,
        }

    def unfinished(self) -> tuple[object, object]:
        _, *levels = [*self._below, self._top]
        root_list_entry = 3
        in_list = len(levels) >= root_list_entry and isinstance(levels[1], _List)
        depth = 2 if in_list else len(levels)
        return _joined(levels[:depth]), _joined(levels[depth:])

    def _start_document(self, _: yaml.DocumentStartEvent) -> None:
        self._anchors = {}
        self._top = _List()

    def _end_document(self, _: yaml.DocumentEndEvent) -> None:
        (root,) = self._top.value
        self.documents.append(root)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        self._count()
        top = self._top
        if isinstance(top, _Mapping) and top.key is None:
            self._key(top, event)
            return
        value: object = event.value
        if event.tag is not None:
            value = tagged_value(event.value, event.tag)
        elif event.implicit[0]:
            value = plain_value(event.value)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1)
        top.add(value)

    def _key(self, top: _Mapping, event: yaml.ScalarEvent) -> None:
        key: str = event.value
        if event.anchor is not None:
            self._anchors[event.anchor] = (key, 1)
        if key == "<<" and (event.implicit[0] or event.tag == MERGE_TAG):
            key = _MERGE
        self._expect(top, key)

    def _expect(self, top: _Mapping, key: str) -> None:
        if self.duplicate_keys == "refuse" and top.has(key):
            raise Unreadable(f"the key {key[:_SHOWN]!r} is given twice")
        top.key = key

    def _alias(self, event: yaml.AliasEvent) -> None:
        self._count()
        self._spend(1)
        name = event.anchor or ""
        if name not in self._anchors:
            raise Unreadable(f"the alias {name!r} stands before or inside what it names")
        value, size = self._anchors[name]
        self._spend(size - 1)
        self._added += size - 1
        top = self._top
        if isinstance(top, _Mapping) and top.key is None and isinstance(value, str):
            self._expect(top, value)
        else:
            top.add(value)

    def _start_mapping(self, event: yaml.MappingStartEvent) -> None:
        self._open(_Mapping(event.anchor, self._added - self.nodes), event.tag)

    def _start_list(self, event: yaml.SequenceStartEvent) -> None:
        self._open(_List(event.anchor, self._added - self.nodes), event.tag)

    def _open(self, collection: _List | _Mapping, tag: str | None) -> None:
        self._count()
        if len(self._below) >= self.limits.depth:
            raise BeyondLimits(f"it is nested more than {self.limits.depth} levels deep")
        if tag is not None and tag not in COLLECTION_TAGS:
            raise Unreadable(f"the tag {tag} is not accepted")
        top = self._top
        if isinstance(top, _Mapping) and top.key is None:
            raise Unreadable("a key is not plain text")
        self._below.append(top)
        self._top = collection

    def _end(self, _: yaml.CollectionEndEvent) -> None:
        ended = self._top
        if isinstance(ended, _Mapping) and ended.merged is not None:
            ended.merge()
        if ended.anchor is not None:
            size = self._added - self.nodes - ended.before
            self._anchors[ended.anchor] = (ended.value, size)
        self._top = self._below.pop()
        self._top.add(ended.value)

    def _count(self) -> None:
        self.nodes -= 1
        if self.nodes < 0:
            raise BeyondLimits(f"it has more than {self.limits.nodes} values")

    def _spend(self, nodes: int) -> None:
        self.aliases -= nodes
        if self.aliases < 0:
            raise BeyondLimits(f"its aliases expand to more than {self.limits.aliases} values")


def _joined(levels: Sequence[_List | _Mapping]) -> object:
    """Join nested unfinished collections into one value; None if there are none."""
    value: object = None
    for level in reversed(levels):
        if value is None:
            value = level.value
        elif isinstance(level, _List):
            value = [*level.value, value]
        elif level.key is not None:
            value = {**level.value, level.key: value}
    return value


def _ignore(_: yaml.Event) -> None: ...


_TAG: Final = "tag:yaml.org,2002:"
MERGE_TAG: Final = _TAG + "merge"
COLLECTION_TAGS: Final = frozenset({"!", _TAG + "map", _TAG + "seq"})
_TEXT_TAGS: Final = frozenset({"!", _TAG + "str", _TAG + "binary"})
_TIME_TAG: Final = _TAG + "timestamp"
_FLOAT_TAG: Final = _TAG + "float"
_TYPES: Final[Mapping[str, frozenset[type]]] = {
    _TAG + "int": frozenset({int}),
    _FLOAT_TAG: frozenset({int, float}),
    _TAG + "bool": frozenset({bool}),
    _TAG + "null": frozenset({NoneType}),
}

_WORDS: Final[Mapping[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_NUMBER_STARTS: Final = frozenset("0123456789+-.")
_INTEGER: Final = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|0|[1-9][0-9]*)")
_LEGACY_OCTAL: Final = re.compile(r"[-+]?0[0-7]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ][0-9].*)?")
_LOWEST: Final = -(2**63)
_HIGHEST: Final = 2**64 - 1
_LONGEST: Final = len("-0b") + 64
"""Most characters of a 64-bit integer; Python is slow with thousands of digits."""
_SHOWN_SCALAR: Final = 80


def plain_value(text: str) -> object:
    if text in _WORDS:
        return _WORDS[text]
    return _number(text) if text[0] in _NUMBER_STARTS else text


def tagged_value(text: str, tag: str) -> object:
    """Return the value of a scalar with a tag; raises Unreadable for tags that are not YAML's."""
    if tag in _TEXT_TAGS or (tag == _TIME_TAG and _TIME.fullmatch(text)):
        return text
    value = plain_value(text)
    if type(value) in _TYPES.get(tag, ()):
        return float(value) if tag == _FLOAT_TAG and isinstance(value, int) else value
    if tag in _TYPES or tag == _TIME_TAG:
        raise Unreadable(f"{text[:_SHOWN_SCALAR]!r} is not a !!{tag.removeprefix(_TAG)}")
    raise Unreadable(f"the tag {tag} is not accepted")


def _number(text: str) -> object:
    # As in Go, a number that starts with a digit or a sign may contain `_`.
    plain = text if text[0] == "." else text.replace("_", "")
    if len(plain) <= _LONGEST and _INTEGER.fullmatch(plain):
        integer = int(plain, 8 if _LEGACY_OCTAL.fullmatch(plain) else 0)
        if _LOWEST <= integer <= _HIGHEST:
            return integer
    if _FLOAT.fullmatch(plain):
        number = float(plain)
        return number if math.isfinite(number) else text
    return text
