"""Lists everything that the program reads of a cluster, once, as raw JSON for a dump.

The live cluster (`live.py`) decides what is listed and what a failed list means. Objects stay JSON:
a dump keeps them as the API server wrote them, reduced to the fields that are read.
"""

import sys
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, TypeAlias, TypeVar

import msgspec

from reporter.catalogue import resources as r
from reporter.catalogue.shared_parts import shared_parts
from reporter.kube import errors
from reporter.kube.client import KubeClient
from reporter.kube.decode import ListBody
from reporter.kube.discovery import Discovered
from reporter.kube.informer import AnyPlace, Place
from reporter.kube.live import LiveCluster
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.settings import EvaluationSettings
from reporter.snapshot.dump_served import part
from reporter.snapshot.foreign_events import EventObject
from reporter.snapshot.outputs.archive import Json, pruned
from reporter.snapshot.snapshot import UNREACHABLE, ResourceState, Served

AnyResource: TypeAlias = Resource[KubeObject]
ObjectT = TypeVar("ObjectT", bound=KubeObject)

_EVENTS: Final = 500
_EVENT_PAGES: Final = 40
"""Events per page, and the most pages read: in a large cluster few Events explain anything."""

_PAGE_BYTES: Final = 64 * 2**20
_SECONDS: Final = 60.0
_PAGE: Final = msgspec.json.Decoder(ListBody[Json])


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


@dataclass(frozen=True, slots=True)
class ListedPages:
    """Keeps the JSON of the objects that a live cluster lists."""

    settings: EvaluationSettings
    objects: dict[AnyPlace, list[Json]] = field(default_factory=dict)
    unreadable: dict[AnyResource, errors.KubeError] = field(default_factory=dict)

    def take(self, place: AnyPlace, body: bytes, token: str) -> None:
        """Take a page of a list, which begins without a `token`; or the one object of a place."""
        if not token:
            self.objects[place] = []
        try:
            with errors.mapped(f"list {place.resource}"):
                items = (
                    [msgspec.json.decode(body)] if place.alone else _PAGE.decode(body).items or ()
                )
        except errors.KubeError as error:
            self.unreadable[place.resource] = error
        else:
            self.objects[place] += _pruned(items, self.types(place.resource))

    def of(self, places: Iterable[AnyPlace]) -> list[Json]:
        return [*chain.from_iterable(self.objects.get(each, ()) for each in places)]

    def types(self, resource: AnyResource) -> tuple[type[KubeObject], ...]:
        """Return every struct that objects of the kind are decoded into; there may be several."""
        sought = (resource.group, resource.kind, resource.label_selector)
        every = (*self.settings.catalogue.resources, *r.BY_PLACE, *r.ON_DEMAND)
        alike = (each for each in every if (each.group, each.kind, each.label_selector) == sought)
        return tuple(each.type for each in alike)


async def collect(cluster: LiveCluster, pages: ListedPages) -> Collection:
    """Return what a live cluster has listed, and what would explain faults in it."""
    states = {**cluster.snapshot().states}
    versions: dict[AnyResource, str] = {}
    objects: dict[AnyResource, list[Json]] = {}
    failures = {**pages.unreadable}
    for resource, state in states.items():
        informers = cluster.informers_of(resource)
        if resource in failures:
            unread = ResourceState(Served.UNKNOWN, cause=UNREACHABLE, partial=state.partial)
            states[resource] = unread
        elif informers and state.served is Served.SERVED:
            versions[resource] = informers[0].place.version
            objects[resource] = pages.of(each.place for each in informers)
        elif found := [each.failure for each in informers if each.failure]:
            failures[resource] = found[0]
    namespaces = {_names(each)[1] for each in objects.get(r.NAMESPACES, ())}
    for resource in r.ON_DEMAND:
        with suppress(errors.KubeError):
            places = _places_on_demand(resource, cluster, namespaces)
            types = pages.types(resource)
            lists = [await _listed(cluster.client, each, types) for each in places]
            if places:
                objects[resource] = [*chain.from_iterable(lists)]
                versions[resource] = places[0].version
                states[resource] = ResourceState(Served.SERVED)
    namespace = cluster.reading.namespace
    every = Place(resource=replace(r.EVENTS, label_selector=""), version="v1", namespace=namespace)
    with suppress(errors.KubeError):
        of_events = (r.EVENTS.type, EventObject)
        events = await _listed(cluster.client, every, of_events, size=_EVENTS, pages=_EVENT_PAGES)
        others = [each for each in events if not _is_ours(each)]
        objects[r.EVENTS] = [*objects.get(r.EVENTS, ()), *others]
    join_lists(objects)
    return Collection(cluster.discovered, states, versions, objects, failures, namespace)


def _places_on_demand(
    resource: AnyResource, cluster: LiveCluster, namespaces: AbstractSet[str]
) -> list[AnyPlace]:
    """Return where a kind that explains faults is read; nowhere if it does not exist."""
    version, namespace = cluster.discovered.version(resource), cluster.reading.namespace
    if not version or (namespace and not resource.namespaced):
        return []
    place = cluster.reading.place(resource, version)
    if resource is not r.LEASES or namespace:
        return [place]
    # Nodes renew thousands of other Leases, in kube-node-lease.
    found = sorted(namespaces & _lease_places(cluster.reading.settings))
    return [replace(place, namespace=each) for each in found]


def _lease_places(settings: EvaluationSettings) -> frozenset[str]:
    places = (
        settings.place_of(part.name, each.names, each.home)[1]
        if each.home
        else settings.names_of(each.namespaces)
        for part in shared_parts(settings.catalogue)
        for each in part.controllers
        if each.leases
    )
    return frozenset(chain((r.EVENT_NAMESPACE,), *places))


async def _listed(
    client: KubeClient,
    place: Place[ObjectT],
    types: tuple[type[msgspec.Struct], ...],
    *,
    size: int = 250,
    pages: int = sys.maxsize,
) -> list[Json]:
    found: list[Json] = []
    token = ""
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
            page = _PAGE.decode(response.body)
        found += _pruned(page.items or (), types)
        token = page.metadata.continue_token or ""
        if not token:
            break
    return found


def _pruned(items: Iterable[object], types: tuple[type[msgspec.Struct], ...]) -> list[Json]:
    return [each for item in items if isinstance(each := pruned(item, types), dict)]


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
