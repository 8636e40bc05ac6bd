"""The controllers of Deployments and ReplicaSets; shapes and rules are the sandbox's."""

from collections.abc import Iterable
from typing import Final

from e2e.stack.api import unless_gone
from e2e.stack.controller import Controller, Key, controller_of, deleting, key_of, owned_by
from e2e.stack.nodes import schedulable
from e2e.stack.times import now
from lab.sandbox.objects import Object, dig, meta, name_of, namespace_of
from lab.sandbox.workloads import deployment_status, is_ready, pod_of, replica_set_of

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
        """Create and delete pods, then write the status."""
        deployment = await self.api.get(DEPLOYMENTS, key.name, namespace=key.namespace)
        if deployment is None or deleting(deployment):
            return
        wanted = int(dig(deployment, "spec", "replicas") or 0)
        current, former = await self._replica_sets(deployment)
        rollout = any(map(_size, former))
        old = await self._pods(key.namespace, former)
        new = await self._pods(key.namespace, [current])
        if dig(deployment, "spec", "strategy", "type") == "Recreate" or _enough(new, wanted):
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
            deployment, [*old, *pods], now=now(), replica_set=name_of(current), rollout=rollout
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


def _enough(pods: list[Object], wanted: int) -> bool:
    return sum(map(is_ready, pods)) >= wanted
