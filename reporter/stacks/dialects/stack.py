"""The stack of dialects: what is read for each, and its reasons, which are the same for all kinds."""

from collections.abc import Iterable, Iterator
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Final

import msgspec

from reporter.catalogue import resources as r
from reporter.catalogue.reasons import outside_chain, ready_row, row
from reporter.catalogue.suppression import at_one_object, on_a_node
from reporter.errors import UsageError
from reporter.model.objects import Deployment, KubeObject, LeaderWorkerSet, StatefulSet
from reporter.model.reason import EventType, Reason, SuppressionRow
from reporter.model.resource import Resource
from reporter.model.stack import StackRows, StackWords
from reporter.model.subject import RequestStage
from reporter.stacks.dialects.paths import PathStep, Way, struct_of
from reporter.stacks.dialects.reading import ApiKind, Dialect, is_model
from reporter.stacks.stack import Stack
from reporter.yaml_reader.reading import read_yaml

if TYPE_CHECKING:
    from reporter.probes.subjects import StackProbes

STACK: Final = "dialects"


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab", kw_only=True):
    """A reason that each kind has; `reasons.yaml` holds them."""

    name: str
    summary: str
    trigger: str
    action: str
    silent: str = ""
    grace_note: str = ""
    grace_seconds: int | None = None
    stage: str = ""
    chain: bool = True
    type: EventType = EventType.WARNING


@cache
def _rows() -> tuple[_Row, ...]:
    text = files("reporter.stacks.dialects").joinpath("reasons.yaml").read_text(encoding="utf-8")
    return msgspec.convert(read_yaml(text), tuple[_Row, ...])


def dialect_stack(
    dialects: Iterable[Dialect], groups: Resource[LeaderWorkerSet], others: tuple[StackRows, ...]
) -> Stack:
    """Return the stack of some dialects, beside the stacks that are code.

    Raises:
        UsageError: a dialect is of a kind, or has a subject, that is taken.

    """
    kept = _of_each_kind(dialects, others)
    read: dict[str, Resource[KubeObject]] = {}
    for dialect in kept:
        _add(read, dialect.kind, dialect=dialect, of="")
    for dialect in kept:
        for name, other in dialect.also_reads.items():
            _add(read, other.kind, dialect=dialect, of=name)
    reasons = tuple(
        each for dialect in kept for each in _reasons(dialect, read[_crd(dialect.kind)])
    )
    return Stack(
        name=STACK,
        project="other projects, by dialects",
        resources=tuple(sorted(read.values(), key=lambda each: (each.group, each.plural))),
        reasons=reasons,
        suppression=_suppression(kept),
        words=StackWords(
            derived="nothing",
            required="nothing",
            unsaid=tuple((f"{each.kind.kind} of {each.project}", each.cannot) for each in kept),
        ),
        settings=tuple,
        probes=partial(_probes, kept, read, groups),
    )


def _of_each_kind(
    dialects: Iterable[Dialect], others: tuple[StackRows, ...]
) -> tuple[Dialect, ...]:
    """Return one dialect for each kind, the later of two; none may take what a stack has."""
    taken = {each.crd_name: stack.name for stack in others for each in stack.resources}
    kinds = [kind for stack in others for kind in stack.kinds]
    found: dict[str, Dialect] = {}
    for each in dialects:
        found[_crd(each.kind)] = each
    for name, each in found.items():
        if name in taken:
            raise UsageError(f"{each.kind.kind}: the stack {taken[name]} judges {name} already")
        own = each.subject_kind
        like = [kind for kind in kinds if kind.startswith(own) or own.startswith(kind)]
        if like:
            raise UsageError(
                f"{each.kind.kind}: subject {own!r} is too like {like[0]!r}; write subject: <another word>"
            )
        kinds.append(own)
    return tuple(found.values())


def _crd(kind: ApiKind) -> str:
    return f"{kind.plural}.{kind.group}"


def _add(
    read: dict[str, Resource[KubeObject]], kind: ApiKind, *, dialect: Dialect, of: str
) -> None:
    """Add what a dialect reads of a kind."""
    name = _crd(kind)
    if of and name in read:
        return
    read[name] = Resource(
        group=kind.group,
        versions=kind.versions,
        plural=kind.plural,
        kind=kind.kind,
        namespaced=kind.namespaced,
        custom=True,
        type=struct_of(kind.kind, _reads(dialect, of)),
        purpose=f"{kind.kind}s of {dialect.project}"
        if not of
        else f"what {dialect.kind.kind}s rest on",
        stack=STACK,
        seldom=True,
        subject_kind=None if of else dialect.subject_kind,
        wraps=None if of else partial(is_model, dialect),
    )


def _reads(dialect: Dialect, of: str) -> Iterator[tuple[tuple[PathStep, ...], Way]]:
    """Yield what a dialect reads of its objects, or of others."""
    for (root, base), path in dialect.paths():
        for way in path.ways:
            if (way.root or root) == of:
                yield (() if way.root else base), way


def _reasons(dialect: Dialect, resource: Resource[KubeObject]) -> Iterator[Reason]:
    kind, prefix = dialect.kind.kind, dialect.subject_kind
    reads = (resource, r.PODS, r.NODES, r.DEPLOYMENTS)
    clashes = prefix != kind.lower()
    named = f"{kind.lower()}.{dialect.kind.group}" if clashes else prefix
    told = {"kind": kind, "resource": named, "do": dialect.do}
    for each in _rows():
        reason = row(
            f"{prefix}{each.name}",
            each.summary.format_map(told),
            of=prefix,
            trigger=each.trigger,
            silent=each.silent,
            action=each.action.format_map(told),
            reads=reads,
            grace_note=each.grace_note,
            grace_seconds=each.grace_seconds,
            stage=RequestStage[each.stage] if each.stage else None,
        )
        yield reason if each.chain else outside_chain(reason, each.type)
    yield ready_row(
        f"{prefix}Ready",
        f"A {kind} serves.",
        of=prefix,
        trigger="Each role that it needs has its Ready pods, and what requests come by is ready.",
        reads=reads,
    )


def _suppression(dialects: tuple[Dialect, ...]) -> tuple[SuppressionRow, ...]:
    of_nodes = ("PodsNotReady", "ModelLoadFailed", "RouterNotReady", "EPPNotReady")
    of_objects = (*of_nodes, "PodsNotCreated", "StorageFailed")
    kinds = [each.subject_kind for each in dialects]
    return (
        on_a_node(*(f"{kind}{each}" for kind in kinds for each in of_nodes)),
        at_one_object(*(f"{kind}{each}" for kind in kinds for each in of_objects)),
    )


def _probes(
    dialects: tuple[Dialect, ...],
    read: dict[str, Resource[KubeObject]],
    groups: Resource[LeaderWorkerSet],
) -> "StackProbes":
    from reporter.probes.subjects import StackProbes
    from reporter.stacks.dialects.probes import DialectProbes
    from reporter.stacks.dialects.translate import Kinds

    workloads: dict[str, Resource[Deployment | StatefulSet | LeaderWorkerSet]] = {
        each.kind: each for each in (r.DEPLOYMENTS, r.STATEFULSETS, groups)
    }
    found = tuple(
        Kinds(
            dialect=each,
            resource=read[_crd(each.kind)],
            others={name: read[_crd(other.kind)] for name, other in each.also_reads.items()},
            workloads=workloads,
        )
        for each in dialects
    )
    return StackProbes(subjects=DialectProbes(found))
