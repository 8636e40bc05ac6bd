"""KServe's and Knative's controllers; what they do next is `lab.simulation.kserve`'s."""

from collections.abc import Iterable, Mapping
from typing import Final

from e2e.stack.api import Api
from e2e.stack.controller import Controller, Key, key_of
from e2e.stack.nodes import schedulable
from e2e.stack.times import now
from lab.demo.kserve import INFERENCESERVICES, KNATIVE_SERVICES, REVISIONS
from lab.sandbox.objects import Object, dig, meta, name_of, namespace_of
from lab.sandbox.workloads import running_status
from lab.simulation.kserve import InferenceServicePlan, InferenceServiceWorld, plan
from lab.simulation.kserve_fates import Fate
from lab.simulation.kserve_objects import NAME

MANAGER: Final = "kserve"
"""Field manager of what they write."""

_RESOURCES: Final[Mapping[str, str]] = {
    "InferenceService": INFERENCESERVICES,
    "Service": KNATIVE_SERVICES,
    "Revision": REVISIONS,
    "Pod": "pods",
}
"""Where the objects of each kind are; a Service is one of Knative's."""


class KServe(Controller):
    """Keeps the objects and the status of each InferenceService, in Knative mode.

    Attributes:
        fates: what becomes of new pods whose name begins so; they get no node, so that no kubelet
            speaks for them. Kubelets start the others.
    """

    follows = tuple(_RESOURCES.values())

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self.fates: dict[str, Fate] = {}

    def keys(self, resource: str, obj: Object, *, exists: bool) -> Iterable[Key]:
        """An InferenceService by itself, or by what was made for it."""
        if resource == INFERENCESERVICES:
            return (key_of(obj),) if exists else ()
        owner = (meta(obj).get("labels") or {}).get(NAME)
        return (Key(namespace_of(obj), owner),) if owner else ()

    async def reconcile(self, key: Key) -> None:
        """Do what the plan says."""
        world = await self.world(key)
        if world is None:
            return
        await self._carry_out(plan(world, now()))

    async def world(self, key: Key) -> InferenceServiceWorld | None:
        """Return what there is of an InferenceService; None if it is not there, or going."""
        found = await self.api.get(INFERENCESERVICES, key.name, namespace=key.namespace)
        if found is None or meta(found).get("deletionTimestamp"):
            return None
        services, revisions, pods = [
            await self.api.items(each, namespace=key.namespace, selector=f"{NAME}={key.name}")
            for each in (KNATIVE_SERVICES, REVISIONS, "pods")
        ]
        return InferenceServiceWorld(found, services, revisions, pods)

    async def at_rest(self, key: Key) -> bool:
        """Tell whether nothing is left to be done, and kubelets have spoken for each pod."""
        world = await self.world(key)
        return (
            world is not None
            and plan(world, now()).is_empty
            and all((each.get("status") or {}).get("conditions") for each in world.pods)
            and not any(meta(each).get("deletionTimestamp") for each in world.pods)
        )

    async def _carry_out(self, wanted: InferenceServicePlan) -> None:
        for each in wanted.delete:
            await self.api.delete(
                "pods", name_of(each), namespace=namespace_of(each), uid=meta(each)["uid"]
            )
        for each in wanted.create:
            if each["kind"] == "Pod":
                await self._create_pod(each)
            else:
                await self.api.create(each)
        for each in wanted.replace:
            await self._put(each)
        for each in wanted.tell:
            await self._put(each, "status")

    async def _create_pod(self, pod: Object) -> None:
        fate = next((f for name, f in self.fates.items() if name_of(pod).startswith(name)), None)
        if fate is None:
            pod["spec"]["nodeName"] = schedulable(await self.api.items("nodes"))[0]
        made = await self.api.create(pod)
        if fate is not None:
            await self.befalls(made, fate)

    async def befalls(self, pod: Object, fate: Fate) -> None:
        """Give a pod the status that its fate has for it."""
        address = dig(pod, "status", "podIP") or "127.247.0.1"
        status = fate(pod, running_status(pod, now=now(), address=address))
        await self.api.patch(
            "pods",
            name_of(pod),
            {"status": status},
            namespace=namespace_of(pod),
            subresource="status",
        )

    async def _put(self, obj: Object, subresource: str = "") -> None:
        resource = await self.api.resource(_RESOURCES[obj["kind"]])
        path = resource.path(namespace_of(obj), name_of(obj), subresource)
        await self.api.request("PUT", path, body=obj, fieldManager=MANAGER)
