"""The story of a ModelServing: prefill and decode roles, scaling, a rollout, and a lost pod.

Kthena's controller and the kubelets are simulated in step with the daemon: each step waits until
`status.roleStatuses` shows the result of the last one. So every change is seen, however slow the
machine is, and the daemon's status is compared with the objects.
"""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, Self

import msgspec

from lab.demo.sample_stack import controller, namespace, present
from lab.demo.story import HEALTHY, Background, Expected, Scene, Step, Story
from lab.sandbox.objects import Object, copy_json, dig, meta, name_of
from lab.sandbox.sandbox import Sandbox
from lab.sandbox.storage import Change
from lab.sandbox.workloads import not_ready, running_status
from lab.simulation.kthena import ModelServingWorld, groups_of, plan
from lab.simulation.kthena_objects import NAME as NAME_LABEL
from lab.simulation.kthena_objects import is_deleting
from lab.simulation.objects import ControllerPlan, is_ready
from reporter.stacks.kthena import reasons as m
from reporter.yaml_reader.reading import read_yaml

MODELSERVINGS: Final = "modelservings.workload.serving.volcano.sh"
NAMESPACE: Final = "kthena-models"
NAME: Final = "qwen3"

_REVISIONS: Final = "controllerrevisions.apps"
_RESOURCES: Final = {"Pod": "pods", "Service": "services", "ControllerRevision": _REVISIONS}
_STOPPING: Final = "kubelet.example/stopping"
"""Finalizer that keeps a pod until its kubelet has ended its containers."""

_ABSENT: Final = "NotFound"
_CONTROLLER: Final = "kthena-controller-manager"
_PACKAGED: Final = Path(__file__).parent / "crds"
_CHECKOUT: Final = (
    Path(__file__).resolve().parents[2] / "helm/productionstack-status-reporter/files/crds"
)


def load_crd() -> Object:
    """Return the CustomResourceDefinition of ModelServings, with `status.roleStatuses`."""
    folder = _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT
    text = (folder / "modelservings.yaml").read_text("utf-8")
    return msgspec.convert(read_yaml(text), Object)


class RoleInstance(NamedTuple):
    group: str
    id: str


class Serving(Background):
    """A cluster with Kthena, which reconciles the ModelServing while entered.

    Attributes:
        history: the changes of instances, as `(instance, state)`, in order.

    """

    def __init__(self, sandbox: Sandbox, say: Callable[[str], None]) -> None:
        """Print changes of the status by `say`."""
        sandbox.load([load_crd(), namespace(NAMESPACE), namespace("kthena-system")])
        image = f"ghcr.io/volcano-sh/{_CONTROLLER}:v1.0.0"
        labels = {"app.kubernetes.io/component": _CONTROLLER}
        sandbox.create(controller("kthena-system", _CONTROLLER, image=image, labels=labels))
        self.sandbox = sandbox
        self.history: list[tuple[RoleInstance, str]] = []
        self._pulls = True
        self._node = min(name_of(node) for node in sandbox.list("nodes"))
        self._say = say
        self._states: dict[RoleInstance, str] = {}
        self._addresses = 0
        self._due: asyncio.Handle | None = None

    async def __aenter__(self) -> Self:
        for collection in (MODELSERVINGS, *_RESOURCES.values()):
            self.sandbox.storage.collection(collection).subscribers.append(self._notify)
        return self

    async def __aexit__(self, *_: object) -> None:
        for collection in (MODELSERVINGS, *_RESOURCES.values()):
            self.sandbox.storage.collection(collection).subscribers.remove(self._notify)
        if self._due is not None:
            self._due.cancel()

    def _notify(self, change: Change | None) -> None:
        here = change is not None and change.new.key.namespace == NAMESPACE
        if here and self._due is None:
            self._due = asyncio.get_running_loop().call_soon(self._look)

    @property
    def modelserving(self) -> Object | None:
        """The ModelServing, None before it is created."""
        return self.sandbox.get(MODELSERVINGS, NAME, namespace=NAMESPACE)

    @property
    def at_rest(self) -> bool:
        """True if the status matches the objects and nothing is left to do."""
        modelserving = self.modelserving
        if modelserving is None:
            return True
        world = self._world(modelserving)
        return _is_reported(world) and next(self._moves(world), None) is None

    def lose_pod(self, name: str) -> None:
        """Remove a pod without termination, as if its node was lost."""
        self._let_go(name)
        self.sandbox.delete("pods", name, namespace=NAMESPACE)

    def pull(self, *, fails: bool) -> None:
        """Let image pulls fail or succeed."""
        self._pulls = not fails
        self._look()

    def _look(self) -> None:
        self._due = None
        modelserving = self.modelserving
        if modelserving is None:
            return
        world = self._world(modelserving)
        if _is_reported(world):
            self._note(_states(world))
            move = next(self._moves(world), None)
            if move is not None:
                move()

    def _world(self, modelserving: Object) -> ModelServingWorld:
        selector = f"{NAME_LABEL}={NAME}"
        pods, services, revisions = (
            self.sandbox.list(resource, namespace=NAMESPACE, label_selector=selector)
            for resource in _RESOURCES.values()
        )
        return ModelServingWorld(modelserving, pods, services, None, revisions)

    def _note(self, states: dict[RoleInstance, str]) -> None:
        """Record and print the changes since the last pass, as a client that sees every step."""
        gone = [(role, "") for role in self._states.keys() - states.keys()]
        changes = [(r, state) for r, state in states.items() if self._states.get(r) != state]
        self.history += ((r, "Deleting") for r, _ in gone if self._states[r] != "Deleting")
        self.history += changes
        self._states = states
        groups: dict[tuple[str, str], list[str]] = {}
        for role, state in sorted(gone) + changes:
            groups.setdefault((role.group, state or "NotFound or left out"), []).append(role.id)
        for (group, state), roles in groups.items():
            self._say(f"# status.roleStatuses: {group}: {', '.join(roles)} {state}")

    def _moves(self, world: ModelServingWorld) -> Iterator[Callable[[], None]]:
        """Yield the actions to take, in order."""
        going = [name_of(pod) for pod in world.pods if is_deleting(pod)]
        if going:
            yield lambda: self._let_go(*going)
        wanted = plan(world)
        if not wanted.is_empty:
            yield lambda: self._carry_out(wanted)
        starting = [pod for pod in world.pods if not is_ready(pod) and not is_deleting(pod)]
        if not self._pulls:
            starting = [pod for pod in starting if not dig(pod, "status", "conditions")]
        if starting:
            yield lambda: self._start(starting)

    def _let_go(self, *pods: str) -> None:
        for pod in pods:
            patch = {"metadata": {"finalizers": None}}
            self.sandbox.patch("pods", pod, patch, namespace=NAMESPACE)

    def _carry_out(self, wanted: ControllerPlan) -> None:
        for each in wanted.delete:
            self.sandbox.delete(_RESOURCES[each["kind"]], name_of(each), namespace=NAMESPACE)
        for each in wanted.create:
            if each["kind"] == "Pod":
                meta(each)["finalizers"] = [_STOPPING]
                each["spec"]["nodeName"] = self._node
            self.sandbox.create(each)

    def _start(self, pods: list[Object]) -> None:
        for pod in pods:
            self._addresses += 1
            status = running_status(pod, now=present(), address=f"127.245.0.{self._addresses}")
            if not self._pulls:
                text = f'Back-off pulling image "{dig(pod, "spec", "containers")[0]["image"]}"'
                status = not_ready(status, ("ImagePullBackOff", text), now=present())
            self.sandbox.patch_status("pods", name_of(pod), status, namespace=NAMESPACE)

    def lines(self) -> Iterator[str]:
        """Yield a short form of the status."""
        status = (self.modelserving or {}).get("status") or {}
        groups: dict[str, list[str]] = {}
        for each in status.get("roleStatuses") or ():
            text = f"{each['roleID']} {each['status']}"
            groups.setdefault(each["servingGroupName"], []).append(text)
        if groups:
            command = f"kubectl -n {NAMESPACE} get modelserving {NAME} -o jsonpath"
            yield f"# {command}={{.status.roleStatuses}}"
        yield from (f"#   {group}: {', '.join(roles)}" for group, roles in groups.items())

    def verdict(self) -> str:
        return f"{len(self.history)} changes of roles, all of them in the status."


def _is_reported(world: ModelServingWorld) -> bool:
    status = world.modelserving.get("status") or {}
    reported = {
        RoleInstance(each["servingGroupName"], each["roleID"]): each["status"]
        for each in status.get("roleStatuses") or ()
        if each["status"] != _ABSENT
    }
    generation = meta(world.modelserving)["generation"]
    return status.get("observedGeneration") == generation and reported == _states(world)


def _states(world: ModelServingWorld) -> dict[RoleInstance, str]:
    """Return the states that `roleStatuses` should have for instances with pods."""
    return {
        RoleInstance(group.name, instance.id): instance.state
        for group in groups_of(world)
        if not group.is_going
        for instance in group.instances
        if instance.state != _ABSENT
    }


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


def _roll_out(scene: Scene) -> None:
    serving = Serving.of(scene)
    roles = copy_json(dig(serving.modelserving, "spec", "template", "roles"))
    for role in roles:
        for template in {"entryTemplate", "workerTemplate"} & role.keys():
            role[template] = _template("vllm/vllm-openai:v0.15.0")
    patch = {"spec": {"template": {"roles": roles}}}
    serving.sandbox.patch(MODELSERVINGS, NAME, patch, namespace=NAMESPACE)


def _lose(scene: Scene) -> None:
    Serving.of(scene).pull(fails=True)
    Serving.of(scene).lose_pod(_LOST)


_LOST: Final = f"{NAME}-0-prefill-0-1"
_SUBJECT: Final = f"modelserving/{NAMESPACE}/{NAME}"
_READY: Final = Expected(m.READY, _SUBJECT)
_STUCK: Final = Expected(m.ROLE_CREATING, _SUBJECT, "prefill-0")

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
        lambda scene: Serving.of(scene).pull(fails=False),
        (_READY,),
        over=(_STUCK,),
    ),
)

MODELSERVING: Final = Story(
    _STEPS, background=Serving, flags=("--scrape-via=off", "--modelserving-status=full")
)
