"""Whether requests get through HTTPRoutes, pools and Gateways, by their parents and the mesh."""

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Final

from reporter.catalogue import resources as r
from reporter.catalogue.needs import API_KEY_PROVIDER, GATEWAY_NAME, is_of_harness
from reporter.catalogue.shared_parts import GATEWAY_AUTH
from reporter.model import objects as o
from reporter.model.finding import Diagnosis, Entrance, Sureness
from reporter.model.text import detail
from reporter.setting_types import PartMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.index import grouped
from reporter.snapshot.snapshot import Snapshot
from reporter.workload import backends
from reporter.workload.deployment import judge_deployment
from reporter.workload.pod import counts
from reporter.workload.replica_faults import WorkloadFault
from reporter.yaml_reader.limits import Unreadable
from reporter.yaml_reader.reading import read_yaml

_SEVERITY: Final = {"Accepted": 25, "ResolvedRefs": 20}
"""Conditions that must be True, with the severity of a False; the worse comes first."""


@dataclass(frozen=True, slots=True, order=True)
class Parent:
    """A parent with the defaults of its reference filled in."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def is_gateway(self) -> bool:
        return self.kind == "Gateway"


@dataclass(frozen=True, slots=True)
class ParentFault:
    """Why a route or pool does not work with one parent."""

    cause: str
    text: str
    severity: int
    transition: datetime | None = None
    diagnosis: Diagnosis | None = None
    """The specific cause and remedy, if known beyond the action of the reason."""
    condition: o.Condition | None = None
    controller: str = ""
    """The condition, and the controller that wrote it."""


def parent_of(reference: o.RouteReference, namespace: str) -> Parent:
    return Parent(reference.kind or "Gateway", reference.namespace or namespace, reference.name)


def named(route: o.HttpRoute) -> set[Parent]:
    return {parent_of(each, route.namespace) for each in route.spec.parent_refs or ()}


def entries_of(obj: o.HttpRoute | o.InferencePool) -> Iterator[tuple[Parent, o.ParentStatus]]:
    """Yield what has been written about an object, with the parent that it is about."""
    return ((parent_of(each.parent_ref, obj.namespace), each) for each in obj.status.parents or ())


def judge_entries(parent: Parent, entries: Iterable[o.ParentStatus]) -> ParentFault | None:
    """Return the worst fault in the entries of one parent, or None.

    Several controllers may write an entry each. Only one of them runs the parent, so if one
    accepts, the others do not matter. Unknown conditions do not count.
    """
    by_controller = grouped((entry.controller_name, entry) for entry in entries)
    if any(all(map(serves, own)) for own in by_controller.values()):
        return None
    failing = [
        (condition, controller)
        for controller in sorted(by_controller)
        for entry in by_controller[controller]
        for name in _SEVERITY
        if (condition := entry.condition(name, "False"))
    ]
    if not failing:
        return None
    worst, controller = max(
        failing,
        key=lambda each: (_SEVERITY[each[0].type], each[0].reason or "", each[0].message or ""),
    )
    return ParentFault(
        f"{worst.type} is False" + (f" ({worst.reason})" if worst.reason else ""),
        f"{worst.type} is False for {parent}, {detail(worst.reason, worst.message) or 'no reason'}",
        _SEVERITY[worst.type],
        worst.last_transition_time,
        condition=worst,
        controller=controller,
    )


def explained(fault: ParentFault, route: o.HttpRoute, snapshot: Snapshot) -> ParentFault:
    """Return the fault of a route with an explanation, if the parent's message has none."""
    refused = fault.condition
    why = None
    if refused is not None:
        why = backends.why_refused(refused, route, fault.controller, snapshot=snapshot)
    if why is None:
        return fault
    made = backends.last_made(route, snapshot) if why.code == backends.STALE else None
    return replace(
        fault,
        text=f"{fault.text}; {why.cause}",
        diagnosis=why,
        transition=max(filter(None, (fault.transition, made)), default=None),
    )


def astray(pool: o.InferencePool, snapshot: Snapshot) -> Iterator[tuple[o.HttpRoute, ParentFault]]:
    """Yield the routes of other namespaces that probably should lead to a pool but do not."""
    for route, why in backends.elsewhere(pool, snapshot):
        yield route, ParentFault(why.brief, why.cause, OTHER_GROUP, diagnosis=why)


def serves(entry: o.ParentStatus) -> bool:
    """Tell whether all required conditions of an entry are True."""
    return all(entry.condition(name, "True") for name in _SEVERITY)


UNSEEN: Final = "no status of its parent"
"""The cause of a fault of a route that its parent has not looked at."""

GATEWAY_GONE: Final = 30
OTHER_GROUP: Final = 27
NO_PARENT: Final = 24
WRONG_PORT: Final = 18
"""Severities, on the same scale as `_SEVERITY`."""


def route_faults(route: o.HttpRoute, snapshot: Snapshot) -> Iterator[ParentFault]:
    """Yield the faults of a route: in its references, and by each of its parents."""
    yield from other_group(route, snapshot)
    wanted = named(route)
    if not wanted:
        yield ParentFault("no parent", "names no parent Gateway", NO_PARENT)
    for parent in sorted(wanted):
        gateway = snapshot[r.GATEWAYS].get(parent.namespace, parent.name)
        if parent.is_gateway and gateway is not None and gateway.deleting:
            continue
        if parent.is_gateway and snapshot.lacks(r.GATEWAYS, parent.namespace, parent.name):
            yield ParentFault(f"{parent} is gone", f"{parent} does not exist", GATEWAY_GONE)
            continue
        entries = [entry for each, entry in entries_of(route) if each == parent]
        if not entries:
            text = f"{parent} has not accepted it: status.parents has no entry"
            yield ParentFault(UNSEEN, text, NO_PARENT)
            continue
        if fault := judge_entries(parent, entries):
            yield explained(fault, route, snapshot)


def other_group(route: o.HttpRoute, snapshot: Snapshot) -> Iterator[ParentFault]:
    """Yield a fault for each pool that a route references in the wrong API group.

    Gateways then report BackendNotFound although kubectl shows the pool.
    """
    for group, name in sorted(set(_pools(route))):
        other = other_pool(snapshot, group, namespace=route.namespace, name=name)
        if other:
            text = f"names InferencePool {name} of {group}, which is one of {other}"
            yield ParentFault(f"InferencePool of {other}", text, OTHER_GROUP)


def other_pool(snapshot: Snapshot, group: str, *, namespace: str, name: str) -> str:
    """Return the API group of an InferencePool if it is not `group`, or an empty string."""
    found = {
        resource.group
        for resource in (r.INFERENCEPOOLS, r.FORMER_POOLS)
        if snapshot[resource].get(namespace, name) is not None
    }
    named = next((each for each in (r.INFERENCEPOOLS, r.FORMER_POOLS) if each.group == group), None)
    if named is None or group in found or not found:
        return ""
    return min(found) if snapshot.absence_known(named, namespace, name) else ""


def pool_faults(pool: o.InferencePool, snapshot: Snapshot) -> Iterator[ParentFault]:
    """Yield the faults of a pool by its parents, without leftover entries of deleted Gateways."""
    entries = [*entries_of(pool)]
    for parent in sorted({each for each, _ in entries}):
        known = snapshot.absence_known(r.GATEWAYS, parent.namespace, parent.name)
        if parent.is_gateway and known:
            gateway = snapshot[r.GATEWAYS].get(parent.namespace, parent.name)
            if gateway is None or gateway.deleting:
                continue
        if fault := judge_entries(parent, [entry for each, entry in entries if each == parent]):
            yield fault


def wrong_port(
    pool: o.InferencePool, snapshot: Snapshot, listens: Container[int | str] = ()
) -> Iterator[ParentFault]:
    """Yield a fault if none of a pool's ports is a port of the pods that it selects.

    The endpoint picker sends requests to `targetPorts` of a pod, and nothing else checks them
    (Gateway API Inference Extension, api/v1/inferencepool_types.go). `listens` are ports on which
    its servers are configured to listen, whatever their containers declare.
    """
    wanted = frozenset[int | str](each.number for each in pool.spec.target_ports or ())
    if pool.spec.selector is not None:
        of = f"targetPorts of InferencePool {pool.name}"
        ports = _WantedPorts(wanted - {0}, pool.namespace, pool.spec.selector, of)
        yield from ports.unheard(snapshot, listens)


def wrong_target(
    service: o.Service, snapshot: Snapshot, listens: Container[int | str] = ()
) -> Iterator[ParentFault]:
    """Yield a fault if none of a Service's ports leads to a port of the pods that it selects.

    A named `targetPort` is skipped for pods without a port of that name (Kubernetes,
    pkg/controller/endpointslice).
    """
    targets = {each.target_port for each in service.spec.ports or ()}
    # The API server sets it; dumps of older versions of this program lack it.
    wanted = frozenset(each for each in targets if each) if all(targets) else frozenset[int | str]()
    selector = o.LabelSelector(match_labels=service.spec.selector)
    of = f"targetPort of Service {service.name}"
    yield from _WantedPorts(wanted, service.namespace, selector, of).unheard(snapshot, listens)


@dataclass(frozen=True, slots=True)
class _WantedPorts:
    """Ports to which a pool or a Service leads, by number or name, and the pods that it selects."""

    ports: frozenset[int | str]
    namespace: str
    selector: o.LabelSelector
    of: str
    """The field with these ports, as named in messages."""

    def unheard(self, snapshot: Snapshot, listens: Container[int | str]) -> tuple[ParentFault, ...]:
        """Return a fault if none is a port of the pods; computed once for models that share it."""
        if not self.ports or any(each in listens for each in self.ports):
            return ()
        asked = ("no such port", self.namespace, self.of, repr(self.selector), self.ports)
        return snapshot.once(asked, self._faults)

    def _faults(self, snapshot: Snapshot) -> tuple[ParentFault, ...]:
        """Return the fault, unless a pod declares no ports: numeric ports need not be declared."""
        pods = tuple(islice(snapshot[r.PODS].each_selected(self.namespace, self.selector), _NEAR))
        found: set[int] = set()
        for pod in pods:
            containers = (*(pod.spec.containers or ()), *(pod.spec.init_containers or ()))
            declared = [port for each in containers for port in each.ports or ()]
            ports = {port.container_port: port.name for port in declared}
            if not self.ports.isdisjoint((*ports, *ports.values())):
                return ()
            if not ports and not all(isinstance(each, str) for each in self.ports):
                return ()
            found |= ports.keys()
        if not pods:
            return ()
        wanted, listed = (", ".join(sorted(map(str, each))) for each in (self.ports, found))
        brief = f"no pod has port {wanted}"
        text = (
            f"sends requests to port {wanted}, where probably nothing listens: the pods that it "
            f"selects declare {listed or 'none'}"
        )
        action = f"Set {self.of} to {listed.replace(', ', ' or ') or 'a port of its pods'}."
        why = Diagnosis("wrong-port", text, brief, action, sureness=Sureness.LIKELY)
        return (ParentFault(brief, text, WRONG_PORT, diagnosis=why),)


_NEAR: Final = 20
"""Maximum pods of a pool to examine: most pools have pods of one template."""


def is_accepted(route: o.HttpRoute) -> bool:
    """Tell whether every parent that the route names serves it."""
    wanted = named(route)
    serving = {each for each, entry in entries_of(route) if serves(entry)}
    return bool(wanted) and wanted <= serving


def entrances_of(routes: Iterable[o.HttpRoute]) -> frozenset[Entrance]:
    """Return the Gateways that requests of some routes come through.

    A Gateway of another namespace counts only if it has accepted the route: any tenant may name it.
    """
    return frozenset(
        (parent.namespace, parent.name)
        for route in routes
        for parent in parents_of(route)
        if parent.is_gateway
    )


def parents_of(route: o.HttpRoute) -> Iterator[Parent]:
    """Yield the parents of a route that are in its namespace or have accepted it."""
    accepted = {each for each, entry in entries_of(route) if entry.condition("Accepted", "True")}
    for reference in route.spec.parent_refs or ():
        parent = parent_of(reference, route.namespace)
        if parent.namespace == route.namespace or parent in accepted:
            yield parent


def routes_to(
    snapshot: Snapshot, namespace: str, pool: str, *, group: str
) -> tuple[o.HttpRoute, ...]:
    def index(snapshot: Snapshot) -> Mapping[tuple[str, str], tuple[o.HttpRoute, ...]]:
        routes = snapshot[r.HTTPROUTES].in_namespace(namespace)
        return grouped((backend, route) for route in routes for backend in set(_pools(route)))

    return snapshot.entry(("routes to pools", namespace), (group, pool), index) or ()


def routes_naming(
    snapshot: Snapshot, namespace: str, *, kind: str, name: str
) -> tuple[o.HttpRoute, ...]:
    """Return the HTTPRoutes to a backend that are in its namespace, then those that it permits."""
    return snapshot.entry("routes by backend", (namespace, kind, name), _by_backend) or ()


def _by_backend(snapshot: Snapshot) -> Mapping[tuple[str, str, str], tuple[o.HttpRoute, ...]]:
    own: dict[tuple[str, str, str], list[o.HttpRoute]] = defaultdict(list)
    foreign: dict[tuple[str, str, str], list[o.HttpRoute]] = defaultdict(list)
    for route in snapshot[r.HTTPROUTES]:
        backends = {
            (each.namespace or route.namespace, each.kind or r.SERVICES.kind, each.name)
            for rule in route.spec.rules or ()
            for each in rule.backend_refs or ()
        }
        is_permitted = _is_permitted(route, {place for place, _, _ in backends})
        for backend in backends:
            if backend[0] == route.namespace:
                own[backend].append(route)
            elif is_permitted:
                foreign[backend].append(route)
    return {each: (*own[each][:_NEAR], *foreign[each][:_NEAR]) for each in {**own, **foreign}}


def _is_permitted(route: o.HttpRoute, places: Collection[str]) -> bool:
    """Tell whether the namespaces of a route's backends are known to permit their references.

    Any tenant may name a backend of another one; without a ReferenceGrant there, a Gateway refuses
    it with RefNotPermitted. A condition names no backend: if it says that one is not found, others
    of another namespace may not be permitted.
    """
    for entry in route.status.parents or ():
        refused = entry.condition("ResolvedRefs", "False")
        missed = refused is not None and refused.reason == "BackendNotFound" and len(places) == 1
        if entry.condition("Accepted", "True") and (missed or serves(entry)):
            return True
    return False


def pool_names(route: o.HttpRoute, group: str) -> tuple[str, ...]:
    """Return the InferencePools of a group in its own namespace that a route leads to."""
    return tuple(name for of, name in _pools(route) if of == group)


def _pools(route: o.HttpRoute) -> Iterator[tuple[str, str]]:
    """Yield group and name of each InferencePool in its own namespace that a route leads to."""
    for rule in route.spec.rules or ():
        for each in rule.backend_refs or ():
            if each.kind == r.INFERENCEPOOLS.kind and each.namespace in (None, "", route.namespace):
                yield each.group or r.INFERENCEPOOLS.group, each.name


def is_reachable(routes: Iterable[o.HttpRoute]) -> bool:
    """Tell whether some parent of some route lets requests through."""
    return any(
        serves(entry) and parent in named(route)
        for route in routes
        for parent, entry in entries_of(route)
    )


def workload_gateways(snapshot: Snapshot, namespace: str) -> tuple[o.Gateway, ...]:
    """Return the Gateways of a workload namespace that are not being deleted, by name.

    These are the Gateways that the harness owns; a user's own Gateway next to them does not count.
    If none has the owner's label, the namespace was set up by hand, and all count.
    """
    there = tuple(e for e in snapshot[r.GATEWAYS].in_namespace(namespace) if not e.deleting)
    owned = tuple(each for each in there if is_of_harness(each))
    return owned or there


def is_programmed(gateway: o.Gateway) -> bool:
    return gateway.status.condition("Programmed", "True") is not None


def data_planes(snapshot: Snapshot, gateway: o.Gateway) -> tuple[o.Deployment, ...]:
    """Return the Deployments that were created for a Gateway; Istio creates at most one.

    They are found by the Gateway's name only: Istio does not always copy the owner's label.
    """
    found = snapshot[r.DEPLOYMENTS].labelled(gateway.namespace, GATEWAY_NAME, gateway.name)
    return tuple(each for each in found if not each.deleting)


def judge_data_plane(
    snapshot: Snapshot, gateway: o.Gateway
) -> Iterator[tuple[o.Deployment, WorkloadFault]]:
    """Yield the faults of a Gateway's Deployments if none has a ready pod.

    A single pod of several that is not ready is not an outage.
    """
    planes = data_planes(snapshot, gateway)
    if any(plane.status.ready_replicas > 0 for plane in planes):
        return
    for plane in planes:
        if fault := judge_deployment(plane, snapshot):
            yield plane, fault


def data_plane_pods(snapshot: Snapshot, gateway: o.Gateway) -> tuple[o.Pod, ...]:
    found = snapshot[r.PODS].labelled(gateway.namespace, GATEWAY_NAME, gateway.name)
    return tuple(each for each in found if counts(each))


def mesh_configs(snapshot: Snapshot, settings: EvaluationSettings) -> tuple[o.ConfigMap, ...]:
    """Return Istio's mesh configurations, in the order of its namespaces and their names.

    A revision reads the ConfigMap with its own name as suffix. Other ConfigMaps with the prefix
    have no mesh.
    """
    return tuple(
        config
        for namespace in settings.istio_namespace
        for config in snapshot[r.CONFIGMAPS].in_namespace(namespace)
        if config.name == r.ISTIO_CONFIGMAP or config.name.startswith(f"{r.ISTIO_CONFIGMAP}-")
        if config.data is not None and config.data.mesh is not None
    )


def mesh_providers(snapshot: Snapshot, settings: EvaluationSettings) -> frozenset[str] | None:
    services = mesh_services(snapshot, settings)
    return None if services is None else frozenset(services)


def mesh_services(
    snapshot: Snapshot, settings: EvaluationSettings
) -> Mapping[str, tuple[o.AskedService, ...]] | None:
    """Return the services that each extension provider calls for authorization; None if unknown.

    The union of all configurations counts; if one cannot be read, the result is unknown.
    """
    found: dict[str, tuple[o.AskedService, ...]] = {}
    configs = mesh_configs(snapshot, settings)
    for config in configs:
        mesh = config.data.mesh if config.data else None
        providers = _providers(mesh or "")
        if providers is None:
            return None
        for name, asked in providers.items():
            found[name] = (*found.get(name, ()), *asked)
    return found if configs else None


def lacks_api_key_provider(snapshot: Snapshot, settings: EvaluationSettings) -> bool:
    """Tell whether the provider of API keys is known to be missing for the whole cluster."""
    names = ("gateway_auth_deployment", "gateway_auth_namespace")
    if settings.component(GATEWAY_AUTH, names) is PartMode.OFF:
        return False
    providers = mesh_providers(snapshot, settings)
    return providers is not None and API_KEY_PROVIDER not in providers


def required_provider(policy: o.AuthorizationPolicy) -> str:
    """Return the provider that a policy needs, or an empty string."""
    if policy.deleting or policy.spec.action != "CUSTOM" or policy.spec.provider is None:
        return ""
    return policy.spec.provider.name


_PARSED_MESHES: Final = 16


@lru_cache(maxsize=_PARSED_MESHES)
def _providers(mesh: str) -> Mapping[str, tuple[o.AskedService, ...]] | None:
    """Return the providers of a mesh configuration with their services; None if it is invalid."""
    try:
        config = read_yaml(mesh)
    except Unreadable:
        return None
    if config is None:
        return {}
    if not isinstance(config, dict):
        return None
    providers = config.get("extensionProviders") or []
    if not isinstance(providers, list):
        return None
    found = (each for each in providers if isinstance(each, dict))
    return {name: tuple(_authorizers(e)) for e in found if isinstance(name := e.get("name"), str)}


def _authorizers(provider: Mapping[str, object]) -> Iterator[o.AskedService]:
    """Yield the services that a provider calls.

    `service` is `[<namespace>/]<host>`; `failOpen` is false by default. Source: istio/api,
    mesh/v1alpha1/config.proto, `ExtensionProvider`.
    """
    for kind in ("envoyExtAuthzGrpc", "envoyExtAuthzHttp"):
        match provider.get(kind):
            case {"service": str(service), **rest}:
                host = service.rpartition("/")[2]
                yield o.AskedService(host=host, fails_open=rest.get("failOpen") is True)
            case _:
                pass
