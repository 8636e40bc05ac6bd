"""What the programs of the cluster are given: certificates and kubeconfigs, files, arguments."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import trustme
import yaml

from e2e.cluster.machine import (
    API_PORT,
    API_SERVICE,
    CLUSTER_CIDR,
    CONTAINERD_SOCKET,
    SERVICE_CIDR,
    Link,
    Node,
)
from e2e.envtest.commands import Access, filled
from e2e.envtest.control_plane import AUDIT_POLICY, write_pair

ADMIN: Final = "admin"
_GROUPS: Final = {ADMIN: "system:masters"}
_PROGRAMS: Final = ("kube-controller-manager", "kube-scheduler", "kube-proxy")


@dataclass(frozen=True)
class Identities:
    """Credential files.

    Attributes:
        folder: where they are; only root may read it.
        admin: access of an administrator, from the host.
    """

    folder: Path
    admin: Access

    @classmethod
    def make(cls, folder: Path, link: Link, nodes: Iterable[str]) -> "Identities":
        """Create all files, for the API server at an address of the first of these nodes."""
        folder.mkdir(mode=0o700, parents=True)
        _certificates(folder, link)
        url = f"https://{link.node}:{API_PORT}"
        users = {ADMIN: ADMIN} | {f"kubelet-{node}": f"system:node:{node}" for node in nodes}
        users |= {program: f"system:{program}" for program in _PROGRAMS}
        lines = []
        for name, user in users.items():
            token = f"{name}-of-this-cluster"
            access = Access(url, folder / "ca.crt", token)
            access.write_kubeconfig(folder / f"{name}.yaml")
            group = "system:nodes" if name.startswith("kubelet") else _GROUPS.get(name, "")
            lines.append(f'{token},{user},{user},"{group}"\n')
        (folder / "tokens.csv").write_text("".join(lines))
        (folder / f"{ADMIN}.token").write_text(f"{ADMIN}-of-this-cluster")
        return cls(folder, Access(url, folder / "ca.crt", f"{ADMIN}-of-this-cluster"))

    def kubeconfig(self, name: str) -> Path:
        """Return the kubeconfig of a program, or of `ADMIN`."""
        return self.folder / f"{name}.yaml"


def _certificates(folder: Path, link: Link) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.crt")
    server = authority.issue_cert(
        link.node, "127.0.0.1", "localhost", API_SERVICE, "kubernetes.default.svc"
    )
    # Go refuses the empty list of names that a certificate without any would have.
    client = authority.issue_cert(
        "localhost", common_name="kube-apiserver", organization_name="system:masters"
    )
    write_pair(folder, "server", server)
    write_pair(folder, "client", client)


PAUSE_IMAGE: Final = "registry.example/pause:1"
REGISTRY_PORT: Final = 5000
ENGINES: Final = f"{Link.host}:{REGISTRY_PORT}"
"""The registry that a suite may serve (`registry.py`); there is no other."""

DOMAIN: Final = "cluster.local"
PROGRAMS: Final = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-proxy",
    "kubelet",
)
"""Built from the Go module of the end-to-end tests."""

AUTOSCALER: Final = (
    "--horizontal-pod-autoscaler-sync-period=2s",
    "--horizontal-pod-autoscaler-downscale-stabilization=4s",
    "--horizontal-pod-autoscaler-cpu-initialization-period=0s",
    "--horizontal-pod-autoscaler-initial-readiness-delay=0s",
)
"""For kube-controller-manager: its autoscaler syncs every two seconds and acts at once."""

ROOT: Final = Path(__file__).resolve().parents[2]

_SETTINGS: Final = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
_FILES: Final = ("containerd.toml", "cni/10-bridge.conflist", "kubelet.yaml", "kube-proxy.yaml")
_ALWAYS: Final = {
    "containerd": CONTAINERD_SOCKET,
    "pause": PAUSE_IMAGE,
    "registry": ENGINES,
    "domain": DOMAIN,
    "port": API_PORT,
    "clusterCidr": CLUSTER_CIDR,
    "serviceCidr": SERVICE_CIDR,
    "root": ROOT,
    "python": sys.executable,
}


def write_settings(node: Node, identities: Identities) -> None:
    """Write all files of a node; the resolver is on the first one."""
    (node.folder / "cni").mkdir()
    own = {"pods": node.link.pods, "cgroup": node.cgroup, "names": Link.node}
    words = _ALWAYS | own | {"folder": node.folder, "identities": identities.folder}
    for name in _FILES:
        content = filled(_SETTINGS[name], words)
        # JSON is YAML too.
        (node.folder / name).write_text(
            content if isinstance(content, str) else json.dumps(content)
        )


def control_plane(
    built: Path, folder: Path, identities: Identities, link: Link
) -> Mapping[str, Sequence[str]]:
    """Return the command of each program of the control plane, and of the resolver."""
    (folder / "audit-policy.yaml").write_text(AUDIT_POLICY)
    own = {"built": built, "folder": folder, "identities": identities.folder}
    words = _ALWAYS | own | {"node": link.node, "url": identities.admin.url}
    made: dict[str, list[str]] = filled(_SETTINGS["controlPlane"], words)
    made["kube-controller-manager"] += AUTOSCALER
    return made


def node_programs(built: Path, node: Node, identities: Identities) -> Mapping[str, Sequence[str]]:
    """Return the command of each program of a node."""
    own = {"built": built, "folder": node.folder, "identities": identities.folder}
    words = own | {"name": node.name, "node": node.link.node}
    made: dict[str, list[str]] = filled(_SETTINGS["node"], words)
    return made
