"""Conditions, set as controllers set them."""

from collections.abc import Sequence

from e2e.stack.times import now
from lab.sandbox.objects import Object


def with_condition(
    before: Sequence[Object], type_: str, status: str, reason: str, message: str
) -> list[Object]:
    """Return conditions with one set; its time moves only with its status."""
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
