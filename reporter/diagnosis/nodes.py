"""Why a node is not Ready, from its kubelet's message and the pods on it.

A kubelet is not Ready without a network plugin, which a DaemonSet's pod installs: if that pod does
not start, the node accepts no pods (Kubernetes, "Node Status"; kubelet, nodestatus).
"""

import re
from collections.abc import Mapping
from typing import Final

from reporter.diagnosis.daemons import on_nodes
from reporter.diagnosis.devices import Ask
from reporter.diagnosis.texts import end_of
from reporter.model.objects import Node, Pod
from reporter.model.text import clean
from reporter.snapshot.snapshot import Snapshot

_NETWORK_LABELS: Final = (
    ("k8s-app", "aws-node"), ("k8s-app", "cilium"), ("k8s-app", "calico-node"),
    ("k8s-app", "azure-cns"), ("k8s-app", "flannel"), ("app", "flannel"),
    ("app", "ovnkube-node"), ("app", "kindnet"), ("app", "antrea"),
)  # fmt: skip
_NO_NETWORK: Final = re.compile(r"NetworkPluginNotReady|cni plugin not initialized")


def why_not_ready(node: Node, snapshot: Snapshot, ask: Ask | None) -> str:
    """Return in brackets the kubelet's message, and why its network plugin's pod does not run."""
    ready = node.status.condition("Ready", "False")
    if ready is None or not ready.message:
        return ""
    message = end_of(ready.message)
    pods = snapshot.entry(_networks, node.name, _networks) or ()
    if not pods or not has_no_network(node):
        return f" ({message})"
    why = ask(pods[0]) if ask else None
    state = f"does not work: {why.cause}" if why and why.cause else "is not Ready"
    place = f"{pods[0].namespace}/{clean(pods[0].name)}"
    return f" ({message}; pod {place} of its network plugin {state})"


def has_no_network(node: Node) -> bool:
    """True if a node is not Ready because it lacks a network plugin: no other pod ran there."""
    ready = node.status.condition("Ready", "False")
    return ready is not None and _NO_NETWORK.search(ready.message or "") is not None


def _networks(snapshot: Snapshot) -> Mapping[str, tuple[Pod, ...]]:
    def is_network(pod: Pod) -> bool:
        return pod.is_placed and any(pod.metadata.label(key) == of for key, of in _NETWORK_LABELS)

    found = on_nodes(snapshot, is_network)
    return {node: tuple(e for e in pods if not e.is_ready) for node, pods in found.items()}
