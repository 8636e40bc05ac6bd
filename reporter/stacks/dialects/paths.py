"""Paths into objects of a kind that no code knows: a subset of the JSONPath of kubectl.

`.a.b`, `['a/b']`, `[*]`, one filter for equality (`[type=Ready]`, `[?(@.type=="Ready")]`); ` | ` means
else, and the last may be a literal; `#key` is the key of the entry of a map; `@name.a` begins at another
object. Paths become msgspec structs, so that only what they name is decoded; they cannot fail or loop.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from keyword import iskeyword
from typing import Any, Final, TypeAlias, cast

import msgspec

from reporter.model.objects import Conditioned, KubeObject
from reporter.model.objects.base import Part

Scalar: TypeAlias = str | int | bool
KEY: Final = "#key"
_MOST_LETTERS: Final = 1_000
_STEP: Final = re.compile(
    r"\.(?P<name>[A-Za-z_][\w-]{0,99})|\['(?P<quoted>[^']{1,320})'\]|\[(?P<all>\*)\]"
    r"|\[(?:\?\(@\.)?(?P<key>\w{1,99})=(?:=\")?(?P<value>[\w.-]{1,99})(?:\"\))?\]"
)
_OTHER: Final = re.compile(r"@(?P<name>[a-z][a-z0-9-]{0,40})(?=\.)")
_HOLE: Final = re.compile(r"\{([^{}]{1,400})\}")
_OF_METADATA: Final = ("name", "namespace", "labels", "generation")
_OF_OBJECTS: Final = {"name", "namespace", "created", "deleting"}


@dataclass(frozen=True, slots=True)
class PathStep:
    """A step of a path: a field; or the entries of a list or map, all or those with a value."""

    name: str = ""
    key: str = ""
    value: str = ""

    def __str__(self) -> str:
        if self.name:
            return f".{self.name}" if self.name.isidentifier() else f"['{self.name}']"
        return f"[{self.key}={self.value}]" if self.key else "[*]"


@dataclass(frozen=True, slots=True)
class Way:
    """One path: where it begins (empty: the object, or the entry that is looked at), and its steps."""

    root: str
    steps: tuple[PathStep, ...]


class Path:
    """Paths of which the first that finds something counts, and what is the value otherwise."""

    def __init__(self, text: str, ways: tuple[Way, ...], literal: Scalar | None = None) -> None:
        self.text, self.ways, self.literal = text, ways, literal


class Template:
    """A text with holes: `{name}`, `{role}`, and paths such as `{.a.b}`."""

    def __init__(self, text: str, parts: tuple[str | Path, ...]) -> None:
        self.text, self.parts = text, parts


def path_of(said: object) -> Path:
    """Return a path as it stands in a file.

    Raises:
        ValueError: it is none.

    """
    if isinstance(said, int):
        return Path(str(said), (), said)
    if not isinstance(said, str) or len(said) > _MOST_LETTERS:
        raise ValueError(f"{said!r:.60} is not a path")
    ways: list[Way] = []
    *others, last = [each.strip() for each in said.split(" | ")]
    for each in (*others, last):
        if each and each[0] in ".[@#":
            ways.append(_way(each))
        elif each is last and each and (ways or each.isdecimal()):
            return Path(said, tuple(ways), int(each) if each.isdecimal() else each)
        else:
            raise ValueError(f"{each!r} is not a path: it begins with a dot, @ or #key")
    return Path(said, tuple(ways))


def _way(text: str) -> Way:
    if text == KEY:
        return Way(KEY, ())
    other = _OTHER.match(text)
    at, steps = (other.end() if other else 0), []
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            raise ValueError(f"{text!r} is not a path from {text[at:]!r} on")
        name = match["name"] or match["quoted"] or ""
        steps.append(PathStep(name, match["key"] or "", match["value"] or ""))
        at = match.end()
    if not steps:
        raise ValueError(f"{text!r} is not a path")
    if steps[0].name == "metadata" and (len(steps) == 1 or steps[1].name not in _OF_METADATA):
        raise ValueError(f"{text!r}: of metadata only {', '.join(_OF_METADATA)} are read")
    return Way(other["name"] if other else "", tuple(steps))


def template_of(said: object) -> Template:
    """Return a text with holes as it stands in a file.

    Raises:
        TypeError: it is no text.
        ValueError: a hole of it is no path.

    """
    if not isinstance(said, str):
        raise TypeError(f"{said!r:.60} is not a text")
    pieces = _HOLE.split(said)
    parts: list[str | Path] = []
    for place, piece in enumerate(pieces):
        if place % 2:
            known = piece in {"name", "role"}
            parts.append("{" + piece + "}" if known else path_of(piece))
        elif piece:
            parts.append(piece)
    return Template(said, tuple(parts))


@dataclass(slots=True)
class _Node:
    """What is read of one place: fields, entries, or all of it."""

    fields: "dict[str, _Node]" = field(default_factory=dict)
    items: "_Node | None" = None

    def follow(self, steps: Iterable[PathStep]) -> "_Node":
        """Return the node at the end of some steps, made where it is not there yet."""
        node = self
        for step in steps:
            if step.name:
                node = node.fields.setdefault(step.name, _Node())
                continue
            node.items = node.items or _Node()
            node = node.items
            if step.key:
                node.fields.setdefault(step.key, _Node())
        return node

    def type(self) -> object:
        """Return the type that it is decoded as."""
        if self.items is not None:
            entry = self.items.type()
            return list[entry] | dict[str, entry] | None  # type: ignore[valid-type]  # made here
        return _struct("Read", Part, self.fields) | None if self.fields else Any


def struct_of(kind: str, reads: Iterable[tuple[tuple[PathStep, ...], Way]]) -> type[KubeObject]:
    """Return the struct for objects of a kind, with what paths read; each begins at some steps."""
    root = _Node()
    for base, way in reads:
        root.follow(base).follow(way.steps)
    for name in ("metadata", *_OF_OBJECTS):  # which all objects have, in their own way
        root.fields.pop(name, None)
    status = root.fields.pop("status", _Node())
    status.fields.pop("conditions", None)
    status.fields["observedGeneration"] = _Node()
    made = _struct("Status", Conditioned, status.fields)
    return cast("type[KubeObject]", _struct(kind, KubeObject, root.fields, ("status", made | None)))


def _struct(
    name: str, base: type[msgspec.Struct], nodes: Mapping[str, _Node], *more: tuple[str, object]
) -> Any:
    fields = [
        (_attribute(each), node.type(), msgspec.field(default=None, name=each))
        for each, node in nodes.items()
    ]
    added = [(attribute, type_, msgspec.field(default=None)) for attribute, type_ in more]
    return msgspec.defstruct(
        name, cast("Any", [*fields, *added]), bases=(base,), frozen=True, gc=False, kw_only=True
    )


@cache
def _attribute(name: str) -> str:
    """Return the attribute that a field becomes."""
    if name == "observedGeneration":
        return "observed_generation"
    usable = name.isidentifier() and not iskeyword(name) and name[0] != "_"
    return name if usable and name != "condition" else f"x_{name.encode().hex()}"


def look(start: object, steps: tuple[PathStep, ...]) -> Iterator[tuple[str, object]]:
    """Yield what is at the end of some steps, each with the key of the entry that it is in."""
    found: list[tuple[str, object]] = [("", start)]
    for step in steps:
        if step.name and len(found) == 1:  # nearly always
            found = [(found[0][0], _field(found[0][1], step.name))]
        else:
            found = [each for key, value in found for each in _stepped(key, value, step)]
    return (each for each in found if each[1] is not None)


def _stepped(key: str, value: object, step: PathStep) -> Iterator[tuple[str, object]]:
    if step.name:
        inner = _field(value, step.name)
        if inner is not None:
            yield key, inner
        return
    entries: Iterable[tuple[str, object]] = ()
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, list | tuple):
        entries = (("", each) for each in value)
    for name, each in entries:
        if not step.key or str(_field(each, step.key)) == step.value:
            yield name, each


def _field(value: object, name: str) -> object:
    if isinstance(value, dict):
        return value.get(name)
    return getattr(value, _attribute(name), None)
