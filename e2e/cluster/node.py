"""The names and files of one node; the first one also runs the control plane."""

from dataclasses import dataclass
from pathlib import Path

from e2e.cluster.host import run
from e2e.cluster.machine import Machine
from e2e.cluster.network import Link
from e2e.cluster.settings import CGROUPS


@dataclass(frozen=True)
class Node:
    """A node of the cluster.

    Attributes:
        name: of the node and its host.
        link: how it is reached.
        folder: for what it keeps.
        cgroup: of its pods, in each hierarchy.
        machine: where its programs run.
    """

    name: str
    link: Link
    folder: Path
    cgroup: str
    machine: Machine

    @classmethod
    def first(cls, folder: Path) -> "Node":
        """Return the node that the host reaches directly."""
        return cls._made("node-a", Link(), folder, CGROUPS[0])

    @classmethod
    def second(cls, folder: Path) -> "Node":
        """Return the node behind the first one, which forwards its traffic."""
        link = Link("node-b", host="198.19.0.5", node="198.19.0.6", pods="10.244.1.0/24")
        return cls._made("node-b", link, folder / "node-b", CGROUPS[1])

    @classmethod
    def _made(cls, name: str, link: Link, folder: Path, cgroup: str) -> "Node":
        return cls(name, link, folder, cgroup, Machine(folder, name, Link().node))

    def connect(self, first: "Node") -> None:
        """Link a second node to the first; then the host and both nodes reach it and its pods."""

        def in_first(*command: str) -> str:
            return run(first.machine.in_network(command))

        self.link.make(self.machine.process, self.machine.run, in_first)
        in_first("ip", "route", "add", self.link.pods, "via", self.link.node)
        run(["ip", "route", "add", f"{self.link.node}/32", "via", first.link.node])
