"""Tables: the output of `kubectl get`, computed by the server."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from lab.sandbox.objects import JSON, Object, age, dig, encode, name_of, value_at
from lab.sandbox.resources import CRD_COLLECTION, LEASE_COLLECTION, Resource

Cell: TypeAlias = Callable[[Object, float], JSON]
"""Computes a cell of an object, at a time."""


class Column(NamedTuple):
    name: str
    cell: Cell
    priority: int = 0
    type: str = "string"
    format: str = ""


_NONE = "<none>"
_TEMPLATE = ("spec", "template", "spec")


def _name(obj: Object, _now: float) -> JSON:
    return name_of(obj)


def _age(obj: Object, now: float) -> JSON:
    return age(dig(obj, "metadata", "creationTimestamp"), now)


def _at(*path: str, default: JSON = _NONE) -> Cell:
    def cell(obj: Object, _now: float) -> JSON:
        value = dig(obj, *path)
        return default if value is None or value == "" else value

    return cell


NAME = Column("Name", _name, format="name")
AGE = Column("Age", _age)


def _joined(field: str) -> Cell:
    """Return a cell with a field of all containers of the template."""

    def cell(obj: Object, _now: float) -> JSON:
        return ",".join(str(item.get(field)) for item in dig(obj, *_TEMPLATE, "containers") or ())

    return cell


def _selector(obj: Object, _now: float) -> JSON:
    labels = dig(obj, "spec", "selector", "matchLabels") or {}
    return ",".join(f"{key}={value}" for key, value in labels.items()) or _NONE


def _ratio(obj: Object, _now: float) -> JSON:
    return f"{dig(obj, 'status', 'readyReplicas') or 0}/{dig(obj, 'spec', 'replicas') or 0}"


def _pod_ready(pod: Object, _now: float) -> JSON:
    statuses = dig(pod, "status", "containerStatuses") or ()
    ready = sum(1 for status in statuses if status.get("ready"))
    return f"{ready}/{len(dig(pod, 'spec', 'containers') or ())}"


def _pod_status(pod: Object, _now: float) -> JSON:
    reason = dig(pod, "status", "reason") or dig(pod, "status", "phase") or "Unknown"
    running = False
    for status in reversed(dig(pod, "status", "containerStatuses") or ()):
        waiting = dig(status, "state", "waiting", "reason")
        ended = dig(status, "state", "terminated")
        if waiting:
            reason = waiting
        elif ended:
            reason = ended.get("reason") or f"ExitCode:{ended.get('exitCode', 0)}"
        elif status.get("ready") and dig(status, "state", "running") is not None:
            running = True
    if reason == "Completed" and running:
        reason = "Running"
    for index, status in enumerate(dig(pod, "status", "initContainerStatuses") or ()):
        ended = dig(status, "state", "terminated")
        if (ended and ended.get("exitCode") == 0) or status.get("started"):
            continue
        total = len(dig(pod, "spec", "initContainers") or ())
        waiting = dig(status, "state", "waiting", "reason")
        if ended:
            reason = f"Init:{ended.get('reason') or 'Error'}"
        elif waiting and waiting != "PodInitializing":
            reason = f"Init:{waiting}"
        else:
            reason = f"Init:{index}/{total}"
        break
    return "Terminating" if dig(pod, "metadata", "deletionTimestamp") else reason


def _pod_restarts(pod: Object, now: float) -> JSON:
    statuses = dig(pod, "status", "containerStatuses") or ()
    count = sum(int(status.get("restartCount") or 0) for status in statuses)
    ends = (dig(status, "lastState", "terminated", "finishedAt") for status in statuses)
    ended = list(filter(None, ends))
    return f"{count} ({age(max(ended), now)} ago)" if count and ended else count


def _event_first_seen(event: Object, now: float) -> str:
    return age(event.get("firstTimestamp") or event.get("eventTime"), now)


def _event_last_seen(event: Object, now: float) -> JSON:
    if series := event.get("series"):
        return age(series.get("lastObservedTime"), now)
    last = event.get("lastTimestamp")
    return age(last, now) if last else _event_first_seen(event, now)


def _event_object(event: Object, _now: float) -> JSON:
    kind, name = (dig(event, "involvedObject", key) or "" for key in ("kind", "name"))
    return f"{kind.lower()}/{name}" if name else kind.lower()


def _event_source(event: Object, _now: float) -> JSON:
    who = dig(event, "source", "component") or event.get("reportingComponent") or ""
    where = dig(event, "source", "host") or event.get("reportingInstance") or ""
    return f"{who}, {where}" if where else who


def _event_count(event: Object, _now: float) -> JSON:
    return (event.get("series") or event).get("count") or 1


def _event_message(event: Object, _now: float) -> JSON:
    return str(event.get("message") or "").strip()


_EVENT = (
    Column("Last Seen", _event_last_seen),
    Column("Type", _at("type", default="")),
    Column("Reason", _at("reason", default="")),
    Column("Object", _event_object),
    Column("Subobject", _at("involvedObject", "fieldPath", default=""), 1),
    Column("Source", _event_source, 1),
    Column("Message", _event_message),
    Column("First Seen", _event_first_seen, 1),
    Column("Count", _event_count, 1),
    Column("Name", _name, 1, format="name"),
)


def _data_count(config: Object, _now: float) -> JSON:
    return len(config.get("data") or {}) + len(config.get("binaryData") or {})


BUILT_IN_COLUMNS: dict[str, tuple[Column, ...]] = {
    "events": _EVENT,
    "pods": (
        NAME,
        Column("Ready", _pod_ready),
        Column("Status", _pod_status),
        Column("Restarts", _pod_restarts),
        AGE,
        Column("IP", _at("status", "podIP"), 1),
        Column("Node", _at("spec", "nodeName"), 1),
        Column("Nominated Node", _at("status", "nominatedNodeName"), 1),
        Column("Readiness Gates", _at("status", "readinessGates"), 1),
    ),
    "configmaps": (NAME, Column("Data", _data_count), AGE),
    "namespaces": (NAME, Column("Status", _at("status", "phase", default="")), AGE),
    "deployments.apps": (
        NAME,
        Column("Ready", _ratio),
        Column("Up-to-date", _at("status", "updatedReplicas", default=0)),
        Column("Available", _at("status", "availableReplicas", default=0)),
        AGE,
        Column("Containers", _joined("name"), 1),
        Column("Images", _joined("image"), 1),
        Column("Selector", _selector, 1),
    ),
    LEASE_COLLECTION: (NAME, Column("Holder", _at("spec", "holderIdentity", default="")), AGE),
    CRD_COLLECTION: (NAME, Column("Created At", _at("metadata", "creationTimestamp"))),
}
DEFAULT_COLUMNS = (NAME, AGE)


def columns_of(resource: Resource) -> tuple[Column, ...]:
    if resource.custom:
        return (NAME, *map(_custom_column, resource.columns))
    return BUILT_IN_COLUMNS.get(resource.name, DEFAULT_COLUMNS)


def _custom_column(declared: Object) -> Column:
    kind, path = str(declared.get("type", "string")), str(declared.get("jsonPath", ""))

    def cell(obj: Object, now: float) -> JSON:
        value = value_at(obj, path)
        if kind == "date":
            return age(value, now)
        if value is None or kind != "string":
            return value
        if isinstance(value, dict | list):
            return encode(value).decode()
        return str(value).lower() if isinstance(value, bool) else str(value)

    name, format_ = str(declared.get("name", "")), str(declared.get("format", ""))
    return Column(name, cell, int(declared.get("priority", 0)), kind, format_)


def definitions(columns: tuple[Column, ...]) -> list[Object]:
    return [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": column.name,
            "priority": column.priority,
        }
        for column in columns
    ]


def row(columns: tuple[Column, ...], obj: Object, now: float) -> list[JSON]:
    """Return the cells of one object, in the version that the columns are defined on."""
    return [column.cell(obj, now) for column in columns]
