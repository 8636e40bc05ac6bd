"""inferenceserviceTrafficNotAsSpecified (KServe sheet 4.3)."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from reporter.catalogue.inferenceservice import ROLLOUT_SECONDS, TRAFFIC
from reporter.derived.inferenceservice.components import Component, spec_of
from reporter.derived.inferenceservice.reading import (
    Conclusion,
    asked_traffic,
    latest_entry,
    read_component,
)
from reporter.derived.inferenceservice.revisions import WHOLE
from reporter.model.finding import Finding
from reporter.model.kserve import ComponentStatus
from reporter.probes.inferenceservice.scope import View, finding_about, with_traffic, words
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot

_MISSING: Final = 40
_UNASSIGNED: Final = 30
_NO_TARGET: Final = 20
_INCOMPLETE: Final = 15
_OTHER: Final = 10


@dataclass(frozen=True, slots=True)
class _Fault:
    cause: str
    text: str
    severity: int
    migrates: bool = False


def probe_traffic(view: View, _: Snapshot, __: EvaluationSettings) -> Iterator[Finding]:
    """Yield the worst of what is wrong with the route of each component; Knative mode."""
    if not view.in_knative_mode:
        return
    for component in view.components:
        fault = _judge(view, component)
        if fault is None:
            continue
        route = view.condition(component.route_ready)
        why = "" if route is None or route.status == "True" else f"; {route.type}: {words(route)}"
        yield finding_about(
            view,
            reason=TRAFFIC,
            related=view.object_ref(component),
            cause=fault.cause,
            text=f"{component}: {fault.text}{why}",
            severity=fault.severity,
            budget=timedelta(seconds=ROLLOUT_SECONDS) if fault.migrates else None,
        )


def _judge(view: View, component: Component) -> _Fault | None:
    status = view.status_of(component)
    if not status.latest_ready_revision:
        return None
    if not status.traffic:
        return _Fault("no traffic", "no revision gets requests", _UNASSIGNED)
    spec = spec_of(view.inferenceservice.spec, component)
    percent = spec.canary_traffic_percent if spec else None
    return (
        _missing_target(view, status)
        or _incomplete(status)
        or _without_target(status, percent)
        or _not_as_asked(status, percent)
    )


def _missing_target(view: View, status: ComponentStatus) -> _Fault | None:
    """Return the fault of a route that names a revision that does not exist."""
    if not view.revisions:  # unknown, or none is seen by its label
        return None
    there = {each.name for each in view.revisions}
    gone = sorted({each.revision_name for each in with_traffic(status)} - there - {""})
    if not gone:
        return None
    names = ", ".join(gone)
    return _Fault(f"revision {names} missing", f"requests go to revision {names}, which does not exist", _MISSING)  # fmt: skip


def _incomplete(status: ComponentStatus) -> _Fault | None:
    percents = [each.percent for each in status.traffic or () if each.percent is not None]
    if not percents or sum(percents) == WHOLE:
        return None
    text = f"the percents of its route sum up to {sum(percents)}, not 100"
    return _Fault(f"{sum(percents)} percent assigned", text, _INCOMPLETE)


def _without_target(status: ComponentStatus, percent: int | None) -> _Fault | None:
    """Return the fault of a canary percent that wants to leave the only revision there was."""
    told = read_component(status, percent)
    if percent is None or percent >= WHOLE or Conclusion.SPLIT_OVER_ONE not in told:
        return None
    revision = status.latest_ready_revision
    if Conclusion.NO_FALLBACK in told and Conclusion.NEWEST_NOT_READY not in told:
        return _Fault(
            "no revision to go back to",
            f"canaryTrafficPercent is {percent}, and there is no earlier revision to go back to: "
            f"all requests go to {revision}",
            _NO_TARGET,
        )
    return _Fault(
        f"all requests go to {revision}",
        f"canaryTrafficPercent is {percent}, and all requests still go to {revision}",
        _OTHER,
        migrates=True,
    )


def _not_as_asked(status: ComponentStatus, percent: int | None) -> _Fault | None:
    """Return the fault of a route whose latest entry has another percent than the spec asks for."""
    entry = latest_entry(status)
    asked = asked_traffic(percent, status.latest_rolledout_revision)[0].percent
    if entry is None or entry.percent is None or entry.percent == asked:
        return None
    return _Fault(
        f"{entry.percent} percent instead of {asked}",
        f"revision {status.latest_ready_revision} gets {entry.percent} percent of the requests, "
        f"and the spec asks for {asked}",
        _OTHER,
        migrates=True,
    )
