"""llminferenceserviceStatusStale: the stored status is not what the objects show."""

from collections.abc import Iterator
from typing import Final

from reporter.model.derived import Derived
from reporter.model.finding import Finding
from reporter.stacks.llmisvc.derived.status import Worked, derived_status
from reporter.stacks.llmisvc.objects import WorkloadsStatus
from reporter.stacks.llmisvc.probes.roles import LlmRole
from reporter.stacks.llmisvc.probes.scope import LlmScope
from reporter.stacks.llmisvc.probes.spec import errors, invalid_presets
from reporter.stacks.llmisvc.reasons import STATUS_STALE
from reporter.workload.conditions import is_true

_SCHEDULER: Final = "SchedulerWorkloadReady"
_CONDITION: Final = {
    (False, False): "MainWorkloadReady",
    (False, True): "WorkerWorkloadReady",
    (True, False): "PrefillWorkloadReady",
    (True, True): "PrefillWorkerWorkloadReady",
}


def probe_stale(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding if KServe lags behind the spec, or the status behind the objects."""
    status = scope.llm.status
    if not status.conditions and status.observed_generation is None:
        return
    fields = tuple(contradicted(scope))
    if not scope.observed:
        cause, text = "observedGeneration", "KServe has not looked at its newest spec"
    elif fields:
        cause, text = fields[0], f"its status does not match its objects, in {', '.join(fields)}"
    else:
        return
    yield scope.finding(reason=STATUS_STALE, related=scope.ref, cause=cause, text=text)


def contradicted(scope: LlmScope) -> Iterator[str]:
    """Yield the conditions and counts that differ from the objects.

    An error ends KServe's pass, and leaves what would have come after it as it was.
    """
    if not scope.observed or invalid_presets(scope) is not None or any(errors(scope)):
        return
    stored = scope.llm.status.workloads or WorkloadsStatus()
    counted = {"primary": stored.primary, "prefill": stored.prefill}
    for each in worked(scope):
        condition = scope.condition(each.condition)
        if condition is not None and is_true(condition) is not each.ready:
            yield each.condition
        entry = counted.get(each.entry)
        if entry is None or entry.ready_replicas is None or entry.name != each.name:
            continue
        if entry.ready_replicas != each.replicas:
            yield f"workloads.{each.entry}.readyReplicas"


def derived(scope: LlmScope) -> tuple[Derived, ...]:
    """Return the status that it should have, while KServe could write one."""
    workloads = tuple(worked(scope))
    if not workloads or invalid_presets(scope) is not None:
        return ()
    return (Derived(scope.ref, derived_status(scope.llm.metadata.generation, workloads)),)


def worked(scope: LlmScope) -> Iterator[Worked]:
    """Yield what each workload says that is there."""
    for role in scope.roles:
        if role.ref is None:
            continue
        prefill = role.name == "prefill"
        yield Worked(
            condition=_CONDITION[prefill, role.multi],
            ready=_is_available(role),
            entry="prefill" if prefill else "primary",
            name=role.ref.name,
            replicas=role.available,
        )
    if scope.epp is not None:
        available = scope.epp.status.available_replicas
        yield Worked(
            condition=_SCHEDULER,
            ready=available > 0,
            entry="",
            name=scope.epp.name,
            replicas=available,
        )


def _is_available(role: LlmRole) -> bool:
    """Tell what KServe reads: the condition Available, which is True of a workload at zero too."""
    owner = role.deployment or role.group_set
    return owner is not None and is_true(owner.status.condition("Available"))
