"""Pods of a model that do not work, each reported once by its failure, and missing pods.

A pod fails to fetch the model, its server exits before it is ready, or something else keeps it from
being Ready. Stalled rollouts and refused pods show in the workload's status.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Unpack

from reporter.catalogue.resources import PODS
from reporter.catalogue.runtime import of_kind
from reporter.diagnosis.case import ending, is_error, last_end, loops, refusal, why_not_made
from reporter.model import objects as o
from reporter.model.finding import Derived, Evaluation, Fails, Finding, ServingEvidence
from reporter.model.text import clean
from reporter.probes.pods import fault_of_pod, pod_finding, startup_budget
from reporter.probes.scope import FaultFields, SubjectScope, evaluated
from reporter.served.role import Containers, ServedRole
from reporter.workload.components import maker_restarted
from reporter.workload.deployment import exceeded_deadline
from reporter.workload.owners import (
    is_false,
    latest,
    not_ready_from,
    warning_about,
    why_warned,
    words,
)
from reporter.workload.pod import (
    PodFault,
    counts,
    had_been_ready,
    is_ready,
    startup_time,
    why_ended,
)
from reporter.workload.replica_faults import newest_failure


def switched_off(
    scope: SubjectScope[o.KubeObject], *, by: str, derived: tuple[Derived, ...] = ()
) -> Evaluation:
    """Return the only finding about a model that a user has stopped by an annotation."""
    stopped = scope.finding(
        reason=of_kind("Stopped", scope.subject.kind),
        cause="stopped",
        text=f"is stopped, by the annotation {by}",
    )
    idle = ServingEvidence(subject=scope.subject, wanted=0, serving=0)
    return evaluated(scope, (stopped,), derived=derived, serving=(idle,))


_INDEX: Final = "leaderworkerset.sigs.k8s.io/worker-index"
_UNWRITTEN: Final = timedelta(seconds=120)
"""How long a controller may take to write a first condition."""


def not_ready(
    scope: SubjectScope[o.KubeObject],
    status: o.Conditioned,
    *,
    writer: str,
    startup: timedelta,
    starts: bool,
    changed: datetime | None = None,
) -> Finding:
    """Return the finding for a model that is not Ready with no cause but the status by `writer`.

    `changed` is when the inputs of Ready last changed; the writer's time to react starts then.
    """
    ready = status.condition("Ready")
    value = ready.status if ready else "Unknown"
    wordless = ready is None or not (ready.reason or ready.message)
    warned = warning_about(scope.snapshot, scope.ref) if wordless else ""
    cause, text = f"Ready is {value}", f"Ready is {value}, {warned or words(ready)}"
    budget = startup if starts or not is_false(ready) else None
    if not status.conditions:
        text = f"{writer} has not written any condition" + (f": {warned}" if warned else "")
        cause, budget = "no status", _UNWRITTEN
    since = not_ready_from(ready)
    return scope.finding(
        reason=of_kind("NotReady", scope.subject.kind),
        cause=cause,
        text=text,
        transition=since and latest(since, changed),
        created=scope.object.created,
        budget=budget,
        diagnosis=why_warned(scope.snapshot, scope.ref) if warned else None,
    )


_NONE_SERVES: Final = 100
"""Added to the severity if no pod of the role is ready, so that no request is answered."""

_OFTEN: Final = 2
"""This many restarts before the first Ready are not a coincidence."""


@dataclass(frozen=True, slots=True)
class _At:
    scope: SubjectScope[o.KubeObject]
    role: ServedRole

    def reason(self, end: str) -> str:
        """Return the reason of the subject's kind with this suffix."""
        return of_kind(end, self.scope.subject.kind)

    def finding(self, *, text: str, cause: str, **fields: Unpack[FaultFields]) -> Finding:
        """Return a finding about the role's workload; it is worse while no replica serves."""
        serves, title = self.role.serves, self.role.title
        if self.role.ref is not None:
            fields.setdefault("related", self.role.ref)
        fields.setdefault("severity", 0 if serves else 1)
        though = "; the pods that are ready go on serving" if serves else ""
        return self.scope.finding(text=f"{text}{though}", cause=f"{title}{cause}", **fields)


def judge_roles(
    scope: SubjectScope[o.KubeObject], roles: tuple[ServedRole, ...]
) -> Iterator[Finding]:
    """Yield a finding for each pod at fault, role by role; then for each workload that lacks pods
    or whose rollout stalls.
    """
    for role in roles:
        for pod, fault in faults_of(scope, role.pods):
            yield from _of_pod(_At(scope, role), pod, fault)
    for role in roles:
        at = _At(scope, role)
        match role.workload:
            case o.Deployment() as deployment:
                yield from _refused(at, deployment)
                yield from _stalled(at, deployment)
            case o.LeaderWorkerSet() as groups:
                yield from _incomplete(at, groups)
                yield from _updating(at, groups)
            case o.StatefulSet() as workload:
                yield from _not_made(at, workload)


def faults_of(
    scope: SubjectScope[o.KubeObject], pods: tuple[o.Pod, ...]
) -> Iterator[tuple[o.Pod, PodFault]]:
    """Yield each pod at fault, then the newest failure that `newest_failure` finds, if any."""
    for pod in pods:
        if fault := fault_of_pod(scope, pod, pods):
            yield pod, fault
    if failed := newest_failure(pods, scope.snapshot):
        yield failed


def _of_pod(at: _At, pod: o.Pod, fault: PodFault) -> Iterator[Finding]:
    where = f"{at.role.title}{_place(pod)}pod {pod.name}"
    worse = 0 if at.role.has_ready_pod else _NONE_SERVES
    although = "" if at.role.has_ready_pod else f"; no {at.role.title}pod is ready"
    ended = _fails_at(pod, at.role.containers)
    fetches = ended is not None and ended[2].name in at.role.containers.fetch
    again = ended is not None and fetches and not loops(ended[2])
    if ended is None or again:  # a repeated download may hang
        yield pod_finding(
            at.scope,
            pod,
            fault,
            reason=at.reason("PodsNotReady"),
            related=PODS.ref(pod),
            cause=f"{at.role.title}{fault.cause}",
            text=f"{where}: {fault.detail}{although}",
            severity=fault.severity + worse,
        )
    if ended is not None:
        reason, what, status = ended
        why, diagnosis = why_ended(pod, status, at.scope.snapshot, otherwise=how_ended(status))
        if diagnosis is not None and diagnosis.sentence.startswith(f"container {status.name} "):
            what, why = "", why.removeprefix(": ")
        looping, end = loops(status), last_end(status)
        yield at.scope.finding(
            reason=at.reason(reason),
            related=PODS.ref(pod),
            cause=f"{at.role.title}{status.name} "
            f"failed{f', exit code {end.exit_code}' if end else ''}",
            text=f"{where}: {what}{why}{although}",
            diagnosis=diagnosis,
            severity=int(looping) + worse,
            created=pod.created,
            exempt=looping,
            sustains=again,
            lingers=True,
        )


def _place(pod: o.Pod) -> str:
    """Return a pod's place in its group (kubernetes-sigs/lws, api/leaderworkerset/v1)."""
    index = pod.metadata.label(_INDEX)
    return "" if index is None else "leader " if index == "0" else "worker "


def _fails_at(pod: o.Pod, of: Containers) -> tuple[str, str, o.ContainerStatus] | None:
    """Return suffix of the reason, text and container if a pod fails to load the model."""
    if not counts(pod):
        return None
    for status in pod.status.init_container_statuses or ():
        if status.name in of.fetch and _fetch_failed(status):
            return "StorageFailed", "the model cannot be fetched", status
    if had_been_ready(pod):
        return None
    every = (*(pod.status.init_container_statuses or ()), *(pod.status.container_statuses or ()))
    for status in every:
        if status.name in of.serve and _load_failed(status):
            return "ModelLoadFailed", _how(pod, status), status
    return None


def _fetch_failed(status: o.ContainerStatus) -> bool:
    """True if a download failed, even while it is retried."""
    ended = last_end(status)
    now = status.state.terminated if status.state else None
    done = now is not None and not is_error(now)
    return not done and (loops(status) or is_error(ended))


def _load_failed(status: o.ContainerStatus) -> bool:
    """True if a never-ready container fails by itself; OOMKilled is reported as such instead."""
    ended = last_end(status)
    if status.ready or ended is None or ended.reason == "OOMKilled" or not is_error(ended):
        return False
    stopped = status.state is not None and status.state.terminated is not None
    return loops(status) or stopped or status.restart_count >= _OFTEN


def _how(pod: o.Pod, status: o.ContainerStatus) -> str:
    if loops(status) or status.state is None or status.state.running is None:
        return f"container {status.name} ends before it is ready"
    seconds = int(startup_time(pod, timedelta(0)).total_seconds())
    allowed = f"; its start-up probe allows {seconds} s" if seconds else ""
    return f"container {status.name} is restarted again and again before it is ready{allowed}"


def unusual_end(status: o.ContainerStatus) -> str:
    """Return a suffix with the reason why a container ended, unless that is only `Error`."""
    ended = last_end(status)
    reason = clean(ended.reason or "") if ended else ""
    return f", {reason}" if reason not in {"", "Error"} else ""


def how_ended(status: o.ContainerStatus) -> str:
    """Return a suffix that says how a container ended; empty if it never did."""
    ended = last_end(status)
    return f"{unusual_end(status)}{ending(ended)}" if ended else ""


_ROLLOUT: Final = timedelta(seconds=600)


def _refused(at: _At, deployment: o.Deployment) -> Iterator[Finding]:
    status, failure = deployment.status, deployment.status.condition("ReplicaFailure", "True")
    current = status.observed_generation >= deployment.metadata.generation
    lacks = current and not deployment.spec.paused and status.replicas < deployment.wanted
    if failure is None and not lacks:
        return
    found = refusal(failure.message, at.scope.place, at.scope.snapshot) if failure else None
    why = words(failure) if failure else "and its Deployment does not say why"
    yield at.finding(
        reason=at.reason("PodsNotCreated"),
        cause=(failure.reason if failure else "") or "pods are missing",
        text=f"{at.role.title}pods are not created, {found.sentence if found else why} (Deployment "
        f"{deployment.name})",
        diagnosis=found,
        fails=Fails.REFUSED,
        transition=failure.last_transition_time if failure else None,
        created=deployment.created,
        independent=True,
    )


def _incomplete(at: _At, groups: o.LeaderWorkerSet) -> Iterator[Finding]:
    """Yield a finding if groups have fewer pods than they need and are not being replaced."""
    if not at.scope.snapshot.known(PODS) or any(each.deleting for each in at.role.pods):
        return
    there = [each for each in at.role.pods if counts(each)]
    later = sum(_has_no_workers_yet(each, groups) for each in there) * (groups.size - 1)
    if len(there) + later >= groups.wanted * groups.size:
        return
    why = why_not_made(at.role.resource.kind, groups, at.scope.snapshot)
    begun = max((each.created for each in at.role.pods if each.created), default=groups.created)
    note = f": {why.sentence}" if why else ""
    note = note or maker_restarted(
        at.role.resource.kind, begun, at.scope.snapshot, settings=at.scope.settings
    )
    yield at.finding(
        reason=at.reason("PodsNotCreated"),
        cause="pods are missing",
        text=f"LeaderWorkerSet {groups.name} has fewer {at.role.title}pods than its groups of "
        f"{groups.size} need{note}",
        diagnosis=why,
        created=latest(*(each.created for each in there)) or groups.created,
        budget=None if note else _MADE_IN_TURN,
    )


_MADE_IN_TURN: Final = timedelta(seconds=120)
"""How long a group may lack pods without a cause: controllers create the leader, its StatefulSet
and the workers in turn, each after seeing the result of the step before."""


def _has_no_workers_yet(pod: o.Pod, groups: o.LeaderWorkerSet) -> bool:
    """True if a pod is a leader that workers may wait for (lws, v0.9.0, pod_controller.go).

    With the startup policy LeaderReady they wait until it is ready; with an exclusive topology,
    until it has a node.
    """
    if pod.metadata.label(_INDEX) != "0":
        return False
    ready_first = groups.spec.startup_policy == "LeaderReady"
    return not pod.spec.node_name or (ready_first and not is_ready(pod))


def _not_made(at: _At, workload: o.StatefulSet) -> Iterator[Finding]:
    """Yield a finding if the controller reports that it cannot create the next pod."""
    if sum(map(counts, at.role.pods)) >= workload.wanted:
        return
    why = why_not_made(at.role.resource.kind, workload, at.scope.snapshot)
    if why is None:
        return
    yield at.finding(
        reason=at.reason("PodsNotCreated"),
        cause=why.brief,
        text=f"{at.role.title}pods are not created, {why.sentence} (StatefulSet {workload.name})",
        diagnosis=why,
        fails=Fails.REFUSED,
        created=workload.created,
        independent=True,
    )


def _stalled(at: _At, deployment: o.Deployment) -> Iterator[Finding]:
    """Yield a finding if a rollout is past its deadline, or does not replace the older pods.

    The deadline of a Deployment does not allow for the time that a model takes to load: while a pod
    is within its start-up time, the rollout is slow, not stuck. A new pod counts as progress.
    """
    status, wanted = deployment.status, deployment.wanted
    if status.observed_generation < deployment.metadata.generation or not wanted:
        return
    since: datetime | None = None
    newest: datetime | None = None
    budget: timedelta | None = None
    if exceeded := exceeded_deadline(deployment):
        cause, what = exceeded.reason or "", "exceeded its deadline"
        since = exceeded.last_transition_time
        if starting := _starting(at):
            since, budget = max(starting)
    elif deployment.spec.paused or status.updated_replicas >= min(wanted, status.replicas):
        return
    else:
        cause, what, budget = "old pods", "does not replace the older pods", _ROLLOUT
        newest = latest(*(each.created for each in at.role.pods if counts(each)))
    yield at.finding(
        reason=at.reason("RolloutStuck"),
        cause=cause,
        text=f"{at.role.title}rollout {what} (Deployment {deployment.name})",
        transition=since,
        created=newest,
        budget=budget,
        independent=True,
    )


def _starting(at: _At) -> list[tuple[datetime, timedelta]]:
    """Return the start and the budget of each pod that is still allowed to start."""
    faults = (fault_of_pod(at.scope, each) for each in at.role.pods if counts(each))
    return [
        (each.transition, each.budget)
        for each in faults
        if each is not None and each.transition is not None and each.budget is not None
    ]


def _updating(at: _At, groups: o.LeaderWorkerSet) -> Iterator[Finding]:
    updating = groups.status.condition("UpdateInProgress", "True")
    if updating is None:
        return
    yield at.finding(
        reason=at.reason("RolloutStuck"),
        cause="UpdateInProgress",
        text=f"{at.role.title}rollout does not end (LeaderWorkerSet {groups.name})",
        transition=updating.last_transition_time,
        budget=startup_budget(at.scope) + _ROLLOUT,
    )
