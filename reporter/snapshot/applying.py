"""Computes the snapshot that applying manifests would give, without asking any server.

Manifests are merged as in server-side apply by a new manager (Kubernetes documentation,
"Server-Side Apply"): maps field by field, lists of maps by the keys of their schema; fields that
the manifest omits stay. Other lists are replaced. `status` is not touched: it is a subresource of
the kinds that are read. Controllers are not simulated: a new object has no status, and a changed
one keeps its old status, of an older generation.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypeAlias

import msgspec

from reporter.catalogue.resources import NAMESPACES
from reporter.model.instant import rfc3339
from reporter.model.objects import KubeObject
from reporter.model.report import SkippedObject, skipped_line
from reporter.model.resource import AnyResource
from reporter.model.subject import ObjectRef
from reporter.model.text import clean
from reporter.snapshot.decode import decode_object
from reporter.snapshot.dump_served import Wanted
from reporter.snapshot.snapshot import ResourceState, Served, Snapshot
from reporter.snapshot.table import Table

Json: TypeAlias = dict[str, object]

_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("containers", "env", "initContainers", "listeners", "volumes"), ("name",)),
    "conditions": ("type",), "ownerReferences": ("uid",), "volumeMounts": ("mountPath",),
}  # fmt: skip
"""Keys of map-like lists: `x-kubernetes-list-map-keys` of Kubernetes 1.30, Gateway API 1.2."""

_SERVERS_OWN: Final = (
    "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
    "managedFields",
)  # fmt: skip
"""Metadata that only the API server sets; a manifest's values are ignored."""


@dataclass(frozen=True, slots=True)
class AppliedManifests:
    """`unsettled`: new or changed objects, whose status is not up to date. `notes`: remarks on the
    manifests for the user.
    """

    snapshot: Snapshot
    unsettled: frozenset[ObjectRef]
    notes: tuple[str, ...]


def apply_manifests(
    snapshot: Snapshot,
    manifests: Iterable[object],
    resources: Iterable[AnyResource],
    *,
    now: datetime,
    namespace: str = "",
) -> AppliedManifests:
    """Return the snapshot as if the manifests had just been applied.

    `namespace` is used for objects without one; if it is empty, `default`.
    """
    applying = _Applying(snapshot, Wanted(resources), now, namespace or "default")
    found = [each for document in manifests for each in _items(document)]
    # CRDs and namespaces first, as with kubectl: other objects may need them.
    for each in sorted(found, key=applying.rank):
        applying.take(each)
    return applying.result()


def _items(document: object) -> Iterator[Json]:
    if not isinstance(document, dict):
        return
    items = document.get("items")
    if str(document.get("kind", "")).endswith("List") and isinstance(items, list):
        for each in items:
            yield from _items(each)
        return
    yield document


@dataclass(slots=True)
class _Applying:
    snapshot: Snapshot
    wanted: Wanted
    now: datetime
    namespace: str
    tables: dict[AnyResource, dict[tuple[str, str], KubeObject]] = field(default_factory=dict)
    states: dict[AnyResource, ResourceState] = field(default_factory=dict)
    served: set[str] = field(default_factory=set)
    skipped: list[SkippedObject] = field(default_factory=list)
    unsettled: set[ObjectRef] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def rank(self, manifest: Json) -> int:
        group, _, kind = _kind(manifest)
        if self.wanted.is_crd(group, kind):
            return 0
        return 1 if (group, kind) == ("", NAMESPACES.kind) else 2

    def take(self, manifest: Json) -> None:
        group, version, kind = _kind(manifest)
        name = _text(_metadata(manifest).get("name"))
        if not kind or not version or not name:
            self.notes.append("A document has no kind, apiVersion or name, and was not applied.")
            return
        if self.wanted.is_crd(group, kind):
            self._define(name)
            return
        resources = self.wanted.of_kind(group, kind)
        if not resources:
            self.notes.append(
                f"{kind} {clean(name)} has a kind that is not read, so it is ignored."
            )
        for resource in resources:
            self._apply(resource, version, manifest)

    def _define(self, name: str) -> None:
        if self.snapshot.discovery.state(name) is Served.SERVED:
            return
        self.served.add(name)
        for resource in self.wanted.resources:
            if resource.crd_name == name and self._state(resource).served is Served.ABSENT:
                self.states[resource] = ResourceState(Served.SERVED)
                self.tables[resource] = {}

    def _state(self, resource: AnyResource) -> ResourceState:
        return self.states.get(resource) or self.snapshot.state(resource)

    def _apply(self, resource: AnyResource, version: str, manifest: Json) -> None:
        meta = _metadata(manifest)
        place = (_text(meta.get("namespace")) or self.namespace) if resource.namespaced else ""
        key = (place, _text(meta.get("name")))
        if fault := self._refused(resource, version, key):
            name = f"{resource.kind} {'/'.join(filter(None, key))}"
            self.notes.append(f"{clean(name)} could not be applied: {fault}.")
            return
        table = self._table(resource)
        old = table.get(key)
        value = self._merged(resource, old, manifest, key=key)
        if value is None:
            return
        if not self.wanted.selects(resource, _metadata(value)):
            table.pop(key, None)
            return
        new = decode_object(resource, msgspec.json.encode(value))
        if isinstance(new, SkippedObject):
            self.notes.append(f"It would be skipped: {skipped_line(new)}.")
            self.skipped.append(new)
            table.pop(key, None)
            return
        table[key] = new
        self.unsettled.add(resource.ref(new))

    def _refused(self, resource: AnyResource, version: str, key: tuple[str, str]) -> str:
        state = self._state(resource)
        if state.served is Served.ABSENT:
            return f"the cluster does not serve {resource}"
        if state.served is Served.UNKNOWN:
            return f"{resource} could not be read ({state.cause})"
        if version not in resource.versions:
            return f"version {clean(version)} of it is not known"
        spaces = self._table(NAMESPACES)
        lacks = resource.namespaced and ("", key[0]) not in spaces
        if lacks and self.snapshot.absence_known(NAMESPACES, name=key[0]):
            return f"there is no namespace {clean(key[0])}"
        return ""

    def _merged(
        self, resource: AnyResource, old: KubeObject | None, manifest: Json, *, key: tuple[str, str]
    ) -> Json | None:
        """Return the merged object, or None if no field that is read would change."""
        wanted = {name: each for name, each in manifest.items() if name != "status"}
        own = {name: each for name, each in _metadata(manifest).items() if name not in _SERVERS_OWN}
        place = {"namespace": key[0]} if resource.namespaced else {}
        wanted["metadata"] = {**own, "name": key[1], **place}
        if old is None:
            identity = f"applied/{resource}/{'/'.join(key)}"
            born = {"uid": identity, "generation": 1, "creationTimestamp": rfc3339(self.now)}
            return {**wanted, "metadata": {**_metadata(wanted), **born}}
        before = msgspec.to_builtins(old)
        merged = _merge(before, wanted)
        if not isinstance(merged, dict):
            return None
        after = decode_object(resource, msgspec.json.encode(merged))
        if isinstance(after, SkippedObject):
            return merged
        if after == old:
            return None
        if msgspec.structs.replace(after, metadata=old.metadata) != old:
            # For most kinds the API server counts changes of the spec.
            merged["metadata"] = {**_metadata(merged), "generation": old.metadata.generation + 1}
        return merged

    def _table(self, resource: AnyResource) -> dict[tuple[str, str], KubeObject]:
        if resource not in self.tables:
            self.tables[resource] = dict(self.snapshot[resource].objects)
        return self.tables[resource]

    def result(self) -> AppliedManifests:
        discovery = self.snapshot.discovery
        if self.served:
            served = (discovery.served or frozenset()) | self.served
            discovery = replace(discovery, served=served, absent=discovery.absent - self.served)
        covered = self.snapshot.covered
        new = {ref.name for ref in self.unsettled if ref.kind == NAMESPACES.kind}
        tables = {each: Table(objects) for each, objects in self.tables.items()}
        snapshot = replace(
            self.snapshot,
            tables={**self.snapshot.tables, **tables},
            states={**self.snapshot.states, **self.states},
            discovery=discovery,
            covered=None if covered is None else covered | new,
            skipped=(*self.snapshot.skipped, *self.skipped),
        )
        if not self.unsettled and not self.served:
            self.notes.append("The manifests change nothing that is read.")
        notes = tuple(dict.fromkeys(self.notes))
        return AppliedManifests(snapshot, frozenset(self.unsettled), notes)


def _kind(manifest: Json) -> tuple[str, str, str]:
    group, _, version = _text(manifest.get("apiVersion")).rpartition("/")
    return group, version, _text(manifest.get("kind"))


def _metadata(manifest: Json) -> Json:
    found = manifest.get("metadata")
    return found if isinstance(found, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _merge(old: object, new: object, *, name: str = "") -> object:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        merged = dict(old)
        for key, value in new.items():
            merged[key] = _merge(old.get(key), value, name=str(key))
        return merged
    if isinstance(old, (list, tuple)) and isinstance(new, list) and name in _KEYS:
        return _merge_lists([*old], new, _KEYS[name])
    return new


def _merge_lists(old: list[object], new: list[object], keys: tuple[str, ...]) -> list[object]:
    def key_of(item: object) -> tuple[object, ...] | None:
        if not isinstance(item, Mapping) or any(key not in item for key in keys):
            return None
        return tuple(str(item[key]) for key in keys)

    if None in map(key_of, [*old, *new]):
        return new
    ours = {key_of(item): item for item in new}
    merged = [_merge(item, ours.pop(key_of(item), {})) for item in old]
    return [*merged, *ours.values()]
