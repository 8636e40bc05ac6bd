"""The nodes: where their programs run, and what they have outside of it, a cgroup and a link.

Processes, mounts, network and host name of a node are in namespaces of their own. Programs there
end with the first process of the namespaces, however that ends: no process, mount, route or
firewall rule stays. The file system is the host's except for `/run`, `/var/lib` and `/var/log`, so
nothing that a node writes to these places stays either.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from e2e.envtest.commands import EnvtestError, poll, run
from e2e.envtest.control_plane import Server

CGROUPS: Final = ("status-reporter-cluster", "status-reporter-cluster-b")
"""The cgroup of the pods of each node, in each hierarchy (version 1 has one per controller)."""

NODE: Final = "node-a"
_END_SECONDS: Final = 30.0


def _hierarchies() -> Iterator[Path]:
    for line in Path("/proc/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        if kind in ("cgroup", "cgroup2"):
            yield Path(place)


def cgroups() -> list[Path]:
    """Return the existing ones, the innermost first."""
    tops = [top / name for top in _hierarchies() for name in CGROUPS if (top / name).exists()]
    found = [each for top in tops for each in top.rglob("*/")]
    return sorted({*found, *tops}, key=lambda path: len(path.parts), reverse=True)


def make_cgroups(name: str) -> None:
    """Create the cgroup of a node, since the kubelet requires its root to exist."""
    for top in _hierarchies():
        (top / name).mkdir(exist_ok=True)
        for setting in ("cpuset.cpus", "cpuset.mems"):
            if (top / setting).exists():
                (top / name / setting).write_text((top / setting).read_text())


def remove_cgroups() -> None:
    """Remove it with everything below, once the processes in it have ended."""

    def gone() -> bool:
        left = cgroups()
        for each in left:
            with contextlib.suppress(OSError):
                each.rmdir()
        return not left

    poll(gone, "processes live on in the cgroup of a node", _END_SECONDS)


CLUSTER_CIDR: Final = "10.244.0.0/16"
"""The range of all pods; each node has a part of it."""

SERVICE_CIDR: Final = "10.96.0.0/16"
API_SERVICE: Final = "10.96.0.1"
"""The Service `kubernetes`: the first address of `SERVICE_CIDR`."""

API_PORT: Final = 6443
CONTAINERD_SOCKET: Final = "/run/containerd/containerd.sock"


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


_PAUSE: Final = "catatonit"
"""Process 1 of the namespaces: it only reaps what containerd's shims leave."""

_TUNED: Final = (
    "kernel/keys/root_maxbytes",
    "kernel/keys/root_maxkeys",
    "kernel/panic",
    "kernel/panic_on_oops",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
)
"""Kernel settings of the kubelet (pkg/kubelet/cm, `setupKernelTunables`), for the whole kernel."""

_START_SECONDS: Final = 30.0


@dataclass
class Node:
    """A node of the cluster, and the environment in which its programs run.

    Attributes:
        name: of the node and its host.
        link: how it is reached.
        folder: for what it keeps; must exist when it starts.
        cgroup: of its pods, in each hierarchy.
        process: the first process of the namespaces, by its id on the host.
    """

    name: str
    link: Link
    folder: Path
    cgroup: str
    _first: subprocess.Popen[bytes] | None = field(default=None, init=False)
    process: int = field(default=0, init=False)

    def start(self) -> None:
        """Create the namespaces and the mounts; its network has no link yet."""
        self._first = subprocess.Popen([
            # Ends with its caller, and takes everything in it along.
            "setpriv", "--pdeathsig", "KILL",
            "unshare", "--mount", "--net", "--pid", "--uts", "--ipc",
            "--fork", "--kill-child=KILL", "--mount-proc", _PAUSE, "-P",
        ])  # fmt: skip
        self.process = self._wait_for_first()
        self.run("hostname", self.name)
        self._mount()

    def _wait_for_first(self) -> int:
        assert self._first is not None
        outer = self._first
        found: list[int] = []

        def there() -> bool:
            for child in children(outer.pid):
                with contextlib.suppress(OSError):
                    if Path(f"/proc/{child}/exe").readlink().name == _PAUSE:
                        found.append(child)
            return bool(found) or outer.poll() is not None

        poll(there, "unshare takes too long", _START_SECONDS)
        if not found:
            raise EnvtestError("unshare made no namespaces: run this as root, on a Linux host")
        return found[0]

    def _mount(self) -> None:
        for own in ("/var/lib", "/var/log"):
            folder = self.folder / own.removeprefix("/")
            folder.mkdir(parents=True, exist_ok=True)
            self.run("mount", "--bind", str(folder), own)
        self.run("mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run")
        # No name server of the host is reachable: each pull of an image would wait for one.
        names = self.folder / "resolv.conf"
        names.write_text(f"nameserver {Link.node}\n")
        self.run("mount", "--bind", str(names), "/etc/resolv.conf")
        self._keep_the_kernel()
        # The kubelet mounts volumes for containers that containerd starts.
        self.run("mount", "--make-rshared", "/")

    def _keep_the_kernel(self) -> None:
        copies = self.folder / "sysctl"
        copies.mkdir(exist_ok=True)
        for name in _TUNED:
            copy = copies / name.replace("/", ".")
            copy.write_text(Path("/proc/sys", name).read_text())
            self.run("mount", "--bind", str(copy), f"/proc/sys/{name}")

    def inside(self, command: Iterable[str]) -> list[str]:
        """Return a command prefix to run in the namespaces; the command ends with its caller."""
        return [
            "nsenter", f"--target={self.process}", "--mount", "--net", "--pid", "--uts", "--ipc",
            "--", "setpriv", "--pdeathsig", "KILL", *command,
        ]  # fmt: skip

    def in_network(self, command: Iterable[str]) -> list[str]:
        """Return a command prefix for the network only, with the host's processes and files."""
        return ["nsenter", f"--target={self.process}", "--net", "--", *command]

    def run(self, *command: str) -> str:
        """Run a command there and return its output."""
        return run(self.inside(command))

    def server(self, name: str, command: Sequence[str], log: Path) -> "Inside":
        """Return a program to be started there."""
        return Inside(name, self.inside(command), log)

    def ctr(self, *command: str) -> str:
        """Run a command of containerd's client, about what the kubelet has made."""
        return self.run("ctr", f"--address={CONTAINERD_SOCKET}", "-n", "k8s.io", *command)

    def connect(self, first: "Node") -> None:
        """Link a second node to the first; then the host and both nodes reach it and its pods."""

        def in_first(*command: str) -> str:
            return run(first.in_network(command))

        self.link.make(self.process, self.run, in_first)
        in_first("ip", "route", "add", self.link.pods, "via", self.link.node)
        run(["ip", "route", "add", f"{self.link.node}/32", "via", first.link.node])

    def stop(self) -> None:
        """Stop everything that runs there, and wait until it has ended."""
        first, self._first = self._first, None
        if first is not None:
            first.kill()
            first.wait()
        if self.process:
            # The kernel ends process 1 only after all others of its namespace.
            there = Path(f"/proc/{self.process}")
            poll(lambda: not there.exists(), f"{there} does not end", _START_SECONDS)


class Inside(Server):
    """A program in the namespaces: signals go to it, not to `nsenter`, which waits for it."""

    def send(self, number: signal.Signals) -> None:
        if self._process is not None:
            for child in children(self._process.pid):
                os.kill(child, number)
            if number is signal.SIGCONT:  # nsenter stops with its child
                self._process.send_signal(number)

    def wait(self) -> None:
        if self._process is not None:
            self._process.wait()


def children(process: int) -> list[int]:
    try:
        found = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:
        return []
    return [int(each) for each in found.split()]


def nodes(folder: Path) -> tuple[Node, Node]:
    """Return the node that the host reaches directly, and the one behind it."""
    behind = Link("node-b", host="198.19.0.5", node="198.19.0.6", pods="10.244.1.0/24")
    return (
        Node(NODE, Link(), folder, CGROUPS[0]),
        Node("node-b", behind, folder / "node-b", CGROUPS[1]),
    )
