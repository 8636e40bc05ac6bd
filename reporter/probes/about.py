"""A finding about the deployment of a model, whatever the stack: who it names, and how long."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NotRequired, TypedDict, Unpack

from reporter.model.finding import Diagnosis, Finding
from reporter.model.subject import ObjectRef, Subject
from reporter.model.text import MESSAGE_BYTES, clean, cut

_CAUSE_BYTES: Final = 120


class FaultFields(TypedDict):
    """What a probe says of a fault; see `Finding` for the meaning of each field."""

    reason: str
    related: ObjectRef
    cause: str
    text: str
    severity: NotRequired[int]
    transition: NotRequired[datetime | None]
    created: NotRequired[datetime | None]
    exempt: NotRequired[bool]
    budget: NotRequired[timedelta | None]
    independent: NotRequired[bool]
    sustains: NotRequired[bool]
    lingers: NotRequired[bool]
    passing: NotRequired[bool]
    part: NotRequired[str]
    lost_node: NotRequired[str]
    by_spec: NotRequired[bool]
    diagnosis: NotRequired[Diagnosis | None]
    started: NotRequired[bool]


@dataclass(frozen=True, slots=True)
class About:
    """What findings are about.

    Attributes:
        subject: the deployment.
        involved: the namespace that Events refer to.
        title: kind, namespace and name, which a message begins with.

    """

    subject: Subject
    involved: ObjectRef
    title: str

    def finding(self, **fault: Unpack[FaultFields]) -> Finding:
        """Return a finding whose message names the deployment first; `text` follows it."""
        return Finding(
            reason=fault["reason"],
            subject=self.subject,
            involved=self.involved,
            related=fault["related"],
            message=cut(clean(f"{self.title}: {fault['text']}"), MESSAGE_BYTES),
            cause=cut(clean(fault["cause"]), _CAUSE_BYTES),
            severity=fault.get("severity", 0),
            transition=fault.get("transition"),
            created=fault.get("created"),
            exempt=fault.get("exempt", False),
            budget=fault.get("budget"),
            independent=fault.get("independent", False),
            sustains=fault.get("sustains", False),
            lingers=fault.get("lingers", False),
            passing=fault.get("passing", False),
            about=fault.get("part", ""),
            lost_node=fault.get("lost_node", ""),
            by_spec=fault.get("by_spec", False),
            diagnosis=fault.get("diagnosis"),
            started=fault.get("started", True),
        )
