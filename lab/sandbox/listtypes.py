"""How lists merge: the keys that identify their items.

Custom kinds define them in their schema. For built-in kinds this module has the lists that status
reporters, kubectl and common manifests touch, by field name; all others are atomic.
"""

from typing import NamedTuple

from lab.sandbox.objects import Object


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
    "readinessGates": ATOMIC,
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


_ATOMIC_MAPS = frozenset(
    {
        "involvedObject",
        "labelSelector",
        "namespaceSelector",
        "nodeSelector",
        "podSelector",
        "regarding",
        "related",
        "selector",
    }
)


class TypeWalker:
    """Finds the list type of fields, by schema for custom kinds and by name for built-in ones."""

    __slots__ = ("_field", "_kind", "_schema", "_strategic", "custom")

    def __init__(
        self,
        kind: str,
        *,
        custom: bool,
        schema: Object | None,
        strategic: bool = False,
        field: str = "",
    ) -> None:
        self._kind = kind
        self.custom = custom
        self._schema = schema
        self._strategic = strategic
        self._field = field

    def child(self, field: str) -> "TypeWalker":
        """Return the walker below a field."""
        schema = self._schema
        below: Object | None = None
        if schema is not None:
            found = (schema.get("properties") or {}).get(field, schema.get("additionalProperties"))
            below = found if isinstance(found, dict) else None
        return TypeWalker(
            self._kind, custom=self.custom, schema=below, strategic=self._strategic, field=field
        )

    def item(self) -> "TypeWalker":
        """Return the walker of the items of a list."""
        below = (self._schema or {}).get("items")
        return TypeWalker(
            self._kind,
            custom=self.custom,
            schema=below if isinstance(below, dict) else None,
            strategic=self._strategic,
        )

    def list_type(self, field: str) -> ListType:
        """Return the type of the list at this walker, reached through `field`."""
        if self.custom and field not in {"ownerReferences", "finalizers"}:
            kind = (self._schema or {}).get("x-kubernetes-list-type")
            if kind == "map":
                return ListType(tuple((self._schema or {}).get("x-kubernetes-list-map-keys") or ()))
            return ListType(is_set=kind == "set")
        if field == "ports" and self._kind == "Service":
            field = "service ports"
        special = _STRATEGIC if self._strategic else _APPLY
        return special.get(field) or _FIELDS.get(field, ATOMIC)

    def is_atomic_map(self) -> bool:
        """Return whether a map is owned and replaced as a whole."""
        if not self.custom:
            return self._field in _ATOMIC_MAPS
        return (self._schema or {}).get("x-kubernetes-map-type") == "atomic"

    def default_of(self, key: str) -> str | None:
        """Return the default of a list key that an item may omit."""
        if not self.custom:
            return "TCP" if key == "protocol" else None
        found = ((self._schema or {}).get("properties") or {}).get(key, {}).get("default")
        return None if found is None else str(found)
