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
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx
import trustme

from e2e.envtest.binaries import Binaries
from e2e.envtest.commands import Access, EnvtestError

START_SECONDS: Final = 120.0
"""How long a server may take to become ready; the slowest on a busy machine is far below."""

_STOP_SECONDS: Final = 30.0

_PORTS: Final = range(24_000, 32_000)
_PLACE: Final = 100
"""How many of the ports one process uses."""

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
    """A control plane in a folder of its own.

    Attributes:
        binaries: the programs.
        folder: for data, certificates and logs; must exist.
        flags: more arguments for kube-apiserver.
    """

    binaries: Binaries
    folder: Path
    flags: Sequence[str] = ()
    etcd: Server = field(init=False)
    api_server: Server = field(init=False)
    admin: Access = field(init=False)

    def __post_init__(self) -> None:
        """Prepare everything but start nothing."""
        self._etcd_port, self._peer_port, self._port = free_ports(3)
        certificates = _certificates(self.folder)
        url = f"https://127.0.0.1:{self._port}"
        self.admin = Access(url, certificates / "ca.crt", "admin-of-the-tests")
        self._write_files()
        self.etcd = Server("etcd", self._etcd_command(), self.folder / "etcd.log")
        self.api_server = Server(
            "kube-apiserver", self._api_server_command(certificates), self.folder / "api-server.log"
        )

    @property
    def audit_log(self) -> Path:
        """Audit events, one JSON object a line."""
        return self.folder / "audit.log"

    def start(self) -> None:
        """Start both and wait until they are ready.

        Raises:
            EnvtestError: a server ended, or took more than `START_SECONDS`.
        """
        self.etcd.start()
        self.api_server.start()
        self.wait()

    def wait(self) -> None:
        """Wait until the API server is ready; its default roles exist then."""
        with httpx.Client(verify=self.admin.tls(), headers=self.admin.headers) as client:
            end = time.monotonic() + START_SECONDS
            while not self._ready(client):
                for server in (self.etcd, self.api_server):
                    if server.ended:
                        raise EnvtestError(f"{server.name} ended:\n{server.last_lines}")
                if time.monotonic() > end:
                    raise EnvtestError(f"not ready in time:\n{self.api_server.last_lines}")
                time.sleep(0.05)

    def _ready(self, client: httpx.Client) -> bool:
        try:
            return client.get(f"{self.admin.url}/readyz").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def stop(self) -> None:
        self.api_server.stop()
        self.etcd.stop()

    def _write_files(self) -> None:
        (self.folder / "audit-policy.yaml").write_text(AUDIT_POLICY)
        tokens = self.folder / "tokens.csv"
        tokens.touch(mode=0o600)
        tokens.write_text(f'{self.admin.token},admin,admin,"system:masters"\n')

    def _etcd_command(self) -> list[str]:
        client = f"http://127.0.0.1:{self._etcd_port}"
        peer = f"http://127.0.0.1:{self._peer_port}"
        return [
            str(self.binaries.etcd),
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]

    def _api_server_command(self, certificates: Path) -> list[str]:
        return [
            str(self.binaries.kube_apiserver),
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self._port}",
            f"--cert-dir={certificates}",
            f"--tls-cert-file={certificates / 'server.crt'}",
            f"--tls-private-key-file={certificates / 'server.key'}",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.96.0.0/24",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={certificates / 'server.key'}",
            f"--service-account-signing-key-file={certificates / 'server.key'}",
            # Servers of other API groups believe it who has asked.
            f"--proxy-client-cert-file={certificates / 'proxy.crt'}",
            f"--proxy-client-key-file={certificates / 'proxy.key'}",
            f"--requestheader-client-ca-file={certificates / 'ca.crt'}",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            # Pods would need a default ServiceAccount, which only the controller manager creates.
            "--disable-admission-plugins=ServiceAccount",
            f"--audit-policy-file={self.folder / 'audit-policy.yaml'}",
            f"--audit-log-path={self.audit_log}",
            # Answered requests are in the log, so a test can rely on their absence.
            "--audit-log-mode=blocking",
            "--profiling=false",
            *self.flags,
        ]


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
