"""Why nothing has programmed a Gateway: its class, who runs that, and its load balancer.

Until a controller has looked at it, a Gateway or its class has the conditions of its CRD, "Waiting
for controller", and a route or pool has none. Without an address, the Event about the Gateway's
Service says what the cloud refuses (kubernetes/cloud-provider, controllers/service).
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from reporter.catalogue import resources as r
from reporter.catalogue.needs import GATEWAY_NAME, is_of_istio
from reporter.diagnosis.daemons import places_of_models
from reporter.diagnosis.reach import selects_ready
from reporter.model.objects import Condition, Deployment, Gateway, HttpRoute, Service
from reporter.model.subject import ObjectRef
from reporter.snapshot.index import grouped
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.deployment import deployments_like, is_available, judge_deployment
from reporter.workload.owners import is_true, warning_about, words
from reporter.workload.routing import named

_RUN_BY: Final = (
    ("gateway.envoyproxy.io/", "envoy-gateway-system", ("envoy-gateway",)),
    ("kgateway.dev/", "kgateway-system", ("kgateway",)),
    ("agentgateway.dev/", "agentgateway-system", ("agentgateway",)),
    ("gateway.nginx.org/", "nginx-gateway",
        ("nginx-gateway", "ngf-nginx-gateway-fabric", "nginx-gateway-fabric")),
    ("higress.io/", "higress-system", ("higress-controller",)),
)  # fmt: skip
"""Controllers by the prefix of their name: the namespace in the installation guide, and the names
that charts give the Deployment. One elsewhere counts if none is there, it is older than the first
GatewayClass of the controller, and no models are beside it: else it may be a tenant's. Istio is a
part of its own."""

_OF_POOLS: Final = (
    ("gateway.envoyproxy.io/", "envoy-ai-gateway-system", ("ai-gateway-controller",)),
)
"""The same for extensions that accept a Gateway's InferencePools."""

_OWNER: Final = (
    ("gateway.envoyproxy.io/owning-gateway-name", "gateway.envoyproxy.io/owning-gateway-namespace"),
    (GATEWAY_NAME, ""),
)
"""Labels of a Gateway's Service with its name and namespace; else it lies in the same one. A
tenant's Service may have them, too, so it has to be there or where a controller runs."""

_Row: TypeAlias = tuple[str, str, tuple[str, ...]]


class Untaken(NamedTuple):
    """Text to follow the words of a Gateway's condition, and the object to mend, if known."""

    text: str = ""
    related: ObjectRef | None = None


def why_untaken(gateway: Gateway, snapshot: Snapshot, *, of_pool: bool = False) -> Untaken:
    """Return why no controller has looked at a Gateway, or has given it an address.

    With `of_pool`, why none has looked at an InferencePool that it should serve.
    """
    name = gateway.spec.gateway_class_name
    of_class = snapshot[r.GATEWAYCLASSES].get("", name)
    if of_class is None:
        gone = bool(name) and snapshot.lacks(r.GATEWAYCLASSES, "", name)
        return Untaken(f"; GatewayClass {name} does not exist") if gone else Untaken()
    if is_of_istio(gateway, snapshot):
        return _unbalanced(gateway, snapshot)
    controller = of_class.spec.controller_name
    if down := _down(controller, _RUN_BY, snapshot):
        return _is_away("the Gateway's controller", down, snapshot)
    if of_pool and (down := _down(controller, _OF_POOLS, snapshot)):
        return _is_away("what accepts its InferencePools", down, snapshot)
    if is_true(of_class.status.condition("Accepted")):
        return _unbalanced(gateway, snapshot)
    names = next((names for begins, _, names in _RUN_BY if controller.startswith(begins)), ())
    found = deployments_like(snapshot, names=names, labels={}, places=()) if names else ()
    lacks = f", and no Deployment {names[0]} is there" if names and not found else ""
    known = lacks if snapshot.absence_known(r.DEPLOYMENTS) else ""
    return Untaken(f"; no controller has accepted its GatewayClass {name} ({controller}){known}")


def _down(controller: str, rows: Iterable[_Row], snapshot: Snapshot) -> Deployment | None:
    """Return the Deployment that runs a controller if it is there and none is available."""
    for row in rows:
        if controller.startswith(row[0]):
            found = _running(row, snapshot)
            if found and not any(map(is_available, found)):
                return found[0]
    return None


def _running(row: _Row, snapshot: Snapshot) -> tuple[Deployment, ...]:
    """Return the Deployments that may run a controller; one that wants no pods may have moved."""
    begins, place, names = row
    every = deployments_like(snapshot, names=names, labels={}, places=())
    at_home = tuple(each for each in every if each.namespace == place)
    is_known = snapshot.absence_known(r.DEPLOYMENTS, place)
    if any(each.wanted for each in at_home) or not is_known:
        return at_home
    taken = {place, *places_of_models(snapshot)}
    classes = (e for e in snapshot[r.GATEWAYCLASSES] if e.spec.controller_name.startswith(begins))
    first = min(filter(None, (each.created for each in classes)), default=None)
    return (
        *at_home,
        *(
            each
            for each in every
            if each.namespace not in taken and first and each.created and each.created < first
        ),
    )


def _homes(snapshot: Snapshot) -> frozenset[str]:
    """Return the namespaces where controllers run, or would by their guides."""
    running = (each.namespace for row in _RUN_BY for each in _running(row, snapshot))
    return frozenset((*(place for _, place, _ in _RUN_BY), *running))


def _is_away(what: str, down: Deployment, snapshot: Snapshot) -> Untaken:
    fault = judge_deployment(down, snapshot)
    why = f": {fault.detail}" if fault else ""
    text = f"; {what}, Deployment {down.namespace}/{down.name}, is not available{why}"
    return Untaken(text, r.DEPLOYMENTS.ref(down))


def _unbalanced(gateway: Gateway, snapshot: Snapshot) -> Untaken:
    """Return what the cloud says of a Gateway's load balancer, if that has no address."""
    programmed = gateway.status.condition("Programmed", "False")
    if programmed is None or programmed.reason != "AddressNotAssigned":
        return Untaken()
    key = (gateway.namespace, gateway.name)
    for service in snapshot.entry("services of gateways", key, _by_gateway) or ():
        if warned := warning_about(snapshot, r.SERVICES.ref(service)):
            where = f"Service {service.namespace}/{service.name}"
            return Untaken(f"; {where}: {warned}", r.SERVICES.ref(service))
    return Untaken()


def _by_gateway(snapshot: Snapshot) -> Mapping[tuple[str, str], tuple[Service, ...]]:
    homes = _homes(snapshot)
    return grouped(
        ((of, labels[name]), each)
        for each in snapshot[r.SERVICES]
        if each.spec.type == "LoadBalancer" and (labels := each.metadata.labels or {})
        for name, place in _OWNER
        if name in labels and (of := labels.get(place) or each.namespace)
        if each.namespace in {of, *homes}
    )


def _lacks_address_only(gateway: Gateway, programmed: Condition, snapshot: Snapshot) -> bool:
    """True if a Gateway without an address has proxies that are ready behind its Service.

    In a cluster without load balancers no Gateway gets an address, and its Service works.
    """
    found = snapshot.entry("services of gateways", (gateway.namespace, gateway.name), _by_gateway)
    return programmed.reason == "AddressNotAssigned" and any(
        selects_ready(each, snapshot) for each in found or ()
    )


class Dark(NamedTuple):
    """A route, a Gateway that it names and that is not programmed, and what to mend."""

    route: HttpRoute
    gateway: Gateway
    why: str
    related: ObjectRef


def unprogrammed(route: HttpRoute, snapshot: Snapshot) -> Dark | None:
    """Return the first Gateway of a route that is not programmed; None if all are.

    A Gateway without the condition may be of a controller that writes none.
    """
    for parent in sorted(named(route)):
        found = snapshot[r.GATEWAYS].get(parent.namespace, parent.name)
        programmed = found.status.condition("Programmed") if found else None
        if not parent.is_gateway or found is None or found.deleting:
            continue
        if programmed is None or is_true(programmed):
            continue
        untaken = why_untaken(found, snapshot)
        if not untaken.text and _lacks_address_only(found, programmed, snapshot):
            continue
        if programmed.status == "False" or untaken.text:
            why = f"{words(programmed)}{untaken.text}"
            return Dark(route, found, why, untaken.related or r.GATEWAYS.ref(found))
    return None
