"""Reads the last lines before a crash, once for each episode, beside the passes.

A pass says which container crashed; what was read is given to the next one. So passes and sinks stay pure, and
a kubelet that does not answer delays nothing. Only the replica that leads reads.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

import structlog

from reporter.kube.client import KubeClient
from reporter.kube.container_log import read_log
from reporter.kube.errors import ApiStatusError, KubeError
from reporter.model.crash import Crash, EpisodeKey
from reporter.sinks.last_lines import last_lines

PER_MINUTE: Final = 10
"""Most logs that are read in a minute: a kubelet has better things to do."""

TRIES: Final = 3
"""How often a log is asked for that cannot be read."""

_MINUTE: Final = 60.0

log = structlog.get_logger("pod_logs")


class PodLogs:
    """What was read, and what is to be read.

    Args:
        client: makes the requests.
        leading: whether this replica reads.
        changed: asks for a pass, which shows what was read.

    """

    def __init__(
        self, client: KubeClient, *, leading: Callable[[], bool], changed: Callable[[], None]
    ) -> None:
        self._client = client
        self._leading = leading
        self._changed = changed
        self._wanted: dict[EpisodeKey, Crash] = {}
        self._read: dict[EpisodeKey, tuple[str, ...]] = {}
        self._tries: dict[EpisodeKey, int] = {}
        self._due = asyncio.Event()
        self._asked: deque[float] = deque(maxlen=PER_MINUTE)

    def read(self) -> Mapping[EpisodeKey, tuple[str, ...]]:
        """Return what was read of the episodes that go on."""
        return dict(self._read)

    def passed(self, crashes: Mapping[EpisodeKey, Crash], *, going_on: set[EpisodeKey]) -> None:
        """Take what a pass found; what was read of an episode is kept while that goes on."""
        for known in (self._read, self._tries):
            for key in known.keys() - going_on:
                del known[key]
        self._wanted = {key: each for key, each in crashes.items() if key not in self._read}
        if self._wanted:
            self._due.set()

    async def run(self) -> None:
        """Read until cancelled."""
        while True:
            await self._due.wait()
            self._due.clear()
            while self._leading() and (key := self._next()) is not None:
                await self._wait_for_turn()
                await self._read_one(key, self._wanted.pop(key))

    def _next(self) -> EpisodeKey | None:
        open_ = (key for key in self._wanted if self._tries.get(key, 0) < TRIES)
        return next(open_, None)

    async def _wait_for_turn(self) -> None:
        now = asyncio.get_running_loop().time
        if len(self._asked) == PER_MINUTE:
            await asyncio.sleep(max(0.0, self._asked[0] + _MINUTE - now()))
        self._asked.append(now())

    async def _read_one(self, key: EpisodeKey, crash: Crash) -> None:
        self._tries[key] = self._tries.get(key, 0) + 1
        try:
            found = last_lines(await read_log(self._client, crash))
        except ApiStatusError as error:
            # The kubelet has it no more, or we may not: to ask again would not help.
            self._tries[key] = TRIES
            log.info("pod_log_not_read", pod=f"{crash.namespace}/{crash.pod}", cause=str(error))
            return
        except KubeError as error:
            log.info("pod_log_not_read", pod=f"{crash.namespace}/{crash.pod}", cause=str(error))
            return
        self._read[key] = found
        self._changed()
