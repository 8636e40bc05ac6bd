"""What is remembered of the status of one ModelServing that is ours to write."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from operator import is_
from typing import Final

from reporter.model.instant import Instant

LONGEST: Final = timedelta(minutes=10)
"""The longest time to stand back, and between tries of a field that was dropped."""

NEVER: Final = timedelta(days=-36_500)
"""A time on the boot clock before all others."""


AT_ONCE: Final = 40
"""Writes of one object that are made without a pause within a minute."""

PAUSE: Final = timedelta(seconds=6)
"""The shortest time between further ones, so that 10 go on to be made in a minute."""

_MINUTE: Final = timedelta(minutes=1)


class TroubleKind(StrEnum):
    """Why we do not own a status."""

    CONTESTED = "contested"
    PRUNED = "pruned"


@dataclass(frozen=True, slots=True)
class Trouble:
    """A status that we do not own although we should.

    Attributes:
        kind: somebody else changes it again and again, or the API server drops fields.
        since: when that was found.
        fields: paths of what is concerned: `status.roleStatuses`.
        manager: somebody else who writes this status; empty if nobody is known.

    """

    kind: TroubleKind
    since: datetime
    fields: tuple[str, ...]
    manager: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API server made of our last write of an object.

    Attributes:
        number: larger for later answers.
        before: the version that was written over.
        version: the version since; the same where nothing had to be changed.
        stored: digest of what is ours in the answer; None if nothing was stored.
        asked: digest of what was written.
        left_out: fields that were not written, because they had been dropped before.
        pruned: fields that were written and are not in the answer.

    """

    number: int
    before: str
    version: str
    stored: str | None
    asked: str
    left_out: tuple[str, ...] = ()
    pruned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RewriteInterval:
    """A wait that doubles: from one resync up to `LONGEST`."""

    level: int = 0
    wait: timedelta = timedelta()
    until: timedelta = NEVER
    since: datetime | None = None

    def raised(self, now: Instant, resync: timedelta) -> "RewriteInterval":
        """Return the next longer wait, from now on."""
        wait = min(LONGEST, self.wait * 2 or resync)
        return RewriteInterval(self.level + 1, wait, now.boot + wait, self.since or now.wall)


@dataclass(frozen=True, slots=True)
class WritePace:
    """When an object was written, on the boot clock, within the last minute."""

    writes: tuple[timedelta, ...] = ()

    def written(self, now: Instant) -> "WritePace":
        """Return the pace after one more write."""
        return WritePace((*(each for each in self.writes if now.boot - each < _MINUTE), now.boot))

    def pause(self, now: Instant) -> timedelta | None:
        """Return how long the next write has to wait; None if it is free."""
        recent = [each for each in self.writes if now.boot - each < _MINUTE]
        if len(recent) < AT_ONCE or now.boot - recent[-1] >= PAUSE:
            return None
        return recent[-1] + PAUSE - now.boot


@dataclass(frozen=True, slots=True)
class Compared:
    """What is stored and what is wanted, as digests of our share.

    Attributes:
        sources: what they were made of, for the next pass that has the same.
        found: what is stored.
        kept: the same without the fields that are left out.
        wanted: what is wanted, without the fields that are left out.

    """

    sources: tuple[object, ...]
    found: str
    kept: str
    wanted: str

    def rests_on(self, sources: tuple[object, ...]) -> bool:
        """Tell whether these are the very objects that the digests were made of."""
        return all(map(is_, self.sources, sources))


@dataclass(frozen=True, slots=True)
class Ownership:
    """What is remembered of one object; times are on the boot clock.

    Attributes:
        answer: the last one that was taken in.
        ours: digest of what is ours as our last write left it; empty if there was none.
        asked: digest of what that write asked for.
        planned: digests of what was to be written and whose answers are not in.
        seen: digest of what was ours when it was last looked at.
        counted: version of the last change of somebody else that was counted.
        changes: when others changed what is ours, within the last resync.
        wrote: when the answer to our last write was taken in.
        stirred: when somebody else last changed what is ours, or we first wrote again after that.
        contest: how long to stand back.
        pruned: fields that the API server drops.
        pruning: when to try them again.
        manager: who else writes this status.
        pace: when it was written.
        compared: what was compared last; a matter of speed only.

    """

    answer: Answer | None = None
    ours: str = ""
    asked: str = ""
    planned: tuple[str, ...] = ()
    seen: str = ""
    counted: str = ""
    changes: tuple[timedelta, ...] = ()
    wrote: timedelta = NEVER
    stirred: timedelta = NEVER
    contest: RewriteInterval = RewriteInterval()
    pruned: tuple[str, ...] = ()
    pruning: RewriteInterval = RewriteInterval()
    manager: str = ""
    pace: WritePace = WritePace()
    compared: Compared | None = field(default=None, repr=False, compare=False)

    def troubles(self, *, whole: bool) -> tuple[Trouble, ...]:
        """Return what keeps us from owning this status."""
        found = []
        if self.contest.since is not None:
            what = ("status",) if whole else ("status.roleStatuses",)
            found.append(Trouble(TroubleKind.CONTESTED, self.contest.since, what, self.manager))
        if self.pruned and self.pruning.since is not None:
            fields = tuple(f"status.{name}" for name in self.pruned)
            found.append(Trouble(TroubleKind.PRUNED, self.pruning.since, fields))
        return tuple(found)
