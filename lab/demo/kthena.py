"""Simulates Kthena's controller and the kubelets in the sandbox, in step with the daemon.

Each step waits until `status.roleStatuses` shows the result of the last one. So every change is
seen, however slow the machine is, and the daemon's status is compared with the objects.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, Self

from lab.sandbox.objects import Object, dig, meta, name_of
from lab.sandbox.sandbox import Sandbox
from lab.sandbox.storage import Change
from lab.sandbox.workloads import running_status
from lab.simulation.kthena import ModelServingPlan, plan
from lab.simulation.kthena_objects import NAME
from lab.simulation.kthena_signs import is_deleting, is_ready
from lab.simulation.kthena_world import ModelServingWorld, groups_of

MODELSERVINGS: Final = "modelservings.workload.serving.volcano.sh"

_REVISIONS: Final = "controllerrevisions.apps"
_RESOURCES: Final = {"Pod": "pods", "Service": "services", "ControllerRevision": _REVISIONS}
_STOPPING: Final = "kubelet.example/stopping"
"""Finalizer that keeps a pod until its kubelet has ended its containers."""

_PULL: Final = "ImagePullBackOff"
_ABSENT: Final = "NotFound"


class RoleInstance(NamedTuple):
    """An instance of a role in a group."""

    group: str
    id: str


class Kthena:
    """Reconciles one ModelServing while entered.

    Attributes:
        history: the changes of instances, as `(instance, state)`, in order.
        pulls: whether images can be pulled.

    """

    def __init__(
        self,
        sandbox: Sandbox,
        namespace: str,
        name: str,
        *,
        node: str,
        now: Callable[[], str],
        tell: Callable[[Sequence[tuple[RoleInstance, str]]], None] = lambda _changes: None,
    ) -> None:
        """Pods run on `node`.

        `tell` is called with changes of the status; an instance that it omits has an empty state.
        """
        self.history: list[tuple[RoleInstance, str]] = []
        self.pulls = True
        self._sandbox = sandbox
        self._namespace = namespace
        self._name = name
        self._now = now
        self._node = node
        self._tell = tell
        self._states: dict[RoleInstance, str] = {}
        self._addresses = 0
        self._due: asyncio.Handle | None = None

    async def __aenter__(self) -> Self:
        for collection in (MODELSERVINGS, *_RESOURCES.values()):
            self._sandbox.storage.collection(collection).subscribers.append(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        for collection in (MODELSERVINGS, *_RESOURCES.values()):
            self._sandbox.storage.collection(collection).subscribers.remove(self)
        if self._due is not None:
            self._due.cancel()

    def notify(self, change: Change) -> None:
        """Schedule a pass after a change."""
        if change.new.key.namespace == self._namespace and self._due is None:
            self._due = asyncio.get_running_loop().call_soon(self._look)

    def end(self) -> None:
        """Do nothing when the watches of a collection end."""

    @property
    def modelserving(self) -> Object | None:
        """The ModelServing, None before it is created."""
        return self._sandbox.get(MODELSERVINGS, self._name, namespace=self._namespace)

    @property
    def at_rest(self) -> bool:
        """True if the status matches the objects and nothing is left to do."""
        modelserving = self.modelserving
        if modelserving is None:
            return True
        world = self._world(modelserving)
        return self._is_reported(world) and next(self._moves(world), None) is None

    def lose_pod(self, name: str) -> None:
        """Remove a pod without termination, as if its node was lost."""
        self._let_go(name)
        self._sandbox.delete("pods", name, namespace=self._namespace)

    def pull(self, *, fails: bool) -> None:
        """Let image pulls fail or succeed."""
        self.pulls = not fails
        self._look()

    def _look(self) -> None:
        self._due = None
        modelserving = self.modelserving
        if modelserving is None:
            return
        world = self._world(modelserving)
        if self._is_reported(world):
            self._note(_states(world))
            move = next(self._moves(world), None)
            if move is not None:
                move()

    def _world(self, modelserving: Object) -> ModelServingWorld:
        children = {
            kind: self._sandbox.list(
                resource, namespace=self._namespace, label_selector=f"{NAME}={self._name}"
            )
            for kind, resource in _RESOURCES.items()
        }
        return ModelServingWorld(
            modelserving, children["Pod"], children["Service"], None, children["ControllerRevision"]
        )

    @staticmethod
    def _is_reported(world: ModelServingWorld) -> bool:
        status = world.modelserving.get("status") or {}
        reported = {
            RoleInstance(each["servingGroupName"], each["roleID"]): each["status"]
            for each in status.get("roleStatuses") or ()
            if each["status"] != _ABSENT
        }
        generation = meta(world.modelserving)["generation"]
        return status.get("observedGeneration") == generation and reported == _states(world)

    def _note(self, states: dict[RoleInstance, str]) -> None:
        """Record the changes since the last pass, as a client that sees every step would."""
        gone = [(role, "") for role in self._states.keys() - states.keys()]
        changes = [(r, state) for r, state in states.items() if self._states.get(r) != state]
        self.history += ((r, "Deleting") for r, _ in gone if self._states[r] != "Deleting")
        self.history += changes
        self._states = states
        self._tell(sorted(gone) + changes)

    def _moves(self, world: ModelServingWorld) -> Iterator[Callable[[], None]]:
        """Yield the actions to take, in order."""
        going = [name_of(pod) for pod in world.pods if is_deleting(pod)]
        if going:
            yield lambda: self._each(self._let_go, going)
        wanted = plan(world)
        if not wanted.is_empty:
            yield lambda: self._carry_out(wanted)
        starting = [pod for pod in world.pods if not is_ready(pod) and not is_deleting(pod)]
        if not self.pulls:
            starting = [pod for pod in starting if not dig(pod, "status", "conditions")]
        if starting:
            yield lambda: self._start(starting)

    @staticmethod
    def _each(act: Callable[[str], None], names: list[str]) -> None:
        for name in names:
            act(name)

    def _let_go(self, pod: str) -> None:
        patch = {"metadata": {"finalizers": None}}
        self._sandbox.patch("pods", pod, patch, namespace=self._namespace)

    def _carry_out(self, wanted: ModelServingPlan) -> None:
        for each in wanted.delete:
            self._sandbox.delete(_RESOURCES[each["kind"]], name_of(each), namespace=self._namespace)
        for each in wanted.create:
            if each["kind"] == "Pod":
                meta(each)["finalizers"] = [_STOPPING]
                each["spec"]["nodeName"] = self._node
            self._sandbox.create(each)

    def _start(self, pods: list[Object]) -> None:
        for pod in pods:
            self._addresses += 1
            status = running_status(pod, now=self._now(), address=f"127.245.0.{self._addresses}")
            if not self.pulls:
                status = _waiting(status, str(dig(pod, "spec", "containers")[0]["image"]))
            self._sandbox.patch(
                "pods", name_of(pod), {"status": status}, namespace=self._namespace,
                subresource="status",
            )  # fmt: skip


def _states(world: ModelServingWorld) -> dict[RoleInstance, str]:
    """Return the states that `roleStatuses` should have for instances with pods."""
    return {
        RoleInstance(group.name, instance.id): instance.state
        for group in groups_of(world)
        if not group.is_going
        for instance in group.instances
        if instance.state != _ABSENT
    }


def _waiting(status: Object, image: str) -> Object:
    """Turn the status of a running pod into that of a pod whose image cannot be pulled."""
    state = {"waiting": {"reason": _PULL, "message": f'Back-off pulling image "{image}"'}}
    unready = {"ready": False, "started": False, "state": state}
    return {
        **status,
        "phase": "Pending",
        "containerStatuses": [each | unready for each in status["containerStatuses"]],
        "conditions": [
            {**each, "status": "False"} if each["type"] in {"Ready", "ContainersReady"} else each
            for each in status["conditions"]
        ],
    }
