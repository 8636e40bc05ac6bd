"""API objects as plain dictionaries, paths into them, and their timestamps."""

import re
from datetime import UTC, datetime
from typing import Any, TypeAlias

import msgspec

JSON: TypeAlias = Any
"""Any JSON value; the only place where this package gives up static types."""

Object: TypeAlias = dict[str, JSON]
"""A JSON object; an API object if it has apiVersion, kind and metadata."""

_DECODER = msgspec.json.Decoder()
_ENCODER = msgspec.json.Encoder()


def decode(raw: bytes) -> JSON:
    """Decode JSON, or raise msgspec.DecodeError."""
    return _DECODER.decode(raw)


def encode(value: JSON) -> bytes:
    return _ENCODER.encode(value)


def copy_json(value: JSON) -> JSON:
    """Copy a JSON value deeply, faster than `copy.deepcopy` does."""
    if isinstance(value, dict):
        return {key: copy_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copy_json(item) for item in value]
    return value


def meta(obj: Object) -> Object:
    """Return the metadata of an object; create it if it is missing or null."""
    if not isinstance(obj.get("metadata"), dict):
        obj["metadata"] = {}
    found: Object = obj["metadata"]
    return found


def dig(value: JSON, *path: str) -> JSON:
    """Return the value at nested keys, or None if any of them is missing."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def name_of(obj: Object) -> str:
    return str(dig(obj, "metadata", "name") or "")


def namespace_of(obj: Object) -> str:
    return str(dig(obj, "metadata", "namespace") or "")


_TOKEN = re.compile(
    r"\.?(?P<name>(?:[A-Za-z0-9_$-]|\\.)+)"
    r"|\[(?P<index>-?\d+|\*)\]"
    r"|\[['\"](?P<quoted>[^'\"]+)['\"]\]"
    r"|\[\?\(@\.(?P<key>(?:[A-Za-z0-9_.-]|\\.)+)\s*==\s*['\"](?P<value>[^'\"]*)['\"]\)\]"
)


def values_at(document: JSON, path: str) -> list[JSON]:
    """Return all values at a path; empty if the path is not supported."""
    path = path.strip().strip("{}").removeprefix("$")
    values = [document]
    position = 0
    while position < len(path):
        match = _TOKEN.match(path, position)
        if match is None:
            return []
        position = match.end()
        values = [found for value in values for found in _step(value, match)]
    return values


def value_at(document: JSON, path: str) -> JSON:
    return next(iter(values_at(document, path)), None)


def _step(value: JSON, match: re.Match[str]) -> list[JSON]:
    name = match["name"] or match["quoted"]
    if name is not None:
        name = name.replace("\\", "")
        return [value[name]] if isinstance(value, dict) and name in value else []
    if match["index"] == "*" and isinstance(value, dict):
        return list(value.values())
    if not isinstance(value, list) or match["index"] == "*":
        return value if isinstance(value, list) else []
    if match["key"] is not None:
        key, wanted = "." + match["key"], match["value"]
        return [item for item in value if wanted in map(str, values_at(item, key))]
    index = int(match["index"])
    return [value[index]] if -len(value) <= index < len(value) else []


def put_at(document: Object, path: str, value: JSON) -> None:
    """Set the value at a path of plain names, making objects on the way."""
    *parents, last = path.strip(".").split(".")
    for name in parents:
        document = document.setdefault(name, {})
    document[last] = value


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
    """Parse a metav1.Time; TimeFormatError unless it is an RFC 3339 timestamp with a zone."""
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
    try:
        return human_duration(now - parse_time(str(timestamp)))
    except TimeFormatError:
        return "<unknown>"
