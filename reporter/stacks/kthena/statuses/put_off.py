"""Writes that would end as they ended before, for a while."""

from collections.abc import Callable, Collection
from typing import Final

from reporter.model.resource import Resource
from reporter.stacks.kthena.objects import ModelServing
from reporter.stacks.kthena.statuses.plan import StatusWrite

REFUSED_SECONDS: Final = 60.0
"""How long a status that the API server refuses is left alone."""

DOUBTED_SECONDS: Final = 5.0
"""The same after its first 403: an API server that starts answers so until it has read its roles."""

DENIED_SECONDS: Final = 10.0
"""How long the watch may take to bring the change that a conflict told of."""

_ANYTHING: Final = "anything"


class PutOff:
    """Remembers by uid what was refused and which version was denied; times are in seconds."""

    def __init__(self, outdated: Callable[[Resource[ModelServing]], None]) -> None:
        self._outdated = outdated
        self._denied: dict[str, tuple[str, float]] = {}
        self._left: dict[str, tuple[str, float]] = {}
        self._refused: dict[str, float] = {}

    def tidy(self, objects: Collection[str], now: float) -> None:
        """Forget objects that are gone and what is over."""
        self._denied = {uid: each for uid, each in self._denied.items() if uid in objects}
        self._left = {uid: each for uid, each in self._left.items() if each[1] > now}
        self._refused = {uid: until for uid, until in self._refused.items() if until > now}

    def covers(self, write: StatusWrite, now: float) -> bool:
        """Tell whether a write is not to be made yet.

        Where the watch does not bring what a conflict told of, it is said to be outdated.
        """
        uid = write.object.uid
        left = self._left.get(uid)
        if left is not None and left[0] in {write.asked, _ANYTHING}:
            return True
        denied = self._denied.get(uid)
        if denied is None or denied[0] != write.version:
            self._denied.pop(uid, None)
            return False
        if now >= denied[1]:
            self._denied[uid] = (write.version, now + DENIED_SECONDS)
            self._outdated(write.resource)
        return True

    def deny(self, write: StatusWrite, now: float) -> None:
        """Note that the object is not of that version any more."""
        self._denied[write.object.uid] = (write.version, now + DENIED_SECONDS)

    def refuse(self, write: StatusWrite, now: float, *, is_forbidden: bool) -> bool:
        """Note a refusal; tell whether it is the first in a while."""
        uid = write.object.uid
        is_first = uid not in self._refused
        self._refused[uid] = now + 2 * REFUSED_SECONDS
        # What is invalid may be valid in other words; who is not allowed says in vain what.
        asked = _ANYTHING if is_forbidden else write.asked
        doubted = is_forbidden and is_first
        self._left[uid] = (asked, now + (DOUBTED_SECONDS if doubted else REFUSED_SECONDS))
        return is_first
