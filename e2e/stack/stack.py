"""A cluster with the sample stack, and methods that inject faults.

The methods have the same names as in the demo's story and the daemon tests.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import Final

from e2e.stack import sample
from e2e.stack.api import Api, ApiError, StackError
from e2e.stack.objects import deleting, lost
from lab.demo.sample_stack import present
from lab.demo.story import CHAT
from lab.sandbox.objects import Object, dig, meta, name_of
from lab.sandbox.workloads import Says, is_ready, not_ready, running_status, with_condition

PATIENCE_SECONDS: Final = 120.0
"""How long the played cluster may take to settle; only a broken one takes that long."""

CRDS: Final = "customresourcedefinitions.apiextensions.k8s.io"
DEPLOYMENTS: Final = "deployments.apps"
STATEFUL_SETS: Final = "statefulsets.apps"
_POLL_SECONDS: Final = 0.05
_BY_CONTROLLERS: Final = frozenset({"Deployment", "Namespace", "Service", "StatefulSet"})


class Stack:
    """Manages the sample stack in a cluster that has controllers and kubelets.

    Args:
        api: the API server with an admin's rights, entered already.
        without: names of CustomResourceDefinitions that are installed elsewhere.
    """

    def __init__(self, api: Api, *, without: Collection[str] = ()) -> None:
        self.api = api
        self._without = without

    async def install(self) -> None:
        """Install the whole sample and wait until it runs."""
        await self.install_shared()
        for namespace in sample.WORKLOADS:
            await self.install_workload(namespace, like=namespace)

    async def install_shared(self) -> None:
        """Install the control plane, or restore its installed state."""
        await self.install_crds()
        await self._install(sample.shared())
        for namespace in sample.SHARED:
            for pod in await self.api.items("pods", namespace=namespace):
                if not is_ready(pod):
                    await self.api.delete("pods", name_of(pod), namespace=namespace)
        for namespace in sample.SHARED:
            await self.settled(namespace)

    async def install_workload(self, namespace: str, *, like: str = CHAT) -> None:
        """Install a workload namespace of the sample under its own name."""
        await self._install(sample.workload(namespace, like))
        await self.settled(namespace)

    async def install_crds(self) -> None:
        """Install the CustomResourceDefinitions that are missing or were changed.

        The others are skipped: applying all of them before each test
        would take a tenth of the tests' time.
        """
        there = {name_of(each): each for each in await self.api.items(CRDS) if not deleting(each)}
        wanted = [
            crd
            for crd in sample.crds()
            if name_of(crd) not in self._without
            and lost(crd["spec"], dig(there, name_of(crd), "spec"))
        ]
        await self.serve(wanted)

    async def serve(self, crds: Sequence[Object]) -> None:
        """Install CustomResourceDefinitions and wait until they are served."""
        for crd in crds:
            await self.api.apply(crd)
        for name in map(name_of, crds):
            await self.until(partial(self.lists, name), f"{name} is served")

    async def lists(self, resource: str) -> bool:
        """Tell whether a resource is served and its storage exists."""
        # Discovery lists a kind before its storage exists; until then, lists answer 429.
        try:
            await self.api.page(await self.api.resource(resource), limit="1")
        except ApiError:
            return False
        return True

    async def _install(self, objects: Sequence[Object]) -> None:
        uids: dict[tuple[str, str], str] = {}
        for obj in objects:
            for reference in meta(obj).get("ownerReferences") or ():
                reference["uid"] = uids[reference["kind"], reference["name"]]
            if obj["kind"] in _BY_CONTROLLERS:
                obj.pop("status", None)
            there = await self.api.install(obj)
            uids[obj["kind"], name_of(obj)] = meta(there)["uid"]

    async def settled(self, namespace: str) -> None:
        """Wait until controllers and kubelets have no work left in a namespace."""

        async def nothing_to_do() -> bool:
            deployments = await self.api.items(DEPLOYMENTS, namespace=namespace)
            stateful_sets = await self.api.items(STATEFUL_SETS, namespace=namespace)
            owners = [*deployments, *stateful_sets]
            pods = await self.api.items("pods", namespace=namespace)
            owned = [pod for pod in pods if meta(pod).get("ownerReferences")]
            ready = sum(map(is_ready, owned))
            return (
                all(map(_observed, owners))
                and len(owned) == sum(int(dig(each, "spec", "replicas")) for each in owners)
                and all(dig(pod, "status", "conditions") and not deleting(pod) for pod in pods)
                and ready == sum(dig(each, "status", "readyReplicas") or 0 for each in owners)
            )

        await self.until(nothing_to_do, f"namespace {namespace} has settled")

    async def until(self, condition: Callable[[], Awaitable[object]], what: str) -> None:
        """Wait until a coroutine function returns something true."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not await condition():  # noqa: ASYNC110 - a server tells only who asks
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            raise StackError(f"waited {PATIENCE_SECONDS:.0f} s in vain until {what}") from None

    async def changed(self, namespace: str) -> None:
        """Note that a test has changed Deployments, StatefulSets or pods of a namespace."""

    async def scale(self, namespace: str, deployment: str, replicas: int) -> None:
        patch = {"spec": {"replicas": replicas}}
        await self.api.patch(
            DEPLOYMENTS, deployment, patch, namespace=namespace, subresource="scale"
        )
        await self.changed(namespace)

    async def condition(self, resource: str, namespace: str, owner: str, *, says: Says) -> None:
        """Set a condition of every object whose name begins with `owner`."""
        for obj in await self._named(resource, namespace, owner):
            before = dig(obj, "status", "conditions") or []
            fresh = with_condition(before, says, now=present())
            await self.api.status(resource, namespace, name_of(obj), {"conditions": fresh})

    async def pod_waiting(
        self, namespace: str, owner: str, why: tuple[str, str], *, restarts: int = 0
    ) -> None:
        """Let the containers of all pods whose name begins with `owner` wait.

        Args:
            namespace: of the pods.
            owner: what their names begin with.
            why: reason and message.
            restarts: if not 0, the pods had been Ready before.

        """
        for pod in await self._named("pods", namespace, owner):
            status = running_status(pod, now=present(), address=dig(pod, "status", "podIP"))
            if restarts:
                status["conditions"] = dig(pod, "status", "conditions")
            not_ready(status, why, now=present())
            if restarts:
                status["phase"] = "Running"
                for each in status["containerStatuses"]:
                    each["restartCount"] = restarts
                    each["lastState"] = {"terminated": {"exitCode": 1, "reason": "Error"}}
            await self.api.status("pods", namespace, name_of(pod), status)
        await self.changed(namespace)

    async def pod_loading(self, namespace: str, owner: str, address: str) -> None:
        """Let the containers of pods run at an address without being ready, as while they load."""
        for pod in await self._named("pods", namespace, owner):
            status = running_status(pod, now=present(), address=address)
            await self.api.status("pods", namespace, name_of(pod), not_ready(status, now=present()))
        await self.changed(namespace)

    async def pod_ready(self, namespace: str, owner: str) -> None:
        """Let all pods whose name begins with `owner` be ready again."""
        for pod in await self._named("pods", namespace, owner):
            status = running_status(pod, now=present(), address=dig(pod, "status", "podIP"))
            await self.api.status("pods", namespace, name_of(pod), status)
        await self.changed(namespace)

    async def image_pull(self, namespace: str, owner: str, *, fails: bool) -> None:
        if fails:
            text = "Back-off pulling image registry.example/vllm:typo"
            await self.pod_waiting(namespace, owner, ("ImagePullBackOff", text))
        else:
            await self.pod_ready(namespace, owner)

    async def remove_crd(self, name: str) -> None:
        """Delete a CustomResourceDefinition and wait until it is no longer served."""
        await self.api.delete(CRDS, name)

        async def gone() -> bool:
            served = await self.api.resources(fresh=True)
            return all(each.name != name for each in served)

        await self.until(gone, f"{name} is not served")

    async def delete_namespace(self, name: str) -> None:
        await self.api.delete("namespaces", name)

        async def gone() -> bool:
            return await self.api.get("namespaces", name) is None

        await self.until(gone, f"namespace {name} is gone")

    async def _named(self, resource: str, namespace: str, owner: str) -> list[Object]:
        found = await self.api.items(resource, namespace=namespace)
        return [
            obj for obj in found if name_of(obj).startswith(owner) and "epp" not in name_of(obj)
        ]


def _observed(owner: Object) -> bool:
    """Tell whether a Deployment or StatefulSet has the pods that it wants."""
    status = owner.get("status") or {}
    wanted = int(dig(owner, "spec", "replicas"))
    return (
        status.get("observedGeneration") == meta(owner)["generation"]
        and int(status.get("replicas") or 0) == wanted
    )
