"""Defaults, immutable fields and validation of each kind, applied when an object is written.

Built-in kinds get the few defaults and checks that clients notice; custom kinds follow their
schema. All functions work on whole objects in the stored version.
"""

from collections.abc import Callable, Iterable

from lab.sandbox import events, metadata, schema
from lab.sandbox.errors import DecodeError, FieldError, invalid, invalid_value, required_value
from lab.sandbox.objects import (
    JSON,
    Object,
    TimeFormatError,
    dig,
    meta,
    name_of,
    normalize_micro_time,
    normalize_time,
)
from lab.sandbox.resources import CRD_COLLECTION, LEASE_COLLECTION, Resource

_METADATA_TIMES = ("creationTimestamp", "deletionTimestamp")
_CONDITION_TIMES = ("lastTransitionTime", "lastUpdateTime", "lastProbeTime", "lastHeartbeatTime")
_MICRO_TIMES = ("acquireTime", "renewTime")
_KEEP_STATUS_ON_CREATE = frozenset({"nodes"})


def read_body(resource: Resource, obj: Object) -> tuple[Object, list[str]]:
    """Decode a body for its kind; return the object and the fields that its schema lacks.

    Raises:
        DecodeError: a field has the wrong type.
    """
    _normalize_times(resource, meta(obj), _METADATA_TIMES)
    if resource.is_event:
        return events.normalized(obj), []
    if not resource.custom:
        conditions = dig(obj, "status", "conditions")
        for condition in conditions if isinstance(conditions, list) else ():
            _normalize_times(resource, condition, _CONDITION_TIMES)
    if resource.name == LEASE_COLLECTION and isinstance(obj.get("spec"), dict):
        spec = obj["spec"] = {name: each for name, each in obj["spec"].items() if each is not None}
        _normalize_times(resource, spec, _MICRO_TIMES, normalize=normalize_micro_time)
    return obj, schema.prune(obj, resource.schema) if resource.schema is not None else []


def _normalize_times(
    resource: Resource,
    holder: Object,
    names: Iterable[str],
    *,
    normalize: Callable[[str], str] = normalize_time,
) -> None:
    """Write times like Go, whatever zone or fraction the client chose."""
    for name in names:
        value = holder.get(name)
        if value is not None:
            try:
                holder[name] = normalize(str(value))
            except TimeFormatError as error:
                raise DecodeError(resource.version, resource.kind, str(error)) from None


def set_defaults(resource: Resource, obj: Object) -> None:
    schema.apply_defaults(obj, resource.schema or _DEFAULTS.get(resource.name) or {})
    if resource.name in _COMPLETE:
        _COMPLETE[resource.name](obj)


def prepare_create(resource: Resource, obj: Object) -> None:
    """Drop fields that a creator may not set, and set the initial status."""
    if resource.status and resource.name not in _KEEP_STATUS_ON_CREATE:
        obj.pop("status", None)
    initial = _INITIAL_STATUS.get(resource.name)
    if initial is not None:
        obj["status"] = dict(initial)
    if resource.name == "namespaces":
        obj["spec"] = {"finalizers": ["kubernetes"]}


def prepare_update(resource: Resource, new: Object, old: Object, *, subresource: str) -> Object:
    """Return the object to store when a client replaces `old` by `new`."""
    if subresource == "status":
        # Take only the status; changes of other fields are ignored.
        kept = {**old, "metadata": {**meta(old)}}
        for name in ("resourceVersion", "managedFields"):
            if name in meta(new):
                kept["metadata"][name] = meta(new)[name]
        kept.pop("status", None)
        if "status" in new:
            kept["status"] = new["status"]
        return kept
    if resource.status:
        new.pop("status", None)
        if "status" in old:
            new["status"] = old["status"]
    metadata.carry_over(new, old)
    if resource.generation and _desired(resource, new) != _desired(resource, old):
        meta(new)["generation"] = int(meta(old).get("generation") or 0) + 1
    return new


def _desired(resource: Resource, obj: Object) -> Object:
    ignored = {"apiVersion", "kind", "metadata", *(("status",) if resource.status else ())}
    return {name: value for name, value in obj.items() if name not in ignored}


def validate(resource: Resource, obj: Object, old: Object | None = None) -> None:
    """Refuse an invalid new object, or an invalid change of an old one.

    Raises:
        ApiError: 422 with one cause for each broken rule.
    """
    rule = _NAME_RULES.get(resource.name, metadata.subdomain_errors)
    errors = metadata.validate(obj, rule, namespaced=resource.namespaced)
    if old is not None:
        errors += metadata.validate_update(obj, old)
    if old is not None and resource.name in {"deployments.apps", "statefulsets.apps"}:
        selector = dig(obj, "spec", "selector")
        if selector != dig(old, "spec", "selector"):
            errors.append(invalid_value("spec.selector", selector, "field is immutable"))
    if resource.schema is not None:
        errors += schema.validate(obj, resource.schema)
    elif resource.name in _CHECKS:
        errors += _CHECKS[resource.name](obj)
    if errors:
        raise invalid(resource.group, resource.kind, name_of(obj), errors=errors)


def _at_least(obj: Object, path: str, least: int) -> list[FieldError]:
    value = dig(obj, *path.split("."))
    text = "must be greater than 0" if least else "must be greater than or equal to 0"
    return [invalid_value(path, value, text)] if isinstance(value, int) and value < least else []


def _validate_lease(lease: Object) -> list[FieldError]:
    return [
        *_at_least(lease, "spec.leaseDurationSeconds", 1),
        *_at_least(lease, "spec.leaseTransitions", 0),
    ]


def _validate_pod(pod: Object) -> list[FieldError]:
    return [] if dig(pod, "spec", "containers") else [required_value("spec.containers")]


def _validate_workload(workload: Object) -> list[FieldError]:
    errors = []
    selector = dig(workload, "spec", "selector", "matchLabels") or {}
    labels = dig(workload, "spec", "template", "metadata", "labels") or {}
    if not dig(workload, "spec", "selector"):
        errors.append(required_value("spec.selector"))
    elif not selector.items() <= labels.items():
        why = "`selector` does not match template `labels`"
        errors.append(invalid_value("spec.template.metadata.labels", labels, why))
    if not dig(workload, "spec", "template", "spec", "containers"):
        errors.append(required_value("spec.template.spec.containers"))
    return errors + _at_least(workload, "spec.replicas", 0)


_REQUIRED = ("spec.group", "spec.scope", "spec.names.plural", "spec.names.kind", "spec.versions")


def _validate_crd(crd: Object) -> list[FieldError]:
    errors = [required_value(path) for path in _REQUIRED if not dig(crd, *path.split("."))]
    wanted = f"{dig(crd, 'spec', 'names', 'plural')}.{dig(crd, 'spec', 'group')}"
    if not errors and name_of(crd) != wanted:
        why = 'must be spec.names.plural+"."+spec.group'
        errors.append(invalid_value("metadata.name", name_of(crd), why))
    return errors


def _fields(**fields: JSON) -> Object:
    """Return the schema of an object whose fields have their own schema, or this default."""
    return {
        "properties": {
            name: each if isinstance(each, dict) and "properties" in each else {"default": each}
            for name, each in fields.items()
        }
    }


_POD = _fields(
    restartPolicy="Always",
    dnsPolicy="ClusterFirst",
    schedulerName="default-scheduler",
    terminationGracePeriodSeconds=30,
)
_WORKLOAD = {"replicas": 1, "revisionHistoryLimit": 10, "template": _fields(spec=_POD)}
_ROLLING = {"maxUnavailable": "25%", "maxSurge": "25%"}
_DEFAULTS: dict[str, Object] = {
    "pods": _fields(spec=_POD),
    "services": _fields(spec=_fields(type="ClusterIP", sessionAffinity="None")),
    "statefulsets.apps": _fields(spec=_fields(**_WORKLOAD)),
    "deployments.apps": _fields(
        spec=_fields(
            **_WORKLOAD,
            progressDeadlineSeconds=600,
            strategy={"type": "RollingUpdate", "rollingUpdate": _ROLLING},
        )
    ),
}


def _complete_service(service: Object) -> None:
    for port in dig(service, "spec", "ports") or ():
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))


def _complete_namespace(namespace: Object) -> None:
    labels = meta(namespace).get("labels") or {}
    meta(namespace)["labels"] = {**labels, "kubernetes.io/metadata.name": name_of(namespace)}


def _complete_crd(crd: Object) -> None:
    names = dig(crd, "spec", "names")
    if isinstance(names, dict):
        names.setdefault("listKind", f"{names.get('kind', '')}List")
        names.setdefault("singular", str(names.get("kind", "")).lower())
        crd["spec"].setdefault("conversion", {"strategy": "None"})


_COMPLETE: dict[str, Callable[[Object], None]] = {
    "services": _complete_service,
    "namespaces": _complete_namespace,
    CRD_COLLECTION: _complete_crd,
}
"""Defaults that follow from other fields."""

_INITIAL_STATUS: dict[str, Object] = {
    "namespaces": {"phase": "Active"},
    "pods": {"phase": "Pending", "qosClass": "BestEffort"},
    "persistentvolumeclaims": {"phase": "Pending"},
    "persistentvolumes": {"phase": "Pending"},
    "deployments.apps": {},
    "statefulsets.apps": {"replicas": 0, "availableReplicas": 0},
    "replicasets.apps": {"replicas": 0},
    "jobs.batch": {},
}
_NAME_RULES: dict[str, metadata.NameRule] = {
    "namespaces": metadata.label_errors,
    "services": metadata.label_errors,
    "events": metadata.path_segment_errors,
}
_CHECKS: dict[str, Callable[[Object], list[FieldError]]] = {
    "events": events.validate,
    LEASE_COLLECTION: _validate_lease,
    "pods": _validate_pod,
    "deployments.apps": _validate_workload,
    "statefulsets.apps": _validate_workload,
    "replicasets.apps": _validate_workload,
    CRD_COLLECTION: _validate_crd,
}
