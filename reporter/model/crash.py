"""A container that ended before its time, whose last lines say more than its status."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from reporter.model.finding import FindingKey

EpisodeKey: TypeAlias = tuple[FindingKey, datetime]
"""What is at fault, and since when: its last lines are read once."""


@dataclass(frozen=True, slots=True)
class Crash:
    """A container whose log is worth reading.

    `previous` says that it runs or waits again, so that what it said stands in the log of the run before.
    """

    namespace: str
    pod: str
    container: str
    previous: bool

    @property
    def log(self) -> tuple[str, str, str]:
        """What its log is named by."""
        return self.namespace, self.pod, self.container
