"""Which addresses a pod may claim: whoever writes a pod's status must not choose whom the reporter asks."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

from reporter.catalogue.resources import NODES, PODS
from reporter.snapshot.snapshot import Snapshot

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

_NO_PODS: Final = {
    "0.0.0.0/8": "this host (RFC 1122, 3.2.1.3)",
    "127.0.0.0/8": "loopback (RFC 1122, 3.2.1.3)",
    "169.254.0.0/16": "link-local (RFC 3927); metadata of AWS, Azure, Google, Oracle, OpenStack, Hetzner, Scaleway, DigitalOcean",
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
"""Ranges in which no pod is, each with what is there. Written out, as the ranges that `ipaddress` calls
private or link-local have changed between versions of Python, and IPv4-mapped ones count as neither in some."""

_LOOPBACK: Final = IPv4Network("127.0.0.0/8")
_REFUSED: Final = tuple(map(ip_network, _NO_PODS))


@dataclass(frozen=True, slots=True)
class PodAddresses:
    """The addresses that pods of a cluster may have.

    Attributes:
        ranges: of the cluster's pods; none is every address.
        taken: single addresses of others, such as the API server.
        loopback: pods may be on the loopback address, as the laboratory's are.

    """

    ranges: tuple[Network, ...] = ()
    taken: frozenset[Address] = frozenset()
    loopback: bool = False

    def usable(self, address: str | None) -> str | None:
        """Return an address as it is asked, None if no pod can have it."""
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
    """Return the addresses that pods may have: those in the nodes' `spec.podCIDRs`, where these are used.

    `servers` are the addresses of the API server. Where one is on the loopback address, pods may be too, as
    the laboratory's are. That is so as well with kind, minikube, `kubectl proxy` and tunnels, never in a
    cluster: there a pod's status can name this machine, if `--scrape-via direct` is asked for outside.

    Calico, for one, may give addresses from pools of its own although the nodes have ranges. So the
    ranges count only if more pods have addresses inside than outside of them.
    """
    parsed = {ip for each in servers if (ip := _parsed(each))}
    loopback = any(ip.is_loopback for ip in parsed)
    taken = frozenset(ip for ip in parsed if not ip.is_loopback)
    if not snapshot.known(NODES):
        return PodAddresses((), taken, loopback)
    told = {cidr for node in snapshot[NODES] for cidr in node.spec.pod_cidrs or ()}
    ranges = tuple(network for network in map(_network, sorted(told)) if network is not None)
    found = [ip for pod in snapshot[PODS] if (ip := _parsed(pod.status.pod_ip or ""))]
    inside = sum(any(ip in each for each in ranges) for ip in found) if ranges else 0
    return PodAddresses(ranges if 2 * inside > len(found) else (), taken, loopback)


@lru_cache(maxsize=16_384)
def _parsed(address: str) -> Address | None:
    if "%" in address:  # a zone is of a link-local address, and of this host alone
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
