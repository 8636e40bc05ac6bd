"""Rules 1 and 2: since when a fault lasts, and when it has lasted long enough to fire.

Most faults that one can see in a cluster heal by themselves within a minute, so a fault has to last
before it is told. Prometheus has `for`: its clock begins when the rule is first true. That is too
late here: a reporter that starts next to a pod which has been broken for an hour would wait again,
and one that is restarted every minute would never tell anything. Kubernetes says more: a condition
has a `lastTransitionTime`, which moves with its status only (Kubernetes API conventions, "Typical
status properties"). So that time counts, where it can be believed:

- It is 1970 in conditions that no controller has touched: the CRD of Gateways creates them with
  that default (Gateway API, apis/v1/gateway_types.go).
- It may lie before the object's creation, when a backup was restored, or in the future, when the
  clock of another machine is ahead.

Without such a time the object's creation is only believed while the object is younger than the
grace and no earlier pass saw it without the fault. To believe it always fails: a Deployment that is
a week old and breaks now would be told at once, and a model that is edited in its first hour when
it is as old as its start-up budget. To ignore it fails too: each new object would have its grace
twice after a restart.

In one look nobody knows more, and a fault without a time counts as old enough to be told; but
nothing has been wrong with a subject for longer than the subject exists.

A budget is what may rightly take long, such as loading a model. It has a clock of its own for the
same object (`FaultKey`). With one clock for both, a pod that loaded for twenty minutes and then
crashed for a second would be told without any grace; and a pod that loads and crashes by turns
would never be told if each began the other's time again.

Ages are the larger of two: by the time of day, which survives restarts, and by the boot clock,
which nobody can set back.

What a leader hands on of the faults that have not been told yet: our Events on record say since
when a fault lasts that has fired. Of one in its grace nobody but the processes that saw it begin
know that. If each of them ends before the grace does, as where memory runs out every few minutes,
the fault would never be told. So the leader writes the starts of these faults on its Lease, which
it renews anyway, and whoever comes next takes them over: a standby that has started later, or a new
process. What stands in an object as the time of a condition can be read again and is left out. The
text is bounded, and names nothing: an entry is a hash.
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
"""How long a recovery may stay at a step. The kubelet waits 5 min at most between two tries."""


@dataclass(frozen=True, slots=True)
class OneLook:
    """An evaluation without earlier passes, as `check` makes it.

    A finding without a time of its own counts as first seen `observed_for` ago; None stands for
    as long as it needs to fire. Neither is longer than its subject exists. Without `metrics` of
    pods, what a daemon has told of them goes on.
    """

    observed_for: timedelta | None = None
    metrics: bool = True


@dataclass(frozen=True, slots=True)
class Fault:
    """What is seen of one object under one key, with its place in time.

    It is remembered by `clock`. `finding` is the worst one, and `says` speaks for it: the
    remembered one while the present one is within its own time, as when a crashed container runs
    again without being Ready; `passing_since` is since when it has the words of before a passing
    state.

    `remaining` is how long it must still last to fire by its own clock, until it is ripe. `next_in`
    is the time until another of its findings is ripe, None where none will be. `began_seen` is when
    each present start of a budget was first seen, on the boot clock. `age_known`: `since` rests on
    a time that was seen or stands in the object.
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
    """Return the grace of a reason: set for it alone, its own, or the global one.

    A global grace of 0 turns the catalogue's own graces off too; one that the user set for a
    single reason stays.
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
    one_look: OneLook | None,
    subject_created: datetime | None = None,
    judged: datetime | None = None,
    handed: datetime | None = None,
) -> Fault:
    """Return the findings of one clock as a fault: since when it lasts and whether it is ripe.

    Several findings about one object are one fault; the worst whose time has come speaks for it.
    Once it was ripe it stays so, for another cause of it is no other fault; a budget may begin
    again. `subject_created` is when the subject of the findings was made, which one look goes by.
    `judged` is when an earlier pass looked at the same reason, `handed` when another process saw
    the fault begin.
    """
    before = remembered
    if remembered is not None and not remembered.is_of(findings[0].related):
        remembered = None
    if remembered is None:
        since_when = partial(
            _since, now=now, settings=settings, one_look=one_look,
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
    """Return what to say of a finding: while it is passing, what was said before.

    A container that crashes alternates between two states, and one that recovers passes some. To
    tell each would be a write each time, and the last of them would be what a closed Event says of
    its cause. An object that was missing and is made again recovers too. What does not move on for
    `PASSING` is told as it is, and so is what rests on another node than before: the earlier words
    are about that one.
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
    """Return the fault that fired for the same object and that a finding continues, if any.

    `next_in` is the time until the finding is ripe by itself, None where it never will be.
    """
    for clock in ((finding.related, False), (finding.related, True)):
        remembered = faults.get(clock)
        if remembered is None or not remembered.told or not remembered.is_of(finding.related):
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
    """Return what findings are ordered by: never by the order of a list."""
    return (-finding.severity, finding.related, finding.message)


def believed_transition(finding: Finding) -> datetime | None:
    """Return when the condition took the status that is the fault, if that can be believed."""
    if finding.transition is None or finding.transition < _NEVER:
        return None
    return max(finding.transition, finding.created or finding.transition)


def _since(
    finding: Finding,
    *,
    now: Instant,
    settings: EvaluationSettings,
    one_look: OneLook | None,
    subject_created: datetime | None,
    judged: datetime | None,
) -> tuple[datetime, bool]:
    """Return since when a fault that is not remembered lasts, and whether anything tells."""
    transition = believed_transition(finding)
    if transition is not None:
        return min(transition, now.wall), True
    grace = grace_of(finding.reason, settings, exempt=finding.exempt)
    delay = max(grace, finding.budget or ZERO)
    created = finding.created
    seen_without = created is not None and judged is not None and created < judged
    if created is not None and not seen_without and now.wall - created < delay:
        return min(created, now.wall), True
    if one_look is None:
        return now.wall, True
    observed_for = one_look.observed_for
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
    if began is not None:  # what the budget is for may have begun again
        spent = max(now.wall - began, now.boot - _began_seen(began, remembered, now), ZERO)
    return max(remaining, finding.budget - spent)


def _began_seen(began: datetime, remembered: FaultMemory | None, now: Instant) -> timedelta:
    return remembered.began_seen.get(began, now.boot) if remembered is not None else now.boot


@dataclass(frozen=True, slots=True)
class Start:
    """Since when a fault lasts, as another process saw it: to the second, never too early.

    `object` is a hash of the uid of the object at fault; empty where that process did not know it.
    """

    since: datetime
    object: str = ""


Handed: TypeAlias = Mapping[str, Start]
"""What was handed on, by tokens."""

NOTHING: Final[Handed] = {}

MOST: Final = 200
"""How many are handed on: 8 kB at most, which are written with each renewal. Those in their grace
come first, then the oldest: what is past it and not told is suppressed, held or secondary, and may
be many."""

WITHIN: Final = timedelta(minutes=6)
"""How long nobody may have looked. The kubelet waits 5 min at most before it starts a container
again that crashed (Kubernetes, "Pod Lifecycle", restart policy); a fault that is seen before and
after that is taken for the same."""


def token(key: FindingKey, clock: FaultKey) -> str:
    """Return what a fault is called on the Lease."""
    related, budgeted = clock
    return _hash("\n".join(map(str, (*key, related, budgeted))), 12)


def _hash(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def _object(uid: str) -> str:
    return _hash(uid, 8) if uid else ""


def since_of(handed: Handed, key: FindingKey, clock: FaultKey) -> datetime | None:
    """Return since when a fault lasts by what was handed on, None if that says nothing of it.

    Another object of the same name is another fault. Where one process does not know the uid, as of
    a Deployment that is missing, the name decides.
    """
    start = handed.get(token(key, clock)) if handed else None
    if start is None:
        return None
    found = _object(clock[0].uid)
    return start.since if not found or not start.object or found == start.object else None


def hand_on(memory: Memory) -> str:
    """Return the starts of the faults that are remembered and not told, as text; maybe empty."""
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
            if not fault.told and not stands:
                yield fault.ripe, fault.since, key, clock, fault.uid


def take_over(text: str, renewed: datetime | None, now: datetime) -> Handed:
    """Read what a process that was there last when it `renewed` handed on.

    That is nothing if it was too long ago, or is no such text.
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
