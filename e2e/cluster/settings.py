"""Files of settings: containerd, the container network, kubelet and kube-proxy."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml

from e2e.cluster.identities import Identities
from e2e.cluster.network import CLUSTER_CIDR, Link

CONTAINERD_SOCKET: Final = "/run/containerd/containerd.sock"
PAUSE_IMAGE: Final = "registry.example/pause:1"
REGISTRY_PORT: Final = 5000
ENGINES: Final = f"{Link.host}:{REGISTRY_PORT}"
"""The registry that a suite may serve (`registry.py`); there is no other."""

DOMAIN: Final = "cluster.local"
CGROUPS: Final = ("status-reporter-cluster", "status-reporter-cluster-b")
"""The cgroup of the pods of each node, in each hierarchy."""

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
        "conntrack": {
            "maxPerCore": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
    }
