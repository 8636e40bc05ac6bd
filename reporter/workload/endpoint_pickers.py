"""How a pool and its endpoint picker refer to each other, and where they contradict each other.

A pool names a Service and its port; the picker's flags name the pool. Nothing checks either, and
requests fail or get no endpoints (Gateway API Inference Extension, api/v1/inferencepool_types.go
and cmd/epp/runner).
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from reporter.catalogue import resources as r
from reporter.model import objects as o
from reporter.model.subject import ObjectRef
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.deployment import deployment_behind
from reporter.workload.engines import command_line
from reporter.workload.routing import ParentFault, parents_of

MISLED: Final = 19
"""Severity of a pool and a picker that do not lead to each other, on the scale of `routing`."""

_PICKS: Final = re.compile(r"--pool-?name\b", re.IGNORECASE)
_OF_POOL, _OF_PLACE, _OF_GROUP = (
    re.compile(rf"--pool-?{of}[=\s]\s*+([a-z0-9][a-z0-9.-]{{0,252}})(?=[\s'\"]|$)", re.IGNORECASE)
    for of in ("name", "namespace", "group")
)


def fails_open(pool: o.InferencePool | None) -> bool:
    """Tell whether requests get through without the endpoint picker of a pool.

    The default is to fail closed (Gateway API Inference Extension, `failureMode`).
    """
    reference = pool.spec.endpoint_picker_ref if pool else None
    return reference is not None and reference.failure_mode == "FailOpen"


def missing_picker_service(pool: o.InferencePool, snapshot: Snapshot) -> str:
    """Return the Service that a pool names for its endpoint picker if it is known not to exist.

    Otherwise, return an empty string. The reference has no namespace; without group and kind it
    means a Service of the core group (Gateway API Inference Extension,
    api/v1/inferencepool_types.go, `EndpointPickerRef`).
    """
    reference = pool.spec.endpoint_picker_ref
    if reference is None or not reference.name:
        return ""
    if reference.group or (reference.kind or r.SERVICES.kind) != r.SERVICES.kind:
        return ""
    gone = snapshot.lacks(r.SERVICES, pool.namespace, reference.name)
    return reference.name if gone else ""


def flaws(
    pool: o.InferencePool, snapshot: Snapshot, picker: o.Deployment | None = None
) -> Iterator[ParentFault]:
    """Yield the contradictions between a pool and its endpoint picker.

    Without `picker`, it is the Deployment behind the Service that the pool names.
    """
    reference = pool.spec.endpoint_picker_ref
    if reference is None:
        return
    yield from _closed_port(pool, snapshot)
    found = picker or deployment_behind(snapshot, pool.namespace, reference.name)
    if found is not None:
        yield from _of_another_pool(pool, found, snapshot)


def _closed_port(pool: o.InferencePool, snapshot: Snapshot) -> Iterator[ParentFault]:
    """Yield a fault if a pool names a port that the Service of its picker does not have.

    A Service with only the engines' ports is not described well enough to tell.
    """
    reference = pool.spec.endpoint_picker_ref
    asked = reference.port.number if reference and reference.port else 0
    service = snapshot[r.SERVICES].get(pool.namespace, reference.name) if reference else None
    ports = sorted({each.port for each in (service.spec.ports or ())}) if service else []
    engines = {each.number for each in pool.spec.target_ports or ()}
    if service is None or not asked or asked in ports or engines.issuperset(ports):
        return
    text = (
        f"names port {asked} of Service {service.name} for its endpoint picker, which has "
        f"{', '.join(map(str, ports))}"
    )
    yield ParentFault(f"no port {asked} of Service {service.name}", text, MISLED)


def _of_another_pool(
    pool: o.InferencePool, picker: o.Deployment, snapshot: Snapshot
) -> Iterator[ParentFault]:
    """Yield a fault if the picker's flags name a pool that does not exist.

    A picker without the flags, or with a variable in them, may be set up otherwise.
    """
    line = command_line(picker.spec.template)
    name, group = _OF_POOL.search(line), _OF_GROUP.search(line)
    kinds = [each for each in _KINDS if group is None or each.group == group[1]]
    wanted, place = name[1] if name else pool.name, _OF_PLACE.search(line)
    if (
        not kinds
        or not (name or group)
        or (place and place[1] != pool.namespace)
        or not all(
            snapshot.lacks(each, pool.namespace, wanted) or snapshot.absent(each) for each in kinds
        )
    ):
        return
    flags = " ".join(each[0].replace("=", " ") for each in (name, group) if each)
    own = next((each.group for each in _KINDS if snapshot[each].get(pool.namespace, pool.name)), "")
    text = (
        f"is of {own}, and its endpoint picker {picker.name} runs with {flags}: there is no such "
        "pool, so that it sees no endpoints"
    )
    yield ParentFault("its endpoint picker watches another pool", text, MISLED)


_KINDS: Final = (r.INFERENCEPOOLS, r.FORMER_POOLS)


_ISTIO: Final = frozenset({"istio.io/gateway-controller", "openshift.io/gateway-controller/v1"})
_KGATEWAY: Final = "kgateway.dev/kgateway"
"""The controller whose Gateways call every picker with TLS (kgateway-dev/kgateway#11429)."""

_PLAIN: Final = re.compile(r"--secure-?serving=(?:false|0)\b", re.IGNORECASE)
_BY_TLS: Final = ("SIMPLE", "MUTUAL")
"""The modes of a DestinationRule in which Istio speaks TLS with any server."""


class Mismatch(NamedTuple):
    """A Gateway and an endpoint picker of which one alone speaks TLS; `at_fault` may be missing."""

    at_fault: ObjectRef
    cause: str
    text: str


def speaks_otherwise(
    routes: Iterable[o.HttpRoute],
    pool: o.InferencePool,
    *,
    picker: o.Deployment,
    snapshot: Snapshot,
    roots: Iterable[str],
) -> Mismatch | None:
    """Return why a Gateway cannot call a pool's endpoint picker, or None if it probably can.

    The picker of the Gateway API Inference Extension serves TLS with its own certificate unless
    configured otherwise, and Istio calls it without TLS unless a DestinationRule for its Service
    says so (kubernetes-sigs/gateway-api-inference-extension#1488). It follows the rules of the
    Gateway's namespace, of the Service's and of the mesh's `roots` (Istio,
    pilot/pkg/model/push_context.go, destinationRule).
    """
    line = command_line(picker.spec.template)
    reference = pool.spec.endpoint_picker_ref
    if reference is None or not _PICKS.search(line):
        return None
    found = _PLAIN.search(line)
    plain = found[0] if found else ""
    covering = [
        e for e in snapshot[r.DESTINATIONRULES] if _covers(e, pool.namespace, reference.name)
    ]
    here = {pool.namespace, *roots}
    for gateway, controller in _gateways_of(routes, snapshot):
        if controller == _KGATEWAY and plain:
            text = (
                f"endpoint picker {picker.name} runs with {plain}, and Gateway {gateway.name}, "
                "which is one of kgateway, calls pickers by TLS only: requests through it fail"
            )
            return Mismatch(r.GATEWAYS.ref(gateway), "the picker serves without TLS", text)
        if controller not in _ISTIO or not snapshot.known(r.DESTINATIONRULES):
            continue
        rules = [each for each in covering if each.namespace in {gateway.namespace, *here}]
        if not rules and not plain:
            text = (
                f"endpoint picker {reference.name} probably serves TLS, and no DestinationRule is "
                f"for its Service: requests through Gateway {gateway.name}, which is one of Istio, "
                "fail with 500 then"
            )
            missing = r.DESTINATIONRULES.ref_named(pool.namespace, reference.name)
            return Mismatch(missing, f"no DestinationRule for Service {reference.name}", text)
        if plain and len(rules) == 1 and _asks_for_tls(rules[0], pool.namespace):
            by = f"DestinationRule {rules[0].name}"
            text = (
                f"endpoint picker {reference.name} runs with {plain}, and by tls.mode of {by} "
                f"Gateway {gateway.name} calls it by TLS: requests through it fail"
            )
            return Mismatch(r.DESTINATIONRULES.ref(rules[0]), f"{by} asks for TLS", text)
    return None


def _asks_for_tls(rule: o.DestinationRule, namespace: str) -> bool:
    """Tell whether a rule of the Service's namespace says so for all ports of that Service."""
    policy = rule.spec.traffic_policy or {}
    tls = policy.get("tls")
    if rule.namespace != namespace or "*" in rule.spec.host or policy.get("portLevelSettings"):
        return False
    return isinstance(tls, dict) and tls.get("mode") in _BY_TLS


def _gateways_of(
    routes: Iterable[o.HttpRoute], snapshot: Snapshot
) -> Iterator[tuple[o.Gateway, str]]:
    parents = {(each.namespace, each.name) for route in routes for each in parents_of(route)}
    for place, name in sorted(parents):
        gateway = snapshot[r.GATEWAYS].get(place, name)
        of = gateway and snapshot[r.GATEWAYCLASSES].get("", gateway.spec.gateway_class_name)
        if gateway is not None and of:
            yield gateway, of.spec.controller_name


def _covers(rule: o.DestinationRule, namespace: str, service: str) -> bool:
    """Tell whether a DestinationRule covers a Service; short hosts are in the rule's namespace.

    After `svc` stands the cluster's domain, which may be another than the usual.
    """
    host = _DOMAIN.sub("", rule.spec.host)
    if "." not in host and not host.startswith("*"):
        host = f"{host}.{rule.namespace}"
    name = f"{service}.{namespace}"
    names = (name, f"{name}.svc.cluster.local")
    return host in names or (host.startswith("*") and any(e.endswith(host[1:]) for e in names))


_DOMAIN: Final = re.compile(r"\.svc(?:\.[a-z0-9.-]{1,253})?\Z")
