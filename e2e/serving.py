"""A ModelServing and Kthena's controller, which acts when it is asked to."""

from typing import Any, Final, Self

from e2e.stack.objects import deleting, owned_by, schedulable
from e2e.stage import Stage
from lab.demo import sample_stack
from lab.demo.modelserving import NAME, modelserving
from lab.sandbox.objects import Object, meta, name_of
from lab.simulation.kthena import ModelServingWorld, plan
from lab.simulation.kthena_objects import NAME as NAME_LABEL
from lab.simulation.kthena_objects import is_deleting
from lab.simulation.objects import is_ready
from tests.daemon.replica import until

MODELSERVINGS: Final = "modelservings.workload.serving.volcano.sh"
MANAGER: Final = "kthena-controller-manager"

_SYSTEM: Final = "kthena-system"
_RESOURCES: Final = {
    "Pod": "pods",
    "Service": "services",
    "PodGroup": "podgroups.scheduling.volcano.sh",
    "ControllerRevision": "controllerrevisions.apps",
}


class Serving:
    """The ModelServing of the demo in a namespace of its own; its controller writes no status."""

    def __init__(self, stage: Stage, namespace: str) -> None:
        self.namespace = namespace
        self.subject = f"modelserving/{namespace}/{NAME}"
        self._stage = stage
        self._api = stage.api

    async def install(self) -> Self:
        """Make the namespace, and a Deployment for the controller."""
        for each in (self.namespace, _SYSTEM):
            await self._stage.namespace(each)
        labels = {"app": MANAGER}
        manager = sample_stack.controller(_SYSTEM, MANAGER, image="kthena", labels=labels)
        await self._api.apply(manager)
        await self._stage.stack.settled(_SYSTEM)
        return self

    async def create(self, **spec: Any) -> None:
        """Create the ModelServing and wait until its pods are ready."""
        wanted = modelserving()
        wanted["metadata"]["namespace"] = self.namespace
        wanted["spec"] |= spec
        await self._api.create(wanted)
        await self.settled()

    async def patch(self, **spec: Any) -> None:
        """Change its spec, and wait until its pods are as wanted."""
        await self._api.patch(MODELSERVINGS, NAME, {"spec": spec}, namespace=self.namespace)
        await self.settled()

    async def settled(self) -> None:
        """Let Kthena and the kubelets do all their work."""

        async def at_rest() -> bool:
            world = await self._world()
            wanted = plan(world)
            for each in wanted.delete:
                own = {"namespace": self.namespace, "uid": meta(each)["uid"]}
                await self._api.delete(_RESOURCES[each["kind"]], name_of(each), **own)
            nodes = schedulable(await self._api.items("nodes"))
            for number, each in enumerate(wanted.create):
                if each["kind"] == "Pod":
                    each["spec"].setdefault("nodeName", nodes[number % len(nodes)])
                await self._api.create(each)
            await self._stage.stack.settled(self.namespace)
            ready = all(is_ready(pod) and not is_deleting(pod) for pod in world.pods)
            return wanted.is_empty and bool(world.pods) and ready

        await until(at_rest, f"{self.subject} is at rest")

    async def _world(self) -> ModelServingWorld:
        owner = await self.get()
        served = {each.name for each in await self._api.resources()}
        own: dict[str, list[Object] | None] = {}
        for kind, resource in _RESOURCES.items():
            if resource not in served:
                own[kind] = None
                continue
            place = {"namespace": self.namespace, "selector": f"{NAME_LABEL}={NAME}"}
            found = await self._api.items(resource, **place)
            own[kind] = [each for each in found if owned_by(each, meta(owner)["uid"])]
        assert not deleting(owner)
        return ModelServingWorld(owner, *own.values())

    async def get(self) -> Object:
        found = await self._api.get(MODELSERVINGS, NAME, namespace=self.namespace)
        assert found is not None
        return found

    async def status(self) -> Object:
        return (await self.get()).get("status") or {}

    async def shows(self, roles: dict[str, str]) -> None:
        """Wait until `roleStatuses` has `<group>/<role ID>` and state of these roles."""

        async def as_wanted() -> bool:
            found = {
                f"{each['servingGroupName']}/{each['roleID']}": each["status"]
                for each in (await self.status()).get("roleStatuses") or ()
            }
            assert found == roles, found
            return True

        await until(as_wanted, f"roleStatuses are {roles}")


def running(groups: int = 2, decode: int = 2) -> dict[str, str]:
    """Return the roles of that many groups, in order, all Running."""
    ids = ["prefill-0", *(f"decode-{each}" for each in range(decode))]
    return {f"{NAME}-{group}/{each}": "Running" for group in range(groups) for each in ids}
