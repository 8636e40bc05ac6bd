"""Versions of objects that the API server does not have any more, until the watch brings others."""

from collections.abc import Callable, Collection
from typing import Final

from reporter.model.resource import Resource
from reporter.stacks.kthena.objects import ModelServing
from reporter.stacks.kthena.statuses.plan import StatusWrite

DENIED_SECONDS: Final = 10.0
"""How long the watch may take to bring the change that a conflict told of."""


class Denied:
    """Remembers by uid which version was denied; times are in seconds."""

    def __init__(self, outdated: Callable[[Resource[ModelServing]], None]) -> None:
        self._outdated = outdated
        self._versions: dict[str, tuple[str, float]] = {}

    def keep(self, objects: Collection[str]) -> None:
        """Forget all objects but these."""
        self._versions = {uid: each for uid, each in self._versions.items() if uid in objects}

    def covers(self, write: StatusWrite, now: float) -> bool:
        """Tell whether a write is over a denied version.

        Where the watch does not bring another one in time, it is said to be outdated.
        """
        uid = write.object.uid
        version, until = self._versions.get(uid, ("", 0.0))
        if version != write.version:
            self._versions.pop(uid, None)
            return False
        if now >= until:
            self.deny(write, now)
            self._outdated(write.resource)
        return True

    def deny(self, write: StatusWrite, now: float) -> None:
        """Note that the object is not of that version any more."""
        self._versions[write.object.uid] = (write.version, now + DENIED_SECONDS)
