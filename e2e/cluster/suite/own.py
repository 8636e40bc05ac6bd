"""Additions to the sample stack: a StatefulSet, a DaemonSet, a RuntimeClass that no node has."""

from typing import Final

from e2e.cluster.suite.runnable import container
from lab.sandbox.objects import Object

PLACE: Final = "own"
NO_RUNTIME: Final = "none"
STORE: Final = ("clusterStoreNotReady", "cluster")
AGENT: Final = ("clusterAgentNotReady", "cluster")


def _component(reason: str, kind: str, name: str) -> Object:
    workload = {"kind": kind, "name": name, "namespaces": [PLACE]}
    return {"reason": reason, "layer": "cluster", "workload": workload}


def _owner(kind: str, name: str) -> Object:
    labels = {"app": name}
    spec: Object = {
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"terminationGracePeriodSeconds": 5, "containers": [container()]},
        },
    }
    metadata = {"name": name, "namespace": PLACE}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


COMPONENTS: Final = [
    _component(STORE[0], "StatefulSet", "store"),
    _component(AGENT[0], "DaemonSet", "agent"),
]
"""The chart's value `customComponents`."""

OWN: Final = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PLACE}},
    _owner("StatefulSet", "store"),
    _owner("DaemonSet", "agent"),
    {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": NO_RUNTIME},
        "handler": "none",
    },
]
"""Objects created before the chart is installed, owners after their namespace."""
