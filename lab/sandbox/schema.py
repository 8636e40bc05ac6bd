"""Structural schemas of custom kinds: pruning, defaults and validation."""

import re
from collections.abc import Iterator

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
_ROOT_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


def prune(obj: Object, schema: Object) -> list[str]:
    """Drop the fields that a schema does not have; return their paths."""
    dropped: list[str] = []
    _prune(obj, schema, "", dropped=dropped, root=True)
    return dropped


def _prune(value: JSON, schema: Object, path: str, *, dropped: list[str], root: bool) -> None:
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, item in enumerate(value):
            _prune(item, schema["items"], f"{path}[{index}]", dropped=dropped, root=False)
    if not isinstance(value, dict):
        return
    properties = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    embedded = root or bool(schema.get("x-kubernetes-embedded-resource"))
    for name in list(value):
        below = f"{path}.{name}" if path else name
        if embedded and name in _ROOT_FIELDS:
            continue
        if name in properties:
            _prune(value[name], properties[name], below, dropped=dropped, root=False)
        elif isinstance(extra, dict):
            _prune(value[name], extra, below, dropped=dropped, root=False)
        elif extra is not True and not schema.get(_PRESERVE):
            del value[name]
            dropped.append(below)


def apply_defaults(value: JSON, schema: Object) -> None:
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        for item in value:
            apply_defaults(item, schema["items"])
    if not isinstance(value, dict):
        return
    properties = schema.get("properties") or {}
    for name, inner in properties.items():
        if name not in value and "default" in inner:
            value[name] = copy_json(inner["default"])
        if name in value:
            apply_defaults(value[name], inner)
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        for name, item in value.items():
            if name not in properties:
                apply_defaults(item, extra)


def validate(obj: Object, schema: Object) -> list[FieldError]:
    """Validate an object by the parts of OpenAPI that structural schemas use most."""
    errors: list[FieldError] = []
    for name, inner in (schema.get("properties") or {}).items():
        if name not in _ROOT_FIELDS and name in obj:
            errors += _validate(obj[name], inner, name)
    errors += [
        required_value(name)
        for name in schema.get("required") or ()
        if name not in obj and name not in _ROOT_FIELDS
    ]
    return errors


def _validate(value: JSON, schema: Object, path: str) -> Iterator[FieldError]:
    if value is None:
        if not schema.get("nullable"):
            kind = schema.get("type", "object")
            yield invalid_value(path, None, f'{path} in body must be of type {kind}: "null"')
        return
    if not _has_type(value, schema):
        kind = schema.get("type")
        name = next(
            (n for n, types in _PYTHON_TYPES.items() if type(value) in types), type(value).__name__
        )
        detail = f'{path} in body must be of type {kind}: "{name}"'
        yield FieldError("FieldValueTypeInvalid", path, f'Invalid value: "{name}": {detail}')
        return
    if (allowed := schema.get("enum")) is not None and value not in allowed:
        yield unsupported_value(path, value, allowed)
    if isinstance(value, dict):
        yield from _validate_object(value, schema, path)
    elif isinstance(value, list):
        yield from _validate_list(value, schema, path)
    elif isinstance(value, str):
        yield from _validate_string(value, schema, path)
    elif not isinstance(value, bool):
        yield from _validate_number(value, schema, path)


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


def _validate_object(value: Object, schema: Object, path: str) -> Iterator[FieldError]:
    properties = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    for name in schema.get("required") or ():
        if name not in value:
            yield required_value(f"{path}.{name}")
    for name, item in value.items():
        inner = properties.get(name, extra)
        if isinstance(inner, dict):
            yield from _validate(item, inner, f"{path}.{name}")
    if len(value) > schema.get("maxProperties", len(value)):
        yield invalid_value(path, len(value), f"must have at most {schema['maxProperties']} items")


def _validate_list(value: list[JSON], schema: Object, path: str) -> Iterator[FieldError]:
    inner = schema.get("items")
    if isinstance(inner, dict):
        for index, item in enumerate(value):
            yield from _validate(item, inner, f"{path}[{index}]")
    if len(value) > schema.get("maxItems", len(value)):
        limit = schema["maxItems"]
        yield FieldError(
            "FieldValueTooMany", path, f"Too many: {len(value)}: must have at most {limit} items"
        )
    if len(value) < schema.get("minItems", 0):
        limit = schema["minItems"]
        yield invalid_value(path, len(value), f"{path} in body should have at least {limit} items")
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    if keys and schema.get("x-kubernetes-list-type") == "map":
        seen = set()
        for index, item in enumerate(value):
            identity = tuple(str(item.get(key)) for key in keys if isinstance(item, dict))
            if identity in seen:
                yield FieldError(
                    "FieldValueDuplicate", f"{path}[{index}]", f"Duplicate value: {identity}"
                )
            seen.add(identity)


def _validate_string(value: str, schema: Object, path: str) -> Iterator[FieldError]:
    pattern = schema.get("pattern")
    if pattern and not re.search(pattern, value):
        yield invalid_value(path, value, f"{path} in body should match '{pattern}'")
    if len(value) > schema.get("maxLength", len(value)):
        limit = schema["maxLength"]
        yield FieldError("FieldValueTooLong", path, f"Too long: may not be more than {limit} bytes")
    if len(value) < schema.get("minLength", 0):
        limit = schema["minLength"]
        yield invalid_value(path, value, f"{path} in body should be at least {limit} chars long")


def _validate_number(value: float, schema: Object, path: str) -> Iterator[FieldError]:
    minimum, maximum = schema.get("minimum"), schema.get("maximum")
    if minimum is not None and value < minimum:
        yield invalid_value(
            path, value, f"{path} in body should be greater than or equal to {minimum}"
        )
    if maximum is not None and value > maximum:
        yield invalid_value(
            path, value, f"{path} in body should be less than or equal to {maximum}"
        )
