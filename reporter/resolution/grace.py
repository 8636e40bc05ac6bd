"""Rules 1 and 2: when a fault began, and when it has lasted long enough to fire.

Most faults in a cluster heal within a minute, so a fault has to last before it is reported.
Prometheus has `for`: its clock starts when the rule is first true. That is too late here: a
reporter that starts next to a pod which has been broken for an hour would wait again, and a
reporter that is restarted every minute would never report anything. Kubernetes knows more: a
condition has a `lastTransitionTime`, which changes with its status only (Kubernetes API
conventions, "Typical status properties"). So that time counts, if it is plausible:

- It is 1970 in conditions that no controller has touched: the CRD of Gateways creates them with
  that default (Gateway API, apis/v1/gateway_types.go).
- It may be before the object's creation, after a backup was restored, or in the future, if the
  clock of another machine is ahead.

Without such a time, the object's creation counts, but only while the object is younger than the
grace and no earlier pass saw it without the fault. Always using it fails: a week-old Deployment
that breaks now would be reported at once, and so would a model that is edited in its first hour and
is as old as its start-up budget. Ignoring it fails too: each new object would have its grace twice
after a restart.

A single pass knows nothing else, so a fault without a time counts as old enough to be reported, but
never as older than its subject.

A budget is for what may legitimately take long, such as loading a model. It has its own clock for
the same object (`FaultKey`). With one clock for both, a pod that loaded for twenty minutes and then
crashed for a second would be reported without any grace; and a pod that alternates between loading
and crashing would never be reported if each reset the other's clock.

An age is the larger of two: by the time of day, which survives restarts, and by the boot clock,
which nobody can set back.

A leader hands on the starts of faults that are not reported yet. Our recorded Events contain the
start of a fault that has fired, but only the processes that saw a fault begin know the start of one
in its grace. If each of them ended before the grace, as when memory runs out every few minutes, the
fault would never be reported. So the leader writes these starts on its Lease, which it renews
anyway, and the next leader takes them over, whether it is a standby or a new process. A start that
is the time of a condition can be read again and is left out. The text is bounded and contains
hashes, not names.
"""

import hashlib
import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, TypeAlias

import msgspec

from reporter.model.finding import Finding, FindingKey
from reporter.model.instant import Instant
from reporter.model.subject import ObjectRef
from reporter.resolution.memory import FaultKey, FaultMemory, Memory, fault_key
from reporter.settings import EvaluationSettings

_NEVER = datetime(1971, 1, 1, tzinfo=UTC)
"""Times before this are the zero default of a condition, not a transition."""

ZERO = timedelta(0)

PASSING: Final = timedelta(minutes=10)
"""How long a recovery may stay at a step. The kubelet waits at most 5 min between two tries."""


@dataclass(frozen=True, slots=True)
class SinglePass:
    """An evaluation without earlier passes, as `check` makes it.

    A finding without a time of its own counts as first seen `observed_for` ago, or, with None, as
    old as it needs to be to fire, but never as older than its subject. Without `metrics` of pods,
    the faults that a daemon reported from them continue.
    """

    observed_for: timedelta | None = None
    metrics: bool = True


class Fault(msgspec.Struct, frozen=True, gc=False):
    """The findings of one object under one key, with their timing.

    `clock` is its key in the memory. `finding` is the worst finding; `says` is the finding whose
    message is used, which is an earlier one during a passing state, as when a crashed container
    runs again without being Ready; `passing_since` is when that state began.

    `remaining` is how long it must still last until it is ripe, that is, may fire. `next_in` is the
    time until another of its findings is ripe, or None. `began_seen` is when each current start of
    a budget was first seen, on the boot clock. `age_known`: `since` is a time that was seen or that
    the object contains.
    """

    clock: FaultKey
    finding: Finding
    says: Finding
    since: datetime
    first_seen: timedelta
    ripe: bool
    remaining: timedelta
    next_in: timedelta | None
    began_seen: Mapping[datetime, timedelta]
    age_known: bool = True
    passing_since: timedelta | None = None


def global_grace(settings: EvaluationSettings) -> timedelta:
    return timedelta(seconds=settings.startup_grace_seconds)


def grace_of(reason: str, settings: EvaluationSettings, *, exempt: bool = False) -> timedelta:
    """Return the grace of a reason: set by the user, from the catalogue, or the global one.

    A global grace of 0 turns off the catalogue's graces too, but not those that the user set for
    single reasons.
    """
    if exempt:
        return ZERO
    chosen = settings.grace.get(reason)
    if chosen is not None:
        return timedelta(seconds=chosen)
    own = settings.catalogue[reason].grace_seconds
    if settings.startup_grace_seconds == 0 or own is None:
        return global_grace(settings)
    return timedelta(seconds=own)


def recovery_time(reason: str, settings: EvaluationSettings, *, exempt: bool = False) -> timedelta:
    """Return how long a fault must be gone to count as recovered (rule 6)."""
    if exempt:
        return global_grace(settings)
    return min(grace_of(reason, settings), global_grace(settings))


def place_in_time(
    findings: Sequence[Finding],
    remembered: FaultMemory | None,
    now: Instant,
    *,
    settings: EvaluationSettings,
    single_pass: SinglePass | None,
    subject_created: datetime | None = None,
    judged: datetime | None = None,
    handed: datetime | None = None,
) -> Fault:
    """Return the findings of one clock as a fault: when it began and whether it is ripe.

    Several findings about one object are one fault; the worst ripe one provides the message. A ripe
    fault stays ripe if its cause changes, unless it has a budget, which may start again.
    `subject_created` limits the age in a single pass. `judged` is when an earlier pass could judge
    the same reason, `handed` when another process saw the fault begin.
    """
    before = remembered
    if remembered is not None and not remembered.is_of(findings[0].related):
        remembered = None
    if remembered is None:
        since_when = partial(
            _since, now=now, settings=settings, single_pass=single_pass,
            subject_created=subject_created, judged=judged,
        )  # fmt: skip
        since, age_known = min(map(since_when, findings), key=lambda each: (each[0], not each[1]))
        first_seen = now.boot
    else:
        since, first_seen = min(remembered.since, now.wall), remembered.first_seen
        age_known = True
    if handed is not None and handed < since:
        since, age_known = handed, True
    age = max(now.wall - since, now.boot - first_seen, ZERO)
    left = [
        (each, _remaining(each, age, remembered, now=now, settings=settings)) for each in findings
    ]
    ripe = [each for each, remaining in left if remaining <= ZERO]
    goes_on = remembered is not None and remembered.ripe and findings[0].budget is None
    worst = min(ripe or findings, key=severity_key)
    says, passing_since = _words(worst, remembered if worst.about else before, now)
    return Fault(
        clock=fault_key(worst),
        finding=worst,
        says=says,
        since=since,
        first_seen=first_seen,
        ripe=bool(ripe) or goes_on,
        remaining=min(remaining for _, remaining in left),
        next_in=min((remaining for _, remaining in left if remaining > ZERO), default=None),
        began_seen={
            began: _began_seen(began, remembered, now)
            for began in map(believed_transition, findings)
            if began is not None
        },
        age_known=age_known,
        passing_since=passing_since,
    )


def _words(
    finding: Finding, remembered: FaultMemory | None, now: Instant
) -> tuple[Finding, timedelta | None]:
    """Return a finding with the message to use: during a passing state, the earlier message.

    A crashing container alternates between two states, and a recovering one goes through several.
    Reporting each would cost a write each time, and the closed Event would name the last of them as
    the cause. An object that was missing and is created again recovers too. A state that lasts for
    `PASSING` is reported as it is; so is one that depends on another node, because the earlier
    message is about the former node.
    """
    if not finding.passing or remembered is None:
        return finding, None
    before = remembered.finding
    if before is None or before.passing or before.lost_node != finding.lost_node:
        return finding, None
    since = now.boot if remembered.passing_since is None else remembered.passing_since
    same = before.about == finding.about if finding.about else before.severity == finding.severity
    if not same or now.boot - since >= PASSING:
        return finding, None
    kept = replace(
        finding,
        message=before.message,
        cause=before.cause,
        diagnosis=before.diagnosis,
        about=before.about,
        passing=False,
    )
    return kept, since


def sustained(
    finding: Finding, faults: Mapping[FaultKey, FaultMemory], next_in: timedelta | None = None
) -> Fault | None:
    """Return the fired fault of the same object that a finding continues, or None.

    `next_in` is the time until the finding itself is ripe, None if it never will be.
    """
    for clock in ((finding.related, False), (finding.related, True)):
        remembered = faults.get(clock)
        if remembered is None or not remembered.fired or not remembered.is_of(finding.related):
            continue
        says = remembered.finding or finding
        if not finding.sustains and not (finding.lingers and says.lingers):
            continue
        return Fault(
            clock=clock,
            finding=finding,
            says=says,
            since=remembered.since,
            first_seen=remembered.first_seen,
            ripe=True,
            remaining=ZERO,
            next_in=next_in,
            began_seen=remembered.began_seen,
        )
    return None


def severity_key(finding: Finding) -> tuple[int, ObjectRef, str]:
    """Return a sort key that is independent of the order of any list."""
    return (-finding.severity, finding.related, finding.message)


def believed_transition(finding: Finding) -> datetime | None:
    """Return when the condition took the status that is the fault, or None if implausible."""
    if finding.transition is None or finding.transition < _NEVER:
        return None
    return max(finding.transition, finding.created or finding.transition)


def _since(
    finding: Finding,
    *,
    now: Instant,
    settings: EvaluationSettings,
    single_pass: SinglePass | None,
    subject_created: datetime | None,
    judged: datetime | None,
) -> tuple[datetime, bool]:
    """Return the start of a fault that is not remembered, and whether it is known or assumed."""
    transition = believed_transition(finding)
    if transition is not None:
        return min(transition, now.wall), True
    grace = grace_of(finding.reason, settings, exempt=finding.exempt)
    delay = max(grace, finding.budget or ZERO)
    created = finding.created
    seen_without = created is not None and judged is not None and created < judged
    if created is not None and not seen_without and now.wall - created < delay:
        return min(created, now.wall), True
    if single_pass is None:
        return now.wall, True
    observed_for = single_pass.observed_for
    seen_since = now.wall - (delay if observed_for is None else observed_for)
    if subject_created is not None and subject_created > seen_since:
        return min(subject_created, now.wall), True
    return seen_since, observed_for is not None


def _remaining(
    finding: Finding,
    age: timedelta,
    remembered: FaultMemory | None,
    *,
    now: Instant,
    settings: EvaluationSettings,
) -> timedelta:
    remaining = grace_of(finding.reason, settings, exempt=finding.exempt) - age
    if finding.budget is None:
        return remaining
    spent, began = age, believed_transition(finding)
    if began is not None:  # the budget may have started again
        spent = max(now.wall - began, now.boot - _began_seen(began, remembered, now), ZERO)
    return max(remaining, finding.budget - spent)


def _began_seen(began: datetime, remembered: FaultMemory | None, now: Instant) -> timedelta:
    return remembered.began_seen.get(began, now.boot) if remembered is not None else now.boot


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a fault as seen by another process: rounded up to the second.

    `object` is a hash of the uid of the object at fault; empty if that process did not know it.
    """

    since: datetime
    object: str = ""


Handed: TypeAlias = Mapping[str, Start]
"""The starts that were handed on, by token."""

NOTHING: Final[Handed] = {}

MOST: Final = 200
"""How many starts are handed on: at most 8 kB, written with each renewal. Faults in their grace
come first, then the oldest: those past their grace and not reported are suppressed, held or
secondary, and may be many."""

WITHIN: Final = timedelta(minutes=6)
"""The longest gap between two leaders. The kubelet waits at most 5 min before it restarts a crashed
container (Kubernetes, "Pod Lifecycle", restart policy); a fault that is seen before and after the
gap is taken for the same."""


def token(key: FindingKey, clock: FaultKey) -> str:
    """Return the key of a fault on the Lease."""
    related, budgeted = clock
    return _hash("\n".join(map(str, (*key, related, budgeted))), 12)


def _hash(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def _object(uid: str) -> str:
    return _hash(uid, 8) if uid else ""


def since_of(handed: Handed, key: FindingKey, clock: FaultKey) -> datetime | None:
    """Return the start of a fault that was handed on, or None.

    Another object of the same name is another fault. If one of the processes does not know the uid,
    as with a missing Deployment, the name decides.
    """
    start = handed.get(token(key, clock)) if handed else None
    if start is None:
        return None
    found = _object(clock[0].uid)
    return start.since if not found or not start.object or found == start.object else None


def hand_on(memory: Memory) -> str:
    """Return the starts of remembered faults that were not reported, as text; it may be empty."""
    first = heapq.nsmallest(MOST, _untold(memory))
    if not first:
        return ""
    # Rounded up: a grace must not end before its time.
    begun = {
        token(key, clock): f"{math.ceil(since.timestamp())} {_object(uid)}".rstrip()
        for _, since, key, clock, uid in first
    }
    return msgspec.json.encode(begun, order="sorted").decode()


def _untold(memory: Memory) -> Iterator[tuple[bool, datetime, FindingKey, FaultKey, str]]:
    for key, episode in memory.episodes.items():
        for clock, fault in episode.faults.items():
            stands = fault.finding is not None and believed_transition(fault.finding) == fault.since
            if not fault.fired and not stands:
                yield fault.ripe, fault.since, key, clock, fault.uid


def take_over(text: str, renewed: datetime | None, now: datetime) -> Handed:
    """Parse the starts that the former leader, which last `renewed` its Lease then, handed on.

    Return `NOTHING` if that was too long ago or the text is invalid.
    """
    if not text or renewed is None or now - renewed > WITHIN:
        return NOTHING
    try:
        begun = msgspec.json.decode(text, type=dict[str, str])
        parted = {each: value.partition(" ") for each, value in begun.items()}
        return {
            each: Start(datetime.fromtimestamp(int(seconds), UTC), uid)
            for each, (seconds, _, uid) in parted.items()
        }
    except (msgspec.DecodeError, OverflowError, OSError, ValueError):
        return NOTHING
