"""Deleting objects, and the effects on namespaces and custom kinds.

There are no controllers, so the work of the namespace controller and of the finalizer of
CustomResourceDefinitions is done at once. Objects with finalizers stay, and block their namespace
or definition.
"""

from collections.abc import Iterable

from lab.sandbox.errors import forbidden
from lab.sandbox.objects import Object, dig, format_time, meta
from lab.sandbox.operations import Operations
from lab.sandbox.requests import ResourceRequest
from lab.sandbox.resources import CRD_COLLECTION, Registry, Resource, custom_resources
from lab.sandbox.storage import Stored

_IMMORTAL = frozenset({"default", "kube-public", "kube-system"})
_ACCEPTED = (
    ("NamesAccepted", "NoConflicts", "no conflicts found"),
    ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
)
"""Type, reason and message of the conditions of a CustomResourceDefinition that is served."""


class Deletion:
    """The delete verbs, and the reactions to deleted objects and changed definitions."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._storage = operations.storage
        self._registry: Registry = operations.registry
        operations.reactions.append(self._react)
        operations.prepare_crd = self._prepare_crd

    def delete(self, at: ResourceRequest) -> tuple[Stored, bool]:
        """Delete an object; the second value says whether it is gone."""
        stored = self._operations.find(at)
        if at.resource.name == "namespaces" and at.name in _IMMORTAL:
            raise forbidden("", "namespaces", at.name, cause="this namespace may not be deleted")
        return self._delete(at.resource, stored)

    def delete_each(self, resource: Resource, targets: Iterable[Stored]) -> None:
        for stored in targets:
            self._delete(resource, stored)

    def _delete(self, resource: Resource, stored: Stored) -> tuple[Stored, bool]:
        obj = stored.decode(resource.api_version, resource.kind)
        holds = meta(obj).get("finalizers")
        if resource.name == "namespaces":
            holds = True
        elif resource.name == CRD_COLLECTION:
            holds = holds or self._instances(stored.key.name)
        if not holds:
            return self._operations.remove(resource, stored), True
        if not meta(obj).get("deletionTimestamp"):
            meta(obj)["deletionTimestamp"] = format_time(self._storage.clock())
            meta(obj)["deletionGracePeriodSeconds"] = 0
            if meta(obj).get("generation"):
                meta(obj)["generation"] += 1
            if resource.name == "namespaces":
                obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
            stored = self._storage.write(resource.name, obj)
        if resource.name == "namespaces":
            self._empty_namespace(stored.key.name)
        elif resource.name == CRD_COLLECTION:
            self._delete_instances(stored.key.name)
        left = self._storage.get(resource.name, stored.key.namespace, stored.key.name)
        return left or stored, left is None

    def _empty_namespace(self, name: str) -> None:
        for collection in list(self._storage.collections.values()):
            resource = self._registry.by_name(collection.name)
            if resource is not None and resource.namespaced:
                self.delete_each(resource, list(collection.range(name)))
        self._finish_namespace(name)

    def _finish_namespace(self, name: str) -> None:
        """Remove a namespace that is being deleted once it is empty."""
        collections = self._storage.collections.values()
        if not any(next(each.range(name), None) for each in collections):
            self._finish("namespaces", name)

    def _finish_crd(self, name: str) -> None:
        if not self._instances(name):
            self._finish(CRD_COLLECTION, name)

    def _finish(self, collection: str, name: str) -> None:
        """Remove an object whose deletion only waits for what it contains."""
        stored = self._storage.get(collection, "", name)
        resource = self._registry.by_name(collection)
        if stored is None or resource is None:
            return
        metadata = meta(stored.decode(resource.api_version, resource.kind))
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
            self._operations.remove(resource, stored)

    def _instances(self, collection: str) -> list[Stored]:
        return list(self._storage.collection(collection).range())

    def _delete_instances(self, collection: str) -> None:
        resource = self._registry.by_name(collection)
        if resource is not None:
            self.delete_each(resource, self._instances(collection))
        self._finish_crd(collection)

    def _react(self, resource: Resource, new: Stored, old: Stored | None) -> None:
        current = self._storage.get(resource.name, new.key.namespace, new.key.name)
        if resource.name == CRD_COLLECTION:
            self._serve(new.key.name, new if current is not None else None, old)
        elif current is None:
            if resource.namespaced:
                self._finish_namespace(new.key.namespace)
            if resource.custom:
                self._finish_crd(resource.name)

    def _serve(self, name: str, new: Stored | None, old: Stored | None) -> None:
        """Start, change or stop serving a custom kind."""
        resource = self._registry.by_name(CRD_COLLECTION)
        if resource is None:
            return
        before = self._spec(resource, old) if old is not None else None
        after = self._spec(resource, new) if new is not None else None
        if before == after:
            return
        collection = self._storage.collection(name)
        self._registry.remove(name)
        if new is not None:
            for served in custom_resources(new.decode(resource.api_version, resource.kind)):
                self._registry.add(served)
        if before is not None:
            # The watch cache is rebuilt, and earlier versions are too old for it.
            collection.compact(self._storage.version)
            collection.end_subscriptions()

    @staticmethod
    def _spec(resource: Resource, stored: Stored) -> Object | None:
        return dig(stored.decode(resource.api_version, resource.kind), "spec") or None

    def _prepare_crd(self, crd: Object, old: Object | None) -> None:
        """Set the status of a CustomResourceDefinition that is served."""
        now = format_time(self._storage.clock())
        spec = crd.get("spec") or {}
        status = dict(crd.get("status") or {})
        if old is not None and spec == old.get("spec") and status.get("conditions"):
            return
        versions = [item.get("name") for item in spec.get("versions") or () if item.get("storage")]
        accepted = [
            {
                "type": kind,
                "status": "True",
                "lastTransitionTime": now,
                "reason": reason,
                "message": text,
            }
            for kind, reason, text in _ACCEPTED
        ]
        stored = list(status.get("storedVersions") or ())
        crd["status"] = {
            "conditions": status.get("conditions") or accepted,
            "acceptedNames": spec.get("names") or {},
            "storedVersions": [*stored, *(item for item in versions if item not in stored)],
        }
