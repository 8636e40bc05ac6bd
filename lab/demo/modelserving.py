"""The story of a ModelServing: prefill and decode roles, scaling, a rollout, and a lost pod."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, Self

import msgspec

from lab.demo.controller_deployments import controller
from lab.demo.kthena import MODELSERVINGS, Kthena, RoleInstance
from lab.demo.sample_stack import namespace
from lab.demo.story import HEALTHY, Background, Expected, Scene, Step, Story, StoryPace, present
from lab.sandbox.objects import Object, copy_json, dig, name_of
from lab.sandbox.sandbox import Sandbox
from reporter.stacks.kthena import reasons as m
from reporter.yaml_reader.reading import read_yaml

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


def _create(scene: Scene) -> None:
    Serving.of(scene).sandbox.create(modelserving())


def _scale(scene: Scene) -> None:
    Serving.of(scene).sandbox.scale(MODELSERVINGS, NAME, 3, namespace=NAMESPACE)


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


def _mend(scene: Scene) -> None:
    Serving.of(scene).kthena.pull(fails=False)


def _flags(_pace: StoryPace) -> tuple[str, ...]:
    return ("--scrape-via=off", "--modelserving-status=full")


_STEPS: Final = (
    HEALTHY,
    Step(
        f"kubectl apply of ModelServing {NAME}: two groups, each with prefill (an entry and a "
        "worker pod) and two of decode.",
        _create,
        (_READY,),
    ),
    Step(f"kubectl -n {NAMESPACE} scale modelserving {NAME} --replicas=3", _scale),
    Step("A new image: Kthena replaces one group after another.", _roll_out, seconds=60.0),
    Step(
        f"Pod {_LOST} is lost with the registry away: Kthena recreates its instance of prefill, "
        "whose image cannot be pulled.",
        _lose,
        (_STUCK,),
    ),
    Step("The registry is back.", _mend, (_READY,), over=(_STUCK,)),
)

MODELSERVING: Final = Story(_flags, _STEPS, background=Serving)
