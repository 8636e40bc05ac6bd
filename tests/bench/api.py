"""Clients of the API server and of the daemon's listeners."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, Self

import aiohttp
import msgspec
from prometheus_client.parser import text_string_to_metric_families

from e2e.envtest.commands import Access
from lab.sandbox.objects import JSON, Object

_EVENTS: Final = "/api/v1/namespaces/kube-system/events"
_LABEL: Final = "status-reporter.io/"
_MERGE: Final = {"Content-Type": "application/merge-patch+json"}
_READ_BYTES: Final = 2**22


class Api:
    """A client of the sandbox, or of a real API server, that follows the Events.

    Attributes:
        told: when each Event came first, by its name, by `time.perf_counter`.

    """

    def __init__(self, url: str, access: Access | None = None) -> None:
        self.told: dict[str, float] = {}
        self._url = url
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=access.tls() if access else True, limit=0),
            headers=access.headers if access else None,
            read_bufsize=_READ_BYTES,
        )
        self._states: dict[str, Object] = {}
        self._firing: dict[str, str] = {}
        self._changed = asyncio.Condition()
        self._watching: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._watching = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        await self._http.close()

    async def get(self, path: str) -> Object:
        """Return an object."""
        async with self._http.get(self._url + path) as answer:
            answer.raise_for_status()
            return msgspec.json.decode(await answer.read(), type=Object)

    async def patch(self, path: str, patch: JSON) -> None:
        """Merge-patch an object."""
        body = msgspec.json.encode(patch)
        async with self._http.patch(self._url + path, data=body, headers=_MERGE) as answer:
            answer.raise_for_status()

    async def post(self, path: str, body: bytes) -> None:
        """Create an object from its JSON."""
        headers = {"Content-Type": "application/json"}
        async with self._http.post(self._url + path, data=body, headers=headers) as answer:
            answer.raise_for_status()

    async def admin(self, method: str, path: str, body: JSON = None) -> Any:
        """Use the sandbox's admin path."""
        url = f"{self._url}/_sandbox/{path}"
        async with self._http.request(method, url, json=body) as answer:
            answer.raise_for_status()
            return msgspec.json.decode(await answer.read())

    @asynccontextmanager
    async def slow(self, seconds: float) -> AsyncIterator[None]:
        """Add a time to each answer."""
        if not seconds:
            yield
            return
        fault = await self.admin("POST", "faults", {"action": "slow", "seconds": seconds})
        try:
            yield
        finally:
            await self.admin("DELETE", f"faults/{fault['id']}")

    def firing(self, related: str = "") -> int:
        """Return how many Events fire, of an object at fault if given."""
        if not related:
            return len(self._firing)
        return sum(each == related for each in self._firing.values())

    def events(self) -> Mapping[str, Object]:
        """Return each Event of ours as it is, by its name."""
        return self._states

    def warned(self, related: str) -> Iterator[float]:
        """Yield when each Warning about an object at fault came, whether it fires or not."""
        for name, event in self._states.items():
            if event["type"] == "Warning" and _related(event) == related:
                yield self.told[name]

    async def wait_firing(self, count: int, within: float, related: str = "") -> float:
        """Wait until at least `count` Events fire and return when, by `time.perf_counter`.

        Raises:
            TimeoutError: they did not in time.

        """
        async with asyncio.timeout(within), self._changed:
            await self._changed.wait_for(lambda: self.firing(related) >= count)
            return time.perf_counter()

    async def wait_events(self, condition: Callable[[], bool], within: float) -> float:
        """Wait until the Events are as they should be and return when, by `time.perf_counter`.

        Raises:
            TimeoutError: they were not in time.

        """
        async with asyncio.timeout(within), self._changed:
            await self._changed.wait_for(condition)
            return time.perf_counter()

    async def wait_quiet(self, within: float, related: str = "") -> None:
        """Wait until no Event fires, of an object at fault if given.

        Raises:
            TimeoutError: one still does.

        """
        async with asyncio.timeout(within), self._changed:
            await self._changed.wait_for(lambda: not self.firing(related))

    async def _watch(self) -> None:
        url = f"{self._url}{_EVENTS}?watch=true&timeoutSeconds=86400"
        timeout = aiohttp.ClientTimeout(total=None)
        async with self._http.get(url, timeout=timeout) as answer:
            async for line in answer.content:
                frame = msgspec.json.decode(line)
                async with self._changed:
                    self._take(frame["type"], frame["object"])
                    self._changed.notify_all()

    def _take(self, type_: str, event: Object) -> None:
        if type_ == "BOOKMARK" or not event["metadata"].get("labels", {}).get(f"{_LABEL}reason"):
            return
        name = event["metadata"]["name"]
        self.told.setdefault(name, time.perf_counter())
        if type_ == "DELETED":
            self._states.pop(name, None)
        else:
            self._states[name] = event
        if type_ != "DELETED" and _is_firing(event):
            self._firing[name] = _related(event)
        else:
            self._firing.pop(name, None)

    async def ready(self, url: str) -> bool:
        """True if the daemon is ready."""
        try:
            async with self._http.get(url) as answer:
                return answer.status == 200
        except aiohttp.ClientConnectionError:
            return False

    async def metrics(self, url: str) -> "Metrics":
        """Return the daemon's metrics."""
        async with self._http.get(url) as answer:
            text = await answer.text()
        requests: Counter[tuple[str, str]] = Counter()
        plain: dict[str, float] = defaultdict(float)
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name == "status_reporter_api_requests_total":
                    requests[sample.labels["verb"], sample.labels["resource"]] += int(sample.value)
                else:
                    plain[sample.name] += sample.value
        return Metrics(requests, plain)


class Metrics:
    """Metrics of the daemon at one moment."""

    def __init__(self, requests: Counter[tuple[str, str]], plain: Mapping[str, float]) -> None:
        self.requests = requests
        """Requests to the API server, by verb and resource."""
        self._plain = plain

    def __getitem__(self, name: str) -> float:
        """Return the sum over its labels of the metric `status_reporter_<name>`."""
        return self._plain.get(f"status_reporter_{name}", 0.0)


def _is_firing(event: Object) -> bool:
    labels = event["metadata"].get("labels", {})
    return event.get("type") == "Warning" and labels.get(f"{_LABEL}state") == "firing"


def _related(event: Object) -> str:
    related = event.get("related") or {}
    return f"{related.get('kind')}/{related.get('namespace')}/{related.get('name')}"
