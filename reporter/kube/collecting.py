"""Everything that is read of the cluster, listed once and raw, for a dump.

What is listed, and what it means that something cannot be, is as in `live.py`. Objects stay JSON:
a dump has them as the API server wrote them, as far as they are read.

One object of what two lists of a kind hold of it, where one of them has a label to select by.
"""

import asyncio
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import msgspec

from reporter.catalogue.resources import (
    BY_PLACE,
    COMPONENT,
    CONFIGMAPS,
    DEPLOYMENTS,
    EVENT_NAMESPACE,
    EVENTS,
    ISTIO_CONFIGMAP,
    NAMESPACES,
    ON_DEMAND,
)
from reporter.kube.client import KubeClient
from reporter.kube.discovery import Discovered, Discoverer
from reporter.kube.errors import (
    AnswerTooLarge,
    Forbidden,
    Gone,
    KubeError,
    NotFound,
    Unauthorized,
    mapped,
)
from reporter.kube.informer import Place
from reporter.kube.informers import AnyPlace
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.setting_types import StackMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.foreign_events import EventObject
from reporter.snapshot.outputs.archive import Json, pruned
from reporter.snapshot.snapshot import (
    FORBIDDEN,
    NOT_ASKED,
    OTHER_VERSIONS,
    UNREACHABLE,
    ResourceState,
    Served,
)

AnyResource: TypeAlias = Resource[KubeObject]

_CONCURRENT: Final = 4
_PAGES: Final = (250, 50, 5)
"""Objects in a page: fewer where an answer is too large."""

_EVENTS: Final = 500
_EVENT_PAGES: Final = 40
"""Events in a page, and pages of them that are read: of a cluster with more, not all explain something."""

_PAGE_BYTES: Final = 64 * 2**20
_SECONDS: Final = 60.0


class _ListMetadata(msgspec.Struct, frozen=True):
    next: str | None = msgspec.field(name="continue", default=None)


class _Page(msgspec.Struct, frozen=True):
    metadata: _ListMetadata = _ListMetadata()
    items: list[Json] | None = None


@dataclass(frozen=True, slots=True)
class Collection:
    """What was read.

    Attributes:
        discovered: which resources are served, and in which versions.
        versions: the version in which each resource that is served was listed.
        failures: of each resource that could not be listed, why.
        namespace: the only one that was read; empty for all.

    """

    discovered: Discovered
    states: Mapping[AnyResource, ResourceState]
    versions: Mapping[AnyResource, str]
    objects: Mapping[AnyResource, list[Json]]
    failures: Mapping[AnyResource, KubeError]
    namespace: str = ""


async def collect(
    client: KubeClient, settings: EvaluationSettings, namespace: str = ""
) -> Collection:
    """List everything that `check` reads, each once; with a namespace, only what is in it."""
    discoverer = Discoverer(client)
    await discoverer.poll()
    collector = _Collector(client, settings, discoverer.current, namespace)
    await collector.run()
    return Collection(
        discovered=discoverer.current,
        states=collector.states,
        versions=collector.versions,
        objects=collector.objects,
        failures=collector.failures,
        namespace=namespace,
    )


@dataclass(slots=True)
class _Collector:
    client: KubeClient
    settings: EvaluationSettings
    discovered: Discovered
    namespace: str = ""
    states: dict[AnyResource, ResourceState] = field(default_factory=dict)
    versions: dict[AnyResource, str] = field(default_factory=dict)
    objects: dict[AnyResource, list[Json]] = field(default_factory=dict)
    failures: dict[AnyResource, KubeError] = field(default_factory=dict)
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_CONCURRENT))

    async def run(self) -> None:
        """List all; the order of the results does not depend on who answers first."""
        resources = [*self._read()]
        async with asyncio.TaskGroup() as tasks:
            for resource in resources:
                tasks.create_task(self._take(resource))
        await self._take_by_place()
        await self._take_on_demand()
        await self._take_events()
        join_lists(self.objects)
        order = {each: number for number, each in enumerate((*resources, *BY_PLACE, *ON_DEMAND))}
        self.states = dict(sorted(self.states.items(), key=lambda item: order[item[0]]))

    def _read(self) -> Iterator[AnyResource]:
        yield from filter(self.settings.reads, self.settings.catalogue.resources)

    async def _take(self, resource: AnyResource) -> None:
        served = self.discovered.discovery.state(resource.crd_name)
        follows = resource.custom or resource in self._declared()
        version = self.discovered.version(resource) if follows else resource.versions[0]
        absent = resource.custom and served is Served.ABSENT
        elsewhere = self.namespace and not resource.namespaced and resource is not NAMESPACES
        if elsewhere and not absent:
            self.states[resource] = ResourceState(Served.UNKNOWN, cause=NOT_ASKED)
        elif not self._is_of_use(resource) or (follows and served is Served.ABSENT):
            self.states[resource] = ResourceState(Served.ABSENT)
        elif version:
            await self._take_all(resource, [self._place(resource, version)])
        elif served is Served.SERVED:
            found = ", ".join(sorted(self.discovered.versions[resource.crd_name]))
            cause = f"{OTHER_VERSIONS} {found}, not in {', '.join(resource.versions)}"
            self.states[resource] = ResourceState(Served.UNKNOWN, cause=cause)
        else:
            self.states[resource] = ResourceState(Served.UNKNOWN, cause=UNREACHABLE)

    def _place(self, resource: AnyResource, version: str) -> AnyPlace:
        place = Place(resource=resource, version=version)
        if not self.namespace:
            return place
        if resource is NAMESPACES:
            return replace(place, name=self.namespace, alone=True)
        return replace(place, namespace=self.namespace)

    def _declared(self) -> frozenset[AnyResource]:
        declared = self.settings.catalogue.declared
        found = frozenset(each.resource for each in declared if each.component.condition)
        return frozenset(each for each in found if each is not None) - {
            *self.settings.built_in().resources
        }

    def _is_of_use(self, resource: AnyResource) -> bool:
        if not resource.stack or resource.subject_kind:
            return True
        if self.settings.stack(resource.stack) is StackMode.ON:
            return True
        stack = self.settings.catalogue.stack(resource.stack)
        if resource in stack.shows_needs:
            return True
        states = {self.discovered.discovery.state(each.crd_name) for each in stack.subjects}
        return self.discovered.discovery.served is None or Served.SERVED in states

    async def _take_all(self, resource: AnyResource, places: Iterable[AnyPlace]) -> None:
        """List a resource in some places; one that fails makes it unknown."""
        found: list[Json] = []
        for place in places:
            try:
                async with self._slots:
                    found += await self._list(place)
            except KubeError as error:
                self.failures[resource] = error
                self.states[resource] = replace(
                    _state_of(error, place), partial=self._is_partial(resource)
                )
                return
            self.versions[resource] = place.version
        self.objects[resource] = found
        self.states[resource] = ResourceState(Served.SERVED, partial=self._is_partial(resource))

    def _is_partial(self, resource: AnyResource) -> bool:
        """Tell whether one object of a kind is read in place of all."""
        return bool(self.namespace) and not resource.namespaced

    async def _take_by_place(self) -> None:
        """Take what is read in some places only; they are outside of a tenant's namespace."""
        if self.namespace:
            not_asked = ResourceState(Served.UNKNOWN, cause=NOT_ASKED)
            self.states.update(dict.fromkeys(BY_PLACE, not_asked))
            return
        await self._take_all(
            EVENTS, [Place(resource=EVENTS, version="v1", namespace=EVENT_NAMESPACE)]
        )
        await self._take_configmaps()

    async def _take_on_demand(self) -> None:
        """Take what explains faults, as far as it is there and may be read: nothing of it is missed."""
        for resource in ON_DEMAND:
            served = self.discovered.discovery.state(resource.crd_name) is Served.SERVED
            version = self.discovered.version(resource) if served else None
            if not version or (self.namespace and not resource.namespaced):
                continue
            await self._take_all(resource, [self._place(resource, version)])
            if self.failures.pop(resource, None) is not None:
                del self.states[resource]

    async def _take_events(self) -> None:
        """Take the Events of others: what cannot be read of them is no fault of the dump."""
        every = replace(EVENTS, label_selector="")
        place: AnyPlace = Place(resource=every, version="v1", namespace=self.namespace)
        with suppress(KubeError):
            found = await _listed(
                self.client, place, _EVENTS, types=(EVENTS.type, EventObject), pages=_EVENT_PAGES
            )
            others = [each for each in found if not _is_ours(each)]
            self.objects[EVENTS] = [*self.objects.get(EVENTS, ()), *others]

    async def _take_configmaps(self) -> None:
        places: list[AnyPlace] = [
            Place(resource=CONFIGMAPS, version="v1", namespace=namespace, name=name)
            for namespace in self._istio_namespaces()
            for name in self._istio_names(namespace)
        ]
        if places:
            await self._take_all(CONFIGMAPS, places)
        else:
            self.states[CONFIGMAPS] = self.states[NAMESPACES]

    def _istio_namespaces(self) -> Iterable[str]:
        """Return the candidates that exist, or all where namespaces cannot be read."""
        candidates = self.settings.istio_namespace
        if not self.settings.istiod_deployment:
            return ()
        if NAMESPACES not in self.objects:
            return candidates
        names = {_names(each)[1] for each in self.objects[NAMESPACES]}
        return [each for each in candidates if each in names]

    def _istio_names(self, namespace: str) -> Iterable[str]:
        revisions = f"{self.settings.istiod_deployment}-"
        found = (_names(each) for each in self.objects.get(DEPLOYMENTS, ()))
        return sorted(
            {ISTIO_CONFIGMAP}
            | {
                f"{ISTIO_CONFIGMAP}-{name.removeprefix(revisions)}"
                for place, name in found
                if place == namespace and name.startswith(revisions)
            }
        )

    def _types(self, resource: AnyResource) -> tuple[type[KubeObject], ...]:
        """Return all that objects are decoded into, for a kind may be read for several purposes."""
        alike = (
            each.type
            for each in (*self.settings.catalogue.resources, *BY_PLACE, *ON_DEMAND)
            if (each.group, each.kind, each.label_selector)
            == (resource.group, resource.kind, resource.label_selector)
        )
        return tuple(alike)

    async def _list(self, place: AnyPlace) -> list[Json]:
        if place.alone:
            return await _got(self.client, place, self._types(place.resource))
        for size in _PAGES:
            try:
                return await _listed(self.client, place, size, types=self._types(place.resource))
            except (Gone, AnswerTooLarge) as error:
                last: KubeError = error
        raise last


async def _listed(
    client: KubeClient,
    place: AnyPlace,
    size: int,
    *,
    types: Iterable[type[msgspec.Struct]],
    pages: int = sys.maxsize,
) -> list[Json]:
    found: list[Json] = []
    token = ""
    types = tuple(types)
    for _ in range(pages):
        response = await client.request(
            "GET",
            place.path,
            verb="list",
            resource=place.resource.plural,
            params={
                **place.selectors,
                "limit": str(size),
                **({"continue": token} if token else {}),
            },
            timeout=_SECONDS,
            max_bytes=_PAGE_BYTES,
        )
        with mapped(f"list {place.resource}"):
            page = msgspec.json.decode(response.body, type=_Page)
        kept = (pruned(item, types) for item in page.items or ())
        found += [each for each in kept if isinstance(each, dict)]
        token = page.metadata.next or ""
        if not token:
            break
    return found


async def _got(
    client: KubeClient, place: AnyPlace, types: Iterable[type[KubeObject]]
) -> list[Json]:
    """Return the one object that a place has, or nothing where it does not exist."""
    try:
        response = await client.request(
            "GET", place.path, verb="get", resource=place.resource.plural, timeout=_SECONDS
        )
    except NotFound as error:
        if not error.is_status_object:
            raise
        return []
    with mapped(f"get {place.resource}"):
        found = pruned(msgspec.json.decode(response.body), types)
    return [found] if isinstance(found, dict) else []


def _state_of(error: KubeError, place: AnyPlace) -> ResourceState:
    if isinstance(error, (Forbidden, Unauthorized)):
        permission = place.permission("list, watch")
        return ResourceState(Served.UNKNOWN, cause=FORBIDDEN, permission=permission)
    return ResourceState(Served.UNKNOWN, cause=UNREACHABLE)


def _is_ours(event: Json) -> bool:
    source = event.get("source")
    component = source.get("component") if isinstance(source, dict) else None
    return COMPONENT in {component, event.get("reportingComponent")}


def _names(item: Json) -> tuple[str, str]:
    metadata = item.get("metadata")
    meta = metadata if isinstance(metadata, dict) else {}
    return str(meta.get("namespace") or ""), str(meta.get("name") or "")


_NO_COPY: Final[Json] = {}


def join_lists(objects: dict[Resource[KubeObject], list[Json]]) -> None:
    """Put all fields that were read of an object into the list of its kind without a label.

    Two copies would be two statements. Where an object changed between the lists, the plain one counts.
    """
    plain = {(each.group, each.kind): each for each in objects if not each.label_selector}
    for resource in [each for each in objects if each.label_selector]:
        other = plain.get((resource.group, resource.kind))
        if other is None or other in BY_PLACE:
            continue
        selected = {_identity(each): each for each in objects[resource]}
        objects[other] = [
            _joined_copies(each, selected.get(_identity(each), _NO_COPY)) for each in objects[other]
        ]
        objects[resource] = []


def _identity(item: Json) -> tuple[str, ...]:
    metadata = item.get("metadata")
    meta = metadata if isinstance(metadata, dict) else {}
    return tuple(str(meta.get(key) or "") for key in ("namespace", "name", "resourceVersion"))


def _joined_copies(one: Json, other: Json) -> Json:
    return {
        key: _joined(one[key], other[key]) if key in one and key in other else each
        for key, each in {**one, **other}.items()
    }


def _joined(one: object, other: object) -> object:
    if isinstance(one, dict) and isinstance(other, dict):
        return _joined_copies(one, other)
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [_joined(*each) for each in zip(one, other, strict=True)]
    return one
