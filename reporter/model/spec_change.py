"""What was changed of an object shortly before a fault began."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from reporter.model.instant import rfc3339
from reporter.model.subject import ObjectRef

OBJECT: Final = "object"
"""In place of a field: the object itself."""

REMOVED: Final = "removed"
"""What an object became that is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecChange:
    """A change of what is wanted of an object: a fact, and no proof that it is the cause of anything.

    All texts are clean, short, and without credentials.

    Attributes:
        object: what was changed.
        at: when; of what was seen and nobody signed, when it was seen.
        by: the field manager, and the subresource that it wrote; empty where that is not known.
        field: what was changed, such as `spec.replicas`; empty where only who wrote last is known.
        before: the value before; empty where it is not told.
        after: the value since.

    """

    object: ObjectRef
    at: datetime
    by: str = ""
    field: str = ""
    before: str = ""
    after: str = ""

    @property
    def what(self) -> str:
        """What was changed, in words."""
        if self.field == OBJECT:
            return self.after
        if not self.field:
            return "last written"
        values = f"{self.before} to {self.after}" if self.before or self.after else "changed"
        return f"{self.field} {values}"

    def __str__(self) -> str:
        """Return what was changed, by whom and at what time of day, in UTC."""
        by = f" by {self.by}" if self.by else ""
        return f"{self.what}{by} at {rfc3339(self.at).partition('T')[2]}"

    def seen_from(self, other: ObjectRef) -> str:
        """Return the same, with the name of the object unless it is the other one."""
        return str(self) if self.object == other else f"{self.object} {self}"
