"""The events of a parser become plain values: no tree of nodes, and no recursion."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import yaml

from reporter.yaml_reader.limits import BeyondLimits, Limits, Unreadable
from reporter.yaml_reader.scalars import COLLECTION_TAGS, MERGE_TAG, plain_value, tagged_value

DuplicateKeys: TypeAlias = Literal["last", "refuse"]
"""What becomes of a key that a mapping has twice: the last one counts, or the text is refused."""

_SHOWN: Final = 80


class _Merge(str):
    """The key `<<`, told from a text of these characters by its identity."""

    __slots__ = ()


_MERGE: Final = _Merge("<<")


@dataclass(slots=True)
class _List:
    """A list that is being filled; see `_Mapping`."""

    anchor: str | None = None
    before: int = 0
    value: list[object] = field(default_factory=list)
    add: Callable[[object], None] = field(init=False)

    def __post_init__(self) -> None:
        self.add = self.value.append


@dataclass(slots=True)
class _Mapping:
    """A mapping that is being filled.

    Attributes:
        anchor: the name that aliases may use for it.
        before: where the count of nodes stood, to tell how many it has.
        key: what the next value belongs to; None where a key is next.
        merged: what `<<` names, which counts where the mapping itself says nothing.

    """

    anchor: str | None = None
    before: int = 0
    value: dict[str, object] = field(default_factory=dict)
    key: str | None = None
    merged: list[object] | None = None

    def add(self, value: object) -> None:
        """Add the value of the key.

        Raises:
            Unreadable: it should be a key, and is not text.

        """
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
        """Tell whether a key has been written."""
        return self.merged is not None if key is _MERGE else key in self.value

    def merge(self) -> None:
        """Put in what `<<` names.

        Raises:
            Unreadable: that is not a mapping.

        """
        for source in self.merged or ():
            if not isinstance(source, dict):
                raise Unreadable("the value of a merge key is not a mapping")
            for key, value in source.items():
                self.value.setdefault(key, value)


@dataclass(slots=True)
class Builder:
    """Builds the values of documents from their events.

    Attributes:
        limits: how deep the documents may be, and what `nodes` and `aliases` were to begin with.
        nodes: how many nodes there may still be.
        aliases: how many nodes aliases may still add.
        duplicate_keys: what becomes of a key that a mapping has twice.
        documents: the values so far, also those that are null.

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
        """Return what takes which event; each may raise `Unreadable`, without a line."""
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
        """Return what there is of the document that a fault ended; see `Unreadable.part`."""
        _, *levels = [*self._below, self._top]
        in_list = len(levels) > 2 and isinstance(levels[1], _List)  # noqa: PLR2004  # root, list, entry
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
    """Return collections that were begun one in the other as one value; None if there are none."""
    value: object = None
    for level in reversed(levels):
        if value is None:
            value = level.value
        elif isinstance(level, _List):
            value = [*level.value, value]
        elif level.key is not None:
            value = {**level.value, level.key: value}
    return value


def _ignore(_: yaml.Event) -> None:
    """Take an event that says nothing of the values."""
