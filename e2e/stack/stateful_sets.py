"""The StatefulSet controller: pods with an ordinal in their name, all started at once."""

from collections.abc import Iterable
from typing import Final

from e2e.stack.api import unless_gone
from e2e.stack.controller import Controller, Key, controller_of, deleting, key_of, owned_by
from lab.sandbox.objects import Object, dig, meta, name_of
from lab.sandbox.workloads import is_ready, pod_of

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
        """Create and delete pods, then write the counts."""
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
