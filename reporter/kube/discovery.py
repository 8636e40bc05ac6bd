"""Which resources the cluster serves, and in which versions.

API servers with aggregated discovery (Kubernetes 1.30, and 1.26 as v2beta1) answer that in two
requests, for /api and /apis; older ones are asked for each version of each group.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from http import HTTPStatus
from typing import Final, TypeAlias

import msgspec
import structlog

from reporter.catalogue.resources import BY_PLACE, CONFIGMAPS, ISTIO_CONFIGMAP, NAMESPACES
from reporter.kube.client import KubeClient, api_path
from reporter.kube.clock import Now, real_now
from reporter.kube.errors import KubeError, NotJson
from reporter.kube.informer import AnyPlace, Place
from reporter.kube.store import Key
from reporter.model.instant import Instant
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.setting_types import StackMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Discovery, Served

_LISTS: Final = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
_ACCEPT: Final = f"{_LISTS.format('v2')},{_LISTS.format('v2beta1')},application/json"
_ANSWER_BYTES: Final = 32 * 2**20
_CONCURRENT: Final = 4

log = structlog.get_logger(__name__)


_GroupVersion: TypeAlias = tuple[str, str, frozenset[str] | None]
"""An API group, one of its versions, and its plurals; None if its resources could not be read."""


@dataclass(frozen=True, slots=True)
class Discovered:
    discovery: Discovery = field(default_factory=Discovery)
    versions: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def version(self, resource: Resource[KubeObject]) -> str | None:
        served = self.versions.get(resource.crd_name, frozenset())
        return next((version for version in resource.versions if version in served), None)


def _summarised(found: Iterable[_GroupVersion]) -> Discovered:
    versions: dict[str, set[str]] = {}
    unknown: set[str] = set()
    for group, version, plurals in found:
        if plurals is None:
            unknown.add(group)
        for plural in plurals or ():
            versions.setdefault(f"{plural}.{group}" if group else plural, set()).add(version)
    return Discovered(
        Discovery(frozenset(versions), frozenset(unknown)),
        {name: frozenset(served) for name, served in versions.items()},
    )


class _Named(msgspec.Struct, frozen=True):
    name: str = ""
    resource: str = ""


class _Version(msgspec.Struct, frozen=True):
    version: str
    resources: tuple[_Named, ...] = ()
    freshness: str = "Current"


class _Group(msgspec.Struct, frozen=True):
    metadata: _Named = _Named()
    name: str = ""
    versions: tuple[_Version, ...] = ()


class _Answer(msgspec.Struct, frozen=True):
    kind: str = ""
    items: tuple[_Group, ...] = ()  # APIGroupDiscoveryList
    groups: tuple[_Group, ...] = ()  # APIGroupList
    versions: tuple[str, ...] = ()  # APIVersions
    resources: tuple[_Named, ...] = ()  # APIResourceList


@dataclass(slots=True)
class _Root:
    path: str
    etag: str = ""
    found: tuple[_GroupVersion, ...] = ()


@dataclass(eq=False)
class Discoverer:
    """Polls discovery periodically and on request; calls `on_answer` when the answer changes.

    A served resource counts as absent only when a second answer, a second later, omits it too: an
    API server that starts lists no custom kinds until it has read their definitions, and believing
    it would discard all that is known of their objects (kubernetes/kubernetes, pull request 89145).

    `current` is the last answer; after `unknown_after` seconds of failures it is empty (unknown).
    `confirmed_since`: since then every poll has succeeded and the process has not paused.
    """

    client: KubeClient
    _: KW_ONLY
    interval: float = 30.0
    unknown_after: float = 120.0
    on_answer: Callable[[], None] = lambda: None
    now: Now = real_now

    def __post_init__(self) -> None:
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
                self.on_answer()
            # At most one poll a second, so that a persistent 404 does not flood the server.
            await asyncio.sleep(min(1.0, self.interval))
            try:
                async with asyncio.timeout(self.interval):
                    await self._wanted.wait()
            except TimeoutError:
                continue

    async def poll(self) -> None:
        """Ask once; after a failure the last answer stays for a while."""
        try:
            found = [each for root in self._roots for each in await self._read(root)]
        except KubeError as error:
            self._failed(error)
            return
        if self._failing_since is not None:
            log.info("discovery_recovered")
        self._failing_since = None
        self.failure = ""
        answer = _summarised(found)
        gone = [name for name in self._served if answer.discovery.state(name) is Served.ABSENT]
        self._doubted = bool(gone) and not self._doubted
        if self._doubted:
            self.unconfirm()
            return
        self.confirmed_since = self.confirmed_since or self.now()
        self.current = answer
        self._served = answer.discovery.served or frozenset()

    def _failed(self, error: KubeError) -> None:
        now = self.now()
        self.failure = str(error)
        if self._failing_since is None:
            self._failing_since = now
            log.warning("discovery_failed", cause=str(error))
        self.confirmed_since = None
        self._doubted = False  # the next answer may come from a server that is starting
        for root in self._roots:
            root.etag = ""
        if (now.boot - self._failing_since.boot).total_seconds() >= self.unknown_after:
            self.current = Discovered()

    async def _read(self, root: _Root) -> tuple[_GroupVersion, ...]:
        response = await self.client.request(
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
        root.etag = ""
        match answer.kind:
            case "APIGroupDiscoveryList":
                root.found = tuple(_aggregated(answer))
                root.etag = response.headers.get("ETag", "")
            case "APIGroupList":
                names = [(each.name, v.version) for each in answer.groups for v in each.versions]
                root.found = await self._legacy(names)
            case "APIVersions":
                root.found = await self._legacy([("", version) for version in answer.versions])
            case _:
                raise NotJson(f"GET {root.path}: the answer is not API discovery")
        return root.found

    async def _legacy(self, names: list[tuple[str, str]]) -> tuple[_GroupVersion, ...]:
        slots = asyncio.Semaphore(_CONCURRENT)

        async def read(group: str, version: str) -> _GroupVersion:
            async with slots:
                try:
                    response = await self.client.request(
                        "GET", api_path(group, version), verb="get", resource="discovery"
                    )
                    listed = response.decode(_Answer).resources
                except KubeError:
                    return group, version, None
            return group, version, _plurals(each.name for each in listed)

        return tuple(await asyncio.gather(*(read(*name) for name in names)))


def _aggregated(answer: _Answer) -> Iterator[_GroupVersion]:
    for group in answer.items:
        for each in group.versions:
            if each.freshness == "Stale":
                yield group.metadata.name, each.version, None
            plurals = _plurals(served.resource for served in each.resources)
            yield group.metadata.name, each.version, plurals


def _plurals(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name in names if name and "/" not in name)


@dataclass(frozen=True)
class ReadPlan:
    """What is read of a cluster, and where. The live cluster and the dump, which lists once what
    the daemon watches, both ask here: a dump reproduces a verdict only if both read the same.
    With `namespace`, only that namespace is read, with the user's rights there.
    """

    settings: EvaluationSettings
    namespace: str = ""

    @cached_property
    def declared(self) -> frozenset[Resource[KubeObject]]:
        """Return the kinds that are read only because the user declared them."""
        declared = self.settings.catalogue.declared
        found = {each.resource for each in declared if each.component.condition}
        return frozenset(filter(None, found)) - {*self.settings.built_in().resources}

    def resources(self) -> Iterator[Resource[KubeObject]]:
        yield from filter(self.settings.reads, self.settings.catalogue.resources)

    def follows_discovery(self, resource: Resource[KubeObject]) -> bool:
        """True if a resource is read only while discovery lists it in a version that we know.

        A declared resource is read in the declared version, even if the kind is built in.
        """
        return resource.custom or resource in self.declared

    def is_of_use(
        self, resource: Resource[KubeObject], discovery: Discovery, *, while_unknown: bool
    ) -> bool:
        """True if the resource's stack may have subjects, or if the resource shows needs.

        `while_unknown` is the answer while discovery of the subjects is unknown.
        """
        if not resource.stack or resource.subject_kind:
            return True
        if self.settings.stack(resource.stack) is StackMode.ON:
            return True
        stack = self.settings.catalogue.stack(resource.stack)
        if resource in stack.shows_needs:
            return True
        states = {discovery.state(each.crd_name) for each in stack.subjects}
        return Served.SERVED in states or (while_unknown and Served.UNKNOWN in states)

    def is_outside(self, resource: Resource[KubeObject]) -> bool:
        """True if only one namespace is read and the resource is outside of it."""
        elsewhere = resource in BY_PLACE or not resource.namespaced
        return bool(self.namespace) and elsewhere and resource is not NAMESPACES

    def place(self, resource: Resource[KubeObject], version: str) -> AnyPlace:
        place = Place(resource=resource, version=version)
        if self.namespace and resource is NAMESPACES:
            return replace(place, name=self.namespace, alone=True)
        return replace(place, namespace=self.namespace)

    def configmaps(
        self, namespaces: Collection[str] | None, deployments: Iterable[Key]
    ) -> Iterator[AnyPlace]:
        """Yield the places of Istio's ConfigMaps: one per revision in each candidate that exists.

        RBAC often grants ConfigMaps by a Role in the existing namespace; asking elsewhere would
        make the resource unknown without need. If `namespaces` is None (unknown), all candidates
        are asked.
        """
        if not self.settings.istiod_deployment:
            return
        revisions = f"{self.settings.istiod_deployment}-"
        found = [key for key in deployments if key[1].startswith(revisions)]
        for namespace in self.settings.istio_namespace:
            if namespaces is not None and namespace not in namespaces:
                continue
            names = {
                f"{ISTIO_CONFIGMAP}-{name.removeprefix(revisions)}"
                for place, name in found
                if place == namespace
            }
            for name in sorted({ISTIO_CONFIGMAP} | names):
                yield Place(
                    resource=CONFIGMAPS,
                    version=CONFIGMAPS.versions[0],
                    namespace=namespace,
                    name=name,
                )
