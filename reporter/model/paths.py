"""Read objects of kinds that only a description knows, by paths: a subset of kubectl's JSONPath.

`.a.b`, `['a/b']`, `[*]`, one filter for equality (`[type=Ready]`, `[?(@.type=="Ready")]`); ` | `
separates alternatives, the last of which may be a literal; `#key` is the key of a map's entry;
`@name.a` starts at another object. Paths become msgspec structs, so only the fields they name are
decoded; evaluation cannot fail or loop. Conditions are read for every kind.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, islice
from keyword import iskeyword
from typing import Any, Final, NamedTuple, TypeAlias, cast

import msgspec

from reporter.model.objects import Condition, Conditioned, KubeObject, Labels
from reporter.model.objects.base import Part

Scalar: TypeAlias = str | int | bool
KEY: Final = "#key"
MOST: Final = 100
"""Maximum entries and objects read from one object."""

_MOST_COUNTED: Final = 100_000
_MOST_LETTERS: Final = 1_000
_LONGER: Final = 20
"""A number of digits that no int64 has."""

_STEP: Final = re.compile(
    r"\.(?P<name>[A-Za-z_][\w-]{0,99})|\['(?P<quoted>[^']{1,320})'\]|\[(?P<all>\*)\]"
    r"|\[(?:\?\(@\.)?(?P<key>\w{1,99})=(?:=\")?(?P<value>[\w.-]{1,99})(?:\"\))?\]"
)
_OTHER: Final = re.compile(r"@(?P<name>[a-z][a-z0-9-]{0,40})(?=\.)")
_HOLE: Final = re.compile(r"\{([^{}]{1,400})\}")
_OF_METADATA: Final = ("name", "namespace", "labels", "generation")
_OF_OBJECTS: Final = ("metadata", "name", "namespace", "created", "deleting")


@dataclass(frozen=True, slots=True)
class PathStep:
    """A step of a path: a field, or entries of a list or map (all, or those with a value)."""

    name: str = ""
    key: str = ""
    value: str = ""

    def __str__(self) -> str:
        if self.name:
            return f".{self.name}" if self.name.isidentifier() else f"['{self.name}']"
        return f"[{self.key}={self.value}]" if self.key else "[*]"


Steps: TypeAlias = tuple[PathStep, ...]


class Way(NamedTuple):
    """One path: its root (empty: the object or the current entry), and its steps."""

    root: str
    steps: Steps


class Path:
    """Alternative paths, of which the first that finds something counts, and a default value."""

    def __init__(self, text: str, ways: tuple[Way, ...], literal: Scalar | None = None) -> None:
        self.text, self.ways, self.literal = text, ways, literal


class Template:
    """A text with holes: `{name}`, `{role}`, and paths such as `{.a.b}`."""

    def __init__(self, parts: tuple[str | Path, ...]) -> None:
        self.parts = parts


def path_or_template(type_: type, value: object) -> Path | Template:
    """Parse a path or a template; a decoding hook for msgspec, which adds the place to errors."""
    return path_of(value) if type_ is Path else template_of(value)


def path_of(value: object) -> Path:
    """Parse a path as written in a file. Raises ValueError if it is not a path."""
    if isinstance(value, int):
        return Path(str(value), (), value)
    if not isinstance(value, str) or len(value) > _MOST_LETTERS:
        raise ValueError(f"{value!r:.60} is not a path")
    ways: list[Way] = []
    texts = [each.strip() for each in value.split(" | ")]
    for each in texts:
        if each and each[0] in ".[@#":
            ways.append(_way(each))
        elif each is texts[-1] and each and (ways or each.isdecimal()):
            return Path(value, tuple(ways), int(each) if each.isdecimal() else each)
        else:
            raise ValueError(f"{each!r} is not a path: it begins with a dot, @ or #key")
    return Path(value, tuple(ways))


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


def template_of(value: object) -> Template:
    """Parse a text with holes as written in a file.

    Raises TypeError if it is not a text, ValueError if a hole is not a path.
    """
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is not a text")
    parts: list[str | Path] = []
    for place, piece in enumerate(_HOLE.split(value)):
        if place % 2:
            parts.append("{" + piece + "}" if piece in {"name", "role"} else path_of(piece))
        elif piece:
            parts.append(piece)
    return Template(tuple(parts))


def paths_in(part: object) -> Iterator[Path]:
    if isinstance(part, Path):
        yield part
    elif isinstance(part, Template):
        yield from (each for each in part.parts if isinstance(each, Path))
    elif isinstance(part, msgspec.Struct):
        yield from chain.from_iterable(map(paths_in, msgspec.structs.astuple(part)))
    elif isinstance(part, dict):
        yield from chain.from_iterable(map(paths_in, part.values()))
    elif isinstance(part, tuple):
        yield from chain.from_iterable(map(paths_in, part))


@dataclass(slots=True)
class _Node:
    """The parts to read of a value: fields, entries, or all of it."""

    fields: "dict[str, _Node]" = field(default_factory=dict)
    items: "_Node | None" = None

    def follow(self, steps: Steps) -> None:
        node = self
        for step in steps:
            if step.name:
                node = node.fields.setdefault(step.name, _Node())
                continue
            node.items = node.items or _Node()
            node = node.items
            if step.key:
                node.fields.setdefault(step.key, _Node())

    def type(self) -> object:
        if self.items is not None:
            entry = self.items.type()
            return list[entry] | dict[str, entry] | None  # type: ignore[valid-type]  # made here
        return _struct("Read", Part, self.fields) | None if self.fields else Any


def struct_of(kind: str, reads: Iterable[Steps] = ()) -> type[KubeObject]:
    """Return the struct for objects of a kind: conditions, and the values that steps lead to."""
    root = _Node()
    for steps in reads:
        root.follow(steps)
    for name in _OF_OBJECTS:  # KubeObject reads these
        root.fields.pop(name, None)
    status = root.fields.pop("status", _Node())
    status.fields.pop("conditions", None)
    status.fields["observedGeneration"] = _Node()
    made = _struct("Status", Conditioned, status.fields)
    return cast("type[KubeObject]", _struct(kind, KubeObject, root.fields, ("status", made | None)))


@cache
def conditioned(kind: str) -> type[KubeObject]:
    """Return the struct for objects of a kind, with conditions only."""
    return struct_of(kind)


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
    if name == "observedGeneration":
        return "observed_generation"
    usable = name.isidentifier() and not iskeyword(name) and name[0] != "_"
    return name if usable and name != "condition" else f"x_{name.encode().hex()}"


def look(start: object, steps: Steps) -> Iterator[tuple[str, object]]:
    """Yield the values that steps lead to, each with the key of its entry."""
    found: list[tuple[str, object]] = [("", start)]
    for step in steps:
        if step.name and len(found) == 1:  # nearly always
            found = [(found[0][0], _field(found[0][1], step.name))]
        elif step.name:
            found = [(key, _field(value, step.name)) for key, value in found]
        else:
            entries = (each for _, value in found for each in entries_of(value))
            found = [
                each
                for each in entries
                if not step.key or str(_field(each[1], step.key)) == step.value
            ]
    return (each for each in found if each[1] is not None)


def entries_of(value: object) -> Iterable[tuple[str, object]]:
    """Return the entries of a list, or of a map with their keys; other values have no entries."""
    if isinstance(value, dict):
        return value.items()
    return (("", each) for each in value) if isinstance(value, list | tuple) else ()


def _field(value: object, name: str) -> object:
    if isinstance(value, dict):
        return value.get(name)
    return getattr(value, _attribute(name), None)


@dataclass(frozen=True, slots=True)
class PathReader:
    """Read an object by paths. `@<key>` starts at `others[key]`; `{name}` stands for `name`."""

    name: str
    obj: object
    others: Mapping[str, tuple[KubeObject, ...]] = field(default_factory=dict)

    def values(
        self, path: Path | None, at: object = None, key: str = ""
    ) -> tuple[tuple[str, object], ...]:
        """Return what a path finds, starting at `at` or the object; each with its entry's key."""
        for way in path.ways if path else ():
            if way.root == KEY:
                return (("", key),) if key else ()
            starts: tuple[object, ...] = (self.obj if at is None else at,)
            if way.root:
                starts = self.others.get(way.root, ())
            seen = tuple(islice((each for one in starts for each in look(one, way.steps)), MOST))
            if seen:
                return seen
        return () if path is None or path.literal is None else (("", path.literal),)

    def entries(self, path: Path | None, obj: object) -> list[tuple[str, object]]:
        """Return the entries of the values of a path, with their keys; without a path, `obj`."""
        if path is None:
            return [("", obj)]
        found = (one for _, listed in self.values(path, obj) for one in entries_of(listed))
        return list(islice(found, MOST))

    def number(self, path: Path | None, at: object, default: int) -> int:
        """Return the number that a path finds, or `default` if it finds anything else."""
        value = next((each for _, each in self.values(path, at)), default)
        return max(0, min(value, _MOST_COUNTED)) if type(value) is int else default

    def has(self, path: Path, among: tuple[Scalar, ...], at: object = None) -> bool:
        """Tell whether a path finds a value in `among`; if that is empty, any value at all."""
        found = [each for _, each in self.values(path, at)]
        if among:
            return any(each in among for each in found)
        return any(each not in (False, "", None) for each in found)

    def text(self, template: Template, at: object = None, key: str = "", *, role: str = "") -> str:
        """Return a text with its holes filled, or an empty string if a hole has no value."""
        filled = []
        for part in template.parts:
            if isinstance(part, str):
                filled.append({"{name}": self.name, "{role}": role}.get(part, part))
                continue
            value = next((each for _, each in self.values(part, at, key)), None)
            if not isinstance(value, str | int):
                return ""
            filled.append(str(value))
        return "".join(filled)

    def labels(
        self, templates: Mapping[str, Template] | None, at: object = None, role: str = ""
    ) -> Labels:
        """Return labels with their holes filled, or no labels if a hole has no value."""
        found = {key: self.text(each, at, role=role) for key, each in (templates or {}).items()}
        return found if all(found.values()) else {}


def condition_of(obj: KubeObject, type_: str) -> Condition | None:
    status = getattr(obj, "status", None)
    return status.condition(type_) if isinstance(status, Conditioned) else None


def generation_of(observed: object) -> int:
    """Return an `observedGeneration` as a number (Istio's may be text), 0 if it is missing."""
    text = str(observed)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < _LONGER else 0
