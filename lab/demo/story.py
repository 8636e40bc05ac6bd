"""The parts of a demo story: the changes to the cluster, and the Events that must follow."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final, Self

from lab.sandbox.objects import JSON, Object, dig, meta, name_of, namespace_of
from lab.sandbox.sandbox import Sandbox
from lab.sandbox.workloads import Says, not_ready, running_status, with_condition
from lab.simulation.server import ModelPod
from reporter.catalogue import reasons as c
from reporter.errors import UsageError
from reporter.stacks.kaito.reasons import MODEL_READY

SELECTOR: Final = "inferenceset.kaito.sh/created-by"


class ModelPods:
    """Serves a page for each model pod of a sandbox while entered, all on one port."""

    def __init__(
        self, sandbox: Sandbox, port: int = 0, make: Callable[..., ModelPod] = ModelPod
    ) -> None:
        self._make = make
        self._places = {
            (namespace_of(pod), name_of(pod)): str(dig(pod, "status", "podIP"))
            for pod in model_pods(sandbox)
        }
        self._pods: dict[tuple[str, str], ModelPod] = {}
        self._stack = AsyncExitStack()
        self.port = port

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            for place, address in self._places.items():
                self._pods[place] = await stack.enter_async_context(self._pod(address))
                self.port = self._pods[place].port
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def _pod(self, address: str) -> ModelPod:
        try:
            return self._make(host=address, port=self.port)
        except OSError as error:
            why = f"cannot listen on {address}:{self.port}: {(error.strerror or '').lower()}"
            need = "simulated pods need Linux, where all of 127.0.0.0/8 is the machine's own"
            raise UsageError(f"{why}; {need}") from None

    @property
    def all(self) -> Mapping[tuple[str, str], ModelPod]:
        return self._pods

    def of(self, namespace: str, owner: str) -> ModelPod:
        """Return the first pod whose name begins with `owner`."""
        return next(
            pod
            for (place, name), pod in sorted(self._pods.items(), key=lambda each: each[0])
            if place == namespace and name.startswith(owner)
        )


def model_pods(sandbox: Sandbox) -> Iterator[Object]:
    for pod in sandbox.list("pods"):
        if SELECTOR in (meta(pod).get("labels") or {}):
            yield pod


CHAT: Final = "chat-models"
CODE: Final = "code-models"
SEARCH: Final = "search-models"

_KEPT_METADATA: Final = ("name", "namespace", "labels", "annotations", "ownerReferences")


@dataclass(frozen=True, slots=True)
class Expected:
    """An Event that a step must cause: its reason, its subject, and texts that it must contain.

    `change` is the text about a preceding change.
    """

    reason: str
    subject: str
    text: str = ""
    change: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One change to the cluster.

    Attributes:
        told: a description of the change, in an operator's words.
        act: makes the change.
        expected: the Events that follow, in any order.
        over: Events whose episode ends.
        seconds: extra time that the step may take.

    """

    told: str
    act: Callable[["Scene"], object]
    expected: tuple[Expected, ...] = ()
    over: tuple[Expected, ...] = ()
    seconds: float = 0.0


class Background:
    """Activity in the cluster in addition to the steps, while entered."""

    @property
    def at_rest(self) -> bool:
        """True if all effects of a step have happened."""
        return True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leave the sandbox as it is."""

    def lines(self) -> Iterable[str]:
        """Return the lines to print at the end of a step."""
        return ()

    def verdict(self) -> str:
        """Return the line to print at the end, or an empty string."""
        return ""

    @classmethod
    def of(cls, scene: "Scene") -> Self:
        """Return the background of a scene.

        Raises:
            TypeError: the scene has another kind of background.

        """
        if not isinstance(scene.background, cls):
            raise TypeError(f"this story needs a cluster with {cls.__name__}")
        return scene.background


@dataclass(frozen=True, slots=True)
class Story:
    """Steps, and how to run the daemon for them.

    Attributes:
        steps: the steps, in order.
        flags: flags of the daemon, in addition to those of every story; `{window}` is the pace's.
        graced: reasons whose own grace would make the story long: they have the pace's.
        scrapes: whether there are simulated pods, which the daemon scrapes.
        background: makes the background, from the sandbox and a function that prints a line.

    """

    steps: tuple[Step, ...]
    flags: tuple[str, ...] = ("--scrape-via=off",)
    graced: tuple[str, ...] = ()
    scrapes: bool = False
    background: Callable[[Sandbox, Callable[[str], None]], Background] | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    cluster: "StoryCluster"
    pods: ModelPods
    background: Background | None = None


class StoryCluster:
    def __init__(self, sandbox: Sandbox, now: Callable[[], str]) -> None:
        self._sandbox = sandbox
        self._now = now

    def scale(self, namespace: str, deployment: str, replicas: int) -> None:
        self._sandbox.scale("deployments.apps", deployment, replicas, namespace=namespace)

    def condition(self, resource: str, namespace: str, owner: str, *, says: Says) -> None:
        """Set a condition of every object whose name begins with `owner`."""
        for obj in self._named(resource, namespace, owner):
            before = dig(obj, "status", "conditions") or ()
            fresh: JSON = list(with_condition(before, says, now=self._now()))
            status = {"conditions": fresh}
            self._sandbox.patch_status(resource, name_of(obj), status, namespace=namespace)

    def image_pull(self, namespace: str, owner: str, *, fails: bool) -> None:
        for pod in self._named("pods", namespace, owner):
            status = self._running(pod)
            if fails:
                text = "Back-off pulling image registry.example/vllm:typo"
                status = not_ready(status, ("ImagePullBackOff", text), now=self._now())
            self._sandbox.patch_status("pods", name_of(pod), status, namespace=namespace)

    def replace_pod(self, namespace: str, owner: str) -> None:
        """Replace the first pod by a new one, whose container runs but is not ready yet."""
        old = self._named("pods", namespace, owner)[0]
        kept = {key: each for key, each in meta(old).items() if key in _KEPT_METADATA}
        status = not_ready(self._running(old), now=self._now())
        self._sandbox.delete("pods", name_of(old), namespace=namespace)
        self._sandbox.create({**old, "metadata": kept, "status": {}})
        self._sandbox.patch_status("pods", name_of(old), status, namespace=namespace)

    def pod_ready(self, namespace: str, owner: str) -> None:
        for pod in self._named("pods", namespace, owner):
            status = self._running(pod)
            self._sandbox.patch_status("pods", name_of(pod), status, namespace=namespace)

    def remove_crd(self, name: str) -> None:
        self._sandbox.delete("customresourcedefinitions.apiextensions.k8s.io", name)

    def _running(self, pod: Object) -> Object:
        return running_status(pod, now=self._now(), address=str(dig(pod, "status", "podIP")))

    def _named(self, resource: str, namespace: str, owner: str) -> list[Object]:
        found = self._sandbox.list(resource, namespace=namespace)
        return [
            obj for obj in found if name_of(obj).startswith(owner) and "epp" not in name_of(obj)
        ]


MODELS: Final = (
    f"{CHAT}/llama-3-1-8b",
    f"{CHAT}/phi-4-mini",
    f"{CODE}/qwen2-5-coder-7b",
    f"{SEARCH}/mistral-7b",
    f"{SEARCH}/gemma-3-4b",
)

HEALTHY: Final = Step(
    "The stack is healthy: three workload namespaces, five InferenceSets.",
    lambda _scene: None,
    (
        Expected(c.CLUSTER_READY, "cluster"),
        *(Expected(c.HARNESS_READY, f"namespace/{name}") for name in (CHAT, CODE, SEARCH)),
        *(Expected(MODEL_READY, f"inferenceset/{name}") for name in MODELS),
    ),
)
"""The first step of each story."""
