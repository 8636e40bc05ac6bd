"""At most so many Events for one ModelServing in a minute; what is over is counted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from reporter.model.instant import Instant
from reporter.stacks.kthena.derived.role_changes import RoleChange

MOST: Final = 10
"""Events for one object in any `WITHIN`."""

WITHIN: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Telling:
    """A change to be told.

    Attributes:
        change: what is told.
        untold: how many before it are not told one by one.
        at: when it was seen, where it had to wait; it may be the past by now.

    """

    change: RoleChange
    untold: int = 0
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ObjectPace:
    """What is remembered of one object.

    Attributes:
        told: when its last Events were told, on the boot clock, within the last minute.
        waiting: the newest change that was not told yet.

    """

    told: tuple[timedelta, ...] = ()
    waiting: Telling | None = None


@dataclass(frozen=True, slots=True)
class Paced:
    """What to tell now, what the next pass is given, and when more may be told."""

    tellings: tuple[Telling, ...] = ()
    paces: Mapping[str, ObjectPace] = field(default_factory=dict)
    next_in: timedelta | None = None


def paced(paces: Mapping[str, ObjectPace], changes: Iterable[RoleChange], now: Instant) -> Paced:
    """Return what of the changes to tell.

    The last place of a minute is kept for the newest change, so that a burst ends with what is
    there now and with the number of changes that it is told in place of.

    Args:
        paces: what the last pass returned, by uid.
        changes: of this pass, in the order in which they are to be told.
        now: the time of the pass.

    """
    waiting: dict[str, list[RoleChange]] = {}
    for change in changes:
        waiting.setdefault(change.object.uid, []).append(change)
    tellings: list[Telling] = []
    kept: dict[str, ObjectPace] = {}
    waits = []
    for uid in dict.fromkeys((*paces, *waiting)):
        told, pace = _one(paces.get(uid, ObjectPace()), waiting.get(uid, ()), now)
        tellings += told
        if pace.told:
            kept[uid] = pace
        if pace.waiting is not None:
            waits.append(_free_at(pace.told) - now.boot)
    return Paced(tuple(tellings), kept, min(waits, default=None))


def _one(
    pace: ObjectPace, changes: Iterable[RoleChange], now: Instant
) -> tuple[list[Telling], ObjectPace]:
    recent = tuple(each for each in pace.told if now.boot - each < WITHIN)
    pending = [Telling(each) for each in changes]
    if pace.waiting is not None:
        pending.insert(0, pace.waiting)
    free = MOST - len(recent)
    if not free and pending:
        latest = _merged(pending)
        return [], ObjectPace(recent, replace(latest, at=latest.at or now.wall))
    if len(pending) > free:
        pending = [*pending[: free - 1], _merged(pending[free - 1 :])]
    return pending, ObjectPace(recent + (now.boot,) * len(pending))


def _merged(tellings: Sequence[Telling]) -> Telling:
    """Return the newest of some tellings, which counts the others."""
    untold = sum(each.untold for each in tellings) + len(tellings) - 1
    return replace(tellings[-1], untold=untold)


def _free_at(told: tuple[timedelta, ...]) -> timedelta:
    """Return when a place is free again, on the boot clock."""
    return told[-MOST] + WITHIN
