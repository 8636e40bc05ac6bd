"""Rules 1 and 2: since when a fault lasts, and when it has lasted long enough to fire."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from reporter.catalogue.reasons import BY_NAME
from reporter.model.finding import Finding
from reporter.model.instant import Instant
from reporter.model.subject import ObjectRef
from reporter.resolution.memory import FaultMemory
from reporter.settings import EvaluationSettings

_NEVER = datetime(1971, 1, 1, tzinfo=UTC)
"""Times before this are the zero default of a condition, not a transition (sheet 7.1)."""

ZERO = timedelta(0)


@dataclass(frozen=True, slots=True)
class OneLook:
    """An evaluation without earlier passes, as `check` makes it.

    A finding without a time of its own counts as first seen `observed_for` ago; None stands for
    as long as it needs to fire.
    """

    observed_for: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """A finding with its place in time.

    `remaining` is how long it must still last to fire by its own clock; zero once it is ripe.
    `says` is the finding that speaks for it: the remembered one while the present one is within
    its own time, as when a crashed container runs again without being Ready.
    """

    finding: Finding
    says: Finding
    since: datetime
    first_seen: timedelta
    ripe: bool
    remaining: timedelta


def global_grace(settings: EvaluationSettings) -> timedelta:
    """Return the global grace."""
    return timedelta(seconds=settings.startup_grace_seconds)


def grace_of(reason: str, settings: EvaluationSettings, *, exempt: bool = False) -> timedelta:
    """Return the grace of a reason: set for it alone, its own, or the global one.

    A global grace of 0 turns the catalogue's own graces off too; one that the user set for a
    single reason stays.
    """
    if exempt:
        return ZERO
    chosen = settings.grace.get(reason)
    if chosen is not None:
        return timedelta(seconds=chosen)
    own = BY_NAME[reason].grace_seconds
    if settings.startup_grace_seconds == 0 or own is None:
        return global_grace(settings)
    return timedelta(seconds=own)


def recovery_time(reason: str, settings: EvaluationSettings) -> timedelta:
    """Return how long a fault must be gone to count as recovered (rule 6)."""
    return min(grace_of(reason, settings), global_grace(settings))


def place_in_time(
    finding: Finding,
    remembered: FaultMemory | None,
    now: Instant,
    settings: EvaluationSettings,
    one_look: OneLook | None,
) -> Fault:
    """Return a finding as a fault: since when it lasts and whether it is ripe."""
    if remembered is not None and not remembered.is_of(finding.related):
        remembered = None
    grace = grace_of(finding.reason, settings, exempt=finding.exempt)
    delay = max(grace, finding.budget or ZERO)
    if remembered is None:
        since = _since(finding, delay, now, one_look)
        first_seen = now.boot
    else:
        since, first_seen = remembered.since, remembered.first_seen
    age = max(now.wall - since, now.boot - first_seen, ZERO)
    remaining = max(grace - age, ZERO)
    if finding.budget is not None:
        began = _transition(finding)
        spent = age if began is None else max(now.wall - began, ZERO)
        remaining = max(remaining, finding.budget - spent)
    fault = Fault(finding, finding, since, first_seen, remaining <= ZERO, remaining)
    if not fault.ripe and remembered is not None and remembered.ripe:
        return replace(fault, says=remembered.finding or finding, ripe=True, remaining=ZERO)
    return fault


def sustained(finding: Finding, faults: Mapping[ObjectRef, FaultMemory]) -> Fault | None:
    """Return the fault that a sustaining finding keeps alive, None where none fired before."""
    remembered = faults.get(finding.related)
    if remembered is None or not remembered.ripe or not remembered.is_of(finding.related):
        return None
    says = remembered.finding or finding
    return Fault(finding, says, remembered.since, remembered.first_seen, ripe=True, remaining=ZERO)


def _transition(finding: Finding) -> datetime | None:
    """Return when the condition took the status that is the fault, if that can be believed."""
    if finding.transition is None or finding.transition < _NEVER:
        return None
    return max(finding.transition, finding.created or finding.transition)


def _since(finding: Finding, delay: timedelta, now: Instant, one_look: OneLook | None) -> datetime:
    transition = _transition(finding)
    if transition is not None:
        return min(transition, now.wall)
    if finding.created is not None and now.wall - finding.created < delay:
        return min(finding.created, now.wall)
    if one_look is not None:
        return now.wall - (delay if one_look.observed_for is None else one_look.observed_for)
    return now.wall
