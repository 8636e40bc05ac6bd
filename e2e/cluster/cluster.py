"""A whole Kubernetes cluster of one or two nodes on this machine."""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

import httpx

from e2e.cluster.machine import Inside, Link, Node, make_cgroups, nodes, remove_cgroups
from e2e.cluster.settings import (
    ADMIN,
    PROGRAMS,
    Identities,
    control_plane,
    node_programs,
    write_settings,
)
from e2e.envtest.binaries import built
from e2e.envtest.commands import Access, EnvtestError
from e2e.envtest.control_plane import wait_for
from lab.sandbox.workloads import is_ready

FOLDER: Final = Path("/var/tmp/status-reporter-cluster")
"""Everything of a running cluster; removed with it."""

_START_SECONDS: Final = 300.0
"""How long the node may take to be Ready; half a minute on two idle cores."""


@dataclass
class Cluster:
    """A control plane and its nodes.

    Attributes:
        folder: for everything that it writes.
        count: of nodes, 1 or 2.
        servers: the programs, by name; names for the second node end with its name.
    """

    folder: Path = FOLDER
    count: int = 1
    servers: dict[str, Inside] = field(default_factory=dict, init=False)
    _lock: IO[str] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Prepare everything but start nothing."""
        self.nodes = nodes(self.folder)[: self.count]
        self.machine = self.nodes[0]

    def start(self) -> None:
        """Start it and wait until its nodes are Ready; a failed start leaves nothing behind.

        Raises:
            EnvtestError: another one runs, or a program did not start.
        """
        programs = built(*PROGRAMS)
        self._lock = take_lock(self.folder)
        try:
            self._start(programs)
        except BaseException:
            self.stop()
            raise

    def _start(self, programs: Path) -> None:
        first, *others = self.nodes
        remove_what_stayed(self.folder, first.link)
        (self.folder / "log").mkdir(parents=True, mode=0o700)
        self.folder.chmod(0o700)
        names = [each.name for each in self.nodes]
        self.identities = Identities.make(self.folder / "identities", first.link, names)
        for node in self.nodes:
            node.folder.mkdir(exist_ok=True)
            write_settings(node, self.identities)
            make_cgroups(node.cgroup)
            node.start()
        first.link.make(first.process, first.run)
        for node in others:
            node.connect(first)
        made = control_plane(programs, self.folder, self.identities, first.link)
        for name, command in made.items():
            self._serve(first, name, command)
        for node in self.nodes:
            for name, command in node_programs(programs, node, self.identities).items():
                self._serve(node, name if node is first else f"{name} {node.name}", command)
        self._wait()

    def _serve(self, node: Node, name: str, command: Sequence[str]) -> None:
        log = self.folder / "log" / f"{name.replace(' ', '-')}.log"
        self.servers[name] = node.server(name, command, log)
        self.servers[name].start()

    @property
    def admin(self) -> Access:
        return self.identities.admin

    @property
    def kubeconfig(self) -> Path:
        return self.identities.kubeconfig(ADMIN)

    @property
    def audit_log(self) -> Path:
        """Audit events, one JSON object a line."""
        return self.folder / "audit.log"

    def load(self, archive: Path) -> None:
        """Load the image of an archive into the nodes."""
        for node in self.nodes:
            node.ctr("images", "import", str(archive))

    def _wait(self) -> None:
        nodes, servers = f"{self.admin.url}/api/v1/nodes", self.servers.values()
        wait_for(nodes, *servers, enough=self._ready, access=self.admin, seconds=_START_SECONDS)

    def _ready(self, answer: httpx.Response) -> bool:
        return self.count == sum(map(is_ready, answer.json().get("items") or ()))

    def stop(self) -> None:
        """Stop everything and remove everything that was created."""
        for node in reversed(self.nodes):
            node.stop()
        for server in self.servers.values():
            server.wait()
        remove_what_stayed(self.folder, self.nodes[0].link)
        if self._lock is not None:
            lock_file(self.folder).unlink(missing_ok=True)
            self._lock.close()


def lock_file(folder: Path) -> Path:
    """Return the file that the owner of a cluster locks; it has the owner's process id."""
    return folder.with_suffix(".lock")


def take_lock(folder: Path) -> IO[str]:
    """Lock the file until it is closed: address, cgroup and folder are the same each time."""
    lock = lock_file(folder).open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise EnvtestError("a cluster runs already: `make cluster-down` ends it") from None
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


def remove_what_stayed(folder: Path, link: Link) -> None:
    """Remove what a killed cluster leaves: its folder, its cgroups and its link.

    The caller has the lock, and removes that file last.
    """
    link.remove()
    remove_cgroups()
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)
