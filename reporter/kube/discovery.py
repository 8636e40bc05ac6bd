"""Which resources the cluster serves, and in which versions.

One request answers it where the API server speaks aggregated discovery (Kubernetes 1.30, and 1.26
as v2beta1); older ones are asked for each version of each group.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

import msgspec
import structlog

from reporter.kube.client import KubeClient, api_path
from reporter.kube.clock import Now, real_now
from reporter.kube.errors import KubeError, NotJson
from reporter.model.instant import Instant
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.snapshot.snapshot import Discovery, Served

_LISTS: Final = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
_ACCEPT: Final = f"{_LISTS.format('v2')},{_LISTS.format('v2beta1')},application/json"
_ANSWER_BYTES: Final = 32 * 2**20
_CONCURRENT: Final = 4

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class GroupVersion:
    """One version of one group, and the plurals it serves; None if that could not be learned."""

    group: str
    version: str
    plurals: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Discovered:
    discovery: Discovery = field(default_factory=Discovery)
    versions: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def version(self, resource: Resource[KubeObject]) -> str | None:
        served = self.versions.get(resource.crd_name, frozenset())
        return next((version for version in resource.versions if version in served), None)


def summarise(found: Iterable[GroupVersion]) -> Discovered:
    versions: dict[str, set[str]] = {}
    unknown: set[str] = set()
    for each in found:
        if each.plurals is None:
            unknown.add(each.group)
            continue
        for plural in each.plurals:
            name = f"{plural}.{each.group}" if each.group else plural
            versions.setdefault(name, set()).add(each.version)
    return Discovered(
        Discovery(frozenset(versions), frozenset(unknown)),
        {name: frozenset(served) for name, served in versions.items()},
    )


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""


class _Served(msgspec.Struct, frozen=True):
    resource: str


class _Version(msgspec.Struct, frozen=True):
    version: str
    resources: tuple[_Served, ...] = ()
    freshness: str = "Current"


class _Group(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    versions: tuple[_Version, ...] = ()


class _LegacyGroup(msgspec.Struct, frozen=True):
    name: str
    versions: tuple[_Version, ...] = ()


class _Answer(msgspec.Struct, frozen=True):
    kind: str
    items: tuple[_Group, ...] = ()  # APIGroupDiscoveryList
    groups: tuple[_LegacyGroup, ...] = ()  # APIGroupList
    versions: tuple[str, ...] = ()  # APIVersions


class _LegacyResource(msgspec.Struct, frozen=True):
    name: str


class _LegacyResources(msgspec.Struct, frozen=True):
    resources: tuple[_LegacyResource, ...] = ()


@dataclass(slots=True)
class _Root:
    path: str
    etag: str = ""
    found: tuple[GroupVersion, ...] = ()


class Discoverer:
    """Polls discovery, and at once when asked to; tells `on_answer` of changes.

    What was served is believed to be absent the second time, a second later: an API server that
    starts lists no custom kinds until it has read their definitions, and all that is known of
    their objects would be forgotten (kubernetes/kubernetes, pull request 89145).

    `current` is the last answer; after `unknown_after` seconds of failures nothing is known.
    `confirmed_since`: each poll has succeeded and the process has not paused.
    """

    def __init__(
        self,
        client: KubeClient,
        *,
        interval: float = 30.0,
        unknown_after: float = 120.0,
        on_answer: Callable[[], None] = lambda: None,
        now: Now = real_now,
    ) -> None:
        self._client = client
        self._on_answer = on_answer
        self._interval = interval
        self._unknown_after = unknown_after
        self._now = now
        self._roots = (_Root("/api"), _Root("/apis"))
        self._wanted = asyncio.Event()
        self._failing_since: Instant | None = None
        self._served: frozenset[str] = frozenset()
        self._doubted = False
        self.current = Discovered()
        self.confirmed_since: Instant | None = None
        self.failure = ""

    @property
    def confirmed(self) -> bool:
        return self.confirmed_since is not None

    def ask(self) -> None:
        self._wanted.set()

    def unconfirm(self) -> None:
        self.confirmed_since = None
        self.ask()

    async def run(self) -> None:
        while True:
            self._wanted.clear()
            before = self.current, self.confirmed
            await self.poll()
            if before != (self.current, self.confirmed):
                self._on_answer()
            # Requests to poll again within a second wait for it: a 404 that lasts is no storm.
            await asyncio.sleep(min(1.0, self._interval))
            try:
                async with asyncio.timeout(self._interval):
                    await self._wanted.wait()
            except TimeoutError:
                continue

    async def poll(self) -> None:
        """Ask once; a failure keeps the last answer for a while."""
        try:
            found = [each for root in self._roots for each in await self._read(root)]
        except KubeError as error:
            self._failed(error)
            return
        if self._failing_since is not None:
            log.info("discovery_recovered")
        self._failing_since = None
        self.failure = ""
        answer = summarise(found)
        gone = [name for name in self._served if answer.discovery.state(name) is Served.ABSENT]
        self._doubted = bool(gone) and not self._doubted
        if self._doubted:
            self.unconfirm()
            return
        self.confirmed_since = self.confirmed_since or self._now()
        self.current = answer
        self._served = answer.discovery.served or frozenset()

    def _failed(self, error: KubeError) -> None:
        now = self._now()
        self.failure = str(error)
        if self._failing_since is None:
            self._failing_since = now
            log.warning("discovery_failed", cause=str(error))
        self.confirmed_since = None
        self._doubted = False  # the next answer may be that of a server that starts
        for root in self._roots:
            root.etag = ""
        if (now.boot - self._failing_since.boot).total_seconds() >= self._unknown_after:
            self.current = Discovered()

    async def _read(self, root: _Root) -> tuple[GroupVersion, ...]:
        response = await self._client.request(
            "GET",
            root.path,
            verb="get",
            resource="discovery",
            headers={"Accept": _ACCEPT} | ({"If-None-Match": root.etag} if root.etag else {}),
            max_bytes=_ANSWER_BYTES,
        )
        if response.status == HTTPStatus.NOT_MODIFIED:
            return root.found
        answer = response.decode(_Answer)
        match answer.kind:
            case "APIGroupDiscoveryList":
                root.found = _aggregated(answer)
                root.etag = response.headers.get("ETag", "")
            case "APIGroupList":
                names = [(each.name, v.version) for each in answer.groups for v in each.versions]
                root.found, root.etag = await self._legacy(names), ""
            case "APIVersions":
                names = [("", version) for version in answer.versions]
                root.found, root.etag = await self._legacy(names), ""
            case _:
                raise NotJson(f"GET {root.path}: the answer is not API discovery")
        return root.found

    async def _legacy(self, names: list[tuple[str, str]]) -> tuple[GroupVersion, ...]:
        slots = asyncio.Semaphore(_CONCURRENT)

        async def read(group: str, version: str) -> GroupVersion:
            async with slots:
                try:
                    response = await self._client.request(
                        "GET", api_path(group, version), verb="get", resource="discovery"
                    )
                    listed = response.decode(_LegacyResources).resources
                except KubeError:
                    return GroupVersion(group, version, None)
            return GroupVersion(group, version, _plurals(each.name for each in listed))

        async with asyncio.TaskGroup() as tasks:
            reading = [tasks.create_task(read(*name)) for name in names]
        return tuple(task.result() for task in reading)


def _aggregated(answer: _Answer) -> tuple[GroupVersion, ...]:
    found: list[GroupVersion] = []
    for group in answer.items:
        for each in group.versions:
            if each.freshness == "Stale":
                found.append(GroupVersion(group.metadata.name, each.version, None))
            plurals = _plurals(served.resource for served in each.resources)
            found.append(GroupVersion(group.metadata.name, each.version, plurals))
    return tuple(found)


def _plurals(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name in names if "/" not in name)
