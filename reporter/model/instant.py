"""The time of a pass."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass(frozen=True, slots=True)
class Instant:
    """One moment on two clocks.

    `wall` is the time of day (UTC, aware), comparable with timestamps of API objects. `boot` is the
    time since a fixed point on a clock that counts suspend and is never set (CLOCK_BOOTTIME); it
    measures intervals that must survive a jump of the wall clock.
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
    """Return the time in UTC, or as given if its offset moves it out of the calendar."""
    try:
        return moment.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        return moment.replace(tzinfo=None)


def parse_rfc3339(text: str) -> datetime:
    """Parse an RFC 3339 time. Raises ValueError if the text is not a time, has no zone, or is
    beyond the calendar in UTC.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; write it like 2026-11-20T12:00:00Z")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{text!r} is beyond the calendar in UTC") from error
