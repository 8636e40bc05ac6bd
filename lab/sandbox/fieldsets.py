"""How lists merge, fields of objects as paths, and `metadata.managedFields` as sets of such paths.

Custom kinds define the keys of list items in their schema. For built-in kinds this module has the
lists that status reporters, kubectl and common manifests touch, by field name; all others are
atomic.

A path is a tuple of the element names of FieldsV1: ``f:<field>``, ``k:<keys of a list item>``,
``v:<value of a set>``. A list item that is identified by keys has its own path.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from lab.sandbox.objects import JSON, Object, TimeFormatError, decode, dig, encode, normalize_time


class ListType(NamedTuple):
    """`keys` of a list of maps; `is_set` for a list of distinct scalars; else atomic."""

    keys: tuple[str, ...] = ()
    is_set: bool = False


ATOMIC = ListType()
_BY_TYPE = ListType(("type",))
_BY_NAME = ListType(("name",))

_FIELDS: dict[str, ListType] = {
    "addresses": _BY_TYPE,
    "conditions": _BY_TYPE,
    "containers": _BY_NAME,
    "env": _BY_NAME,
    "ephemeralContainers": _BY_NAME,
    "finalizers": ListType(is_set=True),
    "hostAliases": ListType(("ip",)),
    "imagePullSecrets": _BY_NAME,
    "initContainers": _BY_NAME,
    "ownerReferences": ListType(("uid",)),
    "podIPs": ListType(("ip",)),
    "secrets": _BY_NAME,
    "topologySpreadConstraints": ListType(("topologyKey", "whenUnsatisfiable")),
    "volumeDevices": ListType(("devicePath",)),
    "volumeMounts": ListType(("mountPath",)),
    "volumes": _BY_NAME,
}
# If apply and strategic merge patch disagree, the patch uses fewer keys.
_STRATEGIC = {
    "ports": ListType(("containerPort",)),
    "service ports": ListType(("port",)),
    "taints": ListType(("key",)),
    "topologySpreadConstraints": ListType(("topologyKey",)),
}
_APPLY = {
    "ports": ListType(("containerPort", "protocol")),
    "service ports": ListType(("port", "protocol")),
}


_ATOMIC_MAPS = frozenset({
    "involvedObject", "labelSelector", "namespaceSelector", "nodeSelector", "podSelector",
    "related", "selector",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class TypeWalker:
    """Finds the list type of fields, by schema for custom kinds and by name for built-in ones."""

    kind: str
    custom: bool
    schema: Object
    strategic: bool = False
    field: str = ""

    def child(self, field: str) -> "TypeWalker":
        properties = self.schema.get("properties") or {}
        return self._below(properties.get(field, self.schema.get("additionalProperties")), field)

    def item(self) -> "TypeWalker":
        return self._below(self.schema.get("items"), "")

    def _below(self, schema: JSON, field: str) -> "TypeWalker":
        known = schema if isinstance(schema, dict) else {}
        return TypeWalker(self.kind, self.custom, known, self.strategic, field)

    def list_type(self, field: str) -> ListType:
        """Return the type of the list at this walker, reached through `field`."""
        if self.custom and field not in {"ownerReferences", "finalizers"}:
            kind = self.schema.get("x-kubernetes-list-type")
            keys = self.schema.get("x-kubernetes-list-map-keys") if kind == "map" else None
            return ListType(tuple(keys or ()), is_set=kind == "set")
        if field == "ports" and self.kind == "Service":
            field = "service ports"
        special = _STRATEGIC if self.strategic else _APPLY
        return special.get(field) or _FIELDS.get(field, ATOMIC)

    def is_atomic_map(self) -> bool:
        """Return whether a map is owned and replaced as a whole."""
        if not self.custom:
            return self.field in _ATOMIC_MAPS
        return self.schema.get("x-kubernetes-map-type") == "atomic"

    def default_of(self, key: str) -> str | None:
        """Return the default of a list key that an item may omit."""
        if not self.custom:
            return "TCP" if key == "protocol" else None
        found = (self.schema.get("properties") or {}).get(key, {}).get("default")
        return None if found is None else str(found)


Path = tuple[str, ...]
Leaves = dict[Path, JSON]
_CONTAINER = "a map or list"

_SYSTEM_METADATA = frozenset({
    "name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink",
})  # fmt: skip
"""Fields that nobody owns."""

_ALWAYS_THERE = frozenset({
    "containers", "eventTime", "firstTimestamp", "involvedObject", "lastTimestamp",
    "reportingComponent", "reportingInstance", "source", "spec", "status", "strategy", "template",
    "updateStrategy",
})  # fmt: skip
"""Parts of built-in kinds that exist, empty, before any client writes them.

They are Go's structs, and lists without omitempty. No manager owns them as such, or while they are
empty.
"""

_NOTHING: tuple[JSON, ...] = (None, "", {}, [])


def leaves(obj: Object, walker: TypeWalker, *, containers: bool = False) -> Leaves:
    """Return all owned paths of an object, with the values at the leaves.

    With `containers`, maps and lists have their own paths too: their creator owns them.
    """
    collect = _Collector(containers=containers)
    for name, value in obj.items():
        if name in {"apiVersion", "kind"}:
            continue
        owned = value
        if name == "metadata":
            owned = {key: item for key, item in value.items() if key not in _SYSTEM_METADATA}
            if not owned:
                continue
        collect.field((f"f:{name}",), name, owned, walker=walker.child(name))
        if name == "metadata":
            collect.found.pop(("f:metadata",), None)
    return collect.found


class _Collector:
    def __init__(self, *, containers: bool) -> None:
        self.found: Leaves = {}
        self._containers = containers

    def field(self, path: Path, name: str, value: JSON, *, walker: TypeWalker) -> None:
        always_there = name in _ALWAYS_THERE and not walker.custom
        if always_there and value in _NOTHING:
            return
        is_container = bool(value) and isinstance(value, dict | list)
        if self._containers and is_container and not always_there:
            self.found[path] = _CONTAINER
        if isinstance(value, dict) and value and not walker.is_atomic_map():
            self._fields(path, value, walker)
        elif not (
            isinstance(value, list) and value and self._items(path, name, value, walker=walker)
        ):
            self.found[path] = value

    def _fields(self, path: Path, value: Object, walker: TypeWalker) -> None:
        for name, item in value.items():
            self.field((*path, f"f:{name}"), name, item, walker=walker.child(name))

    def _items(self, path: Path, field: str, value: list[JSON], *, walker: TypeWalker) -> bool:
        """Collect the items of a list; False if the list is owned as a whole."""
        kind = walker.list_type(field)
        if kind.is_set:
            for item in value:
                self.found[*path, value_element(item)] = item
            return True
        if not kind.keys or not all(isinstance(item, dict) for item in value):
            return False
        inner = walker.item()
        for item in value:
            below = (*path, key_element(item, kind, inner))
            self.found[below] = True
            self._fields(below, item, inner)
        return True


def key_element(item: Object, kind: ListType, walker: TypeWalker) -> str:
    """Return the path element of a list item."""
    keys = {key: item.get(key, walker.default_of(key)) for key in sorted(kind.keys)}
    return "k:" + encode({key: value for key, value in keys.items() if value is not None}).decode()


def value_element(item: JSON) -> str:
    """Return the path element of an item of a set."""
    return "v:" + encode(item).decode()


def to_fields_v1(paths: Iterable[Path]) -> Object:
    root: Object = {}
    ordered = sorted(paths)
    for path, following in pairwise([*ordered, ()]):
        node = root
        for element in path:
            node = node.setdefault(element, {})
        # A dot marks a path with paths below it as owned itself.
        if path[-1].startswith("k:") or following[: len(path)] == path:
            node["."] = {}
    return root


def from_fields_v1(fields: Object) -> frozenset[Path]:
    return frozenset(_paths(fields, ()))


def _paths(node: Object, path: Path) -> Iterator[Path]:
    for element, below in node.items():
        if element == ".":
            yield path
        elif below:
            yield from _paths(below, (*path, _canonical(element)))
        else:
            yield (*path, _canonical(element))


def _canonical(element: str) -> str:
    # Other writers may order or space the keys of an item differently.
    if element.startswith("k:"):
        keys = decode(element[2:].encode())
        return "k:" + encode({key: keys[key] for key in sorted(keys)}).decode()
    return element


def readable(path: Path) -> str:
    """Return a path as conflict messages show it."""
    text = ""
    for element in path:
        kind, content = element[:2], element[2:]
        if kind == "f:":
            text += f".{content}"
        elif kind == "k:":
            keys = decode(content.encode())
            inside = ",".join(f"{key}={encode(value).decode()}" for key, value in keys.items())
            text += f"[{inside}]"
        else:
            text += f"[={content}]"
    return text


@dataclass(frozen=True, slots=True)
class Manager:
    """One entry of managedFields."""

    name: str
    operation: str
    api_version: str
    subresource: str
    time: str
    paths: frozenset[Path]

    @property
    def writer(self) -> tuple[str, str, str, str]:
        """What two entries must share to be kept as one."""
        return self.name, self.operation, self.api_version, self.subresource

    def without(self, paths: Iterable[Path], now: str) -> "Manager":
        """Return this entry with fewer paths, renewed if that changes it."""
        left = self.paths.difference(paths)
        return self if left == self.paths else replace(self, paths=left, time=now)

    def entry(self) -> Object:
        entry: Object = {
            "manager": self.name,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": to_fields_v1(self.paths),
        }
        if self.subresource:
            entry["subresource"] = self.subresource
        return entry


def _time(text: JSON) -> str:
    # Client libraries send times back with another spelling of the zone.
    try:
        return normalize_time(str(text))
    except TimeFormatError:
        return ""


def read_managers(obj: Object) -> list[Manager]:
    entries = dig(obj, "metadata", "managedFields")
    return [
        Manager(
            name=str(entry.get("manager") or ""),
            operation=str(entry.get("operation") or ""),
            api_version=str(entry.get("apiVersion") or ""),
            subresource=str(entry.get("subresource") or ""),
            time=_time(entry.get("time")),
            paths=from_fields_v1(entry.get("fieldsV1") or {}),
        )
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict) and entry.get("operation")
    ]
