"""Conditions, set as controllers set them."""

from collections.abc import Sequence
from typing import TypeAlias

from e2e.stack.times import now
from lab.sandbox.objects import Object

Says: TypeAlias = tuple[str, str, str, str]
"""Type, status, reason and message of a condition."""


def with_condition(before: Sequence[Object], says: Says) -> list[Object]:
    """Return conditions with one set; its time changes only with its status."""
    type_, status, reason, message = says
    old = next((each for each in before if each["type"] == type_), None)
    since = old.get("lastTransitionTime") if old and old["status"] == status else None
    fresh: Object = {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since or now(),
    }
    return [*(each for each in before if each["type"] != type_), fresh]
