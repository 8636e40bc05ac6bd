"""Events: one stored object with two views, and the rules for writing it through each.

An Event is stored in its core/v1 form. The rules and their texts are those of
`pkg/apis/core/validation/events.go`; the texts name the internal fields in both views.
"""

from lab.sandbox.errors import DecodeError, FieldError, invalid_value, required_value
from lab.sandbox.metadata import json_type, qualified_name_errors, subdomain_errors
from lab.sandbox.objects import (
    JSON,
    Object,
    TimeFormatError,
    dig,
    encode,
    namespace_of,
    normalize_micro_time,
    normalize_time,
)
from lab.sandbox.resources import EVENTS_GROUP

_MAX_NOTE = 1024
_MAX_SHORT = 128
_MIN_SERIES = 2

# Core name, name in events.k8s.io, and type of each field.
_FIELDS = (
    ("involvedObject", "regarding", "reference"),
    ("reason", "reason", "string"),
    ("message", "note", "string"),
    ("source", "deprecatedSource", "source"),
    ("firstTimestamp", "deprecatedFirstTimestamp", "time"),
    ("lastTimestamp", "deprecatedLastTimestamp", "time"),
    ("count", "deprecatedCount", "int32"),
    ("type", "type", "string"),
    ("eventTime", "eventTime", "micro"),
    ("series", "series", "series"),
    ("action", "action", "string"),
    ("related", "related", "reference"),
    ("reportingComponent", "reportingController", "string"),
    ("reportingInstance", "reportingInstance", "string"),
)
_NESTED = {
    "reference": {
        "kind": "string",
        "namespace": "string",
        "name": "string",
        "uid": "string",
        "apiVersion": "string",
        "resourceVersion": "string",
        "fieldPath": "string",
    },
    "source": {"component": "string", "host": "string"},
    "series": {"count": "int32", "lastObservedTime": "micro"},
}
_GO_TYPES = {
    "string": "string",
    "int32": "int32",
    "reference": "v1.ObjectReference",
    "source": "v1.EventSource",
    "series": "v1.EventSeries",
}
# Written even if empty.
_ALWAYS_CORE = {
    "involvedObject",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "eventTime",
    "reportingComponent",
    "reportingInstance",
}
_ALWAYS_NEW = {
    "eventTime",
    "regarding",
    "deprecatedSource",
    "deprecatedFirstTimestamp",
    "deprecatedLastTimestamp",
}
# Field names in messages of the update rules, with the core field they stand for.
_IMMUTABLE = {
    "involvedObject": "involvedObject",
    "reason": "reason",
    "message": "message",
    "source": "source",
    "firstTimestamp": "firstTimestamp",
    "lastTimestamp": "lastTimestamp",
    "count": "count",
    "type": "type",
    "eventTime": "eventTime",
    "action": "action",
    "related": "related",
    "reportingController": "reportingComponent",
    "reportingInstance": "reportingInstance",
}


def to_storage(group: str, obj: Object) -> Object:
    """Return the core form of an Event that was written through one of the views.

    Unknown fields are dropped, times are checked and normalized.

    Raises:
        ApiError: 400 if a field has the wrong type or a time the wrong format.
    """
    new_style = group == EVENTS_GROUP
    stored: Object = {"apiVersion": "v1", "kind": "Event", "metadata": obj.get("metadata")}
    for core, other, kind in _FIELDS:
        name = other if new_style else core
        value = _read(name, kind, obj.get(name))
        if _is_set(value):
            stored[core] = value
        elif core in _ALWAYS_CORE:
            stored[core] = _empty(kind)
    return stored


def unknown_fields(group: str, obj: Object) -> list[str]:
    """Return the paths that are not fields of one view of an Event."""
    new_style = group == EVENTS_GROUP
    known = {other if new_style else core: kind for core, other, kind in _FIELDS}
    unknown = []
    for name, value in obj.items():
        if name in {"apiVersion", "kind", "metadata"}:
            continue
        if name not in known:
            unknown.append(name)
        elif isinstance(value, dict):
            inner = _NESTED.get(known[name], {})
            unknown += [f"{name}.{field}" for field in value if field not in inner]
    return unknown


def from_storage(group: str, stored: Object) -> Object:
    """Return one view of a stored Event."""
    if group != EVENTS_GROUP:
        return stored
    view: Object = {
        "apiVersion": f"{EVENTS_GROUP}/v1",
        "kind": "Event",
        "metadata": stored["metadata"],
    }
    for core, other, kind in _FIELDS:
        value = stored.get(core)
        if _is_set(value):
            view[other] = value
        elif other in _ALWAYS_NEW:
            view[other] = _empty(kind)
    return view


def _is_set(value: JSON) -> bool:
    return value not in (None, "", 0, {})


def _empty(kind: str) -> JSON:
    if kind == "string":
        return ""
    return None if kind in {"time", "micro"} else {}


def _read(path: str, kind: str, value: JSON) -> JSON:
    if value is None:
        return None
    if kind in _NESTED and isinstance(value, dict):
        read = {
            name: _read(f"{path}.{name}", inner, value.get(name))
            for name, inner in _NESTED[kind].items()
        }
        kept = {name: item for name, item in read.items() if _is_set(item)}
        if kind == "series":
            # The encoder writes both fields even if they are empty.
            return {"count": kept.get("count", 0), "lastObservedTime": kept.get("lastObservedTime")}
        return kept
    if kind == "int32" and _is_int32(value):
        return value
    if kind in {"string", "time", "micro"} and isinstance(value, str):
        if kind == "string":
            return value
        try:
            return normalize_time(value) if kind == "time" else normalize_micro_time(value)
        except TimeFormatError as error:
            raise DecodeError("v1", "Event", str(error)) from None
    given = json_type(value)
    if kind == "int32" and given == "number":
        given = f"number {value}"
    wanted = _GO_TYPES.get(kind, "string")
    raise DecodeError(
        "v1",
        "Event",
        f"json: cannot unmarshal {given} into Go struct field Event.{path} of type {wanted}",
    )


def _is_int32(value: JSON) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**31


def validate_create(group: str, event: Object) -> list[FieldError]:
    """Validate a new Event in its core form."""
    errors = _validate_basic(group, event)
    if group != EVENTS_GROUP:
        return errors
    name = str(event["metadata"].get("name") or "")
    errors += [invalid_value("metadata.name", name, text) for text in subdomain_errors(name)]
    errors += _validate_series(event)
    if not event.get("eventTime"):
        errors.append(required_value("eventTime"))
    kind = event.get("type") or ""
    if kind not in {"Normal", "Warning"}:
        errors.append(invalid_value("type", "", f"has invalid value: {kind}"))
    errors += [
        invalid_value(name, "", "needs to be unset")
        for name in ("firstTimestamp", "lastTimestamp", "count", "source")
        if event.get(name)
    ]
    return errors


def validate_update(group: str, new: Object, old: Object) -> list[FieldError]:
    """Validate a changed Event; both are in the core form."""
    errors = _validate_basic(group, new)
    if group != EVENTS_GROUP:
        return errors
    if new.get("series") != old.get("series"):
        errors += _validate_series(new)
    return errors + [
        invalid_value(field, new.get(core), "field is immutable")
        for field, core in _IMMUTABLE.items()
        if new.get(core) != old.get(core)
    ]


def _validate_basic(group: str, event: Object) -> list[FieldError]:
    namespace = namespace_of(event)
    subject_namespace = str(dig(event, "involvedObject", "namespace") or "")
    mismatch = invalid_value(
        "involvedObject.namespace", subject_namespace, "does not match event.namespace"
    )
    errors: list[FieldError] = []
    if not event.get("eventTime"):
        allowed = {subject_namespace} if subject_namespace else {"", "default"}
        if namespace not in allowed:
            errors.append(mismatch)
    else:
        if not subject_namespace and namespace not in {"default", "kube-system"}:
            errors.append(mismatch)
        errors += _validate_new_style(group, event)
    errors += [invalid_value("namespace", namespace, text) for text in subdomain_errors(namespace)]
    return errors


def _validate_new_style(group: str, event: Object) -> list[FieldError]:
    controller_field = "reportingController" if group == EVENTS_GROUP else "reportingComponent"
    controller = str(event.get("reportingComponent") or "")
    errors: list[FieldError] = []
    if not controller:
        errors.append(required_value(controller_field))
    errors += [
        invalid_value(controller_field, controller, text)
        for text in qualified_name_errors(controller)
    ]
    for name in ("reportingInstance", "action", "reason"):
        value = str(event.get(name) or "")
        if not value:
            errors.append(required_value(name))
        if len(value.encode()) > _MAX_SHORT:
            errors.append(invalid_value(name, "", f"can have at most {_MAX_SHORT} characters"))
    if len(str(event.get("message") or "").encode()) > _MAX_NOTE:
        errors.append(invalid_value("message", "", f"can have at most {_MAX_NOTE} characters"))
    return errors


def _validate_series(event: Object) -> list[FieldError]:
    series = event.get("series")
    errors = []
    if series is not None:
        if series["count"] < _MIN_SERIES:
            errors.append(invalid_value("series.count", "", f"should be at least {_MIN_SERIES}"))
        if not series["lastObservedTime"]:
            errors.append(required_value("series.lastObservedTime"))
    return errors


def selectable_fields(group: str, event: Object) -> dict[str, str]:
    """Return the fields of a stored Event that selectors of one view can use."""
    new_style = group == EVENTS_GROUP
    subject = event.get("involvedObject") or {}
    prefix = "regarding" if new_style else "involvedObject"
    fields = {f"{prefix}.{name}": str(subject.get(name) or "") for name in _NESTED["reference"]}
    fields["reason"] = str(event.get("reason") or "")
    fields["type"] = str(event.get("type") or "")
    component = str(event.get("reportingComponent") or "")
    if new_style:
        fields["reportingController"] = component
    else:
        fields["reportingComponent"] = component
        fields["source"] = str(dig(event, "source", "component") or "") or component
    return fields


def encode_view(stored: Object) -> bytes:
    """Encode the events.k8s.io form of a stored Event, without brace, apiVersion and kind."""
    view = from_storage(EVENTS_GROUP, stored)
    return encode({key: view[key] for key in view if key not in {"apiVersion", "kind"}})[1:]
