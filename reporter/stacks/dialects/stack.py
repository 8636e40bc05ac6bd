"""The stack of dialects: what is read for each, and its reasons, which are the same for all kinds."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

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

if TYPE_CHECKING:
    from reporter.probes.subjects import StackProbes

STACK: Final = "dialects"


@dataclass(frozen=True, slots=True)
class _Suffix:
    """A row that each kind has; `{kind}` and `{do}` are filled in."""

    name: str
    summary: str
    trigger: str
    action: str
    silent: str = ""
    grace_note: str = ""
    stage: RequestStage | None = None
    grace_seconds: int | None = None


_LOGS: Final = "kubectl -n <namespace> logs <pod> --previous"
_DESCRIBE: Final = "kubectl -n <namespace> describe {resource} <name>: {do}."

_CHAIN: Final = (
    _Suffix(
        "InvalidSpec",
        "The controller of the {kind} refuses its spec.",
        "Its status says that the spec cannot be used.",
        _DESCRIBE,
        "A status that was written for an earlier spec.",
    ),
    _Suffix(
        "StorageFailed",
        "The model cannot be fetched.",
        "An init container that downloads the model fails, or the controller says that it cannot be fetched.",
        "Look at what the message names: the model's name, its credentials, the disk.",
        "A download in progress.",
        "Fires at once in a crash loop.",
    ),
    _Suffix(
        "ModelLoadFailed",
        "The model server ends before it is ready.",
        "The engine container of a pod that was never Ready is in a crash loop, ended in Error, or "
        "was restarted twice.",
        _LOGS,
        "OOMKilled, and pods that had been Ready: these are reported for the pod.",
        "Fires at once in a crash loop.",
    ),
    _Suffix(
        "PodsNotCreated",
        "Pods of the {kind} are not created.",
        "Its controller, or what it made for a role, says that pods are refused, or there are fewer pods "
        "than its replicas need.",
        "Mostly a quota or an admission webhook: kubectl -n <namespace> get events.",
        "Pods that are being replaced; 0 replicas.",
    ),
    _Suffix(
        "PodsNotReady",
        "Pods of the {kind} do not run, or run without becoming Ready.",
        "A container of a pod waits or ended in an error; or the pod is unschedulable, evicted or on a "
        "dead node, or its start-up takes longer than its budget.",
        "kubectl -n <namespace> describe pod <pod>, and its logs (--previous after a crash).",
        "Pods that start within their budget; pods beyond those that are enough; 0 replicas.",
        "Fire at once: InvalidImageName, ErrImageNeverPull, CrashLoopBackOff. Start-up has "
        "--model-startup-budget-seconds or the start-up probe's own budget.",
    ),
    _Suffix(
        "ReconcileFailed",
        "The controller of the {kind} says that it failed.",
        "Its status says that something failed, and no pod says why.",
        _DESCRIBE,
        "What a pod at fault explains, which comes first.",
    ),
    _Suffix(
        "ObjectMissing",
        "A Service that the controller of the {kind} should have made is missing.",
        "It does not exist though the {kind} has replicas.",
        _DESCRIBE,
        stage=RequestStage.ROUTING,
    ),
    _Suffix(
        "RolloutStuck",
        "A rollout does not come to its end; older pods serve.",
        "What its controller made for a role is past its progress deadline, or does not replace older pods.",
        "kubectl -n <namespace> get pods, and the newest ones.",
        "Pods that load within their start-up probe's time.",
    ),
    _Suffix(
        "RouterNotReady",
        "What all requests to the {kind} pass is not available.",
        "A Deployment that its file names has no available replica.",
        "kubectl describe deployment, and its pods.",
        stage=RequestStage.ROUTING,
    ),
    _Suffix(
        "EPPNotReady",
        "The endpoint picker of the {kind} is not available.",
        "An InferencePool selects its pods, and its endpoint picker is missing or not available, or a "
        "Gateway of Istio cannot ask it.",
        "kubectl -n <namespace> describe inferencepool <pool>, and the log of its picker.",
        stage=RequestStage.PICKER,
        grace_seconds=90,
    ),
    _Suffix(
        "RouteNotReady",
        "A route to the {kind} or its InferencePool does not lead to it.",
        "Accepted or ResolvedRefs of an HTTPRoute that leads to it, or of the pool, is not True for a "
        "Gateway that it names, or that Gateway does not exist.",
        "kubectl -n <namespace> describe httproute <route>",
        stage=RequestStage.ROUTING,
    ),
    _Suffix(
        "NotReady",
        "The {kind} is not ready, and nothing that the reporter reads says why.",
        "Its controller says so for longer than start-up may take, while its pods are Ready.",
        _DESCRIBE,
        "What a reason above reports.",
        "Its budget is --model-startup-budget-seconds.",
    ),
)

_STALE: Final = _Suffix(
    "StatusStale",
    "The status of the {kind} is not what its pods show.",
    "It says Ready while a role without which nothing is answered has no Ready pod; or its controller has "
    "not looked at the newest spec.",
    "Believe the pods, until its controller writes a status that fits them.",
    "Kinds whose controllers write no generation.",
    grace_seconds=120,
)
_STOPPED: Final = _Suffix(
    "Stopped",
    "The {kind} is stopped by its spec.",
    "The field of its spec that stops it is true.",
    "Nothing, if that is meant.",
)


def suffixes() -> tuple[str, ...]:
    """Return the ends of the names of its reasons, in the order of priority."""
    return (*(each.name for each in (*_CHAIN, _STALE, _STOPPED)), "Ready")


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

    def _row(each: _Suffix) -> Reason:
        told = {
            "kind": kind,
            "resource": f"{dialect.kind.plural}.{dialect.kind.group}",
            "do": dialect.do,
        }
        return row(
            f"{prefix}{each.name}",
            each.summary.format_map(told),
            of=prefix,
            trigger=each.trigger.format_map(told),
            silent=each.silent,
            action=each.action.format_map(told),
            reads=reads,
            grace_note=each.grace_note,
            grace_seconds=each.grace_seconds,
            stage=each.stage,
        )

    yield from map(_row, _CHAIN)
    yield outside_chain(_row(_STALE))
    yield outside_chain(_row(_STOPPED), EventType.NORMAL)
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
