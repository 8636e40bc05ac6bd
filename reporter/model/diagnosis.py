"""What is wrong with a pod, in one sentence: the cause, not where it hurts."""

from dataclasses import dataclass
from enum import StrEnum

from reporter.model.subject import ObjectRef


class Sureness(StrEnum):
    """How sure a cause is.

    `CERTAIN`: an object says so. `LIKELY`: worked out, or read from a log; the message says
    "probably". `UNKNOWN`: only the symptom is known.
    """

    CERTAIN = "certain"
    LIKELY = "likely"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The cause of a pod's fault.

    Attributes:
        code: what kind of cause it is, stable and short, such as `gpu-size` or `image-tag`.
        cause: one clean line in words, without the pod's own name, no running values:
            `it asks for 4 nvidia.com/gpu, no node has more than 2`.
        brief: the same in a few words, for places where there is no room for more.
        object: what must be mended, None where that is the pod's own workload.
        action: what to do, as an imperative sentence; empty where nothing more can be said.
        sureness: how sure it is.
        signature: the row of the table of log signatures that matched; empty where none did.
        shared: other pods have the same cause at the same object (a node, a claim, a queue, a
            Secret, a quota, an image, a webhook), so that it is told there once.

    """

    code: str
    cause: str
    brief: str
    object: ObjectRef | None = None
    action: str = ""
    sureness: Sureness = Sureness.CERTAIN
    signature: str = ""
    shared: bool = False

    @property
    def told(self) -> str:
        """The cause as a message has it: one that is worked out or read from a log is probable."""
        worded = self.sureness is not Sureness.LIKELY or "probably" in self.cause
        return self.cause if worded else f"probably {self.cause}"
