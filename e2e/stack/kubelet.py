"""The kubelets: they start pods on nodes that are Ready, and end deleted pods."""

import asyncio
from collections.abc import Iterable

from e2e.stack.api import Api, unless_gone
from e2e.stack.conditions import with_condition
from e2e.stack.controller import Controller, Key, deleting, key_of
from e2e.stack.times import now
from lab.sandbox.objects import Object, dig, meta
from lab.sandbox.workloads import is_ready, running_status


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
        """Start or end a pod."""
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
        await self._says(key, pod, running_status(pod, now=now(), address=address))

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


def not_ready(status: Object, why: tuple[str, str] | None = None) -> Object:
    """Return the status of a running pod as that of a loading pod, or with waiting containers.

    Args:
        status: of the pod, which is changed.
        why: reason and message of waiting containers.
    """
    for each in status["containerStatuses"]:
        each |= {"ready": False, "started": False}
        if why is not None:
            each["state"] = {"waiting": {"reason": why[0], "message": why[1]}}
    if why is not None:
        status["phase"] = "Pending"
    for type_ in ("Ready", "ContainersReady"):
        says = (type_, "False", "ContainersNotReady", "containers are not ready")
        status["conditions"] = with_condition(status["conditions"], says)
    return status


def _is_new(pod: Object) -> bool:
    """Tell whether no kubelet has written the pod's status yet."""
    conditions = dig(pod, "status", "conditions") or ()
    return all(each["type"] == "PodScheduled" for each in conditions)
