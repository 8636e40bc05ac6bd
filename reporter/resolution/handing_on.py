"""Rule 1: what a leader hands on of the faults that have not been told yet.

Our Events on record say since when a fault lasts that has fired. Of one in its grace nobody but the
processes that saw it begin know that. If each of them ends before the grace does, as where memory runs
out every few minutes, the fault would never be told. So the leader writes the starts of these faults on
its Lease, which it renews anyway, and whoever comes next takes them over: a standby that has started
later, or a new process.

What stands in an object as the time of a condition can be read again and is left out. The text is
bounded, and names nothing: an entry is a hash.
"""

import hashlib
import heapq
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

import msgspec

from reporter.model.finding import FindingKey
from reporter.resolution.grace import believed_transition
from reporter.resolution.memory import FaultKey, Memory


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
"""How many are handed on: 8 kB at most, which are written with each renewal. Those in their grace come
first, then the oldest: what is past it and not told is suppressed, held or secondary, and may be many."""

WITHIN: Final = timedelta(minutes=6)
"""How long nobody may have looked. The kubelet waits 5 min at most before it starts a container again
that crashed (Kubernetes, "Pod Lifecycle", restart policy); a fault that is seen before and after that is
taken for the same."""


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
    """Return the starts of the faults that are remembered and not told, as text; empty without any."""
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
