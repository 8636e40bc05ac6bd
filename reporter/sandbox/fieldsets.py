"""Fields of objects as paths, and `metadata.managedFields` as sets of such paths.

A path is a tuple of the element names of FieldsV1: ``f:<field>``, ``k:<keys of a list item>``,
``v:<value of a set>``. A list item that is told apart by keys has a path of its own.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from reporter.sandbox.listtypes import ListType, TypeWalker
from reporter.sandbox.objects import JSON, Object, decode, dig, encode
from reporter.sandbox.times import TimeFormatError, normalize_time

Path = tuple[str, ...]
Leaves = dict[Path, JSON]

# Fields that nobody owns.
_SYSTEM_METADATA = frozenset(
    {
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
        "selfLink",
    }
)


def leaves(obj: Object, walker: TypeWalker) -> Leaves:
    """All owned paths of an object, with the values at the leaves."""
    found: Leaves = {}
    for name, value in obj.items():
        if name in {"apiVersion", "kind"}:
            continue
        owned = value
        if name == "metadata":
            owned = {key: item for key, item in value.items() if key not in _SYSTEM_METADATA}
            if not owned:
                continue
        _collect(found, (f"f:{name}",), name, owned, walker.child(name))
    return found


def _collect(found: Leaves, path: Path, field: str, value: JSON, walker: TypeWalker) -> None:
    if isinstance(value, dict) and value and not walker.is_atomic_map():
        for name, item in value.items():
            _collect(found, (*path, f"f:{name}"), name, item, walker.child(name))
        return
    if isinstance(value, list) and value:
        kind = walker.list_type(field)
        if kind.is_set:
            for item in value:
                found[*path, value_element(item)] = item
            return
        if kind.keys and all(isinstance(item, dict) for item in value):
            inner = walker.item()
            for item in value:
                below = (*path, key_element(item, kind, inner))
                found[below] = True
                for name, part in item.items():
                    _collect(found, (*below, f"f:{name}"), name, part, inner.child(name))
            return
    found[path] = value


def key_element(item: Object, kind: ListType, walker: TypeWalker) -> str:
    """The path element of a list item."""
    keys = {key: item.get(key, walker.default_of(key)) for key in sorted(kind.keys)}
    return "k:" + encode({key: value for key, value in keys.items() if value is not None}).decode()


def value_element(item: JSON) -> str:
    """The path element of an item of a set."""
    return "v:" + encode(item).decode()


def to_fields_v1(paths: Iterable[Path]) -> Object:
    """The FieldsV1 form of a set of paths."""
    root: Object = {}
    for path in sorted(paths):
        node = root
        for element in path:
            node = node.setdefault(element, {})
        if path[-1].startswith("k:"):
            node["."] = {}
    return root


def from_fields_v1(fields: Object) -> frozenset[Path]:
    """The set of paths in a FieldsV1 object."""
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
    """A path as conflict messages show it."""
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

    def is_same_writer(self, other: "Manager") -> bool:
        """Whether two entries are kept as one."""
        return (self.name, self.operation, self.api_version, self.subresource) == (
            other.name,
            other.operation,
            other.api_version,
            other.subresource,
        )

    def without(self, paths: Iterable[Path], now: str) -> "Manager":
        """This entry with fewer paths, renewed if that changes it."""
        left = self.paths.difference(paths)
        return self if left == self.paths else replace(self, paths=left, time=now)

    def entry(self) -> Object:
        """The JSON form."""
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
    # Client libraries send back what they read with another spelling of the zone.
    try:
        return normalize_time(str(text))
    except TimeFormatError:
        return ""


def read_managers(obj: Object) -> list[Manager]:
    """The entries of an object's managedFields."""
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
