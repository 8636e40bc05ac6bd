"""Probes of a dialect's model: its pods first, then its controller's claims."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Final

from reporter.catalogue import resources as r
from reporter.model.finding import Evaluation, Finding, ReadyEvidence, ServingEvidence
from reporter.model.objects import KubeObject
from reporter.model.paths import generation_of
from reporter.probes.pods import fault_of_pod, startup_budget
from reporter.probes.reuse import Question
from reporter.probes.scope import Scope, evaluated
from reporter.probes.subjects import questions_of
from reporter.served.pods import judge_roles
from reporter.served.role import CountedRole
from reporter.served.scaledobjects import judge_scalers
from reporter.served.ways import deployment_down, judge_pickers, judge_routes
from reporter.stacks.dialects.reading import Dialect
from reporter.stacks.dialects.translate import DialectScope, Kinds
from reporter.workload.owners import spec_written, warning_about
from reporter.workload.pod import STARTING
from reporter.workload.routing import entrances_of

_CLAIMED: Final = {
    "invalid": "InvalidSpec",
    "fetch-failed": "StorageFailed",
    "refused": "PodsNotCreated",
    "failed": "ReconcileFailed",
    "working": "NotReady",
}
"""Suffix of the reason for each kind of claim."""


def _pods(scope: DialectScope) -> Iterator[Finding]:
    """Yield a finding for each pod at fault, and for each role that lacks pods or stalls.

    If some replicas are enough, the others may wait forever: they are judged only while too few
    work.
    """
    roles = [each for each in scope.roles if each.wanted]
    yield from judge_roles(scope, tuple(each.judged for each in roles))
    faults = [each for each in scope.claims if each.claim.says != "ready"]
    why = f"its controller says: {faults[0].text}" if faults else "nothing says why"
    refused = any(each.claim.says == "refused" for each in faults)
    for role in roles:
        replaced = any(each.deleting for each in role.pods)
        if role.workload is None and role.missing and not replaced and not refused:
            wanted = role.wanted * role.size
            yield scope.finding(
                reason=scope.reason("PodsNotCreated"),
                # a crashed controller's log says why it creates nothing
                related=r.DEPLOYMENTS.ref(scope.controller) if scope.controller else scope.ref,
                cause=f"{role.title}pods are missing",
                text=f"{wanted - role.missing} of {wanted} {role.title}pods are there, and {why}"
                f"{scope.controller_down}",
                severity=0 if role.serves else 1,
                created=scope.object.created,
                budget=startup_budget(scope) if not role.pods else None,
            )


def _scaling(scope: DialectScope) -> Iterator[Finding]:
    made = ((each.resource.kind, each.workload.name) for each in scope.roles if each.workload)
    return judge_scalers(scope, made)


def _claimed(scope: DialectScope) -> Iterator[Finding]:
    """Yield a finding for each fault that its controller claims; if scaled to zero, only an invalid
    spec.
    """
    warned = warning_about(scope.snapshot, scope.ref)
    for each in scope.claims:
        says, condition, other = each.claim.says, each.condition, each.claim.of
        wordless = says == "working" and not (condition and condition.message)
        more = f"; {warned}" if warned and wordless else ""
        observed = generation_of(condition.observed_generation) if condition and not other else 0
        if says in _CLAIMED and (scope.wants or says == "invalid"):
            yield scope.finding(
                reason=scope.reason(_CLAIMED[says]),
                cause=each.cause,
                text=f"{each.text}{more}{scope.controller_down}",
                transition=condition.last_transition_time if condition else None,
                budget=startup_budget(scope) if says == "working" else None,
                # a condition written for an earlier spec must not start a fault
                sustains=0 < observed < scope.object.metadata.generation,
                by_spec=says == "invalid",
            )


def _children(scope: DialectScope) -> Iterator[Finding]:
    services = scope.snapshot[r.SERVICES]
    for child in scope.dialect.children if scope.wants and scope.snapshot.known(r.SERVICES) else ():
        name = scope.read.text(child.service)
        if name and scope.holds(child.when) and services.get(scope.place, name) is None:
            yield scope.finding(
                reason=scope.reason("ObjectMissing"),
                related=r.SERVICES.ref_named(scope.place, name),
                cause=f"Service {name} missing",
                text=f"Service {name} does not exist; {child.why}{scope.controller_down}",
                created=scope.object.created,
            )


def _on_the_way(scope: DialectScope) -> Iterator[Finding]:
    for through, deployment in scope.down_on_the_way:
        what = f"what all requests pass{', ' * bool(through.why)}{through.why},"
        yield deployment_down(scope, deployment, reason=scope.reason("RouterNotReady"), what=what)
    for ways in scope.ways:
        yield from judge_pickers(scope, ways)
        yield from judge_routes(scope, ways)


def _stale(scope: DialectScope) -> Iterator[Finding]:
    """Yield a finding if its status claims Ready while a role does not serve, or lags its spec."""
    dead = [each for each in scope.needed if not each.serves]
    if dead and any(each.claim.says == "ready" for each in scope.claims):
        names = ", ".join(each.title.strip() or "the model" for each in dead)
        text = f"its status says that it is ready, and no pod of {names} is Ready"
        yield scope.finding(
            reason=scope.reason("StatusStale"),
            cause="says Ready",
            text=f"{text}{scope.controller_down}",
            budget=startup_budget(scope) if all(_starts(scope, each) for each in dead) else None,
        )
    seen = next((each for _, each in scope.read.values(scope.dialect.seen)), None)
    if type(seen) is int and 0 < seen < scope.object.metadata.generation:
        yield scope.finding(
            reason=scope.reason("StatusStale"),
            cause="observedGeneration",
            text=f"its controller has not looked at its newest spec{scope.controller_down}",
            transition=spec_written(scope.object),
        )


def _starts(scope: DialectScope, role: CountedRole) -> bool:
    """True if a role has pods and all of them are still starting."""
    faults = [fault_of_pod(scope, each) for each in role.pods]
    return bool(faults) and all(each and each.severity == STARTING for each in faults)


def _ready(scope: DialectScope) -> Iterator[ReadyEvidence]:
    """Yield evidence if each required role has its Ready pods, and requests reach them."""
    whole = all(each.is_whole for each in scope.needed) and bool(scope.needed or not scope.wants)
    if scope.roles and whole and not any(_on_the_way(scope)):
        counts = (f"{each.title}{each.available}/{each.wanted} ready" for each in scope.roles)
        yield scope.evidence(scope.reason("Ready"), ", ".join(counts))


def _serving(scope: DialectScope) -> Iterator[ServingEvidence]:
    """Yield how many replicas serve: those of engines, if every required role works."""
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


_PROBES: Final = (_pods, _claimed, _children, _on_the_way, _stale, _scaling)


@dataclass(frozen=True, slots=True)
class DialectProbes:
    dialects: tuple[Dialect, ...]
    kinds: Kinds

    def questions(self, scope: Scope) -> Iterator[Question]:
        """Yield a question for each model; objects that their file excludes are skipped."""
        for each in self.dialects:
            resource, answer = self.kinds.read[each.kind.crd], partial(self._answer, each)
            if resource.wraps is not None:
                yield from questions_of(scope, resource, answer=answer, is_model=resource.wraps)

    def _answer(self, dialect: Dialect, obj: KubeObject, of: Scope) -> Evaluation:
        """Return the evaluation of one model; for a stopped model, only that it is stopped."""
        scope = DialectScope(
            **of.basis,
            resource=self.kinds.read[dialect.kind.crd],
            object=obj,
            dialect=dialect,
            kinds=self.kinds,
        )
        if scope.is_stopped:
            reason, text = scope.reason("Stopped"), "is stopped by its spec"
            stopped = scope.finding(reason=reason, related=scope.ref, cause="stopped", text=text)
            return evaluated(scope, (stopped,), serving=_serving(scope))
        findings = chain.from_iterable(probe(scope) for probe in _PROBES)
        return evaluated(scope, findings, _ready(scope), serving=_serving(scope))
