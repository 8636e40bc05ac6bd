"""Events of core/v1: their fields, and the rules for writing them.

The rules and their texts are those of `pkg/apis/core/validation/events.go`.
"""

from lab.sandbox.errors import DecodeError, FieldError, invalid_value, required_value
from lab.sandbox.metadata import qualified_name_errors, subdomain_errors
from lab.sandbox.objects import (
    JSON,
    Object,
    TimeFormatError,
    copy_json,
    dig,
    namespace_of,
    normalize_micro_time,
    normalize_time,
)

_MAX_NOTE = 1024
_MAX_SHORT = 128
_FIELDS = {
    "involvedObject": "reference",
    "reason": "string",
    "message": "string",
    "source": "source",
    "firstTimestamp": "time",
    "lastTimestamp": "time",
    "count": "int32",
    "type": "string",
    "eventTime": "micro",
    "series": "series",
    "action": "string",
    "related": "reference",
    "reportingComponent": "string",
    "reportingInstance": "string",
}
_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_NESTED = {
    "reference": dict.fromkeys(_REFERENCE, "string"),
    "source": {"component": "string", "host": "string"},
    "series": {"count": "int32", "lastObservedTime": "micro"},
}
_TYPES = {"string": str, "time": str, "micro": str, "int32": int}
_WRITTEN_IF_EMPTY: Object = {
    "involvedObject": {},
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}


def normalized(obj: Object) -> Object:
    """Return an Event as it is stored: without unknown fields, with times in one form.

    Raises:
        DecodeError: a field has the wrong type, or a time the wrong format.
    """
    read = {name: _read(name, kind, obj.get(name)) for name, kind in _FIELDS.items()}
    kept = {name: value for name, value in read.items() if _is_set(value)}
    identity = {"apiVersion": "v1", "kind": "Event", "metadata": obj.get("metadata")}
    return {**identity, **copy_json(_WRITTEN_IF_EMPTY), **kept}


def _is_set(value: JSON) -> bool:
    return value not in (None, "", 0, {})


def _read(path: str, kind: str, value: JSON) -> JSON:
    if value is None:
        return None
    has_type = isinstance(value, _TYPES.get(kind, dict))
    if not has_type:
        raise DecodeError("v1", "Event", f"{path} is not of type {kind}")
    try:
        if kind == "time":
            return normalize_time(value)
        if kind == "micro":
            return normalize_micro_time(value)
    except TimeFormatError as error:
        raise DecodeError("v1", "Event", str(error)) from None
    if kind not in _NESTED:
        return value
    read = {
        name: _read(f"{path}.{name}", inner, value.get(name))
        for name, inner in _NESTED[kind].items()
    }
    kept = {name: item for name, item in read.items() if _is_set(item)}
    # The encoder writes both fields of a series even if they are empty.
    return {"count": 0, "lastObservedTime": None, **kept} if kind == "series" else kept


def validate(event: Object) -> list[FieldError]:
    """Validate a new or changed Event."""
    namespace = namespace_of(event)
    subject = str(dig(event, "involvedObject", "namespace") or "")
    if event.get("eventTime"):
        fits = bool(subject) or namespace in {"default", "kube-system"}
        errors = _validate_new_style(event)
    else:
        fits = namespace in ({subject} if subject else {"", "default"})
        errors = []
    if not fits:
        why = "does not match event.namespace"
        errors.insert(0, invalid_value("involvedObject.namespace", subject, why))
    return errors + [invalid_value("namespace", namespace, t) for t in subdomain_errors(namespace)]


def _validate_new_style(event: Object) -> list[FieldError]:
    controller = str(event.get("reportingComponent") or "")
    errors = [] if controller else [required_value("reportingComponent")]
    errors += [
        invalid_value("reportingComponent", controller, text)
        for text in qualified_name_errors(controller)
    ]
    for name in ("reportingInstance", "action", "reason"):
        if not event.get(name):
            errors.append(required_value(name))
        errors += _too_long(event, name, _MAX_SHORT)
    return errors + _too_long(event, "message", _MAX_NOTE)


def _too_long(event: Object, name: str, most: int) -> list[FieldError]:
    if len(str(event.get(name) or "").encode()) <= most:
        return []
    return [invalid_value(name, "", f"can have at most {most} characters")]


def selectable_fields(event: Object) -> dict[str, str]:
    """Return the fields of an Event that selectors can use."""
    subject = event.get("involvedObject") or {}
    fields = {f"involvedObject.{name}": str(subject.get(name) or "") for name in _REFERENCE}
    for name in ("reason", "type", "reportingComponent"):
        fields[name] = str(event.get(name) or "")
    source = str(dig(event, "source", "component") or "")
    return {**fields, "source": source or fields["reportingComponent"]}
