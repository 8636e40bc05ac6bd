"""How a state looks: a word and a shape, never a colour alone."""

from dataclasses import dataclass
from typing import Final

from reporter.model.reason import EventType
from reporter.model.report import ResolvedFinding
from reporter.sinks.verdict import NO_VERDICT, is_blind


@dataclass(frozen=True, slots=True)
class Mark:
    """A state.

    Attributes:
        name: of its shape in the style sheet and of its symbol.
        word: the text next to the shape.
        rank: the smaller, the more it asks for attention.

    """

    name: str
    word: str
    rank: int


FIRING: Final = Mark("firing", "firing", 0)
DEGRADED: Final = Mark("degraded", "degraded", 1)
"""Of a stage on the way of requests, or a subject: it works, with a fault."""

NOTICE: Final = Mark("notice", "notice", 1)
PENDING: Final = Mark("pending", "pending", 2)
CLEARING: Final = Mark("clearing", "clearing", 3)
HELD: Final = Mark("held", "held", 4)
SECONDARY: Final = Mark("secondary", "secondary", 5)
SUPPRESSED: Final = Mark("suppressed", "suppressed", 6)
MUTED: Final = Mark("muted", "muted", 7)
UNKNOWN: Final = Mark("unknown", NO_VERDICT, 8)
BLIND: Final = Mark("unknown", "not seen", 8)
"""What the reporter cannot see: it looks like what has no verdict."""

READY: Final = Mark("ready", "ready", 9)

ALL: Final = (
    FIRING, DEGRADED, NOTICE, PENDING, CLEARING, HELD, SECONDARY, SUPPRESSED, MUTED, UNKNOWN, READY,
)  # fmt: skip
_BY_DISPOSITION: Final = {mark.name: mark for mark in ALL}


def mark_of(finding: ResolvedFinding) -> Mark:
    """Return the state of a finding."""
    mark = _BY_DISPOSITION.get(str(finding.disposition), UNKNOWN)
    if mark is not FIRING:
        return mark
    if is_blind(finding):
        return BLIND
    return NOTICE if finding.type is EventType.NORMAL else mark
