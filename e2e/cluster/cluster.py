"""A whole Kubernetes cluster of one node on this machine."""

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

import httpx

from e2e.cluster.cgroups import make_cgroups, remove_cgroups
from e2e.cluster.identities import ADMIN, Identities
from e2e.cluster.machine import Inside, Machine
from e2e.cluster.network import Link
from e2e.cluster.programs import PROGRAMS, commands
from e2e.cluster.settings import CONTAINERD_SOCKET, write_settings
from e2e.envtest.access import Access
from e2e.envtest.binaries import built
from e2e.envtest.errors import EnvtestError

NODE: Final = "node-a"
FOLDER: Final = Path("/var/tmp/status-reporter-cluster")
"""All that a running cluster has; gone with it."""

_START_SECONDS: Final = 300.0
"""How long the node may take to be Ready; half a minute on two idle cores."""


@dataclass
class Cluster:
    """A control plane and a node.

    Attributes:
        folder: for everything that it writes.
    """

    folder: Path = FOLDER
    servers: dict[str, Inside] = field(default_factory=dict, init=False)
    _lock: IO[str] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Prepare everything but start nothing."""
        self.link = Link()
        self.machine = Machine(self.folder, NODE, self.link)

    def start(self) -> None:
        """Start it and wait until its node is Ready; what fails leaves nothing behind.

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
        remove_what_stayed(self.folder, self.link)
        (self.folder / "log").mkdir(parents=True, mode=0o700)
        self.folder.chmod(0o700)
        self.identities = Identities.make(self.folder / "identities", self.link, NODE)
        write_settings(self.folder, self.identities, self.link)
        make_cgroups()
        self.machine.start()
        for name, command in self._commands(programs).items():
            log = self.folder / "log" / f"{name}.log"
            self.servers[name] = self.machine.server(name, command, log)
            self.servers[name].start()
        self._wait()

    def _commands(self, programs: Path) -> Mapping[str, list[str]]:
        made = commands(programs, self.folder, self.identities, link=self.link, node=NODE)
        return {name: list(command) for name, command in made.items()}

    @property
    def admin(self) -> Access:
        """Access of an administrator."""
        return self.identities.admin

    @property
    def kubeconfig(self) -> Path:
        """An administrator's kubeconfig."""
        return self.identities.kubeconfig(ADMIN)

    @property
    def audit_log(self) -> Path:
        """Audit events, one JSON object a line."""
        return self.folder / "audit.log"

    def load(self, archive: Path) -> None:
        """Give the node the image of an archive."""
        inside = self.machine.run
        inside(
            "ctr",
            f"--address={CONTAINERD_SOCKET}",
            "-n",
            "k8s.io",
            "images",
            "import",
            str(archive),
        )

    def _wait(self) -> None:
        end = time.monotonic() + _START_SECONDS
        with httpx.Client(verify=self.admin.tls(), headers=self.admin.headers) as client:
            while not self._ready(client):
                for server in self.servers.values():
                    if server.ended:
                        raise EnvtestError(f"{server.name} ended:\n{server.last_lines}")
                if time.monotonic() > end:
                    raise EnvtestError(f"no node is Ready:\n{self.servers['kubelet'].last_lines}")
                time.sleep(0.2)

    def _ready(self, client: httpx.Client) -> bool:
        try:
            node = client.get(f"{self.admin.url}/api/v1/nodes/{NODE}")
        except httpx.TransportError:
            return False
        if node.is_error:
            return False
        conditions = node.json().get("status", {}).get("conditions", [])
        return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)

    def stop(self) -> None:
        """End everything and remove all that it made."""
        self.machine.stop()
        for server in self.servers.values():
            server.wait()
        remove_what_stayed(self.folder, self.link)
        if self._lock is not None:
            lock_file(self.folder).unlink(missing_ok=True)
            self._lock.close()


def lock_file(folder: Path) -> Path:
    """Return the file that whoever runs a cluster holds, and that has the number of its process."""
    return folder.with_suffix(".lock")


def take_lock(folder: Path) -> IO[str]:
    """Hold the file until it is closed: address, cgroup and folder are the same each time.

    Raises:
        EnvtestError: another process holds it.
    """
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
    """Remove what a cluster that was killed leaves: its folder, its cgroups and its link.

    Whoever calls it holds the lock, and removes that file last.
    """
    link.remove()
    remove_cgroups()
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)
