"""llminferenceserviceReady: positive evidence that an LLMInferenceService serves.

llminferenceserviceNotReady: Ready is not True, and nothing else that is read says why.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, HTTPROUTES
from reporter.model.finding import Finding, ReadyEvidence, ServingEvidence
from reporter.model.objects import Condition, KubeObject
from reporter.model.resource import Resource
from reporter.probes.pods import startup_budget
from reporter.stacks.llmisvc.probes.pool import (
    accepts,
    is_accepted,
    missing_service,
    probe_pool,
    unreached_service,
)
from reporter.stacks.llmisvc.probes.scope import LlmScope
from reporter.stacks.llmisvc.probes.spec import errors, invalid_presets
from reporter.stacks.llmisvc.probes.stale import avoids_pools, contradicted
from reporter.stacks.llmisvc.reasons import NOT_READY, READY
from reporter.workload.deployment import is_available
from reporter.workload.owners import is_false, is_true, words
from reporter.workload.pod import counts, is_ready
from reporter.workload.routing import entrances_of, fails_open, is_reachable


def probe_ready(scope: LlmScope) -> Iterator[ReadyEvidence]:
    """Yield evidence if each role has a replica that serves, and requests find their way to it.

    What KServe's status says is neither needed nor enough: an autoscaler without its metric makes it
    False, and a stalled rollout leaves it True.
    """
    if scope.serves and _is_reached(scope):
        serving = (each for each in scope.roles if each.ref and not each.is_idle)
        parts = " and ".join(f"{each.title}{each.ref.kind}" for each in serving if each.ref)
        idle = "".join(f", 0 {each.name} wanted" for each in scope.roles if each.is_idle)
        yield scope.evidence(READY, f"{parts} available{idle}{_way(scope)}")


def probe_serving(scope: LlmScope) -> Iterator[ServingEvidence]:
    """Yield how many replicas serve, and whether requests reach them, by the same evidence.

    Without a replica that decodes nothing serves; without one that prefills, those that decode do it
    all.
    """
    if not _is_known(scope):
        return
    main = scope.roles[0]
    yield ServingEvidence(
        subject=scope.subject,
        wanted=0
        if main.exists and not main.replicas
        else max(1, sum(each.replicas for each in scope.roles)),
        serving=max(1, sum(each.serving for each in scope.roles)) if main.serves else 0,
        reached=_is_reached(scope) or _is_reachable(scope),
        entrances=entrances_of(scope.routes),
    )


def idle(scope: LlmScope) -> ServingEvidence:
    """Return what is said of one that is stopped."""
    return ServingEvidence(subject=scope.subject, wanted=0, serving=0)


def _is_known(scope: LlmScope) -> bool:
    runs_on: set[Resource[KubeObject]] = {each.resource for each in scope.roles}
    if scope.wanted.scheduler is not None:
        runs_on.add(DEPLOYMENTS)
    if scope.wanted.route is not None:
        runs_on.add(HTTPROUTES)
    return all(map(scope.known, runs_on))


def _is_reachable(scope: LlmScope) -> bool:
    """Tell whether some requests come through, be it not by every way."""
    wanted = scope.wanted
    if wanted.route is not None and not is_reachable(scope.routes):
        return False
    if wanted.scheduler is None or _picker_works(scope):
        return True
    return fails_open(scope.pool or scope.former_pool) or avoids_pools(scope.routes)


def _picker_works(scope: LlmScope) -> bool:
    """Tell whether requests find an endpoint picker; of somebody else's only its Service is known."""
    if missing_service(scope):
        return False
    if scope.wanted.own_pool:
        return True
    available = scope.epp is not None and is_available(scope.epp)
    return available and unreached_service(scope) is None


def _is_reached(scope: LlmScope) -> bool:
    wanted = scope.wanted
    if wanted.scheduler is not None and not (_picker_works(scope) and is_accepted(scope)):
        return False
    return wanted.route is None or accepts(scope)


def _way(scope: LlmScope) -> str:
    wanted = scope.wanted
    parts = (
        "its endpoint picker" if wanted.scheduler is not None and not wanted.own_pool else "",
        "its route" if wanted.route is not None else "",
    )
    found = [each for each in parts if each]
    return f", {' and '.join(found)} ready" if found else ""


UNWRITTEN: Final = timedelta(seconds=120)
"""How long KServe may take to write a first condition."""

_LEAVES: Final = (
    "MainWorkloadReady",
    "WorkerWorkloadReady",
    "PrefillWorkloadReady",
    "PrefillWorkerWorkloadReady",
    "ScalingReady",
    "PrefillScalingReady",
    "GatewaysReady",
    "HTTPRoutesReady",
    "InferencePoolReady",
    "SchedulerWorkloadReady",
    "TokenizerReady",
)
_OF_SCALING: Final = frozenset({"ScalingReady", "PrefillScalingReady"})


def probe_whole(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding if it is not Ready; the last that is told."""
    ready = scope.condition("Ready")
    budget: timedelta | None = None
    if not scope.llm.status.conditions:
        cause, text, budget = "no status", "KServe has not written any condition", UNWRITTEN
    elif is_true(ready) or _is_explained(scope):
        return
    else:
        status = ready.status if ready else "Unknown"
        cause, text = f"Ready is {status}", f"Ready is {status}, {words(ready)}"
        starts = any(counts(each) and not is_ready(each) for each in scope.pods)
        budget = startup_budget(scope) if starts or not is_false(ready) else None
    yield scope.finding(
        reason=NOT_READY,
        related=scope.ref,
        cause=cause,
        text=text,
        transition=ready.last_transition_time if ready else None,
        created=scope.llm.created,
        budget=budget,
    )


def _is_explained(scope: LlmScope) -> bool:
    """Tell whether each condition that makes Ready False is told by name, or is no fault."""
    if invalid_presets(scope) is not None or any(errors(scope)):
        return True
    wrong = [each for name in _LEAVES if (each := scope.condition(name)) and is_false(each)]
    stale = frozenset(contradicted(scope))
    return bool(wrong) and all(
        each.type in _OF_SCALING or each.type in stale or _waits_for_nothing(scope, each)
        for each in wrong
    )


def _waits_for_nothing(scope: LlmScope, condition: Condition) -> bool:
    """Tell whether the pool is said to wait for a Gateway, and the cluster shows nothing of it.

    KServe looks for the Gateways of routes alone: where it knows no route it waits for ever, while
    requests are answered.
    """
    if (condition.type, condition.reason) != ("InferencePoolReady", "WaitingForGateway"):
        return False
    return scope.pool is not None and not any(probe_pool(scope))
