"""Lists everything that the program reads of a cluster, once, as raw JSON for a dump.

The same rules as in `live.py` say what is listed and what a failed list means. Objects stay JSON:
a dump keeps them as the API server wrote them, reduced to the fields that are read.
"""

import asyncio
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, TypeAlias

import msgspec

from reporter.catalogue import resources as r
from reporter.catalogue.shared_parts import shared_parts
from reporter.kube import errors
from reporter.kube.client import KubeClient
from reporter.kube.decode import ListBody
from reporter.kube.discovery import Discovered, Discoverer, ReadPlan, in_other_versions
from reporter.kube.informer import AnyPlace, Place
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.settings import EvaluationSettings
from reporter.snapshot.dump_served import part
from reporter.snapshot.foreign_events import EventObject
from reporter.snapshot.outputs.archive import Json, pruned
from reporter.snapshot.snapshot import FORBIDDEN, NOT_ASKED, UNREACHABLE, ResourceState, Served

AnyResource: TypeAlias = Resource[KubeObject]

_CONCURRENT: Final = 4
_PAGES: Final = (250, 50, 5)
"""Objects per page; the next smaller size is tried if an answer is too large."""

_EVENTS: Final = 500
_EVENT_PAGES: Final = 40
"""Events per page, and the most pages read: in a large cluster few Events explain anything."""

_PAGE_BYTES: Final = 64 * 2**20
_SECONDS: Final = 60.0


def lease_places(settings: EvaluationSettings) -> frozenset[str]:
    places = (
        settings.place_of(part.name, each.names, each.home)[1]
        if each.home
        else settings.names_of(each.namespaces)
        for part in shared_parts(settings.catalogue)
        for each in part.controllers
        if each.leases
    )
    return frozenset(chain((r.EVENT_NAMESPACE,), *places))


@dataclass(frozen=True, slots=True)
class Collection:
    """`versions`: the version in which each served resource was listed. `failures`: why a resource
    could not be listed. `namespace`: the only namespace that was read; empty for all.
    """

    discovered: Discovered
    states: Mapping[AnyResource, ResourceState]
    versions: Mapping[AnyResource, str]
    objects: Mapping[AnyResource, list[Json]]
    failures: Mapping[AnyResource, errors.KubeError]
    namespace: str = ""


async def collect(
    client: KubeClient, settings: EvaluationSettings, namespace: str = ""
) -> Collection:
    """List everything that `check` reads, once; with `namespace`, only the objects in it."""
    discoverer = Discoverer(client)
    await discoverer.poll()
    collector = _Collector(client, ReadPlan(settings, namespace), discoverer.current)
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
    reading: ReadPlan
    discovered: Discovered
    states: dict[AnyResource, ResourceState] = field(default_factory=dict)
    versions: dict[AnyResource, str] = field(default_factory=dict)
    objects: dict[AnyResource, list[Json]] = field(default_factory=dict)
    failures: dict[AnyResource, errors.KubeError] = field(default_factory=dict)
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_CONCURRENT))

    async def run(self) -> None:
        """List every resource; the order of the results does not depend on who answers first."""
        resources = [*self.reading.resources()]
        async with asyncio.TaskGroup() as tasks:
            for resource in resources:
                tasks.create_task(self._take(resource))
        await self._take_by_place()
        await self._take_on_demand()
        await self._take_events()
        join_lists(self.objects)
        order = {
            each: number for number, each in enumerate((*resources, *r.BY_PLACE, *r.ON_DEMAND))
        }
        self.states = dict(sorted(self.states.items(), key=lambda item: order[item[0]]))

    async def _take(self, resource: AnyResource) -> None:
        discovery = self.discovered.discovery
        served = discovery.state(resource.crd_name)
        follows = self.reading.follows_discovery(resource)
        version = self.discovered.version(resource) if follows else resource.versions[0]
        absent = resource.custom and served is Served.ABSENT
        unanswered = discovery.served is None
        of_use = self.reading.is_of_use(resource, discovery, while_unknown=unanswered)
        if self.reading.is_outside(resource) and not absent:
            self.states[resource] = ResourceState(Served.UNKNOWN, cause=NOT_ASKED)
        elif not of_use or (follows and served is Served.ABSENT):
            self.states[resource] = ResourceState(Served.ABSENT)
        elif version:
            await self._take_all(resource, [self.reading.place(resource, version)])
        elif served is Served.SERVED:
            self.states[resource] = in_other_versions(resource, self.discovered)
        else:
            self.states[resource] = ResourceState(Served.UNKNOWN, cause=UNREACHABLE)

    async def _take_all(self, resource: AnyResource, places: Iterable[AnyPlace]) -> None:
        found: list[Json] = []
        for place in places:
            try:
                async with self._slots:
                    found += await self._list(place)
            except errors.KubeError as error:
                self.failures[resource] = error
                self.states[resource] = replace(
                    _state_of(error, place), partial=self._is_partial(resource)
                )
                return
            self.versions[resource] = place.version
        self.objects[resource] = found
        self.states[resource] = ResourceState(Served.SERVED, partial=self._is_partial(resource))

    def _is_partial(self, resource: AnyResource) -> bool:
        return bool(self.reading.namespace) and not resource.namespaced

    async def _take_by_place(self) -> None:
        """List the resources that are read in a few namespaces only, none of them a tenant's."""
        if self.reading.namespace:
            not_asked = ResourceState(Served.UNKNOWN, cause=NOT_ASKED)
            self.states.update(dict.fromkeys(r.BY_PLACE, not_asked))
            return
        await self._take_all(
            r.EVENTS, [Place(resource=r.EVENTS, version="v1", namespace=r.EVENT_NAMESPACE)]
        )
        await self._take_configmaps()

    async def _take_on_demand(self) -> None:
        """List the kinds that explain faults; skip those that do not exist or are refused."""
        for resource in r.ON_DEMAND:
            served = self.discovered.discovery.state(resource.crd_name) is Served.SERVED
            version = self.discovered.version(resource) if served else None
            if not version or (self.reading.namespace and not resource.namespaced):
                continue
            places = [self.reading.place(resource, version)]
            if resource is r.LEASES and not self.reading.namespace:
                # Nodes renew thousands of other Leases, in kube-node-lease.
                names = {_names(each)[1] for each in self.objects.get(r.NAMESPACES, ())}
                found = sorted(names & lease_places(self.reading.settings))
                places = [replace(places[0], namespace=each) for each in found]
            if not places:
                continue
            await self._take_all(resource, places)
            if self.failures.pop(resource, None) is not None:
                del self.states[resource]

    async def _take_events(self) -> None:
        every = replace(r.EVENTS, label_selector="")
        place: AnyPlace = Place(resource=every, version="v1", namespace=self.reading.namespace)
        with suppress(errors.KubeError):
            found = await _listed(
                self.client, place, _EVENTS, types=(r.EVENTS.type, EventObject), pages=_EVENT_PAGES
            )
            others = [each for each in found if not _is_ours(each)]
            self.objects[r.EVENTS] = [*self.objects.get(r.EVENTS, ()), *others]

    async def _take_configmaps(self) -> None:
        read = self.objects.get(r.NAMESPACES)
        namespaces = None if read is None else {_names(each)[1] for each in read}
        deployments = map(_names, self.objects.get(r.DEPLOYMENTS, ()))
        places = [*self.reading.configmaps(namespaces, deployments)]
        if places:
            await self._take_all(r.CONFIGMAPS, places)
        else:
            self.states[r.CONFIGMAPS] = self.states[r.NAMESPACES]

    def _types(self, resource: AnyResource) -> tuple[type[KubeObject], ...]:
        """Return every struct that objects of the kind are decoded into; there may be several."""
        sought = (resource.group, resource.kind, resource.label_selector)
        every = (*self.reading.settings.catalogue.resources, *r.BY_PLACE, *r.ON_DEMAND)
        alike = (each for each in every if (each.group, each.kind, each.label_selector) == sought)
        return tuple(each.type for each in alike)

    async def _list(self, place: AnyPlace) -> list[Json]:
        if place.alone:
            return await _got(self.client, place, self._types(place.resource))
        for size in _PAGES:
            try:
                return await _listed(self.client, place, size, types=self._types(place.resource))
            except (errors.Gone, errors.AnswerTooLarge) as error:
                last: errors.KubeError = error
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
        with errors.mapped(f"list {place.resource}"):
            page = msgspec.json.decode(response.body, type=ListBody[Json])
        kept = (pruned(item, types) for item in page.items or ())
        found += [each for each in kept if isinstance(each, dict)]
        token = page.metadata.continue_token or ""
        if not token:
            break
    return found


async def _got(
    client: KubeClient, place: AnyPlace, types: Iterable[type[KubeObject]]
) -> list[Json]:
    try:
        response = await client.request(
            "GET", place.path, verb="get", resource=place.resource.plural, timeout=_SECONDS
        )
    except errors.NotFound as error:
        if not error.is_status_object:
            raise
        return []
    with errors.mapped(f"get {place.resource}"):
        found = pruned(msgspec.json.decode(response.body), types)
    return [found] if isinstance(found, dict) else []


def _state_of(error: errors.KubeError, place: AnyPlace) -> ResourceState:
    if isinstance(error, (errors.Forbidden, errors.Unauthorized)):
        permission = place.permission("list, watch")
        return ResourceState(Served.UNKNOWN, cause=FORBIDDEN, permission=permission)
    return ResourceState(Served.UNKNOWN, cause=UNREACHABLE)


def _is_ours(event: Json) -> bool:
    return r.COMPONENT in {part(event, "source", "component"), event.get("reportingComponent")}


def _names(item: Json) -> tuple[str, str]:
    namespace, name = part(item, "metadata", "namespace"), part(item, "metadata", "name")
    return str(namespace or ""), str(name or "")


_NO_COPY: Final[Json] = {}


def join_lists(objects: dict[Resource[KubeObject], list[Json]]) -> None:
    """Merge the fields that label-selected lists read into the kind's list without a selector.

    Otherwise a dump would contain two copies of an object. If the object changed between the two
    lists, the copy from the unselected list is kept as it is.
    """
    plain = {(each.group, each.kind): each for each in objects if not each.label_selector}
    for resource in [each for each in objects if each.label_selector]:
        other = plain.get((resource.group, resource.kind))
        if other is None or other in r.BY_PLACE:
            continue
        selected = {_identity(each): each for each in objects[resource]}
        objects[other] = [
            _joined_copies(each, selected.get(_identity(each), _NO_COPY)) for each in objects[other]
        ]
        objects[resource] = []


def _identity(item: Json) -> tuple[str, ...]:
    return (*_names(item), str(part(item, "metadata", "resourceVersion") or ""))


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
