"""What is asked about a model of a dialect: its pods first, then what its controller claims."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Final

from reporter.catalogue import resources as r
from reporter.model.finding import Evaluation, Finding, ReadyEvidence, ServingEvidence
from reporter.model.objects import KubeObject
from reporter.probes.pods import fault_of_pod, startup_budget
from reporter.probes.reuse import Question
from reporter.probes.scope import Scope, evaluated
from reporter.probes.subjects import questions_of
from reporter.served.pods import PodReasons, judge_pods, judge_workloads
from reporter.served.scaledobjects import judge_scalers, scalers_of
from reporter.served.ways import deployment_down, judge_pickers, judge_routes
from reporter.stacks.dialects.reading import is_model
from reporter.stacks.dialects.translate import DialectRole, DialectScope, Kinds, SaidClaim
from reporter.workload.owners import spec_written
from reporter.workload.pod import STARTING, is_ready
from reporter.workload.routing import entrances_of

_CLAIMED: Final = {
    "invalid": "InvalidSpec",
    "fetch-failed": "StorageFailed",
    "refused": "PodsNotCreated",
    "failed": "ReconcileFailed",
    "working": "NotReady",
}
"""The reason that a claim raises, by the end of its name."""


def _pods(scope: DialectScope) -> Iterator[Finding]:
    """Yield a finding for each pod at fault, and for each role that lacks pods or stalls.

    Where some pods are enough, others may wait for ever: they are judged while too few are Ready.
    """
    reasons = PodReasons(
        storage_failed=scope.reason("StorageFailed"),
        model_load_failed=scope.reason("ModelLoadFailed"),
        pods_not_ready=scope.reason("PodsNotReady"),
        pods_not_created=scope.reason("PodsNotCreated"),
        rollout_stuck=scope.reason("RolloutStuck"),
    )
    judged = tuple(_judged(each) for each in scope.roles if each.wanted)
    yield from judge_pods(scope, judged, reasons)
    yield from judge_workloads(scope, judged, reasons)
    refused = any(each.claim.says == "refused" for each in scope.said)
    for role in judged:
        replaced = any(each.deleting for each in role.pods)
        if role.workload is None and role.missing and not replaced and not refused:
            yield scope.finding(
                reason=reasons.pods_not_created,
                related=scope.ref,
                cause=f"{role.title}pods are missing",
                text=f"{role.wanted * role.size - role.missing} of {role.wanted * role.size} "
                f"{role.title}pods are there, {_why(scope)}{scope.controller_down}",
                severity=0 if role.serves else 1,
                created=scope.object.created,
                budget=startup_budget(scope) if not role.pods else None,
            )


def _why(scope: DialectScope) -> str:
    """Return what its controller says of pods that it did not make."""
    told = (each.text for each in scope.said if each.claim.says != "ready")
    said = next(told, "")
    return f"and its controller says: {said}" if said else "and nothing says why"


def _scaling(scope: DialectScope) -> Iterator[Finding]:
    made = ((each.resource.kind, each.workload.name) for each in scope.roles if each.workload)
    scalers = scalers_of(scope.snapshot, scope.place, made)
    yield from judge_scalers(scope, scalers, reason=scope.reason("ScalingNotReady"))


def _judged(role: DialectRole) -> DialectRole:
    return replace(role, pods=tuple(filter(is_ready, role.pods))) if _has_enough(role) else role


def _has_enough(role: DialectRole) -> bool:
    return bool(role.enough) and role.is_whole


def _claimed(scope: DialectScope) -> Iterator[Finding]:
    """Yield a finding for each fault that its controller tells; without replicas only for its spec."""
    for said in scope.said:
        says = said.claim.says
        if says in _CLAIMED and (scope.wants or says == "invalid"):
            yield scope.finding(
                reason=scope.reason(_CLAIMED[says]),
                related=scope.ref,
                cause=_cause(said),
                text=f"{said.text}{scope.controller_down}",
                transition=said.condition.last_transition_time if said.condition else None,
                budget=startup_budget(scope) if says == "working" else None,
                sustains=_is_outdated(scope, said),
                by_spec=says == "invalid",
            )


def _cause(said: SaidClaim) -> str:
    if said.condition is None:
        return said.text.partition(":")[0]
    return said.condition.reason or f"{said.condition.type} is {said.condition.status}"


def _is_outdated(scope: DialectScope, said: SaidClaim) -> bool:
    """Tell whether a claim was written for an earlier spec: it begins nothing then."""
    condition = said.condition
    known = str(condition.observed_generation or "") if condition and not said.claim.of else ""
    return known.isdecimal() and int(known) < scope.object.metadata.generation


def _children(scope: DialectScope) -> Iterator[Finding]:
    """Yield a finding for each Service that is not there."""
    for child in scope.dialect.children:
        name = scope.text(child.service)
        wanted = scope.wants and name and (child.when is None or scope.holds(child.when))
        there = scope.snapshot[r.SERVICES].get(scope.place, name)
        if wanted and there is None and scope.snapshot.known(r.SERVICES):
            yield scope.finding(
                reason=scope.reason("ObjectMissing"),
                related=r.SERVICES.ref_named(scope.place, name),
                cause=f"Service {name} missing",
                text=f"Service {name} does not exist; {child.why}{scope.controller_down}",
                created=scope.object.created,
            )


def _on_the_way(scope: DialectScope) -> Iterator[Finding]:
    """Yield a finding for each part that requests pass and that does not work."""
    for through, deployment in scope.down_on_the_way:
        why = f", {through.why}" if through.why else ""
        what = f"which all requests pass{why}"
        yield deployment_down(scope, deployment, reason=scope.reason("RouterNotReady"), what=what)
    for ways in scope.ways:
        yield from judge_pickers(scope, ways, reason=scope.reason("EPPNotReady"))
        yield from judge_routes(scope, ways, reason=scope.reason("RouteNotReady"))


def _stale(scope: DialectScope) -> Iterator[Finding]:
    """Yield a finding if it claims to be Ready while a role does not serve, or lags behind its spec."""
    dead = [each for each in scope.needed if not each.serves]
    ready = next((each for each in scope.said if each.claim.says == "ready"), None)
    if ready is not None and dead:
        names = ", ".join(each.title.strip() or "the model" for each in dead)
        yield scope.finding(
            reason=scope.reason("StatusStale"),
            related=scope.ref,
            cause="says Ready",
            text=f"its status says that it is ready, and no pod of {names} is Ready{scope.controller_down}",
            budget=startup_budget(scope) if all(_starts(scope, each) for each in dead) else None,
        )
    seen = [each for _, each in scope.values(scope.dialect.seen)]
    generation = scope.object.metadata.generation
    if seen and type(seen[0]) is int and 0 < seen[0] < generation:
        yield scope.finding(
            reason=scope.reason("StatusStale"),
            related=scope.ref,
            cause="observedGeneration",
            text=f"its controller has not looked at its newest spec{scope.controller_down}",
            transition=spec_written(scope.object),
        )


def _starts(scope: DialectScope, role: DialectRole) -> bool:
    """Tell whether a role's pods are there and start, which takes its time."""
    faults = [fault_of_pod(scope, each) for each in role.pods]
    return bool(faults) and all(each and each.severity == STARTING for each in faults)


def _ready(scope: DialectScope) -> Iterator[ReadyEvidence]:
    """Yield evidence if each role that it needs has its Ready pods, and requests come through."""
    whole = all(each.is_whole for each in scope.needed) and bool(scope.needed or not scope.wants)
    if scope.roles and whole and not any(_on_the_way(scope)):
        counts = (f"{each.title}{each.available}/{each.wanted} ready" for each in scope.roles)
        yield scope.evidence(scope.reason("Ready"), ", ".join(counts))


def _serving(scope: DialectScope) -> Iterator[ServingEvidence]:
    """Yield how many replicas serve: those that answer, while each role that they need works."""
    if not scope.roles:
        return
    engines = [each for each in scope.roles if each.part == "engine"] or list(scope.roles)
    works = all(each.serves for each in scope.needed)
    yield ServingEvidence(
        subject=scope.subject,
        wanted=sum(each.at_least for each in engines),
        serving=sum(min(each.available, each.at_least) for each in engines) if works else 0,
        reached=all(each.is_picked for each in scope.ways) and not scope.down_on_the_way,
        entrances=frozenset().union(*(entrances_of(each.routes) for each in scope.ways)),
    )


_PROBES: Final = (
    _pods, _claimed, _children, _on_the_way, _stale, _scaling,
)  # fmt: skip


def evaluate(scope: DialectScope) -> Evaluation:
    """Return all that is said about one model; of one that is stopped only that is said."""
    if scope.is_stopped:
        stopped = scope.finding(
            reason=scope.reason("Stopped"),
            related=scope.ref,
            cause="stopped",
            text="is stopped by its spec",
        )
        return evaluated(scope, (stopped,), serving=_serving(scope))
    return evaluated(
        scope,
        chain.from_iterable(probe(scope) for probe in _PROBES),
        _ready(scope),
        serving=_serving(scope),
    )


@dataclass(frozen=True, slots=True)
class DialectProbes:
    """How the models of dialects are found, and what is asked about each."""

    kinds: tuple[Kinds, ...]

    def questions(self, scope: Scope) -> Iterator[Question]:
        """Yield what is asked about each model; what a file says is none is left out."""
        for kinds in self.kinds:
            models = partial(is_model, kinds.dialect)
            yield from questions_of(
                scope, kinds.resource, answer=partial(_answer, kinds), is_model=models
            )


def _scope(kinds: Kinds, obj: KubeObject, scope: Scope) -> DialectScope:
    return DialectScope(
        snapshot=scope.snapshot,
        settings=scope.settings,
        samples=scope.samples,
        earlier=scope.earlier,
        resource=kinds.resource,
        object=obj,
        kinds=kinds,
    )


def _answer(kinds: Kinds, obj: KubeObject, scope: Scope) -> Evaluation:
    return evaluate(_scope(kinds, obj, scope))
