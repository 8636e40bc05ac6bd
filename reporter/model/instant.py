"""The one moment a pass takes place."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass(frozen=True, slots=True)
class Instant:
    """One moment on two clocks.

    `wall` is the time of day (UTC, aware), comparable with timestamps of API objects. `boot` is
    the time since some fixed point on a clock that counts suspend and is never set
    (CLOCK_BOOTTIME): intervals that must survive a wall-clock jump are measured on it.
    """

    wall: datetime
    boot: timedelta

    def after(self, seconds: float) -> "Instant":
        step = timedelta(seconds=seconds)
        return Instant(self.wall + step, self.boot + step)

    def boot_of(self, wall: datetime) -> timedelta:
        """Return where `wall` lies on the boot clock, never later than this moment."""
        return min(self.boot, self.boot - (self.wall - wall))


def rfc3339(moment: datetime) -> str:
    return _utc(moment).isoformat(timespec="seconds") + "Z"


def rfc3339_micro(moment: datetime) -> str:
    return _utc(moment).isoformat(timespec="microseconds") + "Z"


def _utc(moment: datetime) -> datetime:
    """Return the time of day in UTC; one that its offset moves out of the calendar stays."""
    try:
        return moment.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        return moment.replace(tzinfo=None)


def parse_rfc3339(text: str) -> datetime:
    """Parse an RFC 3339 time with a zone. Raises ValueError: the text is no time, has no zone, or
    is beyond the calendar in UTC.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; write it like 2026-11-20T12:00:00Z")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{text!r} is beyond the calendar in UTC") from error
