"""What a condition of an object says, for verdicts and for messages."""

from typing import Final

from reporter.model.objects import Condition
from reporter.model.text import detail

_TEXT_BYTES: Final = 400


def is_true(condition: Condition | None) -> bool:
    """Tell whether a condition is there and True."""
    return condition is not None and condition.status == "True"


def is_false(condition: Condition | None) -> bool:
    """Tell whether a condition is there and False."""
    return condition is not None and condition.status == "False"


def words(condition: Condition | None) -> str:
    """Return reason and message of a condition, clean and bounded."""
    if condition is None:
        return "no reason given"
    return detail(condition.reason, condition.message, _TEXT_BYTES) or "no reason given"
