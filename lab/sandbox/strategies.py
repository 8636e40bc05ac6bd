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
# Fields of a Lease that are dropped unless a feature gate is on; by default it is off.
_COORDINATED_ELECTION = ("preferredHolder", "strategy")
_KEEP_STATUS_ON_CREATE = frozenset({"nodes"})


def read_body(resource: Resource, obj: Object) -> tuple[Object, list[str]]:
    """Decode a body for its kind; return the object and the unknown fields that were dropped.

    For built-in kinds, unknown fields are only detected for Events.

    Raises:
        DecodeError: a field has the wrong type.
    """
    unknown: list[str] = []
    _normalize_times(resource, meta(obj), _METADATA_TIMES)
    if resource.is_event:
        return events.to_storage(resource.group, obj), events.unknown_fields(resource.group, obj)
    if not resource.custom:
        conditions = dig(obj, "status", "conditions")
        for condition in conditions if isinstance(conditions, list) else ():
            _normalize_times(resource, condition, _CONDITION_TIMES)
    if resource.collection == LEASE_COLLECTION:
        _normalize_lease(obj)
    if resource.schema is not None:
        unknown = schema.prune(obj, resource.schema)
    return obj, unknown


def _normalize_times(resource: Resource, holder: Object, names: Iterable[str]) -> None:
    """Write times like Go, whatever zone or fraction the client chose."""
    for name in names:
        value = holder.get(name)
        if value is not None:
            try:
                holder[name] = normalize_time(str(value))
            except TimeFormatError as error:
                raise DecodeError(resource.version, resource.kind, str(error)) from None


def _normalize_lease(lease: Object) -> None:
    spec = lease.get("spec")
    if not isinstance(spec, dict):
        return
    for name in _COORDINATED_ELECTION:
        spec.pop(name, None)
    for name in ("acquireTime", "renewTime"):
        value = spec.get(name)
        if value is None:
            spec.pop(name, None)
            continue
        try:
            spec[name] = normalize_micro_time(str(value))
        except TimeFormatError as error:
            raise DecodeError("v1", "Lease", str(error)) from None
    for name in ("leaseDurationSeconds", "leaseTransitions"):
        value = spec.get(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            given = "string" if isinstance(value, str) else "number " + str(value)
            raise DecodeError(
                "v1",
                "Lease",
                f"json: cannot unmarshal {given} into Go struct field LeaseSpec.spec.{name} "
                "of type int32",
            )


def set_defaults(resource: Resource, obj: Object) -> None:
    """Fill in defaults, on create and on update."""
    schema.apply_defaults(obj, resource.schema or _DEFAULTS.get(resource.collection) or {})
    if resource.collection in _COMPLETE:
        _COMPLETE[resource.collection](obj)


def prepare_create(resource: Resource, obj: Object) -> None:
    """Drop fields that a creator may not set, and set the initial status."""
    if resource.status and resource.collection not in _KEEP_STATUS_ON_CREATE:
        obj.pop("status", None)
    initial = _INITIAL_STATUS.get(resource.collection)
    if initial is not None:
        obj["status"] = dict(initial)
    if resource.collection == "namespaces":
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


def validate_create(resource: Resource, obj: Object) -> None:
    """Refuse to create an invalid object.

    Raises:
        ApiError: 422 with one cause for each broken rule.
    """
    rule = _NAME_RULES.get(resource.collection, metadata.subdomain_errors)
    errors = metadata.validate(obj, rule, namespaced=resource.namespaced)
    if resource.is_event:
        errors += events.validate_create(resource.group, obj)
    _refuse(resource, obj, errors + _validate(resource, obj))


def validate_update(resource: Resource, new: Object, old: Object) -> None:
    """Refuse an invalid change.

    Raises:
        ApiError: 422 with one cause for each broken rule.
    """
    rule = _NAME_RULES.get(resource.collection, metadata.subdomain_errors)
    errors = metadata.validate(new, rule, namespaced=resource.namespaced)
    errors += metadata.validate_update(new, old)
    if resource.is_event:
        errors += events.validate_update(resource.group, new, old)
    if resource.group == "apps" and resource.plural in {"deployments", "statefulsets"}:
        selector = dig(new, "spec", "selector")
        if selector != dig(old, "spec", "selector"):
            errors.append(invalid_value("spec.selector", selector, "field is immutable"))
    _refuse(resource, new, errors + _validate(resource, new))


def _refuse(resource: Resource, obj: Object, errors: list[FieldError]) -> None:
    if errors:
        # Errors about Events name the core group, whichever view wrote them.
        group = "" if resource.is_event else resource.group
        raise invalid(group, resource.kind, name_of(obj), errors=errors)


def _validate(resource: Resource, obj: Object) -> list[FieldError]:
    if resource.schema is not None:
        return schema.validate(obj, resource.schema)
    check = _CHECKS.get(resource.collection)
    return check(obj) if check is not None else []


def _validate_lease(lease: Object) -> list[FieldError]:
    spec = lease.get("spec") or {}
    errors = []
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        errors.append(
            invalid_value("spec.leaseDurationSeconds", duration, "must be greater than 0")
        )
    if transitions is not None and transitions < 0:
        errors.append(
            invalid_value(
                "spec.leaseTransitions", transitions, "must be greater than or equal to 0"
            )
        )
    return errors


def _validate_pod(pod: Object) -> list[FieldError]:
    return [] if dig(pod, "spec", "containers") else [required_value("spec.containers")]


def _validate_workload(workload: Object) -> list[FieldError]:
    errors = []
    selector = dig(workload, "spec", "selector", "matchLabels") or {}
    labels = dig(workload, "spec", "template", "metadata", "labels") or {}
    if not dig(workload, "spec", "selector"):
        errors.append(required_value("spec.selector"))
    elif any(labels.get(key) != value for key, value in selector.items()):
        errors.append(
            invalid_value(
                "spec.template.metadata.labels",
                labels,
                "`selector` does not match template `labels`",
            )
        )
    if not dig(workload, "spec", "template", "spec", "containers"):
        errors.append(required_value("spec.template.spec.containers"))
    replicas = dig(workload, "spec", "replicas")
    if isinstance(replicas, int) and replicas < 0:
        errors.append(
            invalid_value("spec.replicas", replicas, "must be greater than or equal to 0")
        )
    return errors


def _validate_crd(crd: Object) -> list[FieldError]:
    errors = [
        required_value(field)
        for field, value in (
            ("spec.group", dig(crd, "spec", "group")),
            ("spec.scope", dig(crd, "spec", "scope")),
            ("spec.names.plural", dig(crd, "spec", "names", "plural")),
            ("spec.names.kind", dig(crd, "spec", "names", "kind")),
            ("spec.versions", dig(crd, "spec", "versions")),
        )
        if not value
    ]
    wanted = f"{dig(crd, 'spec', 'names', 'plural')}.{dig(crd, 'spec', 'group')}"
    if not errors and name_of(crd) != wanted:
        errors.append(
            invalid_value("metadata.name", name_of(crd), 'must be spec.names.plural+"."+spec.group')
        )
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
    "services": metadata.service_errors,
    # Only the stricter rules of events.k8s.io restrict the name of an Event further.
    "events": metadata.path_segment_errors,
}
_CHECKS: dict[str, Callable[[Object], list[FieldError]]] = {
    LEASE_COLLECTION: _validate_lease,
    "pods": _validate_pod,
    "deployments.apps": _validate_workload,
    "statefulsets.apps": _validate_workload,
    "replicasets.apps": _validate_workload,
    CRD_COLLECTION: _validate_crd,
}
