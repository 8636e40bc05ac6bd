"""What keeps a client from a Service: its name, its pods, and NetworkPolicies.

A pod that a NetworkPolicy selects gets, or makes, only the connections that some policy lets
through (Kubernetes, "Network Policies"). Packets of others are dropped, so that the client waits
until it times out; a policy refuses nothing. Which addresses a client has is not known here: a
policy with addresses may let it through. The policies of a cluster work only if its network plugin
enforces them, so a policy is a likely cause, never a certain one.

The API server is no pod, and comes from a node: of a policy only what lets in everybody, or
addresses, is for it; where Konnectivity's agents call for it, also what lets these in.
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from reporter.catalogue.resources import DAEMONSETS, NAMESPACES, NETWORKPOLICIES, PODS, SERVICES
from reporter.diagnosis.fit import some
from reporter.model import objects as o
from reporter.model.text import clean
from reporter.snapshot.decode import selected_by
from reporter.snapshot.index import grouped
from reporter.snapshot.snapshot import Snapshot

TIMED_OUT: Final = re.compile(
    r"i/o timeout|timed out|[Tt]imeout(?!=)|context deadline exceeded|took too long"
)
"""How clients call a connection that nobody answers; `?timeout=10s` is part of a webhook's URL."""

_URL: Final = re.compile(
    r"\b(?:https?|wss?|grpc|nats)://(?P<host>[a-z0-9][a-z0-9.-]{0,252}\.svc\b[a-z0-9.-]{0,100})"
    r"(?::(?P<port>\d{1,5}))?"
)
_DIALLED: Final = re.compile(r"\bdial tcp (?P<ip>\d{1,3}(?:\.\d{1,3}){3}):(?P<port>\d{1,5})\b")
_MOST: Final = 40
"""The most policies of a namespace that are examined: any tenant can create some of its own."""

_MOST_RULES: Final = 50
"""The most rules of a policy, and peers of a rule, that are examined; with more none is told."""


class Asked(NamedTuple):
    """A Service by name, and the pod behind it that a name asks for, if any."""

    namespace: str
    service: str
    pod: str = ""

    @property
    def words(self) -> str:
        return f"{clean(self.namespace)}/{clean(self.service)}"


def placed(host: str, near: str, snapshot: Snapshot) -> Asked | None:
    """Return the Service that a name is about; None for a name outside the cluster.

    `near` is the namespace of the client, where short names are looked up.
    """
    labels = host.rstrip(".").split(".")
    services = snapshot[SERVICES]
    if "svc" in labels[1:]:
        end = labels.index("svc", 1)
        return _placed_inside(labels[:end], labels[end + 1 :], snapshot)
    match labels:
        case [service] if service != "localhost":
            return Asked(near, service)
        case [pod, service] if services.get(near, service):
            return Asked(near, service, pod)
        case [service, namespace]:
            known = namespace not in _TOP_LEVEL and snapshot[NAMESPACES].get("", namespace)
            there = known or services.get(namespace, service)
            return Asked(namespace, service) if there else None
        case [pod, service, namespace] if services.get(namespace, service):
            return Asked(namespace, service, pod)
    return None


_TOP_LEVEL: Final = frozenset(
    {"ai", "app", "cloud", "com", "dev", "io", "local", "ml", "net", "org", "run", "tech"}
)
"""Top-level domains that are names of namespaces, too: `mistral.ai` is not of namespace `ai`."""


def _placed_inside(labels: list[str], domain: list[str], snapshot: Snapshot) -> Asked | None:
    """Return the Service of a name with `svc`. Another domain than the usual may be of this cluster
    only if the Service is there: `clusterset.local` and others lead to other clusters.
    """
    match labels:
        case [service, namespace]:
            asked = Asked(namespace, service)
        case [pod, service, namespace]:
            asked = Asked(namespace, service, pod)
        case _:
            return None
    is_usual = domain in ([], ["cluster", "local"])
    there = snapshot[SERVICES].get(asked.namespace, asked.service)
    return asked if is_usual or (there and domain[0] != "clusterset") else None


def why_no_address(place: Asked, snapshot: Snapshot) -> str:
    """Return why a name of the cluster has no address, to follow it; empty if nothing says so.

    A pod's name in it is its host name, which those of indexed Jobs and JobSets have without the
    random end of their own name.
    """
    service = snapshot[SERVICES].get(place.namespace, place.service)
    if service is None:
        gone = snapshot.lacks(SERVICES, place.namespace, place.service)
        return f"there is no Service {place.words}" if gone else ""
    published = service.spec.publish_not_ready_addresses or not service.spec.is_headless
    if published or not service.spec.selector:
        return ""
    why = f", and headless Service {place.words} has no publishNotReadyAddresses"
    if place.pod:
        pod = snapshot[PODS].get(place.namespace, place.pod)
        if pod is None:
            gone = snapshot.absence_known(PODS, place.namespace) and not any(
                each.name.startswith(f"{place.pod}-")
                for each in snapshot[PODS].in_namespace(place.namespace)
            )
            return f"there is no pod {clean(place.pod)}" if gone else ""
        return "" if pod.is_ready else f"pod {clean(place.pod)} is not ready{why}"
    return "" if selects_ready(service, snapshot) is not False else f"no pod is ready{why}"


_OUTSIDE: Final = "ExternalName"
"""The type of Services that lead to another name, whatever they select."""


def selects_ready(service: o.Service, snapshot: Snapshot) -> bool | None:
    """True if a Service selects a ready pod; None if it may lead to others, or pods are unknown."""
    if not service.spec.selector or service.spec.publish_not_ready_addresses:
        return None
    if service.spec.type == _OUTSIDE:
        return None
    if any(_ready(service, snapshot)):
        return True
    selector = o.LabelSelector(match_labels=service.spec.selector)
    known = snapshot.absence_known(PODS, service.namespace, sought=selected_by(selector))
    return False if known else None


def _ready(service: o.Service, snapshot: Snapshot) -> Iterator[o.Pod]:
    """Yield the ready pods that a Service selects; none if it has no selector."""
    if not service.spec.selector or service.spec.type == _OUTSIDE:
        return
    selector = o.LabelSelector(match_labels=service.spec.selector)
    pods = snapshot[PODS].each_selected(service.namespace, selector)
    yield from (each for each in pods if each.is_ready)


def of_address(address: str, snapshot: Snapshot) -> o.Service | None:
    return snapshot.entry("cluster IPs", address, _by_address)


def _by_address(snapshot: Snapshot) -> Mapping[str, o.Service]:
    return {each.spec.cluster_ip: each for each in snapshot[SERVICES] if each.spec.cluster_ip}


class NoPod(StrEnum):
    """A client that is no pod, or that is not known."""

    API_SERVER = "the API server"
    UNKNOWN = "anything"


Client: TypeAlias = o.Pod | NoPod


def shut_off(text: str, snapshot: Snapshot, client: Client = NoPod.UNKNOWN) -> str:
    """Return which policies stop the connection that timed out by a text, or an empty string."""
    if not TIMED_OUT.search(text):
        return ""
    if found := _URL.search(text):
        place = placed(found["host"], "", snapshot)
        service = snapshot[SERVICES].get(place.namespace, place.service) if place else None
    elif found := _DIALLED.search(text):
        service = of_address(found["ip"], snapshot)
    else:
        return ""
    assumed = 443 if found[0].startswith("https") else 80
    port = int(found["port"] or assumed)
    return why_shut(service, port, snapshot, client=client) if service else ""


def why_shut(service: o.Service, port: int, snapshot: Snapshot, *, client: Client) -> str:
    """Return the policies that stop a client on its way to a port of a Service; empty if none."""
    servers = tuple(islice(_ready(service, snapshot), _MOST))
    behind = next((each for each in service.spec.ports or () if each.port == port), None)
    pod = client if isinstance(client, o.Pod) else None
    if not servers or behind is None or any(each.spec.host_network for each in servers):
        return ""
    if (pod is not None and pod.spec.host_network) or snapshot.once(_are_ignored, _are_ignored):
        return ""
    found: tuple[o.NetworkPolicy, ...] = ()
    for server in reversed(servers):
        inner = _inner_port(behind, server)
        out = _Connection(pod, server, inner, outwards=True) if pod else None
        found = _closing(out, snapshot) if out else ()
        found = found or _closing(_Connection(server, client, inner, outwards=False), snapshot)
        if not found:
            return ""
    inner = _inner_port(behind, servers[0])
    one = len(found) == 1
    names = some(sorted(each.name for each in found))
    who = f"{'does' if one else 'do'} not let {f'pod {clean(pod.name)}' if pod else client} reach"
    what = f"port {inner} of the pods of Service {service.namespace}/{clean(service.name)}"
    kinds = "NetworkPolicy" if one else "NetworkPolicies"
    return f"{kinds} {names} of {found[0].namespace} {who} {what}"


def _are_ignored(snapshot: Snapshot) -> bool:
    """Tell whether the cluster's network plugin is one that enforces no NetworkPolicy.

    Flannel and the VPC CNI of AWS do so only with an extra container, or beside another plugin
    (flannel, chart, netpol.enabled; aws/amazon-vpc-cni-k8s, README, enable-network-policy).
    """
    idle = False
    for each in snapshot[DAEMONSETS]:
        if _ENFORCES.search(each.name):
            return False
        if f"{each.namespace}/{each.name}" in _IDLE:
            containers = each.spec.template.spec.containers or ()
            words = (word for one in containers for word in (one.image, *(one.args or ())))
            idle = not any(map(_ENFORCES.search, words))
    return idle


_IDLE: Final = frozenset(
    {"kube-system/aws-node", "kube-system/kube-flannel-ds", "kube-flannel/kube-flannel-ds"}
)
_ENFORCES: Final = re.compile(
    r"calico-node|\bcanal\b|cilium|kube-router|antrea|weave-net|kube-network-policies"
    r"|--enable-network-policy=true"
)
"""DaemonSets that enforce policies, and images and arguments that make one do so."""


def _inner_port(port: o.ServicePort, server: o.Pod) -> int | str:
    """Return the port of the pods that a Service's port leads to; a name that none has stays."""
    target = port.target_port or port.port
    if isinstance(target, int):
        return target
    ports = (each for one in server.spec.containers or () for each in one.ports or ())
    return next((each.container_port for each in ports if each.name == target), target)


class _Connection(NamedTuple):
    """A connection to a port, seen from one of its two pods: it calls (`outwards`) or is called."""

    pod: o.Pod
    other: Client
    port: int | str
    outwards: bool


def _closing(of: _Connection, snapshot: Snapshot) -> tuple[o.NetworkPolicy, ...]:
    """Return the policies that close a pod to a connection; none if one of them opens it.

    None either if not all policies of the namespace are known, or if they are too many.
    """
    space = of.pod.namespace
    if not snapshot.absence_known(NETWORKPOLICIES, space):
        return ()
    every = snapshot.entry("closing", (space, of.outwards), _by_namespace) or ()
    if len(every) > _MOST:
        return ()
    labels = of.pod.metadata.labels
    found = tuple(each for each in every if each.spec.pod_selector.matches(labels))
    return () if any(_opens(each, of, snapshot) for each in found) else found


def _by_namespace(snapshot: Snapshot) -> Mapping[tuple[str, bool], tuple[o.NetworkPolicy, ...]]:
    return grouped(
        ((each.namespace, outwards), each)
        for each in snapshot[NETWORKPOLICIES]
        for outwards, closes in ((True, each.closes_egress), (False, each.closes_ingress))
        if closes
    )


def _opens(policy: o.NetworkPolicy, of: _Connection, snapshot: Snapshot) -> bool:
    """True if a policy lets a connection through, or may do so."""
    rules = (policy.spec.egress if of.outwards else policy.spec.ingress) or ()
    if len(rules) > _MOST_RULES:
        return True
    for rule in rules:
        peers = (rule.targets if of.outwards else rule.sources) or ()
        if not any(_fits(each, of.port) for each in rule.ports or (o.PolicyPort(),)):
            continue
        if not peers or len(peers) > _MOST_RULES:
            return True
        if any(_is_for(each, of, policy.namespace, snapshot=snapshot) for each in peers):
            return True
    return False


def _fits(allowed: o.PolicyPort, port: int | str) -> bool:
    """True if a rule is for a port; names may be that of any port."""
    if allowed.protocol != "TCP":
        return False
    if not (isinstance(allowed.port, int) and isinstance(port, int)):
        return True
    return allowed.port <= port <= (allowed.end_port or allowed.port)


def _is_for(peer: o.PolicyPeer, of: _Connection, near: str, *, snapshot: Snapshot) -> bool:
    """True if a peer of a rule is, or may be, the other side; `near` is the policy's namespace."""
    if peer.ip_block is not None or of.other is NoPod.UNKNOWN:
        return True
    if not isinstance(of.other, o.Pod):
        agents = snapshot.once(_agents, _agents)
        return agents is None or any(
            _is_for(peer, of._replace(other=each), near, snapshot=snapshot) for each in agents
        )
    labels, inside = of.other.metadata.labels, of.other.namespace == near
    if peer.namespace_selector is not None:
        space = snapshot[NAMESPACES].get("", of.other.namespace)
        of_space = {_NAME: of.other.namespace, **((space.metadata.labels if space else None) or {})}
        inside = space is None or peer.namespace_selector.matches(of_space)
    return inside and (peer.pod_selector is None or peer.pod_selector.matches(labels))


def _agents(snapshot: Snapshot) -> tuple[o.Pod, ...] | None:
    """Return the pods through which the API server of a managed cluster calls; None if unknown.

    Konnectivity's agents do this (kubernetes-sigs/apiserver-network-proxy; GKE, AKS).
    """
    if not snapshot.absence_known(PODS, _SYSTEM):
        return None
    found = (each for each in snapshot[PODS].in_namespace(_SYSTEM) if not each.spec.host_network)
    return tuple(islice((e for e in found if e.name.startswith("konnectivity-agent-")), _MOST))


_SYSTEM: Final = "kube-system"
_NAME: Final = "kubernetes.io/metadata.name"
"""The label with its name that the API server gives each namespace."""
