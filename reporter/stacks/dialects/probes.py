"""What is asked about a model of a dialect: its pods first, then what its controller claims."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Final

from reporter.catalogue import resources as r
from reporter.model.finding import Evaluation, Finding, ReadyEvidence, ServingEvidence
from reporter.model.objects import KubeObject
from reporter.probes.pods import startup_budget
from reporter.probes.reuse import Question
from reporter.probes.scope import Scope, evaluated
from reporter.probes.subjects import questions_of
from reporter.served.pods import PodReasons, judge_pods, judge_workloads
from reporter.served.ways import Ways, deployment_down, judge_pickers, judge_routes
from reporter.stacks.dialects.reading import is_model
from reporter.stacks.dialects.translate import DialectRole, DialectScope, Kinds, SaidClaim
from reporter.workload.deployment import is_available
from reporter.workload.owners import spec_written
from reporter.workload.pod import is_ready
from reporter.workload.routing import entrances_of

_CLAIMED: Final = {
    "invalid": "InvalidSpec",
    "fetch-failed": "StorageFailed",
    "refused": "PodsNotCreated",
    "failed": "ReconcileFailed",
}
"""The reason that a claim raises, by the end of its name."""


def _reason(scope: DialectScope, suffix: str) -> str:
    return f"{scope.dialect.subject_kind}{suffix}"


def _pods(scope: DialectScope) -> Iterator[Finding]:
    """Yield a finding for each pod at fault, and for each role that lacks pods or stalls.

    Where some pods are enough, others may wait for ever: they are judged while too few are Ready.
    """
    reasons = PodReasons(
        storage_failed=_reason(scope, "StorageFailed"),
        model_load_failed=_reason(scope, "ModelLoadFailed"),
        pods_not_ready=_reason(scope, "PodsNotReady"),
        pods_not_created=_reason(scope, "PodsNotCreated"),
        rollout_stuck=_reason(scope, "RolloutStuck"),
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
                f"{role.title}pods are there, and nothing says why{scope.controller_down}",
                severity=0 if role.serves else 1,
                created=scope.object.created,
                budget=startup_budget(scope) if not role.pods else None,
            )


def _judged(role: DialectRole) -> DialectRole:
    return replace(role, pods=tuple(filter(is_ready, role.pods))) if _has_enough(role) else role


def _has_enough(role: DialectRole) -> bool:
    return bool(role.enough) and role.is_whole


def _faults_claimed(scope: DialectScope) -> Iterator[Finding]:
    """Yield a finding for each fault that its controller tells."""
    for said in scope.said:
        suffix = _CLAIMED.get(said.claim.says)
        if suffix is None or (said.claim.says == "failed" and not _wants(scope)):
            continue
        yield scope.finding(
            reason=_reason(scope, suffix),
            related=scope.ref,
            cause=_cause(said),
            text=f"{said.text}{scope.controller_down}",
            transition=said.condition.last_transition_time if said.condition else None,
            sustains=_is_outdated(scope, said),
            by_spec=said.claim.says == "invalid",
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


def _wants(scope: DialectScope) -> bool:
    return any(each.wanted for each in scope.roles)


def _children(scope: DialectScope) -> Iterator[Finding]:
    """Yield a finding for each Service that is not there."""
    for child in scope.dialect.children:
        name = scope.text(child.service)
        wanted = _wants(scope) and name and (child.when is None or scope.holds(child.when))
        there = scope.snapshot[r.SERVICES].get(scope.place, name)
        if wanted and there is None and scope.snapshot.known(r.SERVICES):
            yield scope.finding(
                reason=_reason(scope, "ObjectMissing"),
                related=r.SERVICES.ref_named(scope.place, name),
                cause=f"Service {name} missing",
                text=f"Service {name} does not exist; {child.why}{scope.controller_down}",
                created=scope.object.created,
            )


def _through(scope: DialectScope) -> Iterator[Finding]:
    """Yield a finding for each Deployment on the way of all requests that is not available."""
    for through in scope.dialect.through:
        if through.when is not None and not scope.holds(through.when):
            continue
        found = scope.deployments(through)
        if found and not any(map(is_available, found)):
            why = f", {through.why}" if through.why else ""
            yield deployment_down(
                scope,
                found[0],
                reason=_reason(scope, "RouterNotReady"),
                what=f"which all requests pass{why}",
            )


def _ways(scope: DialectScope) -> tuple[Ways, ...]:
    """Return what leads to the pods that answer, and to those that requests come by."""
    labels = {
        frozenset(pod.metadata.labels.items()): pod.metadata.labels
        for role in scope.roles
        if role.part != "beside"
        for pod in role.pods[:1]
        if pod.metadata.labels
    }
    return tuple(
        Ways(snapshot=scope.snapshot, place=scope.place, labels=each) for each in labels.values()
    )


def _on_the_way(scope: DialectScope) -> Iterator[Finding]:
    for ways in _ways(scope):
        yield from judge_pickers(scope, ways, reason=_reason(scope, "EPPNotReady"))
        yield from judge_routes(scope, ways, reason=_reason(scope, "RouteNotReady"))


def _needed(scope: DialectScope) -> tuple[DialectRole, ...]:
    return tuple(each for each in scope.roles if each.required and each.wanted)


def _unexplained(scope: DialectScope) -> Iterator[Finding]:
    """Yield a finding if its controller says that it is not ready, whatever its pods do."""
    if not _wants(scope):
        return
    if not scope.roles:
        return
    for said in scope.said:
        if said.claim.says == "working":
            yield scope.finding(
                reason=_reason(scope, "NotReady"),
                related=scope.ref,
                cause=_cause(said),
                text=f"{said.text}{scope.controller_down}",
                transition=said.condition.last_transition_time if said.condition else None,
                budget=startup_budget(scope),
                created=scope.object.created,
                sustains=_is_outdated(scope, said),
            )
            return


def _stale(scope: DialectScope) -> Iterator[Finding]:
    """Yield a finding if it claims to be Ready while a role does not serve, or lags behind its spec."""
    dead = [each for each in _needed(scope) if not each.serves]
    ready = next((each for each in scope.said if each.claim.says == "ready"), None)
    if ready is not None and dead:
        names = ", ".join(each.title.strip() or "the model" for each in dead)
        yield scope.finding(
            reason=_reason(scope, "StatusStale"),
            related=scope.ref,
            cause="says Ready",
            text=f"its status says that it is ready, and no pod of {names} is Ready{scope.controller_down}",
        )
    seen = [each for _, each in scope.values(scope.dialect.seen)]
    generation = scope.object.metadata.generation
    if seen and type(seen[0]) is int and 0 < seen[0] < generation:
        yield scope.finding(
            reason=_reason(scope, "StatusStale"),
            related=scope.ref,
            cause="observedGeneration",
            text=f"its controller has not looked at its newest spec{scope.controller_down}",
            transition=spec_written(scope.object),
        )


def _ready(scope: DialectScope) -> Iterator[ReadyEvidence]:
    """Yield evidence if each role that it needs has its Ready pods."""
    needed = _needed(scope)
    whole = all(each.is_whole for each in needed) and not any(
        chain(_through(scope), _on_the_way(scope))
    )
    if scope.roles and whole and not (_wants(scope) and not needed):
        told = ", ".join(
            f"{each.title}{each.available}/{each.wanted} ready" for each in scope.roles
        )
        yield scope.evidence(_reason(scope, "Ready"), told)


def _serving(scope: DialectScope) -> Iterator[ServingEvidence]:
    """Yield how many replicas serve: those that answer, while each role that they need works."""
    engines = [each for each in scope.roles if each.part == "engine"] or list(scope.roles)
    works = all(each.serves for each in _needed(scope))
    ways = _ways(scope)
    wanted = sum(min(each.wanted, each.enough or each.wanted) for each in engines)
    ready = sum(min(each.available, each.enough or each.available) for each in engines)
    yield ServingEvidence(
        subject=scope.subject,
        wanted=wanted,
        serving=ready if works else 0,
        reached=all(each.is_picked for each in ways) and not any(_through(scope)),
        entrances=frozenset().union(*(entrances_of(each.routes) for each in ways)),
    )


_PROBES: Final = (
    _pods, _faults_claimed, _children, _through, _on_the_way, _unexplained, _stale,
)  # fmt: skip


def evaluate(scope: DialectScope) -> Evaluation:
    """Return all that is said about one model; of one that is stopped only that is said."""
    if scope.is_stopped:
        stopped = scope.finding(
            reason=_reason(scope, "Stopped"),
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
