"""Addresses of the cluster, and the links between the host and its nodes."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from e2e.cluster.host import run

CLUSTER_CIDR: Final = "10.244.0.0/16"
"""The range of all pods; each node has a part of it."""

SERVICE_CIDR: Final = "10.96.0.0/16"
API_SERVICE: Final = "10.96.0.1"
"""The Service `kubernetes`: the first address of `SERVICE_CIDR`."""

API_PORT: Final = 6443


@dataclass(frozen=True)
class Link:
    """A pair of virtual interfaces; the node's end goes with its namespace, and so does the other.

    Attributes:
        interface: the outer end: in the host for the first node, in the first node for the others.
        host: address of the outer end.
        node: address of the node. Both are in the range of RFC 2544 for tests, which no other
            network of the host should use.
        pods: the addresses of the node's pods.
    """

    interface: str = "status-reporter"
    host: str = "198.19.0.1"
    node: str = "198.19.0.2"
    pods: str = "10.244.0.0/24"

    def make(
        self,
        process: int,
        inside: Callable[..., str],
        outside: Callable[..., str] = lambda *command: run(command),
    ) -> None:
        """Create the link to the network namespace of a process.

        Args:
            process: its id on the host.
            inside: runs a command in the node.
            outside: runs one in the network of the outer end, with the processes of the host.
        """
        pair = ["type", "veth", "peer", "name", "eth0", "netns", str(process)]
        outside("ip", "link", "add", self.interface, *pair)
        outside("ip", "address", "add", f"{self.host}/30", "dev", self.interface)
        outside("ip", "link", "set", self.interface, "up")
        inside("ip", "link", "set", "lo", "up")
        inside("ip", "address", "add", f"{self.node}/30", "dev", "eth0")
        inside("ip", "link", "set", "eth0", "up")
        # Nothing beyond the host answers; Service addresses need a route before translation.
        inside("ip", "route", "add", "default", "via", self.host)
        inside("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.bridge.bridge-nf-call-iptables=1")

    def remove(self) -> None:
        """Remove the link; the kernel would too, some time after the namespace has ended."""
        subprocess.run(["ip", "link", "delete", self.interface], capture_output=True, check=False)
