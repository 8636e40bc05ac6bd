"""llminferenceserviceNotReady: Ready is not True, and nothing else that is read says why."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from reporter.model.finding import Finding
from reporter.model.objects import Condition
from reporter.probes.pods import startup_budget
from reporter.stacks.llmisvc.probes.pool import probe_pool
from reporter.stacks.llmisvc.probes.scope import LlmScope
from reporter.stacks.llmisvc.probes.spec import errors, invalid_presets
from reporter.stacks.llmisvc.probes.stale import contradicted
from reporter.stacks.llmisvc.reasons import NOT_READY
from reporter.workload.owners import is_false, is_true, words
from reporter.workload.pod import counts, is_ready

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
