"""The environment of the controllers: those of Kubernetes, which are real, and played nodes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path

import yaml

from e2e.cluster.settings import AUTOSCALER, ENGINES
from e2e.controllers.controller import Again, Controller, Key, key_of
from e2e.controllers.programs import CONTROLLER_MANAGER
from e2e.envtest.binaries import built
from e2e.envtest.control_plane import ControlPlane, Server, free_ports
from e2e.stack.api import Api, ApiError, unless_gone
from e2e.stack.objects import deleting, schedulable
from e2e.stack.sample import OPEN, definition
from e2e.stack.stack import Stack
from lab.demo.sample_stack import present
from lab.sandbox.objects import Object, dig, meta, name_of
from lab.sandbox.workloads import is_ready, not_ready, running_status

OF_KUBERNETES = (
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "horizontal-pod-autoscaler-controller",
    "garbage-collector-controller",
    "namespace-controller",
)
"""The controllers of kube-controller-manager that run; the tests play those of nodes."""


OF_CONTROLLERS = {
    "clusterstoragecontainers.serving.kserve.io",
    "inferencepools.inference.networking.k8s.io",
    "inferencepools.inference.networking.x-k8s.io",
    "inferenceservices.serving.kserve.io",
    "leaderworkersets.leaderworkerset.x-k8s.io",
    "llminferenceserviceconfigs.serving.kserve.io",
    "llminferenceservices.serving.kserve.io",
    "modelservings.workload.serving.volcano.sh",
}
"""CustomResourceDefinitions that the controllers' charts install, whole."""

FIRST, SLOW, GOOD, BAD = (f"{ENGINES}/vllm:{each}" for each in ("v1", "slow", "v2", "typo"))
"""Images by outcome: the kubelet pulls them at once, slowly, or in vain."""

SECRET = "hf-token"
GPU = "nvidia.com/gpu"
MANIFESTS = Path(__file__).with_name("manifests.yaml").read_text()


def made(name: str, namespace: str = "", image: str = FIRST) -> Object:
    """Return one of the manifests."""
    text = MANIFESTS.replace("{namespace}", namespace).replace("{image}", image)
    return yaml.safe_load(text.replace("{registry}", ENGINES))[name]


def sets_image(name: str, field: str) -> Callable[[str], Object]:
    """Return a function for the patch of a manifest's kind that gives its engines an image."""
    return lambda image: {"spec": {field: made(name, image=image)["spec"][field]}}


PULLS_SECONDS = PROBES_SECONDS = 12
"""How long a slow image is pulled, and how long until its probe then succeeds."""

STARTS_SECONDS = 2.0
"""How long a pod with its image takes to start; a slow controller writes its status meanwhile."""

UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/7 nodes are available: 7 Insufficient nvidia.com/gpu.",
}


def controller_manager(plane: ControlPlane) -> Server:
    (port,) = free_ports(1)
    command = [
        str(built(CONTROLLER_MANAGER) / CONTROLLER_MANAGER),
        f"--kubeconfig={plane.admin.write_kubeconfig(plane.folder / 'controller-manager.yaml')}",
        f"--controllers={','.join(OF_KUBERNETES)}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        f"--cert-dir={plane.folder}",
        "--leader-elect=false",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        *AUTOSCALER,
    ]
    return Server(CONTROLLER_MANAGER, command, plane.folder / "controller-manager.log")


async def tell(api: Api, key: Key, status: Object) -> None:
    """Merge into the status of a pod, if it still exists."""
    await unless_gone(api.status("pods", key.namespace, key.name, status))


class Binder(Controller):
    """The scheduler: any node fits any pod, except those of a namespace that is full."""

    follows = ("pods",)

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self.full = ""

    async def has_room(self, namespace: str) -> None:
        """Let the pods of a namespace be scheduled again."""
        self.full = ""
        for pod in await self.api.items("pods", namespace=namespace):
            self.add(key_of(pod))

    def keys(self, resource: str, obj: Object, *, exists: bool) -> Iterable[Key]:
        """A pod without a node."""
        del resource
        return (key_of(obj),) if exists and not dig(obj, "spec", "nodeName") else ()

    async def reconcile(self, key: Key) -> None:
        if key.namespace == self.full:
            conditions = [UNSCHEDULABLE | {"lastTransitionTime": present()}]
            await tell(self.api, key, {"phase": "Pending", "conditions": conditions})
            return
        nodes = schedulable(await self.api.items("nodes"))
        if not nodes:
            raise Again("no node is there")
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": key.name, "namespace": key.namespace},
            "target": {"apiVersion": "v1", "kind": "Node", "name": nodes[0]},
        }
        path = f"/api/v1/namespaces/{key.namespace}/pods/{key.name}/binding"
        with contextlib.suppress(ApiError):
            await self.api.request("POST", path, body=binding)


_WHY = f'failed to resolve reference "{BAD}": {BAD}: not found'
_NO_IMAGE = (
    "ImagePullBackOff",
    f'Back-off pulling image "{BAD}": ErrImagePull: failed to pull and unpack image "{BAD}": {_WHY}',
)
_NO_SECRET = ("CreateContainerConfigError", f'secret "{SECRET}" not found')


class PlayedNodes:
    """Faults of pods and their nodes, each while it is entered.

    Attributes:
        replaces_pods: whether pods that start again are new ones.
    """

    replaces_pods = False

    def __init__(self, stack: Stack, binder: Binder) -> None:
        self._stack = stack
        self._binder = binder

    def without_secret(self, namespace: str, pods: str) -> contextlib.AbstractAsyncContextManager:
        """Delete the Secret of the pods with these names, and start them again."""
        return self._waiting(namespace, pods, _NO_SECRET)

    def without_image(
        self, namespace: str, pods: str, *, kept: bool = False
    ) -> contextlib.AbstractAsyncContextManager:
        """Remove the image of these pods from node and registry, and start them again.

        `kept`: nothing replaces them.
        """
        del kept
        return self._waiting(namespace, pods, _NO_IMAGE)

    @contextlib.asynccontextmanager
    async def _waiting(self, namespace: str, pods: str, why: tuple[str, str]) -> AsyncIterator:
        await self._stack.pod_waiting(namespace, pods, why)
        yield
        await self._stack.pod_ready(namespace, pods)

    @contextlib.asynccontextmanager
    async def without_node(self, namespace: str, pods: str) -> AsyncIterator:
        """The node of these pods does not answer."""
        of_namespace = await self._stack.api.items("pods", namespace=namespace)
        found = [each for each in of_namespace if name_of(each).startswith(pods)]
        node = found[0]["spec"]["nodeName"]
        await self._node(node, ("Ready", "Unknown", "NodeStatusUnknown", "lost"))
        for each in found:
            says = ("Ready", "False", "", "")
            await self._stack.condition("pods", namespace, name_of(each), says=says)
        yield
        await self._node(node, ("Ready", "True", "KubeletReady", "back"))
        await self._stack.pod_ready(namespace, pods)

    async def _node(self, name: str, says: tuple[str, str, str, str]) -> None:
        await self._stack.condition("nodes", "", name, says=says)

    @contextlib.asynccontextmanager
    async def without_room(self, namespace: str) -> AsyncIterator:
        """No node has a GPU left for further pods of the namespace."""
        self._binder.full = namespace
        yield
        await self._binder.has_room(namespace)


class Images(Controller):
    """The kubelets: a new pod starts once, by its image; later changes are the test's."""

    follows = ("pods", "nodes")

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self._stranded: set[Key] = set()
        self._starting: set[str] = set()

    def keys(self, resource: str, obj: Object, *, exists: bool) -> Iterable[Key]:
        """A pod; for a node, the pods that wait for it."""
        if resource == "nodes":
            stranded, self._stranded = self._stranded, set()
            return stranded
        return (key_of(obj),) if exists else ()

    async def reconcile(self, key: Key) -> None:
        pod = await self.api.get("pods", key.name, namespace=key.namespace)
        conditions = dig(pod, "status", "conditions") or ()
        is_new = all(each["type"] == "PodScheduled" for each in conditions)
        if pod is None or not (deleting(pod) or is_new):
            return
        node = await self.api.get("nodes", str(dig(pod, "spec", "nodeName") or "-"))
        if node is None or not is_ready(node):
            # No kubelet answers for a pod on a lost node, or for one that has no node yet.
            self._stranded.add(key)
        elif deleting(pod):
            own = {"namespace": key.namespace, "uid": meta(pod)["uid"]}
            await self.api.delete("pods", key.name, grace_seconds=0, **own)
        elif meta(pod)["uid"] not in self._starting:
            self._starting.add(meta(pod)["uid"])
            asyncio.get_running_loop().call_later(STARTS_SECONDS, self.add, key)
        else:
            await self._start(key, pod)

    async def _start(self, key: Key, pod: Object) -> None:
        # No two objects of a cluster have the same version.
        number = int(meta(pod)["resourceVersion"]) % (250 * 250)
        address = f"127.244.{number // 250}.{number % 250 + 1}"
        status = running_status(pod, now=present(), address=address)
        tags = {each["image"].rpartition(":")[2] for each in dig(pod, "spec", "containers")}
        if "typo" in tags:
            status = not_ready(status, _NO_IMAGE, now=present())
        elif "slow" in tags:
            self._tasks.append(asyncio.create_task(self._takes_its_time(key, pod)))
            status = not_ready(status, ("ContainerCreating", ""), now=present())
        # The first status that anybody writes counts.
        seen = {"resourceVersion": meta(pod)["resourceVersion"]}
        patch, place = {"metadata": seen, "status": status}, {"namespace": key.namespace}
        await unless_gone(self.api.patch("pods", key.name, patch, subresource="status", **place))

    async def _takes_its_time(self, key: Key, pod: Object) -> None:
        for seconds, probed in ((PULLS_SECONDS, False), (PROBES_SECONDS, True)):
            await asyncio.sleep(seconds)
            there = await self.api.get("pods", key.name, namespace=key.namespace)
            if there is None or meta(there)["uid"] != meta(pod)["uid"]:
                return
            status = running_status(there, now=present(), address=dig(there, "status", "podIP"))
            await tell(self.api, key, status if probed else not_ready(status, now=present()))


PODMETRICS = "pods.metrics.k8s.io"
METRICS_CRD: Object = definition(PODMETRICS, "PodMetrics", ["v1beta1"], OPEN)
"""A CRD whose objects stand for the answers of a metrics server."""


class Metrics(Controller):
    """The metrics server: each ready pod uses as much CPU as its namespace is set to."""

    follows = ("pods",)

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self._used: dict[str, str] = {}

    async def use(self, namespace: str, processor: str) -> None:
        """Set the use of each pod of a namespace, such as `900m`; empty removes the metrics."""
        self._used[namespace] = processor
        for pod in await self.api.items("pods", namespace=namespace):
            self.add(key_of(pod))

    def keys(self, resource: str, obj: Object, *, exists: bool) -> Iterable[Key]:
        """Each pod, including those that are gone."""
        del resource, exists
        return (key_of(obj),)

    async def reconcile(self, key: Key) -> None:
        pod = await self.api.get("pods", key.name, namespace=key.namespace)
        used = self._used.get(key.namespace, "10m")
        if pod is None or not is_ready(pod) or not used:
            await self.api.delete(PODMETRICS, key.name, namespace=key.namespace)
            return
        usage = {"cpu": used, "memory": "1Gi"}
        await self.api.apply(
            {
                "apiVersion": "metrics.k8s.io/v1beta1",
                "kind": "PodMetrics",
                "metadata": {
                    "name": key.name,
                    "namespace": key.namespace,
                    "labels": meta(pod).get("labels") or {},
                },
                "timestamp": present(),
                "window": "10s",
                "containers": [
                    {"name": each["name"], "usage": usage}
                    for each in dig(pod, "spec", "containers")
                ],
            }
        )
