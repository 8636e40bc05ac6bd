"""The schema of a dialect's file, read strictly: errors name their place in the file.

docs/dialects.md explains each key.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import product
from pathlib import Path as FilePath
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from reporter.errors import UsageError
from reporter.model.paths import KEY, Path, PathReader, PathStep, Scalar, Steps, Template, paths_in
from reporter.model.subject import SubjectKind
from reporter.model.text import is_kind, is_plural, is_subdomain, is_version
from reporter.yaml_reader.strict import FilePart, read_strictly

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
Templates: TypeAlias = Annotated[tuple[Template, ...], msgspec.Meta(max_length=5)]
Labels: TypeAlias = Annotated[dict[str, Template], msgspec.Meta(min_length=1, max_length=5)]

_CONDITIONS: Final = (PathStep("status"), PathStep("conditions"))


class ApiKind(FilePart, frozen=True):
    """A kind of the API, with the versions whose fields the file knows, preferred first."""

    group: str
    versions: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=5)]
    kind: str
    plural: str
    namespaced: bool = True

    def __post_init__(self) -> None:
        names = is_subdomain(self.group) and is_kind(self.kind) and is_plural(self.plural)
        if not names or not all(map(is_version, self.versions)):
            raise ValueError(f"{self.kind}: its group, versions, kind or plural is invalid")

    @property
    def crd(self) -> str:
        return f"{self.plural}.{self.group}"


class Match(FilePart, frozen=True):
    """A value that a path must have; without `is`, any value. `why` explains the consequence."""

    at: Path
    values: tuple[Scalar, ...] = msgspec.field(name="is", default=())
    why: str = ""


class Other(FilePart, frozen=True):
    """Further objects in its namespace that describe it, found by name or by labels."""

    kind: ApiKind
    name: Template | None = None
    labels: Labels | None = None

    def __post_init__(self) -> None:
        if bool(self.name) == bool(self.labels):
            raise ValueError(f"{self.kind.kind}: give exactly one of name and labels")


class Runs(FilePart, frozen=True):
    """The workload that creates a role's pods, by names or labels; without it pods are bare."""

    kinds: tuple[Literal["Deployment", "StatefulSet", "LeaderWorkerSet"], ...]
    names: Templates = ()
    labels: Labels | None = None


class RoleData(FilePart, frozen=True):
    """A role; with `each`, one role for each entry of a list or map that `only` admits."""

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
    workload: Runs = Runs(kinds=())
    engine: Template | None = None
    fetch: tuple[str, ...] = ()


class ClaimData(FilePart, frozen=True):
    """A controller's claim, in a condition or a value; the first match for a condition counts."""

    says: Literal["ready", "invalid", "failed", "fetch-failed", "refused", "working"]
    of: str = ""
    condition: str = ""
    status: Literal["True", "False"] | None = None
    reasons: tuple[str, ...] = ()
    each: Path | None = None
    at: Path | None = None
    values: tuple[Scalar, ...] = msgspec.field(name="is", default=())
    text: Path | None = None

    def __post_init__(self) -> None:
        if bool(self.condition) == bool(self.at):
            raise ValueError(f"{self.says}: give exactly one of condition and at")


class Child(FilePart, frozen=True):
    """A Service that its controller should have created, and why it is needed."""

    service: Template
    why: Text
    when: Match | None = None


class Through(FilePart, frozen=True):
    """A Deployment that all requests pass through, or the controller, by names or labels."""

    names: tuple[str, ...] = ()
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    namespaces: tuple[str, ...] = ()
    when: Match | None = None
    why: str = ""


class Dialect(FilePart, frozen=True):
    """A kind of model, as a page of data."""

    dialect: Literal[1]
    project: Text
    kind: ApiKind
    roles: Annotated[tuple[RoleData, ...], msgspec.Meta(min_length=1, max_length=10)]
    subject: str = ""
    controller: Through | None = None
    not_a_model: tuple[Match, ...] = ()
    seen: Path | None = None
    stopped: Path | None = None
    also_reads: dict[str, Other] = msgspec.field(default_factory=dict)
    claims: tuple[ClaimData, ...] = ()
    children: tuple[Child, ...] = ()
    through: tuple[Through, ...] = ()
    do: Text = "its Events, and the log of its controller"
    cannot: tuple[Text, ...] = ()

    def __post_init__(self) -> None:
        """Refuse combinations of keys that are valid one by one but not together."""
        if not re.fullmatch(r"[a-z][a-z0-9]{2,40}", self.subject_kind):
            raise ValueError(f"subject: {self.subject_kind!r} is not a lower-case word")
        for claim in self.claims:
            if claim.of and claim.of not in self.also_reads:
                raise ValueError(f"claims: {claim.of!r} is not under also-reads")
        for path in (*paths_in(self.not_a_model), *paths_in(self.also_reads)):
            if any(way.root for way in path.ways):
                raise ValueError(f"{path.text}: only paths of the object itself are read here")
        for path in paths_in(self):
            for root in {way.root for way in path.ways} - {"", KEY, *self.also_reads}:
                raise ValueError(f"{path.text}: @{root} is not under also-reads")

    @property
    def subject_kind(self) -> SubjectKind:
        """The kind of its subjects, the prefix of its reasons."""
        return SubjectKind(self.subject or self.kind.kind.lower())

    def reads(self) -> Iterator[tuple[str, Steps]]:
        """Yield each path that is read, as a name under also-reads, or empty, and its steps."""
        for part in (*self.roles, *self.claims, msgspec.structs.replace(self, roles=(), claims=())):
            of = part.of if isinstance(part, ClaimData) else ""
            each = part.each if isinstance(part, RoleData | ClaimData) else None
            outside = (each, part.times if isinstance(part, RoleData) else None)
            entries: list[Steps] = [(*way.steps, PathStep()) for way in each.ways] if each else [()]
            if isinstance(part, ClaimData) and part.condition:
                yield of, (*_CONDITIONS, PathStep(key="type", value=part.condition))
            for path in paths_in(part):
                for base, way in product([()] if path in outside else entries, path.ways):
                    if way.root != KEY:
                        yield way.root or of, way.steps if way.root else (*base, *way.steps)


def none_because(dialect: Dialect, obj: object) -> Match | None:
    """Return the file's rule by which an object is not a model, or None for a model."""
    reading = PathReader("", obj)
    return next((each for each in dialect.not_a_model if reading.has(each.at, each.values)), None)


def read_dialects(path: FilePath | None) -> tuple[Dialect, ...]:
    """Return the dialects of a user's file, or of all YAML files in a folder.

    Raises:
        UsageError: a file cannot be read, or a dialect is invalid.

    """
    if path is None:
        return ()
    try:
        if path.is_dir():
            within = sorted((*path.glob("*.yaml"), *path.glob("*.yml")))
            return tuple(one for each in within for one in read_dialects(each))
        return read_strictly(path.read_bytes(), Dialect, named=str(path))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


@cache
def shipped() -> tuple[Dialect, ...]:
    """Return the built-in dialects, sorted by file name."""
    folder = files("reporter.stacks.dialects").joinpath("shipped")
    pages = sorted((each.name, each) for each in folder.iterdir() if each.name.endswith(".yaml"))
    return tuple(
        one for name, page in pages for one in read_strictly(page.read_bytes(), Dialect, named=name)
    )
