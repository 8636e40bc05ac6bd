"""The sample stack of the end-to-end tests, with pods that a real node can run."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from e2e.cluster.images import BUSYBOX_IMAGE
from e2e.cluster.machine import NODE
from e2e.cluster.suite.story import until
from e2e.stack import sample
from e2e.stack.stack import Stack
from lab.sandbox.objects import Object, decode, encode

_SCRIPT: Final = """\
mkdir /www
echo 'vllm:num_requests_running{model_name="any"} 0' > /www/metrics
httpd -p 5000 -h /www
trap exit TERM
sleep inf & wait
"""

SERVE: Final = ("/bin/sh", "-c", _SCRIPT)
"""The command of a container: it serves a page of metrics until it is stopped."""

_OF_OTHER_NODES: Final = (
    "nodeName", "nodeSelector", "tolerations", "affinity",
    "volumes", "initContainers", "securityContext",
)  # fmt: skip
"""Fields of pods that would prevent them from running here."""

_NODES_OF_THE_SAMPLE: Final = [f"gpu-{number}" for number in range(5)]


def container(name: str = "main", **changes: Any) -> Object:
    """Return a runnable container, with some changes."""
    return {"name": name, "image": BUSYBOX_IMAGE, "command": list(SERVE), **changes}


class RunnableStack(Stack):
    """Installs the sample; its Deployments, StatefulSets, pods and namespaces are not played.

    Its custom kinds keep their installed statuses, as their controllers do not run.
    """

    async def until(self, condition: Callable[[], Awaitable[object]], what: str) -> None:
        await until(condition, what)

    async def install_shared(self) -> None:
        """Install the control plane, or restore its installed state.

        Pods are left to their controllers: one that is not Ready may be about to start.
        """
        await self.install_crds()
        await self._install(sample.shared())
        for namespace in sample.SHARED:
            await self.settled(namespace)

    async def _install(self, objects: Sequence[Object]) -> None:
        await super()._install([runnable(each) for each in objects if each["kind"] != "Node"])


def runnable(obj: Object) -> Object:
    """Return an object whose pods, if any, have containers that run here."""
    text = encode(obj)
    for node in _NODES_OF_THE_SAMPLE:
        text = text.replace(f'"{node}"'.encode(), f'"{NODE}"'.encode())
    made: Object = decode(text)
    if made["kind"] in ("Deployment", "StatefulSet"):
        pod = made["spec"]["template"]["spec"]
        pod["containers"] = [container(each["name"]) for each in pod["containers"]]
        for field in _OF_OTHER_NODES:
            pod.pop(field, None)
    return made


PLACE: Final = "own"
STORE: Final = ("clusterStoreNotReady", "cluster")
AGENT: Final = ("clusterAgentNotReady", "cluster")


COMPONENTS: Final = [
    {
        "reason": reason,
        "layer": "cluster",
        "workload": {"kind": kind, "name": name, "namespaces": [PLACE]},
    }
    for reason, kind, name in ((STORE[0], "StatefulSet", "store"), (AGENT[0], "DaemonSet", "agent"))
]
"""The chart's value `customComponents`."""


def _owner(kind: str, name: str) -> Object:
    labels = {"app": name}
    pod = {"terminationGracePeriodSeconds": 5, "containers": [container()]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": PLACE},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }


OWN: Final = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PLACE}},
    _owner("StatefulSet", "store"),
    _owner("DaemonSet", "agent"),
    {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "none"}, "handler": "none"},
]  # fmt: skip
"""Objects created before the chart is installed, owners after their namespace."""
