"""The story of a ModelServing: prefill and decode roles, scaling, a rollout, and a lost pod.

Kthena's controller and the kubelets are simulated in step with the daemon: each step waits until
`status.roleStatuses` shows the result of the last one. So every change is seen, however slow the
machine is, and the daemon's status is compared with the objects.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Self

import msgspec

from lab.demo.sample_stack import controller, namespace, present
from lab.demo.story import HEALTHY, Background, Expected, Scene, Step, Story
from lab.sandbox.objects import Object, copy_json, dig, meta, name_of
from lab.sandbox.sandbox import Sandbox
from lab.sandbox.storage import Change
from lab.sandbox.workloads import running_status
from lab.simulation.kthena import ModelServingPlan, ModelServingWorld, groups_of, plan
from lab.simulation.kthena_objects import NAME as NAME_LABEL
from lab.simulation.kthena_objects import is_deleting, is_ready
from reporter.stacks.kthena import reasons as m
from reporter.yaml_reader.reading import read_yaml

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
                resource, namespace=self._namespace, label_selector=f"{NAME_LABEL}={self._name}"
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


NAMESPACE: Final = "kthena-models"
NAME: Final = "qwen3"

_CONTROLLER: Final = "kthena-controller-manager"
_LOST: Final = f"{NAME}-0-prefill-0-1"
_NEW_IMAGE: Final = "vllm/vllm-openai:v0.15.0"

_SUBJECT: Final = f"modelserving/{NAMESPACE}/{NAME}"
_READY: Final = Expected(m.READY, _SUBJECT)
_STUCK: Final = Expected(m.ROLE_CREATING, _SUBJECT, "prefill-0")

_PACKAGED: Final = Path(__file__).parent / "crds"
_CHECKOUT: Final = (
    Path(__file__).resolve().parents[2] / "helm/productionstack-status-reporter/files/crds"
)


def load_crd() -> Object:
    """Return the CustomResourceDefinition of ModelServings, with `status.roleStatuses`."""
    folder = _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT
    text = (folder / "modelservings.yaml").read_text("utf-8")
    return msgspec.convert(read_yaml(text), Object)


def _template(image: str) -> Object:
    return {"spec": {"containers": [{"name": "vllm", "image": image}]}}


def _role(name: str, replicas: int, workers: int) -> Object:
    role = {"name": name, "replicas": replicas, "workerReplicas": workers}
    role["entryTemplate"] = _template("vllm/vllm-openai:v0.14.0")
    return role | ({"workerTemplate": copy_json(role["entryTemplate"])} if workers else {})


def modelserving() -> Object:
    """Return the ModelServing: two groups, each of one prefill instance (two pods) and two decode
    instances.
    """
    return {
        "apiVersion": "workload.serving.volcano.sh/v1alpha1",
        "kind": "ModelServing",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {
            "replicas": 2,
            "template": {"roles": [_role("prefill", 1, workers=1), _role("decode", 2, workers=0)]},
        },
    }


class Serving(Background):
    """A cluster with Kthena and its controller, while entered."""

    def __init__(self, sandbox: Sandbox, say: Callable[[str], None]) -> None:
        nodes = sorted(name_of(node) for node in sandbox.list("nodes"))
        sandbox.load([load_crd(), namespace(NAMESPACE), namespace("kthena-system")])
        sandbox.create(
            controller(
                "kthena-system",
                _CONTROLLER,
                image=f"ghcr.io/volcano-sh/{_CONTROLLER}:v1.0.0",
                labels={"app.kubernetes.io/component": _CONTROLLER},
            )
        )
        self.sandbox = sandbox
        self.kthena = Kthena(sandbox, NAMESPACE, NAME, node=nodes[0], now=present, tell=self._show)
        self._say = say

    async def __aenter__(self) -> Self:
        await self.kthena.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.kthena.__aexit__()

    def _show(self, changes: Sequence[tuple[RoleInstance, str]]) -> None:
        """Print the changes of the status, one line for each group."""
        groups: dict[tuple[str, str], list[str]] = {}
        for role, state in changes:
            groups.setdefault((role.group, state or "NotFound or left out"), []).append(role.id)
        for (group, state), roles in groups.items():
            self._say(f"# status.roleStatuses: {group}: {', '.join(roles)} {state}")

    @property
    def at_rest(self) -> bool:
        """True if the step's changes have all happened and are in the status."""
        return self.kthena.at_rest

    def lines(self) -> Iterator[str]:
        """Yield a short form of the status."""
        status = (self.kthena.modelserving or {}).get("status") or {}
        groups: dict[str, list[str]] = {}
        for each in status.get("roleStatuses") or ():
            text = f"{each['roleID']} {each['status']}"
            groups.setdefault(each["servingGroupName"], []).append(text)
        if not groups:
            return
        command = f"kubectl -n {NAMESPACE} get modelserving {NAME} -o jsonpath"
        yield f"# {command}={{.status.roleStatuses}}"
        yield from (f"#   {group}: {', '.join(roles)}" for group, roles in groups.items())

    def verdict(self) -> str:
        """Return the number of changes."""
        return f"{len(self.kthena.history)} changes of roles, all of them in the status."


def _roll_out(scene: Scene) -> None:
    serving = Serving.of(scene)
    roles = copy_json(dig(serving.kthena.modelserving, "spec", "template", "roles"))
    for role in roles:
        for template in ("entryTemplate", "workerTemplate"):
            if template in role:
                role[template] = _template(_NEW_IMAGE)
    patch = {"spec": {"template": {"roles": roles}}}
    serving.sandbox.patch(MODELSERVINGS, NAME, patch, namespace=NAMESPACE)


def _lose(scene: Scene) -> None:
    kthena = Serving.of(scene).kthena
    kthena.pull(fails=True)
    kthena.lose_pod(_LOST)


_STEPS: Final = (
    HEALTHY,
    Step(
        f"kubectl apply of ModelServing {NAME}: two groups, each with prefill (an entry and a "
        "worker pod) and two of decode.",
        lambda scene: Serving.of(scene).sandbox.create(modelserving()),
        (_READY,),
    ),
    Step(
        f"kubectl -n {NAMESPACE} scale modelserving {NAME} --replicas=3",
        lambda scene: Serving.of(scene).sandbox.scale(MODELSERVINGS, NAME, 3, namespace=NAMESPACE),
    ),
    Step("A new image: Kthena replaces one group after another.", _roll_out, seconds=60.0),
    Step(
        f"Pod {_LOST} is lost with the registry away: Kthena recreates its instance of prefill, "
        "whose image cannot be pulled.",
        _lose,
        (_STUCK,),
    ),
    Step(
        "The registry is back.",
        lambda scene: Serving.of(scene).kthena.pull(fails=False),
        (_READY,),
        over=(_STUCK,),
    ),
)

MODELSERVING: Final = Story(
    _STEPS, background=Serving, flags=("--scrape-via=off", "--modelserving-status=full")
)
