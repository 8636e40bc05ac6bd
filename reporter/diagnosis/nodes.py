"""Why a node is not Ready, from its kubelet's message and the pods on it.

A kubelet is not Ready without a network plugin, which a DaemonSet's pod installs: if that pod does
not start, the node accepts no pods (Kubernetes, "Node Status"; kubelet, nodestatus).
"""

import re
from collections.abc import Mapping
from typing import Final

from reporter.catalogue.resources import PODS
from reporter.diagnosis.daemons import without_tenants
from reporter.diagnosis.devices import Ask
from reporter.diagnosis.texts import end_of
from reporter.model.objects import Node, Pod
from reporter.model.text import clean
from reporter.snapshot.index import grouped
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
    place = f"{pods[0].namespace}/{clean(pods[0].name)}"
    return f" ({message}; pod {place} of its network plugin {_state(why.cause if why else '')})"


def has_no_network(node: Node) -> bool:
    """True if a node is not Ready because it lacks a network plugin: no other pod ran there."""
    ready = node.status.condition("Ready", "False")
    return ready is not None and _NO_NETWORK.search(ready.message or "") is not None


def _state(cause: str) -> str:
    return f"does not work: {cause}" if cause else "is not Ready"


def _networks(snapshot: Snapshot) -> Mapping[str, tuple[Pod, ...]]:
    """Return the pods of network plugins that are not Ready, by node."""
    found = grouped(
        (each.spec.node_name or "", each)
        for each in snapshot[PODS]
        if each.is_placed
        and any(each.metadata.label(key) == value for key, value in _NETWORK_LABELS)
    )
    return {
        node: tuple(
            each
            for each in without_tenants(pods, snapshot)
            if not each.status.condition("Ready", "True")
        )
        for node, pods in found.items()
    }
