"""Merge patch (RFC 7386) and strategic merge patch (with keys for lists)."""

from typing import Literal

from lab.sandbox.errors import bad_request
from lab.sandbox.fieldsets import ListType, TypeWalker
from lab.sandbox.objects import JSON, Object, copy_json

PatchType = Literal["merge", "strategic", "apply"]

PATCH_TYPES: dict[str, PatchType] = {
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
    "application/apply-patch+yaml": "apply",
}


def merge_patch(target: JSON, patch: JSON) -> JSON:
    """Apply a merge patch; the target is not changed."""
    if not isinstance(patch, dict):
        return copy_json(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), value)
    return result


_DIRECTIVE = "$patch"
_REPLACE = {_DIRECTIVE: "replace"}
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder/"
_DELETE_PRIMITIVES = "$deleteFromPrimitiveList/"


def strategic_merge(target: Object, patch: Object, kind: str) -> Object:
    """Apply a strategic merge patch to an object of a built-in kind.

    Raises:
        ApiError: 400 for an unknown directive.
    """
    walker = TypeWalker(kind, custom=False, schema={}, strategic=True)
    merged = _merge_map(target, patch, walker)
    return merged if merged is not None else {}


def _merge_map(target: Object, patch: Object, walker: TypeWalker) -> Object | None:
    directive = patch.get(_DIRECTIVE)
    if directive == "replace":
        return {name: _plain(value) for name, value in patch.items() if name != _DIRECTIVE}
    if directive == "delete":
        return None
    if directive not in {None, "merge"}:
        raise bad_request(f"unknown patch type: {directive}")
    retained = patch.get(_RETAIN)
    result = {
        name: value
        for name, value in target.items()
        if not isinstance(retained, list) or name in retained
    }
    for name, value in patch.items():
        if not name.startswith("$"):
            merged = (
                None if value is None else _merge_value(result.get(name), value, walker, name=name)
            )
            if merged is None:
                result.pop(name, None)
            else:
                result[name] = merged
        elif name.startswith(_DELETE_PRIMITIVES):
            field = name.removeprefix(_DELETE_PRIMITIVES)
            result[field] = [item for item in result.get(field) or [] if item not in value]
    for name, order in patch.items():
        field = name.removeprefix(_ORDER)
        if field != name and isinstance(result.get(field), list) and isinstance(order, list):
            keys = walker.child(field).list_type(field).keys
            result[field] = _ordered(result[field], order, keys)
    return result


def _merge_value(target: JSON, patch: JSON, walker: TypeWalker, *, name: str) -> JSON:
    below = walker.child(name)
    if isinstance(patch, dict):
        return _merge_map(target if isinstance(target, dict) else {}, patch, below)
    if isinstance(patch, list):
        return _merge_list(target if isinstance(target, list) else [], patch, below, name=name)
    return patch


def _merge_list(
    target: list[JSON], patch: list[JSON], walker: TypeWalker, *, name: str
) -> list[JSON]:
    kind = walker.list_type(name)
    if kind.is_set:
        return target + [item for item in patch if item not in target]
    if not kind.keys or _REPLACE in patch:
        return [_plain(item) for item in patch if item != _REPLACE]
    result: list[JSON] = list(target)
    for item in patch:
        _merge_item(result, item, kind, walker=walker)
    return result


def _merge_item(result: list[JSON], item: JSON, kind: ListType, *, walker: TypeWalker) -> None:
    if not isinstance(item, dict) or kind.keys[0] not in item:
        raise bad_request(f"map: {item} does not contain declared merge key: {kind.keys[0]}")
    index = next((i for i, old in enumerate(result) if _same(old, item, kind.keys)), None)
    merged = _merge_map({} if index is None else result[index], item, walker.item())
    if index is None:
        if merged is not None:
            result.append(merged)
    elif merged is None:
        del result[index]
    else:
        result[index] = merged


def _same(one: JSON, other: JSON, keys: tuple[str, ...]) -> bool:
    return isinstance(one, dict) and all(one.get(key) == other.get(key) for key in keys)


def _ordered(items: list[JSON], order: list[JSON], keys: tuple[str, ...]) -> list[JSON]:
    """Sort the items by `order`; items that it does not name follow in their old order."""

    def place(item: JSON) -> int:
        for index, wanted in enumerate(order):
            if _same(item, wanted, keys) if keys else item == wanted:
                return index
        return len(order)

    return sorted(items, key=place)


def _plain(value: JSON) -> JSON:
    """Copy a patch's value without directives."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items() if not name.startswith("$")}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return copy_json(value)
