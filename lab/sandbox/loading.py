"""Preloads objects, such as those of a dump, and makes their kinds served."""

from collections.abc import Iterable, Iterator

from lab.sandbox.errors import ApiError
from lab.sandbox.objects import JSON, Object, copy_json, dig, meta, name_of, namespace_of
from lab.sandbox.operations import Operations
from lab.sandbox.requests import ResourceRequest
from lab.sandbox.resources import CRD_COLLECTION, Resource

_DEFINITION = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
_CLUSTER_SCOPED = frozenset({
    "AKSNodeClass", "ClusterIssuer", "ClusterServingRuntime", "ClusterStorageContainer",
    "ClusterTriggerAuthentication", "EC2NodeClass", "GatewayClass", "NodeClaim", "NodeClass",
    "NodePool", "PriorityClass", "StorageClass",
})  # fmt: skip
"""Cluster-scoped custom kinds of model serving stacks."""

_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def plural_of(kind: str) -> str:
    """Return the plural of a kind that controller-gen would most likely choose."""
    lower = kind.lower()
    if lower.endswith(("s", "x", "z", "ch", "sh")):
        return lower + "es"
    if lower.endswith("y") and lower[-2:-1] not in "aeiou":
        return lower[:-1] + "ies"
    return lower + "s"


def flatten(documents: Iterable[JSON]) -> Iterator[Object]:
    """Yield single objects; lists are expanded."""
    for document in documents:
        if not isinstance(document, dict):
            continue
        items = document.get("items")
        kind = str(document.get("kind") or "")
        if not isinstance(items, list) or not kind.endswith("List"):
            yield document
            continue
        # Items of typed lists may omit their type.
        item_type = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List")}
        for item in items:
            if isinstance(item, dict):
                yield item if item.get("kind") else {**item_type, **item}


class UnservableError(Exception):
    """The kind of an object cannot be served."""


class Loader:
    """Stores objects as they are and makes their kinds served."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._registry = operations.registry

    def load(self, documents: Iterable[JSON]) -> list[Object]:
        """Store the objects of documents; return those that cannot be stored."""
        objects = [copy_json(document) for document in flatten(documents)]
        kinds: dict[str, list[Object]] = {
            "CustomResourceDefinition": [],
            "APIResourceList": [],
            "Namespace": [],
            "": [],
        }
        for document in objects:
            kinds.get(str(document.get("kind")), kinds[""]).append(document)
        definitions, lists, namespaces, others = kinds.values()
        skipped = [document for document in definitions if not self._store(document)]
        for document in lists:
            self._serve_listed(document)
        # Namespaces before their objects; missing namespaces are created.
        return skipped + [each for each in (*namespaces, *others) if not self._store(each)]

    def _store(self, document: Object) -> bool:
        api_version, kind = document.get("apiVersion"), document.get("kind")
        if not api_version or not kind or not name_of(document) or kind == "Status":
            return False
        try:
            resource = self._resource(str(api_version), str(kind), document)
            if resource.namespaced:
                namespace = namespace_of(document) or "default"
                meta(document)["namespace"] = namespace
                self.ensure_namespace(namespace)
            else:
                meta(document).pop("namespace", None)
            self._operations.load(resource, document)
        except (ApiError, UnservableError):
            return False
        return True

    def ensure_namespace(self, name: str) -> None:
        if self._operations.storage.get("namespaces", "", name) is None:
            resource = self._registry.by_kind("v1", "Namespace")
            body: Object = {"metadata": {"name": name}}
            if resource is not None:
                self._operations.create(ResourceRequest(resource=resource), body)

    def _resource(self, api_version: str, kind: str, example: Object) -> Resource:
        found = self._registry.by_kind(api_version, kind)
        if found is not None:
            return found
        group, _, version = api_version.rpartition("/")
        namespaced = bool(namespace_of(example)) or kind not in _CLUSTER_SCOPED
        # Another version of the kind knows its plural and scope.
        siblings = (item for item in self._registry if (item.group, item.kind) == (group, kind))
        sibling = next(siblings, None)
        return self._serve(
            Resource(
                group=group,
                version=version,
                kind=kind,
                plural=sibling.plural if sibling else plural_of(kind),
                namespaced=sibling.namespaced if sibling else namespaced,
                status=True,
                generation=bool(group),
            )
        )

    def _serve_listed(self, document: Object) -> None:
        group, _, version = str(document.get("groupVersion") or "").rpartition("/")
        entries = [item for item in document.get("resources") or () if isinstance(item, dict)]
        names = {str(item.get("name")) for item in entries}
        for entry in entries:
            plural = str(entry.get("name") or "")
            if not plural or "/" in plural or self._registry.by_path(group, version, plural):
                continue
            self._serve(
                Resource(
                    group=group,
                    version=version,
                    kind=str(entry.get("kind")),
                    plural=plural,
                    namespaced=bool(entry.get("namespaced", True)),
                    status=f"{plural}/status" in names,
                    short_names=tuple(entry.get("shortNames") or ()),
                    generation=bool(group),
                )
            )

    def _serve(self, wanted: Resource) -> Resource:
        """Serve a kind, by a generated CustomResourceDefinition if the group allows it."""
        if "." not in wanted.group:
            self._registry.add(wanted)
            return wanted
        served: Object = {
            "name": wanted.version,
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": _ANYTHING},
            **({"subresources": {"status": {}}} if wanted.status else {}),
        }
        name, names = wanted.name, {"plural": wanted.plural, "kind": wanted.kind}
        stored = self._operations.storage.get(CRD_COLLECTION, "", name)
        definition = self._registry.by_name(CRD_COLLECTION)
        if definition is None:
            raise UnservableError("custom resource definitions are not served")
        at = ResourceRequest(resource=definition, name=name)
        if stored is None:
            spec: Object = {
                "group": wanted.group,
                "scope": "Namespaced" if wanted.namespaced else "Cluster",
                "names": {**names, "shortNames": list(wanted.short_names)},
                "versions": [served],
            }
            self._operations.create(at, {**_DEFINITION, "metadata": {"name": name}, "spec": spec})
        else:
            # Another version of a known kind.
            crd = stored.decode(_DEFINITION["apiVersion"], _DEFINITION["kind"])
            versions = dig(crd, "spec", "versions") or []
            if wanted.version not in {item.get("name") for item in versions}:
                versions.append({**served, "storage": False})
            self._operations.update(at, crd)
        found = self._registry.by_kind(wanted.api_version, wanted.kind)
        if found is None:
            what = f"{wanted.kind} of {wanted.api_version}"
            raise UnservableError(f"{what} cannot be served next to {name}")
        return found
