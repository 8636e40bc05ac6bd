"""Changes of role instances as Events on the ModelServing, in its own namespace.

At most so many Events for one ModelServing in a minute; what is over is counted.

A change of a role instance as a core/v1 Event, in the words of Kthena's controller.

From one pass to the next: the pace of the role Events, while this replica leads.

Writes role Events: each once, and never without the lease.

They are news, not state: one that cannot be written is lost and counted, and nothing derives it
again. `status.roleStatuses` says what is.
"""

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, Protocol

from reporter.catalogue.resources import COMPONENT
from reporter.kube.errors import AlreadyExists, Forbidden, KubeError, NotFound
from reporter.model.instant import Instant, rfc3339, rfc3339_micro
from reporter.model.reason import EventType
from reporter.model.text import clean, with_suffix
from reporter.sinks.events.render import Document
from reporter.sinks.outbox import Entry, Outbox, Refused, Retry
from reporter.stacks.kthena.derived.role_changes import RoleChange

MOST: Final = 10
"""Events for one object in any `WITHIN`."""

WITHIN: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Telling:
    """A change to be told.

    Attributes:
        change: what is told.
        untold: how many before it are not told one by one.
        at: when it was seen, where it had to wait; it may be the past by now.

    """

    change: RoleChange
    untold: int = 0
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ObjectPace:
    """What is remembered of one object.

    Attributes:
        told: when its last Events were told, on the boot clock, within the last minute.
        waiting: the newest change that was not told yet.

    """

    told: tuple[timedelta, ...] = ()
    waiting: Telling | None = None


@dataclass(frozen=True, slots=True)
class Paced:
    """What to tell now, what the next pass is given, and when more may be told."""

    tellings: tuple[Telling, ...] = ()
    paces: Mapping[str, ObjectPace] = field(default_factory=dict)
    next_in: timedelta | None = None


def paced(paces: Mapping[str, ObjectPace], changes: Iterable[RoleChange], now: Instant) -> Paced:
    """Return what of the changes to tell.

    The last place of a minute is kept for the newest change, so that a burst ends with what is
    there now and with the number of changes that it is told in place of.

    Args:
        paces: what the last pass returned, by uid.
        changes: of this pass, in the order in which they are to be told.
        now: the time of the pass.

    """
    waiting: dict[str, list[RoleChange]] = {}
    for change in changes:
        waiting.setdefault(change.object.uid, []).append(change)
    tellings: list[Telling] = []
    kept: dict[str, ObjectPace] = {}
    waits = []
    for uid in dict.fromkeys((*paces, *waiting)):
        told, pace = _one(paces.get(uid, ObjectPace()), waiting.get(uid, ()), now)
        tellings += told
        if pace.told:
            kept[uid] = pace
        if pace.waiting is not None:
            waits.append(_free_at(pace.told) - now.boot)
    return Paced(tuple(tellings), kept, min(waits, default=None))


def _one(
    pace: ObjectPace, changes: Iterable[RoleChange], now: Instant
) -> tuple[list[Telling], ObjectPace]:
    recent = tuple(each for each in pace.told if now.boot - each < WITHIN)
    pending = [Telling(each) for each in changes]
    if pace.waiting is not None:
        pending.insert(0, pace.waiting)
    free = MOST - len(recent)
    if not free and pending:
        latest = _merged(pending)
        return [], ObjectPace(recent, replace(latest, at=latest.at or now.wall))
    if len(pending) > free:
        pending = [*pending[: free - 1], _merged(pending[free - 1 :])]
    return pending, ObjectPace(recent + (now.boot,) * len(pending))


def _merged(tellings: Sequence[Telling]) -> Telling:
    """Return the newest of some tellings, which counts the others."""
    untold = sum(each.untold for each in tellings) + len(tellings) - 1
    return replace(tellings[-1], untold=untold)


def _free_at(told: tuple[timedelta, ...]) -> timedelta:
    """Return when a place is free again, on the boot clock."""
    return told[-MOST] + WITHIN


ACTION: Final = "ObserveRole"
_NAME_LENGTH: Final = 253
_HASH_DIGITS: Final = 16
_INSTANCE_CHARACTERS: Final = 128
_NOT_IN_NAME: Final = re.compile(r"[^a-z0-9.-]+")


def reason_of(change: RoleChange) -> str:
    """Return RoleCreating, RoleRunning or RoleDeleting."""
    return f"Role{change.state}"


def message_of(telling: Telling) -> str:
    """Return what Kthena's controller says, and how many changes are not told one by one.

    What had to wait is told as the past, with its time: the instance may be gone since.
    """
    change, each = telling.change, telling.change.instance
    state = f"is now {change.state}"
    if telling.at is not None:
        state = f"became {change.state} at {rfc3339(telling.at)}"
    text = f"Role {each.role}/{each.role_id} in ServingGroup {each.group} {state}"
    if not telling.untold:
        return with_suffix(clean(text), "")
    plural = "s" if telling.untold > 1 else ""
    suffix = f" ({telling.untold} earlier role change{plural} not told one by one)"
    return with_suffix(clean(text), suffix)


def role_event(telling: Telling, now: datetime, instance: str) -> Document:
    """Return the Event on the ModelServing itself.

    It has none of the labels of our reasons: it is no record of an episode, and is not read back.

    Args:
        telling: what is told.
        now: the time of the pass; with the change it makes the name, so that a repeated request
            doubles nothing.
        instance: which replica tells it.

    """
    ref = telling.change.object
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": _name(telling.change, now), "namespace": ref.namespace},
        "type": str(EventType.NORMAL),
        "reason": reason_of(telling.change),
        "message": message_of(telling),
        "action": ACTION,
        "involvedObject": {
            "apiVersion": ref.api_version,
            "kind": ref.kind,
            "namespace": ref.namespace,
            "name": ref.name,
            "uid": ref.uid,
        },
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "reportingInstance": instance[:_INSTANCE_CHARACTERS],
        "eventTime": rfc3339_micro(now),
        "firstTimestamp": rfc3339(now),
        "lastTimestamp": rfc3339(now),
        "count": 1,
    }


def _name(change: RoleChange, now: datetime) -> str:
    each = change.instance
    exact = (change.object.uid, each.group, each.role, each.role_id, change.state)
    whole = json.dumps([*exact, rfc3339_micro(now)])
    tail = f".{hashlib.sha256(whole.encode()).hexdigest()[:_HASH_DIGITS]}"
    head = _NOT_IN_NAME.sub("-", change.object.name.lower()).strip("-.")
    return head[: _NAME_LENGTH - len(tail)].rstrip(".-") + tail


def tell(
    paces: Mapping[str, ObjectPace], changes: Iterable[RoleChange], now: Instant, *, instance: str
) -> tuple[Mapping[str, ObjectPace], list[Document], timedelta | None]:
    """Return what the next pass is given, the Events to write, and when more are due."""
    result = paced(paces, changes, now)
    events = [role_event(each, now.wall, instance) for each in result.tellings]
    return result.paces, events, result.next_in


QUEUE: Final = 1000
"""Most Events that wait; the oldest are lost first."""


class CreateEvent(Protocol):
    """The one request that role Events need."""

    def __call__(self, namespace: str, body: Document) -> Awaitable[object]:
        """Create an Event in a namespace."""


class RoleEventWriter(Outbox[Document]):
    """Writes Events in the order in which they are offered."""

    def __init__(
        self,
        create: CreateEvent,
        may_write: Callable[[], bool],
        observe: Callable[[str], None],
    ) -> None:
        """Make one.

        Args:
            create: makes the request.
            may_write: asked before each request.
            observe: told of each Event: written, repeated, or lost.
        """
        super().__init__("role_events", may_write)
        self._create = create
        self._observe = observe
        self._refused: Refused[str] = Refused()

    def offer(self, events: Iterable[Document]) -> None:
        """Add Events to those that wait."""
        self._refused.tidy()
        waiting = [*self._queue, *(Entry(_namespace_of(event), event) for event in events)]
        self._lose(len(waiting) - QUEUE)
        self._replace(waiting[-QUEUE:])

    def drop(self) -> None:
        """Give up the Events that wait."""
        self._lose(len(self._queue))
        super().drop()

    def _lose(self, count: int) -> None:
        for _ in range(count):
            self._observe("lost")

    async def _send(self, write: Document) -> Retry:
        namespace = _namespace_of(write)
        if self._refused.covers(namespace):
            self._observe("lost")
            return Retry.NO
        try:
            await self._create(namespace, write)
        except AlreadyExists:
            self._observe("repeated")
        except KubeError as error:
            self._observe("lost")
            self._note(namespace, error)
        else:
            self._backoff.reset()
            self._observe("written")
        return Retry.NO

    def _note(self, namespace: str, error: KubeError) -> None:
        """Say what went wrong, once, and wait where the API server is at its limits."""
        if isinstance(error, Forbidden | NotFound):
            # No right to write there, or the namespace goes or is gone: so it is for the next.
            self._refused.leave(namespace)
        else:
            self._pause(error)
        if self._backoff.is_news(error):
            self._log.warning("role_event_lost", namespace=namespace, error=str(error))


def _namespace_of(event: Document) -> str:
    metadata = event["metadata"]
    return str(metadata["namespace"]) if isinstance(metadata, dict) else ""
