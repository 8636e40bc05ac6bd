"""Structural schemas of custom kinds: pruning, defaults and validation."""

import operator
import re
from collections.abc import Callable, Iterable, Iterator

from lab.sandbox.errors import FieldError, invalid_value, required_value, unsupported_value
from lab.sandbox.objects import JSON, Object, copy_json

_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_NAMES = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
}
_ROOT_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


def _parts(value: JSON, schema: Object) -> Iterator[tuple[str | int, JSON, Object]]:
    """Yield the parts of a value that a schema describes: name or index, part, its schema."""
    parts: Iterator[tuple[str | int, JSON, JSON]] = iter(())
    if isinstance(value, list):
        parts = ((index, item, schema.get("items")) for index, item in enumerate(value))
    elif isinstance(value, dict):
        properties, extra = schema.get("properties") or {}, schema.get("additionalProperties")
        parts = ((name, item, properties.get(name, extra)) for name, item in value.items())
    return ((key, item, inner) for key, item, inner in parts if isinstance(inner, dict))


def _join(path: str, key: str | int) -> str:
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def prune(obj: Object, schema: Object) -> list[str]:
    """Drop the fields that a schema does not have; return their paths."""
    return list(_prune(obj, {**schema, "x-kubernetes-embedded-resource": True}, ""))


def _prune(value: JSON, schema: Object, path: str) -> Iterator[str]:
    kept = _ROOT_FIELDS if schema.get("x-kubernetes-embedded-resource") else frozenset[str]()
    described = [part for part in _parts(value, schema) if part[0] not in kept]
    for key, item, inner in described:
        yield from _prune(item, inner, _join(path, key))
    if isinstance(value, dict) and not (
        schema.get("additionalProperties") is True or schema.get(_PRESERVE)
    ):
        known = kept | {key for key, _, _ in described}
        for name in [name for name in value if name not in known]:
            del value[name]
            yield _join(path, name)


def apply_defaults(value: JSON, schema: Object) -> None:
    if isinstance(value, dict):
        for name, inner in (schema.get("properties") or {}).items():
            if name not in value and "default" in inner:
                value[name] = copy_json(inner["default"])
    for _, item, inner in _parts(value, schema):
        apply_defaults(item, inner)


def validate(obj: Object, schema: Object) -> list[FieldError]:
    """Validate an object by the parts of OpenAPI that structural schemas use most."""
    own = {name: value for name, value in obj.items() if name not in _ROOT_FIELDS}
    required = [name for name in schema.get("required") or () if name not in _ROOT_FIELDS]
    return list(_validate(own, {**schema, "required": required}, ""))


def _validate(value: JSON, schema: Object, path: str) -> Iterator[FieldError]:
    wanted = f"{path} in body must be of type {schema.get('type', 'object')}"
    if value is None:
        if not schema.get("nullable"):
            yield invalid_value(path, None, f'{wanted}: "null"')
        return
    if not _has_type(value, schema):
        given = f'"{_NAMES[type(value)]}"'
        text = f"Invalid value: {given}: {wanted}: {given}"
        yield FieldError("FieldValueTypeInvalid", path, text)
        return
    if (allowed := schema.get("enum")) is not None and value not in allowed:
        yield unsupported_value(path, value, allowed)
    yield from _out_of_bounds(value, schema, path)
    for key, item, inner in _parts(value, schema):
        yield from _validate(item, inner, _join(path, key))
    if isinstance(value, dict):
        missing = (name for name in schema.get("required") or () if name not in value)
        yield from (required_value(_join(path, name)) for name in missing)
    elif isinstance(value, list) and schema.get("x-kubernetes-list-type") == "map":
        items = [item if isinstance(item, dict) else {} for item in value]
        yield from _duplicates(items, schema.get("x-kubernetes-list-map-keys") or (), path)
    elif isinstance(value, str) and not re.search(schema.get("pattern") or "", value):
        yield invalid_value(path, value, f"{path} in body should match '{schema['pattern']}'")


def _has_type(value: JSON, schema: Object) -> bool:
    if schema.get("x-kubernetes-int-or-string"):
        return isinstance(value, int | str) and not isinstance(value, bool)
    wanted = _PYTHON_TYPES.get(str(schema.get("type")))
    if wanted is None:
        return True
    if isinstance(value, bool):
        return bool in wanted
    if isinstance(value, float) and value.is_integer():
        return int in wanted
    return isinstance(value, wanted)


_BOUNDS: tuple[tuple[str, tuple[type, ...], Callable[[JSON, JSON], bool], str], ...] = (
    ("minimum", (int, float), operator.lt, "be greater than or equal to {}"),
    ("maximum", (int, float), operator.gt, "be less than or equal to {}"),
    ("minLength", (str,), operator.lt, "be at least {} chars long"),
    ("maxLength", (str,), operator.gt, "be at most {} chars long"),
    ("minItems", (list,), operator.lt, "have at least {} items"),
    ("maxItems", (list,), operator.gt, "have at most {} items"),
    ("maxProperties", (dict,), operator.gt, "have at most {} properties"),
)
"""Keyword, types, what breaks it, and what is said; a number's value counts, else the length."""


def _out_of_bounds(value: JSON, schema: Object, path: str) -> Iterator[FieldError]:
    for keyword, types, breaks, text in _BOUNDS:
        limit = schema.get(keyword)
        if limit is None or type(value) not in types:
            continue
        size = value if isinstance(value, int | float) else len(value)
        if breaks(size, limit):
            yield invalid_value(path, value, f"{path} in body should {text.format(limit)}")


def _duplicates(items: list[Object], keys: Iterable[str], path: str) -> Iterator[FieldError]:
    seen = set()
    for index, item in enumerate(items):
        identity = tuple(str(item.get(key)) for key in keys)
        if identity in seen:
            text = f"Duplicate value: {identity}"
            yield FieldError("FieldValueDuplicate", f"{path}[{index}]", text)
        seen.add(identity)
