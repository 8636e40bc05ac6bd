"""What the programs of the cluster are given: certificates and kubeconfigs, files, arguments."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import trustme
import yaml

from e2e.cluster.machine import API_PORT, API_SERVICE, CLUSTER_CIDR, SERVICE_CIDR, Link
from e2e.envtest.commands import Access
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

    @property
    def authority(self) -> Path:
        return self.folder / "ca.crt"

    def pair(self, name: str) -> tuple[Path, Path]:
        """Return certificate and key of `server`, or of the API server as a `client` of kubelets."""
        return self.folder / f"{name}.crt", self.folder / f"{name}.key"


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


CONTAINERD_SOCKET: Final = "/run/containerd/containerd.sock"
PAUSE_IMAGE: Final = "registry.example/pause:1"
REGISTRY_PORT: Final = 5000
ENGINES: Final = f"{Link.host}:{REGISTRY_PORT}"
"""The registry that a suite may serve (`registry.py`); there is no other."""

DOMAIN: Final = "cluster.local"
_PLUGINS: Final = "/usr/lib/cni"
"""Where Debian's package containernetworking-plugins installs them."""

_CONTAINERD: Final = f"""\
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "{CONTAINERD_SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  # Without CAP_SYS_RESOURCE nobody may lower it, as in a container or a small virtual machine.
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".registry.mirrors."{ENGINES}"]
    endpoint = ["http://{ENGINES}"]
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{_PLUGINS}"
    conf_dir = "{{cni}}"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
"""


def write_settings(
    folder: Path, identities: Identities, link: Link, *, cgroup: str, names: str
) -> None:
    """Write all files of a node.

    Args:
        folder: of the node.
        identities: who its programs are.
        link: the node's.
        cgroup: of its pods.
        names: address of the resolver.
    """
    cni = folder / "cni"
    cni.mkdir()
    (cni / "10-bridge.conflist").write_text(json.dumps(_bridge(link)))
    (folder / "containerd.toml").write_text(_CONTAINERD.format(cni=cni))
    kubelet = _kubelet(identities, cgroup, names)
    (folder / "kubelet.yaml").write_text(yaml.safe_dump(kubelet))
    (folder / "kube-proxy.yaml").write_text(yaml.safe_dump(_kube_proxy(identities)))


def _bridge(link: Link) -> Mapping[str, object]:
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        # Lets a pod reach itself through its Service.
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": link.pods}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    return {
        "cniVersion": "1.0.0",
        "name": "bridge",
        "plugins": [bridge, {"type": "portmap", "capabilities": {"portMappings": True}}],
    }


def _kubelet(identities: Identities, cgroup: str, names: str) -> Mapping[str, object]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(identities.authority)},
        },
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{cgroup}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "oomScoreAdj": 0,
        "clusterDNS": [names],
        "clusterDomain": DOMAIN,
        # The disk is the host's: how full it is must neither evict pods nor remove images.
        "evictionHard": {"memory.available": "50Mi", "nodefs.available": "10Mi"},
        "imageGCHighThresholdPercent": 100,
        "serializeImagePulls": False,
    }


def _kube_proxy(identities: Identities) -> Mapping[str, object]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(identities.kubeconfig("kube-proxy"))},
        "mode": "iptables",
        "clusterCIDR": CLUSTER_CIDR,
        "oomScoreAdj": 0,
        # The limits of connection tracking apply to the whole kernel.
        "conntrack": {"maxPerCore": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    }


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
        f"--token={identities.folder / f'{ADMIN}.token'}", f"--address={link.node}",
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
