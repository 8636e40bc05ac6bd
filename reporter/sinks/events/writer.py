"""Writes the planned Events: faults first, paced, and never without the lease."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from itertools import takewhile
from typing import Final, TypeAlias

from reporter.kube.errors import AlreadyExists, Conflict, Forbidden, Invalid, KubeError, NotFound
from reporter.kube.writes import KubeEvents
from reporter.model.objects import Event
from reporter.sinks.events.plan import (
    READY_PER_SECOND,
    REFRESH_PER_SECOND,
    Plan,
    Purpose,
    Write,
    Written,
)
from reporter.sinks.outbox import Entry, Outbox, Pace, Refused, Retry, loop_time

_WRITTEN_SECONDS: Final = 120.0

_VERSIONS: Final = 5000
"""How many resource versions of our writes are remembered, to recognise their echoes."""

_IN_FLIGHT: Final = 8
"""Concurrent requests: 400 Events a second if the server takes 20 ms for each, and few compared
with the 200 that kube-apiserver allows (`--max-mutating-requests-inflight`)."""


class EventWriter(Outbox[Write]):
    """Works through the latest plan.

    A conflict or an expired Event needs no repair: the next plan is made from what the watch
    delivers.
    """

    def __init__(
        self,
        api: KubeEvents,
        may_write: Callable[[], bool],
        observe: Callable[[Purpose, str], None],
        *,
        changed: Callable[[], None],
        outdated: Callable[[], None],
        created: Callable[[datetime], None] = lambda _since: None,
    ) -> None:
        """`changed` asks for a new plan, `outdated` reports that plans are made from outdated
        Events, and `created` receives the start of an episode whose Event has been created.
        """
        super().__init__("events", may_write, concurrency=_IN_FLIGHT)
        self._api = api
        self._observe = observe
        self._changed = changed
        self._outdated = outdated
        self._created = created
        self._paces = {
            Purpose.READY: Pace(READY_PER_SECOND),
            Purpose.REFRESH: Pace(REFRESH_PER_SECOND),
        }
        self._written: dict[str, tuple[Written, float]] = {}
        self._versions: dict[str, None] = {}
        self._refused: Refused[_Kind] = Refused()
        self._denied: set[tuple[str, str]] = set()

    @property
    def urgent(self) -> bool:
        first = (*self._in_flight, *self._queue[:1])
        return any(entry.pace is None for entry in first)

    def written(self) -> Mapping[str, Written]:
        now = loop_time()
        for name, _ in [*takewhile(lambda each: each[1][1] <= now, self._written.items())]:
            del self._written[name]
        return {name: each for name, (each, _) in self._written.items()}

    def versions(self) -> Collection[str]:
        return frozenset(self._versions)

    def forget(self) -> None:
        super().forget()
        self._written = {}
        self._versions = {}

    def offer(self, plan: Plan) -> None:
        self._refused.tidy()
        self._denied &= {(write.name, write.resource_version) for write in plan.writes}
        now = loop_time()
        self._replace(
            Entry(
                write.name,
                write,
                self._paces.get(write.purpose),
                now + write.due_in.total_seconds() if write.due_in else 0.0,
            )
            for write in plan.writes
            if not self._refused.covers(_kind_of(write), write.body.get("message"))
        )

    async def _send(self, write: Write) -> Retry:
        term, version = self._term, write.resource_version
        try:
            if version:
                event = await self._api.patch_event(
                    write.name, write.body, resource_version=version
                )
            else:
                event = await self._api.create_event(write.body)
        except AlreadyExists:
            # The name identifies the episode: an earlier leader wrote this Event, or we did and
            # lost the answer. The watch delivers it, and the next plan continues from there.
            self._refused.leave(_kind_of(write), write.body.get("message"))
            self._observe(write.purpose, "repeated")
        except (Conflict, NotFound) as error:
            # Otherwise `overlay` would prefer our last answer, although the Event has expired or
            # a restored cluster has an older version of it.
            self._written.pop(write.name, None)
            self._observe(write.purpose, "expired" if isinstance(error, NotFound) else "conflict")
            self._deny(write)
        except (Invalid, Forbidden) as error:
            if self._refused.note(_kind_of(write), write.body.get("message"), error):
                self._log.error("event_refused", event_name=write.name, error=str(error))
            self._observe(write.purpose, "refused")
        except KubeError as error:
            self._observe(write.purpose, "failed")
            self._fail("event_not_written", error)
            return Retry.IN_PLACE
        else:
            self._backoff.reset()
            if term == self._term:
                self._remember(write, event)
            self._observe(write.purpose, "written")
            if write.since is not None:
                self._created(write.since)
        return Retry.NO

    def _remember(self, write: Write, event: Event) -> None:
        # In order of expiry, so that `written` looks only at entries that have expired.
        self._written.pop(write.name, None)
        until = loop_time() + _WRITTEN_SECONDS
        self._written[write.name] = (Written(event, write.resource_version), until)
        self._versions[event.metadata.resource_version] = None
        if len(self._versions) > _VERSIONS:
            del self._versions[next(iter(self._versions))]

    def _deny(self, write: Write) -> None:
        """Ask for a new plan; if the last plan had the same write, the watch is outdated."""
        version = write.name, write.resource_version
        if version in self._denied:
            self._denied.clear()
            self._outdated()
        else:
            self._denied.add(version)
        self._changed()

    def _is_made(self, write: Write) -> bool:
        each = self._written.get(write.name)
        return each is not None and each[0].before == write.resource_version


_Kind: TypeAlias = tuple[str, bool]
"""An Event's name, and whether it is created: a refused create says nothing about a patch."""


def _kind_of(write: Write) -> _Kind:
    return write.name, not write.resource_version
