"""Timestamps as the API server reads, writes and prints them."""

import re
from datetime import UTC, datetime

_RFC3339 = re.compile(
    r"(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(\.\d+)?(Z|[+-]\d{2}:\d{2})", re.ASCII
)

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_YEAR = 365 * _DAY
_MICRO_DIGITS = 6


class TimeFormatError(ValueError):
    """A text that is no timestamp of the wanted kind; the message is the server's."""


def format_time(seconds: float) -> str:
    """metav1.Time: RFC 3339 in UTC, to the second."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str) -> float:
    """Read a metav1.Time.

    Raises:
        TimeFormatError: when the text is no RFC 3339 timestamp with a zone.
    """
    return _parse(text, "2006-01-02T15:04:05Z07:00").timestamp()


def normalize_time(text: str) -> str:
    """A metav1.Time as it is stored: in UTC, cut to the second."""
    return format_time(parse_time(text))


def normalize_micro_time(text: str) -> str:
    """A metav1.MicroTime as it is stored.

    Raises:
        TimeFormatError: when there are not exactly six fractional digits, or no zone.
    """
    layout = "2006-01-02T15:04:05.000000Z07:00"
    match = _RFC3339.fullmatch(text)
    fraction = match.group(3) if match else None
    if match and (fraction is None or len(fraction) != 1 + _MICRO_DIGITS):
        rest = (fraction or "") + match.group(4)
        raise TimeFormatError(
            f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as ".000000"'
        )
    return _parse(text, layout).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _parse(text: str, layout: str) -> datetime:
    match = _RFC3339.fullmatch(text)
    failure = TimeFormatError(
        f'parsing time "{text}" as "{layout}": cannot parse "{text}" as "2006"'
    )
    if match is None:
        raise failure
    day, clock, fraction, zone = match.groups()
    micros = ((fraction or ".")[1:] + "0" * _MICRO_DIGITS)[:_MICRO_DIGITS]
    try:
        parsed = datetime.fromisoformat(f"{day}T{clock}.{micros}{zone.replace('Z', '+00:00')}")
    except ValueError:
        raise failure from None
    return parsed.astimezone(UTC)


def human_duration(seconds: float) -> str:  # noqa: PLR0911 - one return for each band
    """An age as the Table columns print it (`duration.HumanDuration` of apimachinery)."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    whole = max(whole, 0)
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE:
        return _two(whole, _MINUTE, "m", small=1, small_name="s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two(whole, _HOUR, "h", small=_MINUTE, small_name="m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two(whole, _DAY, "d", small=_HOUR, small_name="h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _two(whole, _YEAR, "y", small=_DAY, small_name="d")
    return f"{whole // _YEAR}y"


def _two(seconds: int, big: int, big_name: str, *, small: int, small_name: str) -> str:
    rest = seconds % big // small
    return f"{seconds // big}{big_name}" + (f"{rest}{small_name}" if rest else "")


def age(timestamp: object, now: float) -> str:
    """The age of a timestamp, or `<unknown>` where there is none to read."""
    if not isinstance(timestamp, str) or not timestamp:
        return "<unknown>"
    try:
        return human_duration(now - parse_time(timestamp))
    except TimeFormatError:
        return "<unknown>"
