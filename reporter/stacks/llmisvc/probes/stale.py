"""llminferenceserviceStatusStale: the stored status is not what the objects show."""

from collections.abc import Iterator
from typing import Final

from reporter.model.finding import Derived, Finding
from reporter.stacks.llmisvc.derived.status import PassStage, derived_status
from reporter.stacks.llmisvc.objects import WorkloadsStatus
from reporter.stacks.llmisvc.probes.last_change import last_change
from reporter.stacks.llmisvc.probes.scope import LlmScope
from reporter.stacks.llmisvc.probes.spec import errors, invalid_presets
from reporter.stacks.llmisvc.probes.worked import counted, worked
from reporter.stacks.llmisvc.reasons import STATUS_STALE
from reporter.workload.owners import is_true, spec_written

_OF_ROUTER: Final = frozenset(
    {
        "RouterReady",
        "GatewaysReady",
        "HTTPRoutesReady",
        "InferencePoolReady",
        "SchedulerWorkloadReady",
        "TokenizerReady",
    }
)


def probe_stale(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding if KServe lags behind the spec, or the status behind the objects."""
    status = scope.llm.status
    if not status.conditions and status.observed_generation is None:
        return
    fields = tuple(contradicted(scope))
    if not scope.observed:
        cause, text = "observedGeneration", "KServe has not looked at its newest spec"
        since, changed = spec_written(scope.llm), scope.llm.created
    elif fields:
        cause, text = fields[0], f"its status does not match its objects, in {', '.join(fields)}"
        text += "".join(f"; {each}" for each in _seen(scope, fields))
        since, changed = None, last_change(scope, fields)
    else:
        return
    yield scope.finding(
        reason=STATUS_STALE,
        related=scope.ref,
        cause=cause,
        text=text,
        transition=since,
        created=changed,
    )


def contradicted(scope: LlmScope) -> Iterator[str]:
    """Yield the conditions and counts that differ from the objects.

    An error ends KServe's pass, and leaves what would have come after it as it was. That a route or
    Gateway is missing may be said of one that is there: KServe reads them from a cache.
    """
    stages, said = _reached(scope), _refer_to_nothing(scope)
    for each in worked(scope) if stages else ():
        condition = scope.condition(each.type)
        if condition is None or each.ready is None:
            continue
        if each.stage not in stages and not (each.type in said and each.ready):
            continue
        if is_true(condition) is not each.ready:
            yield each.type
    if PassStage.ROUTER in stages:
        yield from _miscounted(scope)


def _seen(scope: LlmScope, fields: tuple[str, ...]) -> Iterator[str]:
    """Yield what the objects of conditions that differ say."""
    return (each.seen for each in worked(scope) if each.seen and each.type in fields)


def _reached(scope: LlmScope) -> frozenset[PassStage]:
    """Return the stages that KServe's last pass came through."""
    if not scope.observed or invalid_presets(scope) is not None:
        return frozenset()
    failed = {each.type for each in errors(scope)} | _refer_to_nothing(scope)
    if not failed:
        return frozenset(PassStage)
    return frozenset({PassStage.WORKLOADS}) if failed <= _OF_ROUTER else frozenset()


def _refer_to_nothing(scope: LlmScope) -> frozenset[str]:
    """Return the conditions that say that a route or Gateway is missing: KServe looks at no more then."""
    return frozenset(
        name
        for name in _OF_ROUTER
        if (condition := scope.condition(name)) is not None and condition.reason == "RefsInvalid"
    )


def _miscounted(scope: LlmScope) -> Iterator[str]:
    stored = scope.llm.status.workloads or WorkloadsStatus()
    told = {"primary": stored.primary, "prefill": stored.prefill}
    for each in counted(scope):
        entry = told.get(each.entry)
        if entry is None or entry.ready_replicas is None or entry.name != each.name:
            continue
        if entry.ready_replicas != each.replicas:
            yield f"workloads.{each.entry}.readyReplicas"


def derived(scope: LlmScope) -> tuple[Derived, ...]:
    """Return the status that it should have, while KServe could write one."""
    found = tuple(worked(scope))
    if not any(each.stage is PassStage.WORKLOADS for each in found) or invalid_presets(scope):
        return ()
    status = derived_status(scope.llm.metadata.generation, found, counted(scope))
    return (Derived(scope.ref, status),)
