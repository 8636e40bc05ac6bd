"""Timestamps in the forms that the API server reads, writes and prints."""

import re
from datetime import UTC, datetime

_RFC3339 = re.compile(
    r"(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(\.\d+)?(Z|[+-]\d{2}:\d{2})", re.ASCII
)

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_YEAR = 365 * _DAY
_BANDS = (
    # below, unit, its letter, smaller unit, its letter
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)
_MICRO_DIGITS = 6


class TimeFormatError(ValueError):
    """A text is not a timestamp of the expected kind; the message is the server's."""


def format_time(seconds: float) -> str:
    """Format a metav1.Time: RFC 3339 in UTC, with whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str) -> float:
    """Parse a metav1.Time.

    Raises:
        TimeFormatError: the text is not an RFC 3339 timestamp with a zone.
    """
    return _parse(text, "2006-01-02T15:04:05Z07:00").timestamp()


def normalize_time(text: str) -> str:
    """Convert a metav1.Time to its stored form: UTC, truncated to seconds."""
    return format_time(parse_time(text))


def normalize_micro_time(text: str) -> str:
    """Convert a metav1.MicroTime to its stored form.

    Raises:
        TimeFormatError: there are not exactly six fractional digits, or no zone.
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


def human_duration(seconds: float) -> str:
    """Format an age for Table columns (`duration.HumanDuration` of apimachinery)."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    whole = max(whole, 0)
    for below, unit, letter, smaller, smaller_letter in _BANDS:
        if whole < below:
            rest = whole % unit // smaller if smaller else 0
            return f"{whole // unit}{letter}" + (f"{rest}{smaller_letter}" if rest else "")
    return f"{whole // _YEAR}y"


def age(timestamp: object, now: float) -> str:
    """Return the age of a timestamp, or `<unknown>` if it is missing or unreadable."""
    if not isinstance(timestamp, str) or not timestamp:
        return "<unknown>"
    try:
        return human_duration(now - parse_time(timestamp))
    except TimeFormatError:
        return "<unknown>"
