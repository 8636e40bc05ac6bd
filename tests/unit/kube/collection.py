"""One collection of the API in memory, for informers on virtual time."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from reporter.kube.client import Response
from reporter.model.instant import Instant

START = datetime(2026, 11, 20, 12, tzinfo=UTC)


def virtual_now() -> Instant:
    """Both clocks follow the event loop's."""
    passed = timedelta(seconds=asyncio.get_running_loop().time())
    return Instant(START + passed, passed)


def pod(name: str, version: int, **parts: object) -> dict[str, object]:
    """Return a pod as JSON."""
    metadata = {"name": name, "namespace": "n", "uid": name, "resourceVersion": str(version)}
    return {"metadata": metadata, **parts}


class Collection:
    """Stands for the client: answers list and watch of whatever path.

    `list_faults` and `watch_faults` are raised one by one, before `*_always`, which stays.
    """

    def __init__(self) -> None:
        self.version = 10
        self.objects: dict[str, dict[str, object]] = {}
        self.lists: list[tuple[float, Mapping[str, str]]] = []
        self.watches: list[tuple[float, Mapping[str, str]]] = []
        self.list_faults: list[Exception | None] = []
        self.watch_faults: list[Exception | None] = []
        self.list_always: Callable[[], None] = lambda: None
        self.watch_always: Callable[[], None] = lambda: None
        self._queue: asyncio.Queue[bytes | Exception | None] | None = None

    def put(self, name: str, **parts: object) -> None:
        """Store a pod and tell the watch."""
        self.version += 1
        kind = "MODIFIED" if name in self.objects else "ADDED"
        self.objects[name] = pod(name, self.version, **parts)
        self.frame(kind, self.objects[name])

    def delete(self, name: str) -> None:
        """Remove a pod and tell the watch."""
        self.version += 1
        gone = self.objects.pop(name)
        gone["metadata"]["resourceVersion"] = str(self.version)
        self.frame("DELETED", gone)

    def frame(self, kind: str, obj: object) -> None:
        """Send a frame."""
        self.send(json.dumps({"type": kind, "object": obj}).encode())

    def send(self, what: bytes | Exception | None) -> None:
        """Send a line, break the watch, or (None) end it properly."""
        if self._queue is not None:
            self._queue.put_nowait(what)

    async def request(self, method: str, path: str, *, params, **_: object) -> Response:
        """Answer a list."""
        await asyncio.sleep(0)
        self.lists.append((asyncio.get_running_loop().time(), params))
        _raise_next(self.list_faults)
        self.list_always()
        items = list(self.objects.values())
        first = int(params.get("continue", 0))
        last = first + int(params.get("limit", len(items)))
        metadata = {"resourceVersion": str(self.version)}
        if last < len(items):
            metadata["continue"] = str(last)
        body = {"kind": "PodList", "metadata": metadata, "items": items[first:last]}
        return Response(200, {}, json.dumps(body).encode())

    @asynccontextmanager
    async def stream(self, path: str, *, params, **_: object) -> AsyncIterator[object]:
        """Answer a watch."""
        await asyncio.sleep(0)
        self.watches.append((asyncio.get_running_loop().time(), params))
        _raise_next(self.watch_faults)
        self.watch_always()
        queue = self._queue = asyncio.Queue()

        async def lines() -> AsyncIterator[bytes]:
            while (line := await queue.get()) is not None:
                if isinstance(line, Exception):
                    raise line
                yield line

        yield lines()


def _raise_next(faults: list[Exception | None]) -> None:
    fault = faults.pop(0) if faults else None
    if fault is not None:
        raise fault
