"""How long ago, the way kubectl writes it (k8s.io/apimachinery, pkg/util/duration)."""

from datetime import timedelta
from typing import Final

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY

_STEPS: Final = (
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


def age(passed: timedelta) -> str:
    """Return a time that has passed in at most two units, such as `4m10s`."""
    seconds = int(passed.total_seconds())
    if passed < timedelta(seconds=-1):
        return "<invalid>"
    seconds = max(0, seconds)
    for below, unit, letter, smaller, smaller_letter in _STEPS:
        if seconds < below:
            whole = f"{seconds // unit}{letter}"
            rest = seconds % unit // smaller if smaller else 0
            return f"{whole}{rest}{smaller_letter}" if rest else whole
    return f"{seconds // _YEAR}y"
