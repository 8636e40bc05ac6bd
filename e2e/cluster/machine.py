"""A machine for a node: processes, mounts, network and host name in namespaces of their own.

Programs there end with the first process of the namespaces, however that ends: no process, mount,
route or firewall rule stays. The file system is the host's except for `/run`, `/var/lib` and
`/var/log`, so nothing that a node writes to these places stays either.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from e2e.cluster.host import run
from e2e.envtest.control_plane import Server
from e2e.envtest.errors import EnvtestError

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
class Machine:
    """The environment in which the programs of one node run.

    Attributes:
        folder: for what the node keeps; must exist.
        name: of the host, and so of the node.
        names: address of the name server there.
    """

    folder: Path
    name: str
    names: str
    _first: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _process: int = field(default=0, init=False)

    def start(self) -> None:
        """Create the namespaces and the mounts; its network has no link yet.

        Raises:
            EnvtestError: this host does not allow it; the message has the command that failed.
        """
        self._first = subprocess.Popen([
            # Ends with its caller, and takes everything in it along.
            "setpriv", "--pdeathsig", "KILL",
            "unshare", "--mount", "--net", "--pid", "--uts", "--ipc",
            "--fork", "--kill-child=KILL", "--mount-proc", _PAUSE, "-P",
        ])  # fmt: skip
        self._process = self._wait_for_first()
        self.run("hostname", self.name)
        self._mount()

    @property
    def process(self) -> int:
        """The first process of the namespaces, by its id on the host."""
        return self._process

    def _wait_for_first(self) -> int:
        assert self._first is not None
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end and self._first.poll() is None:
            for child in children(self._first.pid):
                with contextlib.suppress(OSError):
                    if Path(f"/proc/{child}/exe").readlink().name == _PAUSE:
                        return child
            time.sleep(0.02)
        raise EnvtestError("unshare made no namespaces: run this as root, on a Linux host")

    def _mount(self) -> None:
        for own in ("/var/lib", "/var/log"):
            folder = self.folder / own.removeprefix("/")
            folder.mkdir(parents=True, exist_ok=True)
            self.run("mount", "--bind", str(folder), own)
        self.run("mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run")
        # No name server of the host is reachable: each pull of an image would wait for one.
        names = self.folder / "resolv.conf"
        names.write_text(f"nameserver {self.names}\n")
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
            "nsenter", f"--target={self._process}", "--mount", "--net", "--pid", "--uts", "--ipc",
            "--", "setpriv", "--pdeathsig", "KILL", *command,
        ]  # fmt: skip

    def in_network(self, command: Iterable[str]) -> list[str]:
        """Return a command prefix for the network only, with the host's processes and files."""
        return ["nsenter", f"--target={self._process}", "--net", "--", *command]

    def run(self, *command: str) -> str:
        """Run a command there and return its output.

        Raises:
            EnvtestError: it failed.
        """
        return run(self.inside(command))

    def server(self, name: str, command: Sequence[str], log: Path) -> "Inside":
        """Return a program to be started there."""
        return Inside(name, self.inside(command), log)

    def stop(self) -> None:
        """Stop everything that runs there, and wait until it has ended."""
        first, self._first = self._first, None
        if first is not None:
            first.kill()
            first.wait()
        end = time.monotonic() + _START_SECONDS
        # The kernel ends process 1 only after all others of its namespace.
        while self._process and Path(f"/proc/{self._process}").exists():
            if time.monotonic() > end:
                raise EnvtestError(f"process {self._process} does not end")
            time.sleep(0.02)


class Inside(Server):
    """A program in the namespaces: signals go to it, not to `nsenter`, which waits for it."""

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        if self._process is not None:
            for child in children(self._process.pid):
                os.kill(child, number)
            if number is signal.SIGCONT:  # nsenter stops with its child
                self._process.send_signal(number)

    def wait(self) -> None:
        """Wait until it has ended."""
        if self._process is not None:
            self._process.wait()


def children(process: int) -> list[int]:
    """Return the direct children of a process."""
    try:
        return [
            int(each)
            for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()
        ]
    except OSError:
        return []
