"""What goes into a dump of an object: the fields that the reporter reads, as they are.

The structs that objects are decoded into name these fields. So what nobody reads cannot leak, such as
the last applied configuration and the volumes of pods. Of `managedFields` who wrote when stays. What is compared as a whole, such
as a pod template, goes in as a whole: `masking.py` masks what may be a credential there. An object
that is malformed stays so, for its report is that it is.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

import msgspec
from msgspec.inspect import (
    AnyType,
    CustomType,
    DictType,
    Field,
    ListType,
    StructType,
    Type,
    UnionType,
    VarTupleType,
)

Json: TypeAlias = dict[str, object]

_NEVER: Final = frozenset({"managedFields", "kubectl.kubernetes.io/last-applied-configuration"})
_NEUTRAL: Final = {str: "", int: 0, float: 0.0}


def pruned(item: object, types: Iterable[type[msgspec.Struct]]) -> object:
    """Return an object with the fields that its types name; without types, nothing of it."""
    return _pruned(item, tuple(map(_type_of, types)))


@lru_cache(maxsize=256)
def _type_of(type_: type[msgspec.Struct]) -> Type:
    return msgspec.inspect.type_info(type_)


def _pruned(value: object, types: Sequence[Type]) -> object:
    kinds = tuple(_flat(types))
    if any(isinstance(each, (AnyType, CustomType)) for each in kinds):
        return _whole(value)
    if isinstance(value, dict):
        return _members(value, kinds)
    if isinstance(value, list):
        items = [each.item_type for each in kinds if isinstance(each, (VarTupleType, ListType))]
        return [_pruned(each, items) for each in value] if items else []
    if any(not isinstance(each, (StructType, DictType, VarTupleType, ListType)) for each in kinds):
        return value
    # It is malformed: that it has another type counts, and what it holds does not.
    return _NEUTRAL.get(type(value), value)


def _flat(types: Iterable[Type]) -> Iterator[Type]:
    for each in types:
        if isinstance(each, UnionType):
            yield from _flat(each.types)
        else:
            yield each


def _members(value: Json, kinds: Sequence[Type]) -> Json:
    fields: dict[str, list[Type]] = {}
    for field in _fields(kinds):
        fields.setdefault(field.encode_name, []).append(field.type)
    values = [each.value_type for each in kinds if isinstance(each, DictType)]
    return {
        key: _pruned(each, fields.get(key, values))
        for key, each in value.items()
        if key in fields or (values and key not in _NEVER)
    }


def _fields(kinds: Iterable[Type]) -> Iterator[Field]:
    for each in kinds:
        if isinstance(each, StructType):
            yield from each.fields


def _whole(value: object) -> object:
    """Return what is compared as a whole, such as a pod template."""
    if isinstance(value, dict):
        return {key: _whole(each) for key, each in value.items() if key not in _NEVER}
    return [_whole(each) for each in value] if isinstance(value, list) else value
