"""etcd and kube-apiserver on loopback, with RBAC, an audit log and Event lifetimes.

No kube-controller-manager runs beside them: Deployments make no pods, namespaces do not finish
being deleted, nothing is garbage collected.
"""

import contextlib
import os
import random
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

import httpx
import trustme
import yaml

from e2e.envtest.binaries import Binaries, binaries
from e2e.envtest.commands import Access, EnvtestError, filled, poll

START_SECONDS: Final = 120.0
"""How long a server may take to become ready; the slowest on a busy machine is far below."""

_STOP_SECONDS: Final = 30.0

_PORTS: Final = range(24_000, 32_000)
_PLACE: Final = 100
"""How many of the ports one process uses."""

_ARGUMENTS: Final = yaml.safe_load(Path(__file__).with_name("arguments.yaml").read_text())

AUDIT_POLICY: Final = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: None
    users: [admin, "system:apiserver", "system:anonymous"]
  - level: Metadata
"""
"""Audit policy: who did what and whether it was allowed, without bodies or servers' requests."""


class Server:
    """One program that can be started, killed, paused and started again with the same arguments."""

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self.name = name
        self._command = command
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it; it need not answer yet."""
        with self._log.open("ab") as log:
            # The servers end with the tests, even if those are killed.
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *self._command], stdout=log, stderr=log
            )

    def send(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def kill(self) -> None:
        """Kill it at once, as with a lost machine."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
            process.send_signal(number)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    @property
    def ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    @property
    def last_lines(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-20:])


@dataclass
class ControlPlane:
    """A control plane in an existing folder, with more arguments for kube-apiserver."""

    binaries: Binaries
    folder: Path
    flags: Sequence[str] = ()
    etcd: Server = field(init=False)
    api_server: Server = field(init=False)
    admin: Access = field(init=False)

    def __post_init__(self) -> None:
        """Prepare everything but start nothing."""
        etcd_port, peer_port, port = free_ports(3)
        certificates = _certificates(self.folder)
        url = f"https://127.0.0.1:{port}"
        self.admin = Access(url, certificates / "ca.crt", "admin-of-the-tests")
        self._write_files()
        words = {"folder": self.folder, "certificates": certificates, "port": port}
        words |= {"etcdPort": etcd_port, "peerPort": peer_port}
        arguments = filled(_ARGUMENTS, words)
        etcd = [str(self.binaries.etcd), *arguments["etcd"]]
        api_server = [str(self.binaries.kube_apiserver), *arguments["kube-apiserver"], *self.flags]
        self.etcd = Server("etcd", etcd, self.folder / "etcd.log")
        self.api_server = Server("kube-apiserver", api_server, self.folder / "api-server.log")

    @property
    def audit_log(self) -> Path:
        """Audit events, one JSON object a line."""
        return self.folder / "audit.log"

    def start(self) -> None:
        """Start both and wait until they are ready."""
        self.etcd.start()
        self.api_server.start()
        self.wait()

    def wait(self) -> None:
        """Wait until the API server is ready; its default roles exist then."""
        wait_for(f"{self.admin.url}/readyz", self.etcd, self.api_server, access=self.admin)

    def stop(self) -> None:
        self.api_server.stop()
        self.etcd.stop()

    def _write_files(self) -> None:
        (self.folder / "audit-policy.yaml").write_text(AUDIT_POLICY)
        tokens = self.folder / "tokens.csv"
        tokens.touch(mode=0o600)
        tokens.write_text(f'{self.admin.token},admin,admin,"system:masters"\n')


def wait_for(
    url: str,
    *servers: Server,
    enough: Callable[[httpx.Response], bool] = lambda answer: answer.is_success,
    access: Access | None = None,
    seconds: float = START_SECONDS,
) -> None:
    """Wait until a server answers as it should."""
    verify = access.tls() if access else True
    with httpx.Client(verify=verify, headers=access.headers if access else None) as client:

        def answers() -> bool:
            for server in servers:
                if server.ended:
                    raise EnvtestError(f"{server.name} ended:\n{server.last_lines}")
            with contextlib.suppress(httpx.TransportError):
                return enough(client.get(url))
            return False

        try:
            poll(answers, f"{url} does not answer as it should", seconds)
        except EnvtestError as error:
            raise EnvtestError(f"{error}\n{servers[-1].last_lines}") from None


@contextlib.contextmanager
def control_plane(folder: Path, *flags: str) -> Iterator[ControlPlane]:
    """Run a control plane in a folder, with more arguments for kube-apiserver."""
    plane = ControlPlane(binaries(), folder, flags)
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()


def free_ports(count: int) -> list[int]:
    """Return free ports, below those for outgoing connections.

    Processes that start together, as those of parallel tests do, look in different places.
    """
    first = _PORTS.start + _PLACE * (os.getpid() % (len(_PORTS) // _PLACE))
    found: list[int] = []
    for port in random.SystemRandom().sample(range(first, first + _PLACE), _PLACE):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == count:
            return found
    raise EnvtestError(f"fewer than {count} of the ports from {first} to {port} are free")


def write_pair(folder: Path, name: str, leaf: trustme.LeafCert) -> None:
    """Write a certificate with its chain, and its key."""
    leaf.private_key_pem.write_to_path(folder / f"{name}.key")
    (folder / f"{name}.crt").write_bytes(b"".join(pem.bytes() for pem in leaf.cert_chain_pems))


def _certificates(folder: Path) -> Path:
    made = folder / "certificates"
    made.mkdir(mode=0o700, exist_ok=True)
    if not (made / "ca.crt").exists():
        authority = trustme.CA()
        for name in ("server", "proxy"):
            own = authority.issue_cert("127.0.0.1", "localhost")
            write_pair(made, name, own)
        authority.cert_pem.write_to_path(made / "ca.crt")
    return made
