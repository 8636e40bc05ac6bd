"""What is compared of the objects of a ModelService: selectors, ports and references."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from reporter.catalogue import resources as r
from reporter.model.objects import (
    Deployment,
    HttpRoute,
    InferencePool,
    KubeObject,
    LabelSelector,
    ParentReference,
    Service,
    TemplateContainer,
)
from reporter.model.resource import Resource
from reporter.stacks.otterscale.objects import (
    DestinationRule,
    MetricsEndpoint,
    PodMonitor,
    ServiceMonitor,
)
from reporter.stacks.otterscale.resources import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    DESTINATIONRULES,
    PLUGINS_CONFIGMAPS,
    PODMONITORS,
    SERVICEACCOUNTS,
    SERVICEMONITORS,
)

Entries: TypeAlias = Mapping[str, str]
"""A part of an object: what its entries are called, and what they hold."""

_METRICS_PATH: Final = "/metrics"
_SCHEME: Final = "http"
_ACTION: Final = "replace"
"""What the Prometheus operator takes where a monitor does not say: its API reference, v1."""


def entries_of(resource: Resource[KubeObject], obj: KubeObject) -> dict[str, Entries]:
    """Return the compared parts of an object, by their path."""
    return {path: read(obj) for path, read in _PARTS.get(resource, {}).items()}


def _of_selector(selector: LabelSelector | None) -> Entries:
    if selector is None:
        return {}
    expressions = {
        each.key: f"{each.operator} ({', '.join(sorted(each.values or ()))})"
        for each in selector.match_expressions or ()
    }
    return expressions | dict(selector.match_labels or {})


def _of_containers(containers: Iterable[TemplateContainer] | None) -> Entries:
    return {
        f"{container.name}/{port.name}": str(port.container_port)
        for container in containers or ()
        for port in container.ports or ()
    }


def _deployment_selector(obj: Deployment) -> Entries:
    return _of_selector(obj.spec.selector)


def _container_ports(obj: Deployment) -> Entries:
    return _of_containers(obj.spec.template.spec.containers)


def _init_container_ports(obj: Deployment) -> Entries:
    return _of_containers(obj.spec.template.spec.init_containers)


def _service_selector(obj: Service) -> Entries:
    return obj.spec.selector or {}


def _service_ports(obj: Service) -> Entries:
    return {each.name: str(each.port) for each in obj.spec.ports or ()}


def _pool_selector(obj: InferencePool) -> Entries:
    return _of_selector(obj.spec.selector)


def _target_ports(obj: InferencePool) -> Entries:
    return {str(n): str(each.number) for n, each in enumerate(obj.spec.target_ports or ())}


def _picker(obj: InferencePool) -> Entries:
    reference = obj.spec.endpoint_picker_ref
    if reference is None:
        return {}
    port = reference.port.number if reference.port else ""
    return {"name": reference.name, "port": str(port)}


def _backends(obj: HttpRoute) -> Entries:
    references = (each for rule in obj.spec.rules or () for each in rule.backend_refs or ())
    return {str(n): f"{each.kind} {each.name}" for n, each in enumerate(references)}


def _parents(obj: HttpRoute) -> Entries:
    def shown(reference: ParentReference) -> str:
        return f"{reference.namespace or obj.namespace}/{reference.name}"

    return {str(n): shown(each) for n, each in enumerate(obj.spec.parent_refs or ())}


def _monitored_pods(obj: PodMonitor) -> Entries:
    return _of_selector(obj.spec.selector)


def _pod_endpoints(obj: PodMonitor) -> Entries:
    return _ports(obj.spec.pod_metrics_endpoints)


def _monitored_services(obj: ServiceMonitor) -> Entries:
    return _of_selector(obj.spec.selector)


def _service_endpoints(obj: ServiceMonitor) -> Entries:
    return _ports(obj.spec.endpoints)


def _ports(endpoints: Iterable[MetricsEndpoint] | None) -> Entries:
    return {str(n): each.port for n, each in enumerate(endpoints or ())}


def _pod_scraping(obj: PodMonitor) -> Entries:
    return _scraping(obj.spec.pod_metrics_endpoints)


def _service_scraping(obj: ServiceMonitor) -> Entries:
    return _scraping(obj.spec.endpoints)


def _scraping(endpoints: Iterable[MetricsEndpoint] | None) -> Entries:
    """Return where and how often endpoints are asked, and the labels that they get."""
    asked = {
        str(n): {
            "path": each.path or _METRICS_PATH,
            "interval": each.interval,
            "scheme": (each.scheme or _SCHEME).lower(),
            "relabelings": [{"action": _ACTION, **rule} for rule in each.relabelings or ()],
        }
        for n, each in enumerate(endpoints or ())
    }
    return dict(_leaves(asked))


def _rule(obj: DestinationRule) -> Entries:
    spec = obj.spec
    rest = {
        "trafficPolicy": spec.traffic_policy,
        "subsets": spec.subsets,
        "exportTo": spec.export_to,
    }
    return {"host": spec.host, **dict(_leaves(rest))}


def _leaves(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield what stands at the ends of a document, by its path; nothing is no end."""
    match value:
        case Mapping():
            for key, each in value.items():
                yield from _leaves(each, f"{path}.{key}" if path else str(key))
        case list() | tuple():
            for number, each in enumerate(value):
                yield from _leaves(each, f"{path}[{number}]")
        case None | "":
            return
        case bool():
            yield path, str(value).lower()
        case _:
            yield path, str(value)


_Read: TypeAlias = Callable[..., Entries]

_PARTS: Final[Mapping[Resource[KubeObject], Mapping[str, _Read]]] = {
    r.DEPLOYMENTS: {
        "spec.selector": _deployment_selector,
        "container ports": _container_ports,
        "init container ports": _init_container_ports,
    },
    r.SERVICES: {"spec.selector": _service_selector, "spec.ports": _service_ports},
    r.INFERENCEPOOLS: {
        "spec.selector": _pool_selector,
        "spec.targetPorts": _target_ports,
        "spec.endpointPickerRef": _picker,
    },
    r.HTTPROUTES: {"spec.parentRefs": _parents, "backendRefs": _backends},
    DESTINATIONRULES: {"spec": _rule},
    PODMONITORS: {
        "spec.selector": _monitored_pods,
        "spec.podMetricsEndpoints": _pod_endpoints,
        "scraping": _pod_scraping,
    },
    SERVICEMONITORS: {
        "spec.selector": _monitored_services,
        "spec.endpoints": _service_endpoints,
        "scraping": _service_scraping,
    },
    SERVICEACCOUNTS: {},
    PLUGINS_CONFIGMAPS: {},
    CLUSTERROLES: {},
    CLUSTERROLEBINDINGS: {},
}

COMPARED: Final[Mapping[str, Resource[KubeObject]]] = {each.kind: each for each in _PARTS}
"""Resources whose objects are compared, by kind."""
