"""A dialect as it stands in a file, read strictly: a wrong key, path or value is said with its place.

docs/dialects.md says what each key means.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import chain, product
from pathlib import Path as FilePath
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from reporter.errors import UsageError
from reporter.model.subject import SubjectKind
from reporter.model.text import clean, cut, is_kind, is_plural, is_subdomain, is_version
from reporter.stacks.dialects.paths import (
    KEY,
    Path,
    PathStep,
    Scalar,
    Template,
    look,
    path_of,
    template_of,
)
from reporter.yaml_reader.limits import Limits, Unreadable
from reporter.yaml_reader.reading import decoded, read_yaml

_LIMITS: Final = Limits(size=128 * 1024, depth=20, nodes=5_000, aliases=100)
_TEXT_BYTES: Final = 300

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=_TEXT_BYTES)]
Templates: TypeAlias = Annotated[tuple[Template, ...], msgspec.Meta(max_length=5)]
Labels: TypeAlias = Annotated[dict[str, Template], msgspec.Meta(min_length=1, max_length=5)]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab", kw_only=True):
    """A mapping of a file."""


class ApiKind(_Part, frozen=True):
    """A kind of the API: versions whose fields the file knows, the preferred first."""

    group: str
    versions: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=5)]
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def is_right(self) -> bool:
        """Whether all of that can be the names of one."""
        names = is_subdomain(self.group) and is_kind(self.kind) and is_plural(self.plural)
        return names and all(map(is_version, self.versions))


class Match(_Part, frozen=True):
    """What must stand somewhere; without `is` anything. `why` says what follows."""

    at: Path
    values: tuple[Scalar, ...] = msgspec.field(name="is", default=())
    why: str = ""


class Other(_Part, frozen=True):
    """Objects in its namespace that say more of it, found by name or by labels."""

    kind: ApiKind
    name: Template | None = None
    labels: Labels | None = None


class Runs(_Part, frozen=True):
    """What makes the pods of a role, by names or labels; a role without it has bare pods."""

    kinds: tuple[Literal["Deployment", "StatefulSet", "LeaderWorkerSet"], ...]
    names: Templates = ()
    labels: Labels | None = None


class RoleData(_Part, frozen=True):
    """A role; with `each` one for each entry of a list or map, of which `only` picks."""

    name: Template
    pods: Labels
    each: Path | None = None
    only: Match | None = None
    part: Literal["engine", "front", "beside"] = "engine"
    required: Match | bool = True
    if_there: bool = False
    wanted: Path | None = None
    times: Path | None = None
    pods_each: Path | None = None
    enough: Annotated[int, msgspec.Meta(ge=1)] | None = None
    workload: Runs | None = None
    engine: Template | None = None
    fetch: tuple[str, ...] = ()


class ClaimData(_Part, frozen=True):
    """What a controller says, by a condition or by a value; of one condition the first that holds counts."""

    says: Literal["ready", "invalid", "failed", "fetch-failed", "refused", "working"]
    of: str = ""
    condition: str = ""
    status: Literal["True", "False"] | None = None
    reasons: tuple[str, ...] = ()
    each: Path | None = None
    at: Path | None = None
    values: tuple[Scalar, ...] = msgspec.field(name="is", default=())
    text: Path | None = None

    @property
    def wanted_status(self) -> str:
        """The status that the condition must have."""
        return self.status or ("True" if self.says == "ready" else "False")


class Child(_Part, frozen=True):
    """A Service that its controller should have made, and why it is needed."""

    service: Template
    why: Text
    when: Match | None = None


class Through(_Part, frozen=True):
    """A Deployment that all requests pass, or its controller; found by names or labels."""

    names: tuple[str, ...] = ()
    labels: dict[str, str] | None = None
    namespaces: tuple[str, ...] = ()
    when: Match | None = None
    why: str = ""


class Dialect(_Part, frozen=True):
    """A kind of model, as a page of data; docs/dialects.md says what each key means."""

    dialect: Literal[1]
    project: Text
    kind: ApiKind
    roles: Annotated[tuple[RoleData, ...], msgspec.Meta(min_length=1, max_length=10)]
    subject: str = ""
    controller: Through | None = None
    not_a_model: tuple[Match, ...] = ()
    seen: Path | None = None
    stopped: Path | None = None
    also_reads: dict[str, Other] = {}
    claims: tuple[ClaimData, ...] = ()
    children: tuple[Child, ...] = ()
    through: tuple[Through, ...] = ()
    do: Text = "its Events, and the log of its controller"
    cannot: tuple[Text, ...] = ()

    @property
    def subject_kind(self) -> SubjectKind:
        """The kind of its subjects, which the names of its reasons begin with."""
        return SubjectKind(self.subject or self.kind.kind.lower())

    def paths(self) -> Iterator[tuple[tuple[str, tuple[PathStep, ...]], Path]]:
        """Yield each path, with the object and the steps that it is relative to."""
        parts: tuple[RoleData | ClaimData, ...] = (*self.roles, *self.claims)
        for part in parts:
            of = part.of if isinstance(part, ClaimData) else ""
            outside = (part.each, part.times if isinstance(part, RoleData) else None)
            yield from (((of, ()), each) for each in outside if each is not None)
            ways = part.each.ways if part.each else ()
            bases = [(of, (*way.steps, PathStep())) for way in ways] or [(of, ())]
            inside = (each for each in _in(part) if each not in outside)
            yield from product(bases, inside)
        for path in _in(msgspec.structs.replace(self, roles=(), claims=())):
            yield ("", ()), path


def _in(part: object) -> Iterator[Path]:
    """Yield the paths in a part of a file."""
    if isinstance(part, Path):
        yield part
    elif isinstance(part, Template):
        yield from (each for each in part.parts if isinstance(each, Path))
    elif isinstance(part, _Part):
        yield from chain.from_iterable(map(_in, msgspec.structs.astuple(part)))
    elif isinstance(part, dict | tuple):
        yield from chain.from_iterable(map(_in, part.values() if isinstance(part, dict) else part))


def is_model(dialect: Dialect, obj: object) -> bool:
    """Tell whether an object is a model, by what its file says; what is not may be judged elsewhere."""
    return not any(holds(each, at_object(each.at, obj)) for each in dialect.not_a_model)


def at_object(path: Path, start: object) -> list[object]:
    """Return what a path finds in an object, or the entry of one, alone."""
    for way in path.ways:
        if found := [each for _, each in look(start, way.steps)]:
            return found
    return []


def holds(match: Match, found: list[object]) -> bool:
    """Tell whether what a file asks for is among what its path found."""
    if match.values:
        return any(each in match.values for each in found)
    return any(each not in (False, "", None) for each in found)


def dialects_of(raw: bytes, named: str) -> tuple[Dialect, ...]:
    """Return the dialects of a file: one, or a list.

    Raises:
        UsageError: one is wrong; the message says where.

    """
    try:
        value = read_yaml(decoded(raw), limits=_LIMITS, duplicate_keys="refuse")
        found = msgspec.convert(
            value if isinstance(value, list) else [value], tuple[Dialect, ...], dec_hook=_decoded
        )
        for each in found:
            _require_sense(each)
    except (Unreadable, ValueError) as error:
        raise UsageError(f"{named}: {_told(error)}") from None
    return found


def _decoded(type_: type, said: object) -> object:
    """Return a path or template; msgspec says where it stands if it is none."""
    return path_of(said) if type_ is Path else template_of(said)


_PLACE: Final = re.compile(r" - at `\$\[(?:0|\.\.\.)?+(?P<entry>\d*+)\]?+\.?+(?P<where>[^`]*+)`")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `([^`]*+)`")


def _told(error: Exception) -> str:
    """Say what is wrong in one line, the place first."""
    text = clean(str(error))
    match = _PLACE.search(text)
    where = f"{match['where']}: " if match and match["where"] else ""
    text = _UNKNOWN.sub(r"there is no key `\1`", _PLACE.sub("", text))
    return cut(f"{where}{text[:1].lower()}{text[1:]}", 2 * _TEXT_BYTES)


def _require_sense(dialect: Dialect) -> None:
    """Refuse what each key allows and what does not go together."""
    for wrong in _wrong(dialect):
        raise ValueError(wrong)


def _wrong(dialect: Dialect) -> Iterator[str]:
    for kind in (dialect.kind, *(each.kind for each in dialect.also_reads.values())):
        if not kind.is_right:
            yield f"{kind.kind}: its group, versions, kind or plural cannot be one"
    if not re.fullmatch(r"[a-z][a-z0-9]{2,40}", dialect.subject_kind):
        yield f"subject: {dialect.subject_kind!r} is not a word in lower case"
    for claim in dialect.claims:
        if bool(claim.condition) == bool(claim.at):
            yield f"claims: {claim.says}: one of condition and at"
        if claim.of and claim.of not in dialect.also_reads:
            yield f"claims: {claim.of!r} is not under also-reads"
    for other in dialect.also_reads.values():
        if bool(other.name) == bool(other.labels):
            yield f"also-reads: {other.kind.kind}: one of name and labels"
    yield from _wrong_roots(dialect)


def _wrong_roots(dialect: Dialect) -> Iterator[str]:
    """Yield which path begins at an object that is not read."""
    for path in (*_in(dialect.not_a_model), *_in(dialect.also_reads)):
        if any(way.root for way in path.ways):
            yield f"{path.text}: only paths of the object itself are read here"
    roots = {"", KEY, *dialect.also_reads}
    for _, path in dialect.paths():
        unknown = [way.root for way in path.ways if way.root not in roots]
        if unknown:
            yield f"{path.text}: @{unknown[0]} is not under also-reads"


def read_dialects(path: FilePath | None) -> tuple[Dialect, ...]:
    """Return the dialects of a file of the user's own, of a folder those of each of its files.

    Raises:
        UsageError: it cannot be read, or a dialect is wrong.

    """
    if path is None:
        return ()
    try:
        if path.is_dir():
            within = sorted((*path.glob("*.yaml"), *path.glob("*.yml")))
            return tuple(one for each in within for one in read_dialects(each))
        return dialects_of(path.read_bytes(), str(path))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


@cache
def shipped() -> tuple[Dialect, ...]:
    """Return the dialects of the program, by the names of their files."""
    folder = files("reporter.stacks.dialects").joinpath("shipped")
    found = sorted(folder.iterdir(), key=lambda each: each.name)
    return tuple(
        one
        for each in found
        if each.name.endswith(".yaml")
        for one in dialects_of(each.read_bytes(), each.name)
    )
