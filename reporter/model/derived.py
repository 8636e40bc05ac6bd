"""A status that this program computes for somebody else's object."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from reporter.model.instant import rfc3339
from reporter.model.subject import ObjectRef

Document: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Derived:
    """The status that one object should have.

    Attributes:
        object: whose status it is.
        status: in the shape of the object's own API. A condition without `lastTransitionTime` has
            changed since the status on record was written; `dated` fills in when.

    """

    object: ObjectRef
    status: Document

    def dated(self, now: datetime) -> "Derived":
        """Return the same with `now` as the time of each condition that has changed."""
        conditions = self.status.get("conditions")
        if not isinstance(conditions, list):
            return self
        stamp = {"lastTransitionTime": rfc3339(now)}
        filled = [{**stamp, **each} for each in conditions]
        return Derived(self.object, {**self.status, "conditions": filled})
