"""The controllers of Deployments, StatefulSets and namespaces, kubelets, and the garbage collector.

Shapes and rules of Deployments are the sandbox's.
"""

import asyncio
from collections.abc import Iterable
from typing import Final

from e2e.stack.api import Api, Resource, unless_gone
from e2e.stack.controller import Again, Controller, Key, controller_of, deleting, key_of, owned_by
from lab.demo.sample_stack import present
from lab.sandbox.objects import Object, dig, meta, name_of, namespace_of
from lab.sandbox.workloads import (
    deployment_status,
    is_ready,
    pod_of,
    replica_set_of,
    running_status,
)


def schedulable(nodes: Iterable[Object]) -> list[str]:
    """Return the names of the nodes for pods that need no accelerator."""
    return sorted(
        name_of(node)
        for node in nodes
        if is_ready(node)
        and not dig(node, "spec", "unschedulable")
        and "accelerator" not in (meta(node).get("labels") or {})
    )


DEPLOYMENTS: Final = "deployments.apps"
REPLICA_SETS: Final = "replicasets.apps"
_ENDED: Final = frozenset({"Succeeded", "Failed"})


class Deployments(Controller):
    """Keeps as many pods of the newest template as each Deployment wants, and its status."""

    follows = (DEPLOYMENTS, REPLICA_SETS, "pods")
    _placed = 0

    def keys(self, resource: str, obj: Object, *, exists: bool) -> Iterable[Key]:
        """A Deployment, for changes of its spec, its ReplicaSets and their pods."""
        if resource == DEPLOYMENTS:
            # A status that somebody overwrites stays until there is something to do.
            seen = dig(obj, "status", "observedGeneration") == meta(obj).get("generation")
            return () if seen or not exists else (key_of(obj),)
        if resource == REPLICA_SETS:
            return controller_of(obj, "Deployment")
        return tuple(
            Key(place.namespace, place.name.rpartition("-")[0])
            for place in controller_of(obj, "ReplicaSet")
        )

    async def reconcile(self, key: Key) -> None:
        deployment = await self.api.get(DEPLOYMENTS, key.name, namespace=key.namespace)
        if deployment is None or deleting(deployment):
            return
        wanted = int(dig(deployment, "spec", "replicas") or 0)
        current, former = await self._replica_sets(deployment)
        rollout = any(map(_size, former))
        old = await self._pods(key.namespace, former)
        new = await self._pods(key.namespace, [current])
        if (
            dig(deployment, "spec", "strategy", "type") == "Recreate"
            or sum(map(is_ready, new)) >= wanted
        ):
            await self._delete(old)
            old = []
        # The least useful go first: those that are not ready, then the youngest.
        new.sort(key=lambda pod: meta(pod)["creationTimestamp"], reverse=True)
        new.sort(key=is_ready)
        await self._delete(new[: max(len(new) - wanted, 0)])
        for _ in range(wanted - len(new)):
            await self._start(current)
        await self._scale(current, wanted)
        for each in former:
            await self._scale(each, _size(each) if old else 0)
        await self._tell(deployment, current, old, rollout=rollout)

    async def _replica_sets(self, deployment: Object) -> tuple[Object, list[Object]]:
        """Return the ReplicaSet of the current template, created if missing, and the others."""
        wanted = replica_set_of(deployment)
        found = await self.api.items(REPLICA_SETS, namespace=namespace_of(deployment))
        owned = [each for each in found if owned_by(each, meta(deployment)["uid"])]
        current = [each for each in owned if name_of(each) == name_of(wanted)]
        former = [each for each in owned if name_of(each) != name_of(wanted)]
        return current[0] if current else await self.api.create(wanted), former

    async def _pods(self, namespace: str, owners: list[Object]) -> list[Object]:
        if not owners:
            return []
        return [
            pod
            for pod in await self.api.items("pods", namespace=namespace)
            if any(owned_by(pod, meta(owner)["uid"]) for owner in owners)
            and not deleting(pod)
            and dig(pod, "status", "phase") not in _ENDED
        ]

    async def _delete(self, pods: Iterable[Object]) -> None:
        for pod in pods:
            await self.api.delete(
                "pods", name_of(pod), namespace=namespace_of(pod), uid=meta(pod)["uid"]
            )

    async def _start(self, replica_set: Object) -> None:
        nodes = schedulable(await self.api.items("nodes"))
        self._placed += 1
        node = nodes[self._placed % len(nodes)] if nodes else ""
        await self.api.create(pod_of(replica_set, node))

    async def _scale(self, replica_set: Object, replicas: int) -> None:
        if _size(replica_set) != replicas:
            await self.api.patch(
                REPLICA_SETS,
                name_of(replica_set),
                {"spec": {"replicas": replicas}},
                namespace=namespace_of(replica_set),
            )

    async def _tell(
        self, deployment: Object, current: Object, old: list[Object], *, rollout: bool
    ) -> None:
        namespace = namespace_of(deployment)
        pods = await self._pods(namespace, [current])
        status = deployment_status(
            deployment, [*old, *pods], now=present(), replica_set=name_of(current), rollout=rollout
        )
        if old:
            status["updatedReplicas"] = len(pods)
        # Counts of zero must be removed, which a merge patch does only explicitly.
        gone = {key: None for key in dig(deployment, "status") or () if key not in status}
        await unless_gone(
            self.api.patch(
                DEPLOYMENTS,
                name_of(deployment),
                {"status": {**gone, **status}},
                namespace=namespace,
                subresource="status",
            )
        )
        ready = sum(map(is_ready, pods))
        counts = {"replicas": len(pods), "readyReplicas": ready, "availableReplicas": ready}
        await unless_gone(
            self.api.patch(
                REPLICA_SETS,
                name_of(current),
                {"status": {**counts, "fullyLabeledReplicas": len(pods)}},
                namespace=namespace,
                subresource="status",
            )
        )


def _size(replica_set: Object) -> int:
    return int(dig(replica_set, "spec", "replicas") or 0)


STATEFUL_SETS: Final = "statefulsets.apps"
INDEX_LABEL: Final = "apps.kubernetes.io/pod-index"
NAME_LABEL: Final = "statefulset.kubernetes.io/pod-name"


class StatefulSets(Controller):
    """Keeps the pods of each StatefulSet; a template names its node, if any."""

    follows = (STATEFUL_SETS, "pods")

    def keys(self, resource: str, obj: Object, *, exists: bool) -> Iterable[Key]:
        """A StatefulSet, for changes of its spec or its pods."""
        if resource == STATEFUL_SETS:
            return (key_of(obj),) if exists else ()
        return controller_of(obj, "StatefulSet")

    async def reconcile(self, key: Key) -> None:
        owner = await self.api.get(STATEFUL_SETS, key.name, namespace=key.namespace)
        if owner is None or deleting(owner):
            return
        first = int(dig(owner, "spec", "ordinals", "start") or 0)
        count = int(dig(owner, "spec", "replicas"))
        wanted = {f"{key.name}-{index}": index for index in range(first, first + count)}
        pods = await self.api.items("pods", namespace=key.namespace)
        there = {name_of(pod): pod for pod in pods if owned_by(pod, meta(owner)["uid"])}
        for name in there.keys() - wanted.keys():
            await self.api.delete("pods", name, namespace=key.namespace)
        for name, index in wanted.items():
            if name not in there:
                await self.api.create(_pod(owner, index))
        ready = sum(map(is_ready, there.values()))
        status = {
            "observedGeneration": meta(owner)["generation"],
            "replicas": len(there),
            "updatedReplicas": len(there),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "currentRevision": key.name,
            "updateRevision": key.name,
        }
        await unless_gone(
            self.api.patch(
                STATEFUL_SETS,
                key.name,
                {"status": status},
                namespace=key.namespace,
                subresource="status",
            )
        )


def _pod(owner: Object, index: int) -> Object:
    pod = pod_of(owner, "")
    name = f"{name_of(owner)}-{index}"
    del meta(pod)["generateName"]
    meta(pod)["name"] = name
    meta(pod)["labels"].update({INDEX_LABEL: str(index), NAME_LABEL: name})
    return pod


class Kubelet(Controller):
    """Gives a new pod the status of a running one, once; later changes are the test's.

    Args:
        api: the API server.
        ready_after_seconds: from the pod's creation to Ready.
    """

    follows = ("pods", "nodes")

    def __init__(self, api: Api, *, ready_after_seconds: float = 0.0) -> None:
        super().__init__(api)
        self._ready_after_seconds = ready_after_seconds
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
        if pod is None or not (deleting(pod) or _is_new(pod)):
            return
        node = await self.api.get("nodes", str(dig(pod, "spec", "nodeName") or "-"))
        if node is None or not is_ready(node):
            # No kubelet answers for a pod on a lost node, or for one that has no node yet.
            self._stranded.add(key)
        elif deleting(pod):
            await self.api.delete(
                "pods", key.name, namespace=key.namespace, uid=meta(pod)["uid"], grace_seconds=0
            )
        elif self._ready_after_seconds and meta(pod)["uid"] not in self._starting:
            self._starting.add(meta(pod)["uid"])
            loop = asyncio.get_running_loop()
            loop.call_later(self._ready_after_seconds, self.add, key)
        else:
            await self._start(key, pod)

    async def _start(self, key: Key, pod: Object) -> None:
        # No two objects of a cluster have the same version.
        number = int(meta(pod)["resourceVersion"]) % (250 * 250)
        address = f"127.244.{number // 250}.{number % 250 + 1}"
        await self._says(key, pod, running_status(pod, now=present(), address=address))

    async def _says(self, key: Key, pod: Object, status: Object) -> None:
        # The first status that anybody writes counts.
        seen = {"resourceVersion": meta(pod)["resourceVersion"]}
        await unless_gone(
            self.api.patch(
                "pods",
                key.name,
                {"metadata": seen, "status": status},
                namespace=key.namespace,
                subresource="status",
            )
        )


def _is_new(pod: Object) -> bool:
    """Tell whether no kubelet has written the pod's status yet."""
    conditions = dig(pod, "status", "conditions") or ()
    return all(each["type"] == "PodScheduled" for each in conditions)


_FINALIZER: Final = "kubernetes"
_NEEDED: Final = frozenset({"list", "deletecollection"})


class Namespaces(Controller):
    """Deletes what is in deleted namespaces, and lets them go once they are empty."""

    follows = ("namespaces",)

    def keys(self, resource: str, obj: Object, *, exists: bool) -> Iterable[Key]:
        del resource
        return (key_of(obj),) if exists and deleting(obj) else ()

    async def reconcile(self, key: Key) -> None:
        namespace = await self.api.get("namespaces", key.name)
        if namespace is None or not deleting(namespace):
            return
        kinds = [
            each
            for each in await self.api.resources(fresh=True)
            if each.namespaced and each.verbs >= _NEEDED
        ]
        # Objects without finalizers go at once, so the second look usually finds nothing.
        for _ in range(2):
            had = await asyncio.gather(*(self._empty(each, key.name) for each in kinds))
            kinds = [each for each, any_ in zip(kinds, had, strict=True) if any_]
        if kinds:
            raise Again
        spec = namespace["spec"]
        spec["finalizers"] = [each for each in spec["finalizers"] if each != _FINALIZER]
        path = f"/api/v1/namespaces/{key.name}/finalize"
        await unless_gone(self.api.request("PUT", path, body=namespace))

    async def _empty(self, resource: Resource, namespace: str) -> bool:
        if not (await self.api.page(resource, namespace, limit="1")).items:
            return False
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
        deleted = await self.api.request("DELETE", resource.path(namespace), body=options)
        return bool(dig(deleted, "items"))


_OWNERS: Final = (
    "deployments.apps", "replicasets.apps", "statefulsets.apps",
    "inferencesets.kaito.sh", "workspaces.kaito.sh", "gateways.gateway.networking.k8s.io",
)  # fmt: skip
_DEPENDENTS: Final = (
    "pods", "deployments.apps", "replicasets.apps", "statefulsets.apps",
    "workspaces.kaito.sh", "scaledobjects.keda.sh",
)  # fmt: skip


class Garbage(Controller):
    """Deletes dependents in the background, for the kinds of the stack.

    Keys are a namespace and the uid of an owner that is gone.
    """

    follows = tuple({*_OWNERS, *_DEPENDENTS})

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self._gone: set[str] = set()

    def keys(self, resource: str, obj: Object, *, exists: bool) -> Iterable[Key]:
        """An owner that is gone, or for which something was created after it had gone."""
        del resource
        if not exists:
            self._gone.add(meta(obj)["uid"])
            return (Key(namespace_of(obj), meta(obj)["uid"]),)
        owners = {each["uid"] for each in meta(obj).get("ownerReferences") or ()}
        return [Key(namespace_of(obj), uid) for uid in owners & self._gone]

    async def reconcile(self, key: Key) -> None:
        served = {each.name for each in await self.api.resources()}
        for resource in served.intersection(_DEPENDENTS):
            for obj in await self.api.items(resource, namespace=key.namespace):
                if owned_by(obj, key.name) and not deleting(obj):
                    await self.api.delete(
                        resource, name_of(obj), namespace=key.namespace, uid=meta(obj)["uid"]
                    )
