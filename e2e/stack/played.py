"""The sample stack where no controllers run: what they and kubelets would do is played.

Shapes and rules of Deployments are the sandbox's.
"""

import asyncio
from typing import Final

from e2e.stack.api import Resource, unless_gone
from e2e.stack.objects import deleting, owned_by, schedulable
from e2e.stack.sample import INDEX_LABEL, NAME_LABEL
from e2e.stack.stack import DEPLOYMENTS, STATEFUL_SETS, Stack
from lab.demo.sample_stack import present
from lab.sandbox.objects import Object, dig, meta, name_of, namespace_of
from lab.sandbox.workloads import (
    deployment_status,
    is_ready,
    pod_of,
    replica_set_of,
    running_status,
)

_REPLICA_SETS: Final = "replicasets.apps"
_NEEDED: Final = frozenset({"list", "deletecollection"})
_FINALIZER: Final = "kubernetes"


class PlayedStack(Stack):
    """Deployments, StatefulSets and pods become what is wanted whenever a test has changed them.

    Templates of Deployments do not change.
    """

    _placed = 0

    async def changed(self, namespace: str) -> None:
        await self.settled(namespace)

    async def settled(self, namespace: str) -> None:
        """Do all the work of controllers and kubelets in a namespace."""
        for pod in await self.api.items("pods", namespace=namespace):
            if deleting(pod):
                await self._end(pod)
            elif not dig(pod, "status", "conditions"):
                await self._run(pod)
        for each in await self.api.items(DEPLOYMENTS, namespace=namespace):
            await self._deployment(each)
        for each in await self.api.items(STATEFUL_SETS, namespace=namespace):
            await self._stateful_set(each)

    async def _deployment(self, deployment: Object) -> None:
        place, wanted = namespace_of(deployment), int(dig(deployment, "spec", "replicas") or 0)
        owner = await self._replica_set(deployment, wanted)
        pods = await self._pods(owner)
        # The least useful go first: those that are not ready, then the youngest.
        pods.sort(key=lambda pod: meta(pod)["creationTimestamp"], reverse=True)
        pods.sort(key=is_ready)
        for pod in pods[: max(len(pods) - wanted, 0)]:
            await self._end(pod)
        for _ in range(wanted - len(pods)):
            nodes = schedulable(await self.api.items("nodes"))
            self._placed += 1
            await self._run(await self.api.create(pod_of(owner, nodes[self._placed % len(nodes)])))
        pods = await self._pods(owner)
        status = deployment_status(
            deployment, pods, now=present(), replica_set=name_of(owner), rollout=False
        )
        # Counts of zero must be removed, which a merge patch does only explicitly.
        gone = {key: None for key in dig(deployment, "status") or () if key not in status}
        await self.api.status(DEPLOYMENTS, place, name_of(deployment), {**gone, **status})
        counts = {**_counts(pods), "fullyLabeledReplicas": len(pods)}
        await self.api.status(_REPLICA_SETS, place, name_of(owner), counts)

    async def _replica_set(self, deployment: Object, replicas: int) -> Object:
        """Return the ReplicaSet, of that size, created if missing."""
        wanted = replica_set_of(deployment)
        name, place = name_of(wanted), namespace_of(deployment)
        found = await self.api.get(_REPLICA_SETS, name, namespace=place)
        if found is None:
            found = await self.api.create(wanted)
        size = {"spec": {"replicas": replicas}}
        return await self.api.patch(_REPLICA_SETS, name, size, namespace=place)

    async def _stateful_set(self, owner: Object) -> None:
        place, name = namespace_of(owner), name_of(owner)
        wanted = {f"{name}-{index}": index for index in range(dig(owner, "spec", "replicas"))}
        there = {name_of(pod): pod for pod in await self._pods(owner)}
        for each in there.keys() - wanted.keys():
            await self._end(there[each])
        for each in wanted.keys() - there.keys():
            pod = pod_of(owner, "")
            del meta(pod)["generateName"]
            meta(pod)["name"] = each
            meta(pod)["labels"] |= {INDEX_LABEL: str(wanted[each]), NAME_LABEL: each}
            await self._run(await self.api.create(pod))
        counts = _counts(await self._pods(owner))
        revisions = {"currentRevision": name, "updateRevision": name}
        seen = {"observedGeneration": meta(owner)["generation"]}
        updated = {"updatedReplicas": counts["replicas"]}
        status = {**seen, **counts, **updated, **revisions}
        await self.api.status(STATEFUL_SETS, place, name, status)

    async def _pods(self, owner: Object) -> list[Object]:
        found = await self.api.items("pods", namespace=namespace_of(owner))
        return [pod for pod in found if owned_by(pod, meta(owner)["uid"])]

    async def _run(self, pod: Object) -> None:
        # No two objects of a cluster have the same version.
        number = int(meta(pod)["resourceVersion"]) % (250 * 250)
        address = f"127.244.{number // 250}.{number % 250 + 1}"
        status = running_status(pod, now=present(), address=address)
        await self.api.status("pods", namespace_of(pod), name_of(pod), status)

    async def _end(self, pod: Object) -> None:
        own = {"namespace": namespace_of(pod), "uid": meta(pod)["uid"]}
        await self.api.delete("pods", name_of(pod), grace_seconds=0, **own)

    async def delete_namespace(self, name: str) -> None:
        """Delete it with all that is in it."""
        await self.api.delete("namespaces", name)
        resources = await self.api.resources(fresh=True)
        kinds = [each for each in resources if each.namespaced and each.verbs >= _NEEDED]

        async def gone() -> bool:
            namespace = await self.api.get("namespaces", name)
            if namespace is None:
                return True
            if not any(await asyncio.gather(*(self._empty(each, name) for each in kinds))):
                spec = namespace["spec"]
                spec["finalizers"] = [each for each in spec["finalizers"] if each != _FINALIZER]
                path = f"/api/v1/namespaces/{name}/finalize"
                await unless_gone(self.api.request("PUT", path, body=namespace))
            return False

        await self.until(gone, f"namespace {name} is gone")

    async def _empty(self, resource: Resource, namespace: str) -> bool:
        """Delete all objects of a kind, and tell whether there were any."""
        if not (await self.api.page(resource, namespace, limit="1")).items:
            return False
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
        await self.api.request("DELETE", resource.path(namespace), body=options)
        return True


def _counts(pods: list[Object]) -> dict[str, int]:
    ready = sum(map(is_ready, pods))
    return {"replicas": len(pods), "readyReplicas": ready, "availableReplicas": ready}
