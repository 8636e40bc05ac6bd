"""Pods that are not there, and rollouts that stall: neither shows in KServe's status.

llminferenceservicePodsNotCreated and llminferenceserviceRolloutStuck.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, PODS
from reporter.diagnosis.refusals import refusal, why_not_made
from reporter.model.finding import Finding
from reporter.model.objects import Deployment
from reporter.probes.pods import startup_budget
from reporter.stacks.llmisvc.objects import LeaderWorkerSet
from reporter.stacks.llmisvc.probes.roles import LlmRole
from reporter.stacks.llmisvc.probes.scope import LlmScope
from reporter.stacks.llmisvc.reasons import PODS_NOT_CREATED, ROLLOUT_STUCK
from reporter.stacks.llmisvc.resources import LEADERWORKERSETS
from reporter.workload.owners import is_false, is_true, words
from reporter.workload.pod import counts

_ROLLOUT: Final = timedelta(seconds=600)
_EXCEEDED: Final = "ProgressDeadlineExceeded"


def probe_rollout(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding for each workload that lacks pods, or whose rollout stalls."""
    for role in scope.roles:
        if role.deployment is not None:
            yield from _refused(scope, role, role.deployment)
            yield from _stalled(scope, role, role.deployment)
        elif role.group_set is not None:
            yield from _incomplete(scope, role, role.group_set)
            yield from _updating(scope, role, role.group_set)


def _refused(scope: LlmScope, role: LlmRole, deployment: Deployment) -> Iterator[Finding]:
    failure = deployment.status.condition("ReplicaFailure")
    refused = is_true(failure)
    if not refused and not _lacks_pods(deployment):
        return
    found = refusal(failure.message, scope.place) if failure and refused else None
    why = words(failure) if refused else "and its Deployment does not say why"
    yield scope.finding(
        reason=PODS_NOT_CREATED,
        related=DEPLOYMENTS.ref(deployment),
        cause=f"{role.title}{(failure.reason if failure and refused else '') or 'pods are missing'}",
        text=f"{role.title}pods of Deployment {deployment.name} are not created, {found.told if found else why}{_serves(role)}",
        diagnosis=found,
        started=False,
        severity=0 if role.serves else 1,
        transition=failure.last_transition_time if failure and refused else None,
        created=deployment.created,
        independent=True,
    )


def _lacks_pods(deployment: Deployment) -> bool:
    current = deployment.status.observed_generation >= deployment.metadata.generation
    return current and not deployment.spec.paused and deployment.status.replicas < deployment.wanted


def _incomplete(scope: LlmScope, role: LlmRole, groups: LeaderWorkerSet) -> Iterator[Finding]:
    """Yield a finding if groups have fewer pods than they need; one that is replaced is not judged."""
    if not scope.known(PODS) or any(each.deleting for each in role.pods):
        return
    there = sum(map(counts, role.pods))
    if there >= groups.wanted * groups.size:
        return
    why = why_not_made(LEADERWORKERSETS.kind, groups, scope.snapshot)
    yield scope.finding(
        reason=PODS_NOT_CREATED,
        related=LEADERWORKERSETS.ref(groups),
        cause=f"{role.title}pods are missing",
        text=f"LeaderWorkerSet {groups.name} has fewer {role.title}pods than its groups of "
        f"{groups.size} need{f': {why.told}' if why else ''}{_serves(role)}",
        diagnosis=why,
        severity=0 if role.serves else 1,
        created=groups.created,
    )


def _stalled(scope: LlmScope, role: LlmRole, deployment: Deployment) -> Iterator[Finding]:
    if (
        deployment.status.observed_generation < deployment.metadata.generation
        or not deployment.wanted
    ):
        return
    progressing = deployment.status.condition("Progressing")
    if progressing and is_false(progressing) and progressing.reason == _EXCEEDED:
        cause, what, since = _EXCEEDED, "exceeded its deadline", progressing.last_transition_time
    elif deployment.spec.paused or not _has_old_pods(deployment):
        return
    else:
        cause, what, since = "old pods", "does not replace the older pods", None
    yield scope.finding(
        reason=ROLLOUT_STUCK,
        related=DEPLOYMENTS.ref(deployment),
        cause=f"{role.title}{cause}",
        text=f"the rollout of {role.title}Deployment {deployment.name} {what}{_serves(role)}",
        severity=0 if role.serves else 1,
        transition=since,
        budget=None if since else _ROLLOUT,
        independent=True,
    )


def _has_old_pods(deployment: Deployment) -> bool:
    """Tell whether pods of an older revision are left, and too few of the newest are there."""
    status = deployment.status
    return status.updated_replicas < min(deployment.wanted, status.replicas)


def _updating(scope: LlmScope, role: LlmRole, groups: LeaderWorkerSet) -> Iterator[Finding]:
    updating = groups.status.condition("UpdateInProgress")
    if not is_true(updating):
        return
    yield scope.finding(
        reason=ROLLOUT_STUCK,
        related=LEADERWORKERSETS.ref(groups),
        cause=f"{role.title}UpdateInProgress",
        text=f"the rollout of {role.title}LeaderWorkerSet {groups.name} does not end{_serves(role)}",
        severity=0 if role.serves else 1,
        transition=updating.last_transition_time if updating else None,
        budget=startup_budget(scope) + _ROLLOUT,
    )


def _serves(role: LlmRole) -> str:
    return "; the pods that are ready go on serving" if role.serves else ""
