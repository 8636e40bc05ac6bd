"""The command lines of the programs of the cluster."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from e2e.cluster.identities import Identities
from e2e.cluster.network import API_PORT, SERVICE_CIDR, Link
from e2e.envtest.control_plane import AUDIT_POLICY

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
_ETCD: Final = "http://127.0.0.1:2379"


def control_plane(
    built: Path, folder: Path, identities: Identities, link: Link
) -> Mapping[str, Sequence[str]]:
    """Return the command of each program of the control plane, and of the resolver.

    Args:
        built: folder of the programs.
        folder: of the cluster.
        identities: who the programs are.
        link: where the API server listens.
    """
    kubeconfig = identities.kubeconfig
    arguments = {
        "etcd": _etcd(folder),
        "kube-apiserver": _api_server(folder, identities, link),
        "kube-controller-manager": (
            f"--kubeconfig={kubeconfig('kube-controller-manager')}",
            f"--service-account-private-key-file={identities.pair('server')[1]}",
            f"--root-ca-file={identities.authority}",
            "--use-service-account-credentials",
            "--leader-elect=false",
            # Shorter than a pod may take to start here (`QUICK`): a lost node explains the pod.
            "--node-monitor-grace-period=30s",
            *AUTOSCALER,
            "--bind-address=127.0.0.1",
        ),
        "kube-scheduler": (
            f"--kubeconfig={kubeconfig('kube-scheduler')}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
        ),
    }
    made = {name: (str(built / name), *flags) for name, flags in arguments.items()}
    return made | {"resolver": _resolver(identities, link)}


def node_programs(
    built: Path, folder: Path, identities: Identities, *, name: str, address: str
) -> Mapping[str, Sequence[str]]:
    """Return the command of each program of a node.

    Args:
        built: folder of the programs.
        folder: of the node, with the files of settings.
        identities: who the programs are.
        name: of the node.
        address: of the node.
    """
    return {
        "containerd": ("containerd", f"--config={folder / 'containerd.toml'}"),
        "kube-proxy": (
            str(built / "kube-proxy"),
            f"--config={folder / 'kube-proxy.yaml'}",
            f"--hostname-override={name}",
        ),
        "kubelet": (
            str(built / "kubelet"),
            f"--config={folder / 'kubelet.yaml'}",
            f"--kubeconfig={identities.kubeconfig(f'kubelet-{name}')}",
            f"--hostname-override={name}",
            f"--node-ip={address}",
        ),
    }


def _resolver(identities: Identities, link: Link) -> Sequence[str]:
    return (
        "env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "e2e.cluster.resolver",
        f"--url={identities.admin.url}", f"--authority={identities.authority}",
        f"--token={identities.token}", f"--address={link.node}",
    )  # fmt: skip


def _etcd(folder: Path) -> Sequence[str]:
    return (
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={_ETCD}",
        f"--advertise-client-urls={_ETCD}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    )


def _api_server(folder: Path, identities: Identities, link: Link) -> Sequence[str]:
    policy = folder / "audit-policy.yaml"
    policy.write_text(AUDIT_POLICY)
    certificate, key = identities.pair("server")
    client, client_key = identities.pair("client")
    return (
        f"--etcd-servers={_ETCD}",
        f"--advertise-address={link.node}",
        f"--secure-port={API_PORT}",
        f"--tls-cert-file={certificate}",
        f"--tls-private-key-file={key}",
        f"--token-auth-file={identities.folder / 'tokens.csv'}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        f"--service-cluster-ip-range={SERVICE_CIDR}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        f"--kubelet-client-certificate={client}",
        f"--kubelet-client-key={client_key}",
        "--kubelet-preferred-address-types=InternalIP",
        f"--audit-policy-file={policy}",
        f"--audit-log-path={folder / 'audit.log'}",
        "--audit-log-mode=blocking",
    )
