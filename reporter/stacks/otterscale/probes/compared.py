"""Compares the objects of a ModelService: every field that the operator sets.

Defaults of the API server, and entries that others add to maps, are not differences: the fields
that the operator writes are compared, lists as a whole, and a few fields that nobody fills in.
Values of variables, headers and arguments are never shown, because they may contain credentials;
headers that are known to be harmless are the exception.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from reporter.catalogue import resources as r
from reporter.model import objects as o
from reporter.model.quantity import quantity
from reporter.model.resource import Resource
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.otterscale import reasons
from reporter.stacks.otterscale.manifests import names
from reporter.stacks.otterscale.objects import MASKED, Json, Made, MetricsEndpoint, hidden

Entries: TypeAlias = Mapping[str, str]
"""A part of an object: the values of its entries by their names."""

Difference: TypeAlias = tuple[str, str, str]
"""The path of what differs, its value and the wanted value; empty if there is none."""


def entries_of(resource: Resource[o.KubeObject], obj: o.KubeObject) -> dict[str, Entries]:
    """Return the compared parts of an object, by their path."""
    return {path: read(obj) for path, read in _PARTS.get(resource, {}).items()}


def differing_parts(
    should: Mapping[str, Entries], has: Mapping[str, Entries]
) -> Iterator[Difference]:
    for path in {**should, **has}:
        mine, wants = has.get(path, {}), should.get(path, {})
        keys = sorted(key for key in {*mine, *wants} if mine.get(key) != wants.get(key))
        if keys:
            yield path, _listed(mine, keys), _listed(wants, keys)


def _listed(entries: Entries, keys: Iterable[str]) -> str:
    there = ((key, entries[key]) for key in keys if key in entries)
    return ", ".join(each if key.isdigit() else f"{key}={each}" for key, each in there)


def _of_selector(selector: o.LabelSelector | None) -> Entries:
    if selector is None:
        return {}
    expressions = {
        each.key: f"{each.operator} ({', '.join(sorted(each.values or ()))})"
        for each in selector.match_expressions or ()
    }
    return expressions | dict(selector.match_labels or {})


def _of_containers(containers: Iterable[o.TemplateContainer] | None) -> Entries:
    return {
        f"{container.name}/{port.name}": str(port.container_port)
        for container in containers or ()
        for port in container.ports or ()
    }


def _picker(obj: o.InferencePool) -> Entries:
    reference = obj.spec.endpoint_picker_ref
    if reference is None:
        return {}
    return {"name": reference.name, "port": str(reference.port.number) if reference.port else ""}


def _numbered(texts: Iterable[str]) -> Entries:
    return {str(n): each for n, each in enumerate(texts)}


def _backends(obj: o.HttpRoute) -> Entries:
    references = (each for rule in obj.spec.rules or () for each in rule.backend_refs or ())
    return _numbered(f"{each.kind} {each.name}" for each in references)


def _parents(obj: o.HttpRoute) -> Entries:
    references = obj.spec.parent_refs or ()
    return _numbered(f"{each.namespace or obj.namespace}/{each.name}" for each in references)


def _ports(endpoints: Iterable[MetricsEndpoint] | None) -> Entries:
    return _numbered(each.port for each in endpoints or ())


def _scraping(endpoints: Iterable[MetricsEndpoint] | None) -> Entries:
    """Return where and how often endpoints are scraped, and the labels that they get.

    Defaults are those of the Prometheus operator (its API reference, v1).
    """
    asked = {
        str(n): {
            "path": each.path or "/metrics",
            "interval": each.interval,
            "scheme": (each.scheme or "http").lower(),
            "relabelings": [{"action": "replace", **rule} for rule in each.relabelings or ()],
        }
        for n, each in enumerate(endpoints or ())
    }
    return dict(_leaves(asked))


def _leaves(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the leaves of a document by their paths, without empty ones."""
    match value:
        case Mapping():
            for key, each in value.items():
                yield from _leaves(each, f"{path}.{key}" if path else str(key))
        case list() | tuple():
            for number, each in enumerate(value):
                yield from _leaves(each, f"{path}[{number}]")
        case None | "":
            return
        case _:
            yield path, _shown(value)


def _shown(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


_Read: TypeAlias = Callable[..., Entries]

_PARTS: Final[Mapping[Resource[o.KubeObject], Mapping[str, _Read]]] = {
    r.DEPLOYMENTS: {
        "spec.selector": lambda obj: _of_selector(obj.spec.selector),
        "container ports": lambda obj: _of_containers(obj.spec.template.spec.containers),
        "init container ports": lambda obj: _of_containers(obj.spec.template.spec.init_containers),
    },
    r.SERVICES: {
        "spec.selector": lambda obj: obj.spec.selector or {},
        "spec.ports": lambda obj: {each.name: str(each.port) for each in obj.spec.ports or ()},
    },
    r.INFERENCEPOOLS: {
        "spec.selector": lambda obj: _of_selector(obj.spec.selector),
        "spec.targetPorts": lambda obj: _numbered(
            str(each.number) for each in obj.spec.target_ports or ()
        ),
        "spec.endpointPickerRef": _picker,
    },
    r.HTTPROUTES: {"spec.parentRefs": _parents, "backendRefs": _backends},
    r.DESTINATIONRULES: {
        "spec": lambda obj: {"host": obj.spec.host, **dict(_leaves(msgspec.to_builtins(obj.spec)))}
    },
    reasons.PODMONITORS: {
        "spec.selector": lambda obj: _of_selector(obj.spec.selector),
        "spec.podMetricsEndpoints": lambda obj: _ports(obj.spec.pod_metrics_endpoints),
        "scraping": lambda obj: _scraping(obj.spec.pod_metrics_endpoints),
    },
    reasons.SERVICEMONITORS: {
        "spec.selector": lambda obj: _of_selector(obj.spec.selector),
        "spec.endpoints": lambda obj: _ports(obj.spec.endpoints),
        "scraping": lambda obj: _scraping(obj.spec.endpoints),
    },
    reasons.SERVICEACCOUNTS: {},
    reasons.PLUGINS_CONFIGMAPS: {},
    reasons.CLUSTERROLES: {},
    reasons.CLUSTERROLEBINDINGS: {},
}

COMPARED: Final[Mapping[str, Resource[o.KubeObject]]] = {each.kind: each for each in _PARTS}
"""Resources whose objects are compared, by kind."""


_AS_WANTED: Final = "(as wanted)"
_OTHER: Final = "(another one)"
_NAMED: Final = re.compile(
    r".*\.(containers|initContainers|env|headers|volumes|ports|volumeMounts)"
)
_HIDDEN: Final = re.compile(r".*\.(args|command|env\[.*\]\.value)")
_QUANTITIES: Final = re.compile(r".*\.resources\.(limits|requests)\..*")
_REPORTED_ELSEWHERE: Final = re.compile(
    "|".join(
        (
            r"spec\.(replicas|selector\..*|targetPorts.*|parentRefs.*)",
            r"spec\.endpointPickerRef\.(name|port\..*)",
            r"spec\.ports\[[^]]*\](\.port)?",
            r"spec\.rules\[\d+\]\.backendRefs.*",
            r".*[cC]ontainers\[[^]]*\]\.(image|ports.*)",
            rf".*\.initContainers\[{names.MODEL_UNPACK}\](\.args)?",
            rf".*[cC]ontainers\[({names.PICKER}|{names.ROUTING_PROXY})\]\.env\[OTEL_.*",
            rf".*\.annotations\.{names.CHECKSUM}",
            rf".*\.labels\.{re.escape(names.VERSION)}",
            r".*\.fieldRef\.apiVersion",
        )
    )
)
"""Fields that are compared separately, or that depend on flags or the version of the operator, or
on whether an API server has filled in defaults."""

_NEVER_FILLED_IN: Final = frozenset(
    {
        "affinity", "env", "envFrom", "filters", "hostNetwork", "hostnames", "imagePullSecrets",
        "lifecycle", "livenessProbe", "nodeSelector", "priorityClassName", "readinessProbe",
        "runtimeClassName", "startupProbe", "timeouts", "tolerations",
    }
)  # fmt: skip
"""Fields that the API server leaves empty, in objects that the operator writes whole."""

_FLAGS: Final = (names.METRICS_AUTH_OFF, names.TRACING_ON, names.TRACING_OFF)
"""Arguments that flags of the operator decide."""

_WHOLE: Final[
    Mapping[Resource[o.KubeObject], tuple[reasons.MadeResource, tuple[str | int, ...]]]
] = {
    r.DEPLOYMENTS: (reasons.MADE_DEPLOYMENTS, ("template", "spec", "restartPolicy")),
    r.SERVICES: (reasons.MADE_SERVICES, ("type",)),
    r.INFERENCEPOOLS: (reasons.MADE_INFERENCEPOOLS, ("endpointPickerRef", "kind")),
    r.HTTPROUTES: (reasons.MADE_ROUTES, ("rules", 0, "matches", 0, "path")),
}
"""The resources with whole copies of objects whose kinds are read anyway, and the path of a field
that the operator always sets.

A copy without that field is truncated, as it may be in a dump, and is not compared.
"""


def whole_of(
    resource: Resource[o.KubeObject], snapshot: Snapshot, there: o.KubeObject
) -> Made | None:
    """Return the whole copy of an object, or None if it was not read or is truncated."""
    made, witness = _WHOLE.get(resource, (None, ()))
    whole = snapshot[made].get(there.namespace, there.name) if made else None
    found: object = whole.spec if whole else None
    for step in witness:
        match found, step:
            case Mapping(), str():
                found = found.get(step)
            case Sequence(), int() if len(found) > step:
                found = found[step]
            case _:
                return None
    return whole if found else None


def differing_leaves(should: Json, whole: Made) -> Iterator[Difference]:
    """Yield the differences in labels and in all fields of `spec`."""
    metadata = should["metadata"]
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    yield from _differing(labels, whole.metadata.labels, "metadata.labels")
    yield from _differing(should.get("spec"), whole.spec, "spec")


def _differing(should: object, has: object, path: str) -> Iterator[Difference]:
    if not _REPORTED_ELSEWHERE.fullmatch(path):
        yield from _below(should, has, path)


def _below(should: object, has: object, path: str) -> Iterator[Difference]:
    match should:
        case Mapping():
            mine = has if isinstance(has, Mapping) else {}
            for key, each in should.items():
                yield from _differing(each, mine.get(key), f"{path}.{key}")
            for key in sorted({str(each) for each in mine} & _NEVER_FILLED_IN - should.keys()):
                yield from _differing([], mine[key], f"{path}.{key}")
        case [] if has and not isinstance(has, list | tuple):
            yield (path, "something", "")
        case list() | tuple() if _HIDDEN.fullmatch(path):
            yield from _of_arguments(should, has, path)
        case list() | tuple():
            yield from _of_lists(should, has, path)
        case _ if _HIDDEN.fullmatch(path):
            wants = hidden(str(should)) if should else ""
            if (has or "") != wants and not _is_masked(should, has):
                yield (path, _OTHER if has else "", _AS_WANTED if should else "")
        case _ if not _equal(should, has, path):
            yield (path, _shown(has), _shown(should))


def _of_lists(should: Sequence[object], has: object, path: str) -> Iterator[Difference]:
    wants, mine = _by_key(should, path), _by_key(has, path)
    for key in {**wants, **mine}:
        at = f"{path}[{key}]"
        if key in wants and key in mine:
            yield from _below(wants[key], mine[key], at)
        elif not _REPORTED_ELSEWHERE.fullmatch(at):
            yield (at, "an entry" if key in mine else "", "an entry" if key in wants else "")


def _by_key(values: object, path: str) -> dict[str, object]:
    """Return the entries of a list: by name if they have names, else by position."""
    found: dict[str, object] = {}
    for place, each in enumerate(values if isinstance(values, list | tuple) else ()):
        key = str(place)
        if isinstance(each, Mapping) and _NAMED.fullmatch(path):
            name = str(each.get("mountPath") or each.get("name") or place)
            key = name if name not in found else f"{name}#{place}"
        found[key] = each
    return found


def _of_arguments(should: Sequence[object], has: object, path: str) -> Iterator[Difference]:
    mine = has if isinstance(has, list | tuple) else ()
    wants = [each for each in should if each not in _FLAGS]
    if wants != [each for each in mine if each not in _FLAGS] and not _is_masked(*should, *mine):
        yield (path, _OTHER if mine else "", _AS_WANTED if wants else "")


def _is_masked(*values: object) -> bool:
    return any(isinstance(each, str) and MASKED in each for each in values)


def _equal(should: object, has: object, path: str) -> bool:
    """Return True if two values mean the same: the API server omits zeros and empty texts."""
    if not should and not has:
        return True
    if _QUANTITIES.fullmatch(path):
        return quantity(should) == quantity(has)
    return _shown(should) == _shown(has)
