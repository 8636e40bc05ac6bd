"""What differs between two versions of an object, of what is wanted of it: its spec, its data, its annotations.

Only a few values are told: numbers, switches, and the texts that are named here. Of anything else, such
as an environment variable or an argument, only that it was changed: it may hold a credential.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

import msgspec

from reporter.model.objects import KubeObject
from reporter.model.objects.gateway import BackendReference, ParentReference
from reporter.model.text import clean, cut

VALUE_BYTES: Final = 120
"""Most of a value that is kept."""

_MOST: Final = 8
"""Changed fields that are told of one object at one time."""

_WANTED: Final = ("spec", "data")
_ANNOTATIONS: Final = "metadata.annotations"

_TEXTS: Final = frozenset(
    {
        "image", "gatewayClassName", "controllerName", "schedulerName", "failureMode", "type",
        "recoveryPolicy", "name", "kind", "namespace",
    }
)  # fmt: skip
"""Fields whose texts are told: names of objects and of ways to work."""

_WHOLE: Final = frozenset({"selector", "parentRefs", "backendRefs", "matchLabels", "podSelector"})
"""Fields that are told as a whole."""

_Leaf: TypeAlias = tuple[str, object, object]


class FieldChange(NamedTuple):
    """A field with its values before and after, which are empty where they are not told."""

    field: str
    before: str = ""
    after: str = ""


def changed_fields(old: KubeObject, new: KubeObject) -> tuple[FieldChange, ...]:
    """Return what differs between two versions of an object, of what is wanted of it."""
    return tuple(islice(_told(old, new), _MOST))


def _told(old: KubeObject, new: KubeObject) -> Iterator[FieldChange]:
    seen: set[str] = set()
    for path, before, after in _differences(old, new):
        told = _told_leaf(path, before, after)
        if told.field not in seen:
            seen.add(told.field)
            yield told


def _differences(old: KubeObject, new: KubeObject) -> Iterator[_Leaf]:
    for name in _WANTED:
        before, after = getattr(old, name, None), getattr(new, name, None)
        if before != after:
            yield from _walk(name, before, after)
    was, is_ = old.metadata.annotations, new.metadata.annotations
    present = is_ or was
    if present is not None:
        for key in present.__struct_encode_fields__:
            one, other = was.get(key) if was else None, is_.get(key) if is_ else None
            if one != other:
                yield f"{_ANNOTATIONS}[{key}]", one, other


def _walk(path: str, old: object, new: object) -> Iterator[_Leaf]:
    """Yield the smallest parts that differ."""
    name = path.rpartition(".")[2]
    if name not in _WHOLE and isinstance(old, msgspec.Struct) and type(old) is type(new):
        for attribute, encoded in zip(
            old.__struct_fields__, old.__struct_encode_fields__, strict=True
        ):
            before, after = getattr(old, attribute), getattr(new, attribute)
            if before != after:
                yield from _walk(f"{path}.{encoded}", before, after)
    elif name not in _WHOLE and (pairs := _paired(old, new)):
        for each, before, after in pairs:
            if before != after:
                yield from _walk(f"{path}[{each}]", before, after)
    else:
        yield path, old, new


def _paired(old: object, new: object) -> list[tuple[str, object, object]]:
    """Return the entries of two lists of the same names, such as containers; none of other lists."""
    if not (isinstance(old, tuple) and isinstance(new, tuple)):
        return []
    names = [getattr(each, "name", None) for each in old]
    if not all(names) or names != [getattr(each, "name", None) for each in new]:
        return []
    return list(zip(map(str, names), old, new, strict=True))


def _told_leaf(path: str, old: object, new: object) -> FieldChange:
    name = path.rpartition(".")[2]
    is_annotation = path.startswith(_ANNOTATIONS)
    before, after = _value(old, name, told=is_annotation), _value(new, name, told=is_annotation)
    field = cut(clean(path), VALUE_BYTES)
    if before is None or after is None or before == after:
        return FieldChange(field)
    return FieldChange(field, before, after)


def _value(value: object, name: str, *, told: bool) -> str | None:
    """Return a value as it is told; None where it is not."""
    match value:
        case None:
            return "unset"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str() if told or name in _TEXTS:
            return cut(clean(value), VALUE_BYTES) or '""'
        case _ if name in _WHOLE:
            return cut(clean(_whole(value)), VALUE_BYTES) or "unset"
        case _:
            return None


def _whole(value: object) -> str:
    match value:
        case Mapping():
            return ",".join(f"{key}={each}" for key, each in sorted(value.items()))
        case ParentReference() | BackendReference():
            return f"{value.namespace}/{value.name}" if value.namespace else value.name
        case tuple():
            return ", ".join(map(_whole, value))
        case msgspec.Struct():
            fields = zip(
                value.__struct_encode_fields__, msgspec.structs.astuple(value), strict=True
            )
            return " ".join(
                text if key == "matchLabels" else f"{key}: {text}"
                for key, each in fields
                if each and (text := _whole(each))
            )
        case _:
            return str(value)
