"""Which pods and endpoint pickers are scraped, where, and which addresses they may claim.

A client that can write a pod's status must not be able to choose which hosts the reporter contacts.

No exception of aiohttp, ssl or the operating system leaves this package: `mapped` is the boundary.
Details contain no addresses, and no text from a pod.
"""

import errno
import os
import re
import ssl
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from reporter.catalogue.resources import NODES, PODS, SERVICES
from reporter.kube.errors import Forbidden, KubeError, Unauthorized
from reporter.metrics.samples.sample import ContainerRun, Failure, Picked, PodName, Target
from reporter.model import objects as o
from reporter.model.stack import ScrapedPickers, ScrapedPods
from reporter.model.subject import Subject
from reporter.model.text import small_number
from reporter.setting_types import StackMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.components import picker_pods
from reporter.workload.pod import counts

PORT: Final = 9090
"""Default of a picker's `--metrics-port`, over plain HTTP by default (Gateway API Inference
Extension v1.5, pkg/epp/server/options.go)."""


@dataclass(frozen=True, slots=True)
class PickerPod:
    pod: o.Pod
    subject: Subject
    port: int
    picked: Picked


def find_pickers(
    snapshot: Snapshot, settings: EvaluationSettings, engines: Sequence[Target], *, live: bool
) -> Iterator[PickerPod]:
    """Yield the endpoint picker pods of existing subjects; `engines` are the model pods.

    In a live cluster, pickers are not scraped while their pools are unknown, and findings stay. A
    dump may lack a kind because its cluster does not have it.
    """
    ready = {each.pod: each.ready_since for each in engines if each.ready_since is not None}
    for row in picker_rows(settings):
        if live and not all(map(snapshot.known, (SERVICES, *row.pools))):
            continue
        pods = tuple(_pods(snapshot, settings, row))
        pools = _pools_of_pickers(snapshot, row) if pods else {}
        for subject, pod in pods:
            picked = _picked(pools.get((pod.namespace, pod.name), ()), snapshot, ready)
            yield PickerPod(pod, subject, _metrics_port(pod.spec.containers or ()), picked)


def _pods(
    snapshot: Snapshot, settings: EvaluationSettings, row: ScrapedPickers
) -> Iterator[tuple[Subject, o.Pod]]:
    for resource in settings.catalogue.of_subject(row.kind):
        for each in snapshot[resource]:
            subject = Subject(row.kind, each.namespace, each.name)
            for pod in picker_pods(snapshot, row, each.namespace, name=each.name):
                yield subject, pod


def picker_rows(settings: EvaluationSettings) -> tuple[ScrapedPickers, ...]:
    return tuple(
        stack.pickers
        for stack in settings.known_stacks
        if stack.pickers and settings.stack(stack.name) is not StackMode.OFF
    )


def _pools_of_pickers(
    snapshot: Snapshot, row: ScrapedPickers
) -> Mapping[PodName, Sequence[o.InferencePool]]:
    """Return the pools of each picker's pod.

    A pool names its picker's Service in its own namespace (Gateway API Inference Extension,
    api/v1/inferencepool_types.go), and an index leads from there to the pods. The reverse direction
    would compare each picker with every pool.
    """
    found: dict[PodName, list[o.InferencePool]] = defaultdict(list)
    every = (each for resource in row.pools for each in snapshot[resource])
    for each in every:
        pool = each.pool if isinstance(each, o.FormerPool) else each
        if not isinstance(pool, o.InferencePool):
            continue
        reference = pool.spec.endpoint_picker_ref
        if reference is None or pool.deleting:
            continue
        service = snapshot[SERVICES].get(pool.namespace, reference.name)
        if service is None or not service.spec.selector:
            continue
        selector = o.LabelSelector(match_labels=service.spec.selector)
        for pod in snapshot[PODS].selected(pool.namespace, selector):
            found[pod.namespace, pod.name].append(pool)
    return found


def _picked(
    pools: Iterable[o.InferencePool], snapshot: Snapshot, ready: Mapping[PodName, datetime]
) -> Picked:
    names = {
        (pod.namespace, pod.name)
        for pool in pools
        if pool.spec.selector is not None
        for pod in snapshot[PODS].selected(pool.namespace, pool.spec.selector)
    }
    return Picked(tuple(sorted(ready[each] for each in names if each in ready)))


def _metrics_port(containers: Iterable[o.Container]) -> int:
    ports = (port for container in containers for port in container.ports or ())
    return next((e.container_port for e in ports if e.name in {"metrics", "http-metrics"}), PORT)


# ruff: noqa: N818 - "scrape failed" says it


class ScrapeFailed(Exception):
    def __init__(self, failure: Failure, detail: str = "") -> None:
        super().__init__(failure, detail)
        self.failure = failure
        self.detail = detail


@contextmanager
def mapped() -> Iterator[None]:
    """Turn the libraries' exceptions into `ScrapeFailed`; cancellation passes through."""
    try:
        yield
    except ScrapeFailed:
        raise
    except Exception as error:  # noqa: BLE001 - a pod can make a library raise anything
        raise _translated(error) from None


_KINDS: Final[tuple[tuple[tuple[type[Exception], ...], Failure, str], ...]] = (
    ((aiohttp.ConnectionTimeoutError,), Failure.TIMEOUT, "no connection"),
    ((TimeoutError,), Failure.TIMEOUT, "no complete answer"),
    (
        (aiohttp.ClientSSLError, ssl.SSLError, ssl.CertificateError),
        Failure.UNREACHABLE,
        "TLS failed",
    ),
    ((aiohttp.ServerDisconnectedError,), Failure.RESET, "no answer"),
    ((aiohttp.ClientPayloadError, EOFError), Failure.TRUNCATED, ""),
    ((aiohttp.TooManyRedirects,), Failure.STATUS, "redirects are not followed"),
    ((aiohttp.ClientResponseError, HttpProcessingError), Failure.UNREADABLE, "not HTTP"),
    ((aiohttp.InvalidURL,), Failure.UNREACHABLE, "not an address"),
    ((Forbidden,), Failure.FORBIDDEN, "no permission to get pods/proxy"),
    ((Unauthorized,), Failure.FORBIDDEN, "the API server refused the credentials"),
    ((KubeError,), Failure.UNREACHABLE, "no answer from the API server"),
)
"""The first matching row wins, so subclasses come before their bases."""

_ERRNO: Final = {
    errno.ECONNREFUSED: Failure.REFUSED,
    errno.ECONNRESET: Failure.RESET,
    errno.ECONNABORTED: Failure.RESET,
    errno.EPIPE: Failure.RESET,
    errno.ETIMEDOUT: Failure.TIMEOUT,
}


def _translated(error: Exception) -> ScrapeFailed:
    for kinds, failure, detail in _KINDS:
        if isinstance(error, kinds):
            return ScrapeFailed(failure, detail)
    if not isinstance(error, OSError):
        return ScrapeFailed(Failure.UNREACHABLE, f"unexpected {type(error).__name__}")
    # Use the number: the text of the exception contains the address.
    if isinstance(error, ConnectionResetError | BrokenPipeError | ConnectionAbortedError):
        return ScrapeFailed(Failure.RESET)
    known = _ERRNO.get(error.errno or 0)
    if known is not None:
        return ScrapeFailed(known)
    # Error numbers of the resolver are negative.
    text = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else ""
    return ScrapeFailed(Failure.UNREACHABLE, text)


Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

_NO_PODS: Final = {
    "0.0.0.0/8": "this host (RFC 1122, 3.2.1.3)",
    "127.0.0.0/8": "loopback (RFC 1122, 3.2.1.3)",
    "169.254.0.0/16": "link-local (RFC 3927); metadata of AWS, Azure, Google, Oracle, OpenStack, "
    "Hetzner, Scaleway, DigitalOcean",
    "100.100.100.200/32": "metadata of Alibaba Cloud (ECS, Instance metadata)",
    "168.63.129.16/32": "Azure's platform (Azure, What is IP address 168.63.129.16)",
    "192.0.0.0/24": "protocol assignments (RFC 6890); metadata of older Oracle Cloud",
    "224.0.0.0/4": "multicast (RFC 5771)",
    "240.0.0.0/4": "reserved, and broadcast (RFC 1112, 4)",
    "::/8": "unspecified, loopback, IPv4-mapped and IPv4-compatible (RFC 4291, 2.5)",
    "64:ff9b::/32": "NAT64: IPv4 addresses in disguise (RFC 6052, RFC 8215)",
    "2001::/32": "Teredo: IPv4 addresses in disguise (RFC 4380)",
    "2002::/16": "6to4: IPv4 addresses in disguise (RFC 3056)",
    "fe80::/10": "link-local (RFC 4291, 2.5.6)",
    "fec0::/10": "site-local, deprecated (RFC 3879)",
    "ff00::/8": "multicast (RFC 4291, 2.7)",
    "fd00:ec2::/32": "metadata and pod identity of AWS (EC2, Instance metadata; EKS, Pod Identity)",
    "fd20:ce::254/128": "metadata of Google Cloud (Compute Engine, About VM metadata)",
    "fd00:c1::a9fe:a9fe/128": "metadata of Oracle Cloud (Compute, Instance metadata)",
    "fd00:42::42/128": "metadata of Scaleway (Instances, Instance metadata)",
}  # fmt: skip
"""Ranges that never contain pods, and their use. They are written out, because the ranges that
`ipaddress` calls private or link-local differ between Python versions, and some versions count
IPv4-mapped addresses as neither."""

_LOOPBACK: Final = IPv4Network("127.0.0.0/8")
_REFUSED: Final = tuple(map(ip_network, _NO_PODS))


@dataclass(frozen=True, slots=True)
class PodAddresses:
    """The addresses that pods of a cluster may have.

    Without `ranges`, all addresses except those `taken`, such as the API server's.
    """

    ranges: tuple[Network, ...] = ()
    taken: frozenset[Address] = frozenset()
    loopback: bool = False

    def usable(self, address: str | None) -> str | None:
        ip = _parsed(address or "")
        if ip is None or ip in self.taken:
            return None
        if self.loopback and ip in _LOOPBACK:
            return str(ip)
        if any(ip in each for each in _REFUSED):
            return None
        if self.ranges and not any(ip in each for each in self.ranges):
            return None
        return str(ip)


def pod_addresses(snapshot: Snapshot, servers: Iterable[str] = ()) -> PodAddresses:
    """Return the addresses that pods may have: the nodes' `spec.podCIDRs`, if pods use those.

    Calico may assign addresses from its own pools, so the ranges count only if more pods have
    addresses inside than outside. Loopback addresses are allowed if one of `servers` has one: that
    is the case in the laboratory, and with kind, minikube, `kubectl proxy` and tunnels, but never
    in a cluster.
    """
    parsed = {ip for each in servers if (ip := _parsed(each))}
    loopback = any(ip.is_loopback for ip in parsed)
    taken = frozenset(ip for ip in parsed if not ip.is_loopback)
    if not snapshot.known(NODES):
        return PodAddresses((), taken, loopback)
    cidrs = {cidr for node in snapshot[NODES] for cidr in node.spec.pod_cidrs or ()}
    ranges = tuple(network for network in map(_network, sorted(cidrs)) if network is not None)
    found = [ip for pod in snapshot[PODS] if (ip := _parsed(pod.status.pod_ip or ""))]
    inside = sum(any(ip in each for each in ranges) for ip in found) if ranges else 0
    return PodAddresses(ranges if 2 * inside > len(found) else (), taken, loopback)


@lru_cache(maxsize=16_384)
def _parsed(address: str) -> Address | None:
    if "%" in address:  # a zone: a link-local address, valid on this host only
        return None
    try:
        return ip_address(address)
    except ValueError:
        return None


@lru_cache(maxsize=4_096)
def _network(cidr: str) -> Network | None:
    try:
        return ip_network(cidr, strict=False)
    except ValueError:
        return None


POD_INDEX: Final = "apps.kubernetes.io/pod-index"
"""Label of a StatefulSet's pods; only the first pod of a multi-node set has a page."""

_ORDINAL: Final = re.compile(r"-(?P<index>[0-9]{1,4})\Z")
"""End of a StatefulSet pod's name; the random end of a Deployment's pods has five characters."""

_ROUTER: Final = "router"
"""Part of the image name of routers in front of engines, as in `vllm-router`."""

_MESH_PROXIES: Final = frozenset({"istio-proxy", "linkerd-proxy"})
"""Sidecars that may be listed before the main container, so that they start first."""


@dataclass(frozen=True, slots=True)
class FoundTargets:
    """The pods to scrape, and the number of pods refused because of their addresses."""

    targets: tuple[Target, ...]
    refused: int


def find_targets(
    snapshot: Snapshot, settings: EvaluationSettings, addresses: PodAddresses | None = None
) -> tuple[Target, ...] | None:
    found = find(snapshot, settings, addresses)
    return found.targets if found is not None else None


def find(
    snapshot: Snapshot, settings: EvaluationSettings, addresses: PodAddresses | None = None
) -> FoundTargets | None:
    """Return the pods to scrape, sorted by namespace and name, pickers last; None while pods cannot
    be read.

    For a live cluster, `addresses` says which addresses pods may have. Then only pods of existing
    subjects are scraped, by the daemon and by `dump --metrics`, because a tenant can put any label
    on a pod. Without `addresses` no pod is contacted: the pages are next to a dump. Each stack says
    which of its pods are scraped.
    """
    if not snapshot.known(PODS):
        return None
    usable = (addresses or PodAddresses(loopback=True)).usable
    targets, refused = [], 0
    for pod, serving in _with_pages(snapshot, settings):
        if addresses is not None and not _is_known(serving.subject, snapshot, settings):
            continue
        address = usable(pod.status.pod_ip)
        if address is not None:
            targets.append(_target(pod, serving, address))
        elif pod.status.pod_ip:
            refused += 1
    for picker in find_pickers(snapshot, settings, tuple(targets), live=addresses is not None):
        address = usable(picker.pod.status.pod_ip)
        main = _status(picker.pod, _main(picker.pod))
        serving = _Serving(picker.subject, main, picker.port, "http")
        if address is not None and _is_scraped(picker.pod, serving):
            targets.append(replace(_target(picker.pod, serving, address), picked=picker.picked))
    return FoundTargets(tuple(targets), refused)


def _with_pages(
    snapshot: Snapshot, settings: EvaluationSettings
) -> Iterator[tuple[o.Pod, "_Serving"]]:
    sought = [
        stack.scraped
        for stack in settings.known_stacks
        if stack.scraped and settings.stack(stack.name) is not StackMode.OFF
    ]
    for pod in snapshot[PODS]:
        serving = _serving(pod, sought)
        if serving is not None and _is_scraped(pod, serving):
            yield pod, serving


@dataclass(frozen=True, slots=True)
class _Serving:
    subject: Subject
    container: o.ContainerStatus | None
    port: int | None = None
    scheme: str = "http"
    leads: bool = True


def _serving(pod: o.Pod, sought: Sequence[ScrapedPods]) -> _Serving | None:
    for each in sought:
        name = pod.metadata.label(each.label)
        if name is None:
            continue
        subject = Subject(each.kind, pod.namespace, name)
        container = _container(pod, each) if each.picks_container else _main(pod)
        if container is not None:
            return _Serving(
                subject,
                _status(pod, container),
                _port(container, each.port) if each.picks_container else None,
                "https" if container.serves_tls else "http",
                _index(pod, each) == 0,
            )
    return None


def _container(pod: o.Pod, scraped: ScrapedPods) -> o.Container | None:
    labels = pod.metadata.labels or {}
    if any(labels.get(key) != value for key, value in scraped.labels.items()):
        return None
    containers = pod.spec.containers or ()
    engines = [each for each in containers if scraped.serves(each.image)]
    if scraped.container:
        return next((each for each in engines if each.name == scraped.container), None)
    # An image may have any name. A port with the stack's port name shows that it serves a page.
    named = [e for e in containers if any(port.name == scraped.port for port in e.ports or ())]
    # Without a port in the spec, only the arguments would name it, and they are not parsed.
    serving = (each for each in (*engines, *named) if each.ports and _ROUTER not in each.image)
    return next(serving, None)


def _port(container: o.Container, name: str) -> int | None:
    ports = container.ports or ()
    named = (each.container_port for each in ports if each.name == name)
    return next(named, ports[0].container_port if ports else None)


def _is_scraped(pod: o.Pod, serving: _Serving) -> bool:
    status = serving.container
    runs = status is not None and status.running is not None
    return counts(pod) and pod.status.phase == "Running" and serving.leads and runs


def _index(pod: o.Pod, scraped: ScrapedPods) -> int:
    label = pod.metadata.label(scraped.index_label or POD_INDEX)
    if label is not None:
        return small_number(label)
    if scraped.index_label:
        return 0
    match = _ORDINAL.search(pod.name)
    return int(match["index"]) if match else 0


def _main(pod: o.Pod) -> o.Container | None:
    """Return the serving container: the first one that is not a mesh proxy."""
    containers = pod.spec.containers or ()
    return next((each for each in containers if each.name not in _MESH_PROXIES), None)


def _status(pod: o.Pod, container: o.Container | None) -> o.ContainerStatus | None:
    name = container.name if container else None
    return next((each for each in pod.status.container_statuses or () if each.name == name), None)


def _is_known(subject: Subject, snapshot: Snapshot, settings: EvaluationSettings) -> bool:
    return any(
        snapshot[resource].get(subject.namespace, subject.name) is not None
        for resource in settings.catalogue.of_subject(subject.kind)
    )


def _target(pod: o.Pod, serving: _Serving, address: str) -> Target:
    ready, run = pod.status.condition("Ready", "True"), serving.container
    began = run.running.started_at if run and run.running else None
    return Target(
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.metadata.uid,
        address=address,
        subject=serving.subject,
        port=serving.port,
        scheme=serving.scheme,
        node=pod.spec.node_name or "",
        created=pod.created,
        ready=ready is not None,
        ready_since=ready.last_transition_time if ready else None,
        containers=() if run is None else (ContainerRun(run.name, run.restart_count, began),),
    )
