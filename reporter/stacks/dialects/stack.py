"""The stack of dialects: the resources read for each, and the reasons, the same for all kinds."""

from collections.abc import Iterable, Iterator
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from reporter.catalogue import resources as r
from reporter.catalogue.reasons import ReasonData, ready_row, reasons_of
from reporter.catalogue.suppression import of_pods
from reporter.errors import UsageError
from reporter.model.objects import KubeObject, LeaderWorkerSet
from reporter.model.paths import struct_of
from reporter.model.reason import Reason
from reporter.model.resource import Resource
from reporter.model.stack import StackRows, StackWords
from reporter.stacks.dialects.reading import ApiKind, Dialect, none_because
from reporter.stacks.stack import Stack
from reporter.yaml_reader.strict import read_strictly

if TYPE_CHECKING:
    from reporter.probes.subjects import StackProbes

STACK: Final = "dialects"
_OF_PODS: Final = ("PodsNotReady", "ModelLoadFailed", "RouterNotReady", "EPPNotReady")
_OF_OBJECTS: Final = ("PodsNotCreated", "StorageFailed")


def dialect_stack(
    dialects: Iterable[Dialect], groups: Resource[LeaderWorkerSet], others: tuple[StackRows, ...]
) -> Stack:
    """Return the stack of these dialects, next to the `others`, which are code.

    Raises:
        UsageError: the kind or the subject of a dialect is taken.

    """
    kept = tuple({each.kind.crd: each for each in dialects}.values())  # the later of two
    _require_free(kept, others)
    read = {each.kind.crd: _resource(each.kind, each, "") for each in kept}
    for each in kept:
        for name, other in each.also_reads.items():
            read.setdefault(other.kind.crd, _resource(other.kind, each, name))
    kinds = [each.subject_kind for each in kept]
    page = files("reporter.stacks.dialects").joinpath("reasons.yaml").read_bytes()
    rows = read_strictly(page, ReasonData, named="reasons.yaml")
    return Stack(
        name=STACK,
        project="other projects, by dialects",
        resources=tuple(sorted(read.values(), key=lambda each: (each.group, each.plural))),
        reasons=tuple(x for each in kept for x in _reasons(rows, each, read[each.kind.crd])),
        suppression=of_pods(
            *(f"{kind}{each}" for kind in kinds for each in _OF_PODS),
            at_one_object=tuple(f"{kind}{each}" for kind in kinds for each in _OF_OBJECTS),
        ),
        scales=True,
        words=StackWords(
            derived="nothing",
            required="nothing",
            unsaid=tuple((f"{each.kind.kind} of {each.project}", each.cannot) for each in kept),
        ),
        settings=tuple,
        probes=partial(_probes, kept, read, groups),
    )


def _require_free(dialects: Iterable[Dialect], others: tuple[StackRows, ...]) -> None:
    """Refuse kinds and subjects that a stack or another dialect uses already."""
    taken = {each.crd_name: stack.name for stack in others for each in stack.resources}
    kinds = [kind for stack in others for kind in stack.kinds]
    for each in dialects:
        kind, own = each.kind, each.subject_kind
        if kind.crd in taken:
            raise UsageError(f"{kind.kind}: the stack {taken[kind.crd]} judges {kind.crd} already")
        for like in kinds:
            if like.startswith(own) or own.startswith(like):
                do = "write subject: <another word>"
                raise UsageError(f"{kind.kind}: subject {own!r} is too similar to {like!r}; {do}")
        kinds.append(own)


def _resource(kind: ApiKind, dialect: Dialect, of: str) -> Resource[KubeObject]:
    """Return the resource of a dialect's own kind, or of a kind under its also-reads."""
    what = f"what {dialect.kind.kind}s rest on" if of else f"{kind.kind}s of {dialect.project}"
    return Resource(
        group=kind.group,
        versions=kind.versions,
        plural=kind.plural,
        kind=kind.kind,
        namespaced=kind.namespaced,
        custom=True,
        type=struct_of(kind.kind, (steps for name, steps in dialect.reads() if name == of)),
        purpose=what,
        stack=STACK,
        seldom=True,
        subject_kind=None if of else dialect.subject_kind,
        wraps=None if of else lambda obj: none_because(dialect, obj) is None,
    )


def _reasons(
    rows: tuple[ReasonData, ...], dialect: Dialect, resource: Resource[KubeObject]
) -> Iterator[Reason]:
    kind, prefix = dialect.kind.kind, dialect.subject_kind
    reads = (resource, r.PODS, r.NODES, r.DEPLOYMENTS)
    named = prefix if prefix == kind.lower() else f"{kind.lower()}.{dialect.kind.group}"
    texts = {"kind": kind, "resource": named, "do": dialect.do}
    yield from reasons_of(rows, prefix, texts=texts, reads=reads)
    yield ready_row(
        f"{prefix}Ready",
        f"A {kind} serves.",
        of=prefix,
        trigger="Each role that it needs has its Ready pods, and what requests come by is ready.",
        reads=reads,
    )


def _probes(
    dialects: tuple[Dialect, ...],
    read: dict[str, Resource[KubeObject]],
    groups: Resource[LeaderWorkerSet],
) -> "StackProbes":
    from reporter.probes.subjects import StackProbes
    from reporter.stacks.dialects.probes import DialectProbes
    from reporter.stacks.dialects.translate import Kinds

    made_by = {each.kind: each for each in (r.DEPLOYMENTS, r.STATEFULSETS, groups)}
    return StackProbes(subjects=DialectProbes(dialects, Kinds(read, made_by)))
