"""Kthena's controller for ModelServings; `lab.simulation.kthena` decides its steps."""

from collections.abc import Iterable
from typing import Final

from e2e.stack.api import Api
from e2e.stack.controller import Controller, Key, controller_of, deleting, key_of, owned_by
from e2e.stack.controllers import schedulable
from lab.sandbox.objects import Object, meta, name_of
from lab.simulation.kthena import ModelServingWorld, plan
from lab.simulation.kthena_objects import NAME, is_deleting
from lab.simulation.objects import is_ready

MODELSERVINGS: Final = "modelservings.workload.serving.volcano.sh"
POD_GROUPS: Final = "podgroups.scheduling.volcano.sh"
REVISIONS: Final = "controllerrevisions.apps"
MANAGER: Final = "kthena-controller-manager"
"""Field manager of what it writes."""

_RESOURCES: Final = {
    "Pod": "pods",
    "Service": "services",
    "PodGroup": POD_GROUPS,
    "ControllerRevision": REVISIONS,
}


class Kthena(Controller):
    """Maintains the children of each ModelServing, and writes no status.

    Args:
        api: the API server.
        binds: whether it assigns pods to nodes, if no scheduler runs.
    """

    follows = (MODELSERVINGS, *_RESOURCES.values())

    def __init__(self, api: Api, *, binds: bool = True) -> None:
        super().__init__(api)
        self._binds = binds

    def keys(self, resource: str, obj: Object, *, exists: bool) -> Iterable[Key]:
        """A ModelServing, for its own changes and those of its children."""
        if resource == MODELSERVINGS:
            return (key_of(obj),) if exists else ()
        return controller_of(obj, "ModelServing")

    async def reconcile(self, key: Key) -> None:
        world = await self.world(key)
        if world is None:
            return
        wanted = plan(world)
        for each in wanted.delete:
            await self.api.delete(
                _RESOURCES[each["kind"]],
                name_of(each),
                namespace=key.namespace,
                uid=meta(each)["uid"],
            )
        nodes = schedulable(await self.api.items("nodes")) if self._binds else []
        for number, each in enumerate(wanted.create):
            if each["kind"] == "Pod" and nodes:
                each["spec"].setdefault("nodeName", nodes[number % len(nodes)])
            await self.api.create(each)

    async def world(self, key: Key) -> ModelServingWorld | None:
        """Return the state of a ModelServing; None if it does not exist or is being deleted."""
        modelserving = await self.api.get(MODELSERVINGS, key.name, namespace=key.namespace)
        if modelserving is None or deleting(modelserving):
            return None
        served = {each.name for each in await self.api.resources()}
        children: dict[str, list[Object]] = {}
        for kind, resource in _RESOURCES.items():
            found = (
                await self.api.items(
                    resource, namespace=key.namespace, selector=f"{NAME}={key.name}"
                )
                if resource in served
                else []
            )
            children[kind] = [each for each in found if owned_by(each, meta(modelserving)["uid"])]
        return ModelServingWorld(
            modelserving,
            children["Pod"],
            children["Service"],
            children["PodGroup"] if POD_GROUPS in served else None,
            children["ControllerRevision"],
        )

    async def at_rest(self, key: Key) -> bool:
        """Tell whether no work is left and every pod is ready."""
        world = await self.world(key)
        return (
            world is not None
            and plan(world).is_empty
            and bool(world.pods)
            and all(is_ready(pod) and not is_deleting(pod) for pod in world.pods)
        )
