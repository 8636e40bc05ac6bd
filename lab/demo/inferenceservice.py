"""The story of InferenceServices: a canary promoted, a rollback, and a model that does not load.

KServe's and Knative's controllers and the kubelets are simulated.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from lab.demo.sample_stack import controller, namespace, present, served
from lab.demo.story import HEALTHY, Background, Expected, Scene, Step, Story
from lab.sandbox.objects import Object, dig, name_of
from lab.sandbox.sandbox import Sandbox
from lab.sandbox.workloads import running_status
from lab.simulation.kserve import InferenceServiceWorld, plan
from lab.simulation.kserve_objects import NAME, Fate, load_fails, runs
from lab.simulation.objects import ControllerPlan
from reporter.stacks.kserve import reasons as k

INFERENCESERVICES: Final = "inferenceservices.serving.kserve.io"
KNATIVE_SERVICES: Final = "services.serving.knative.dev"
REVISIONS: Final = "revisions.serving.knative.dev"

_MOST_PASSES: Final = 50


def kinds() -> Iterator[Object]:
    """Yield the APIResourceLists of KServe's and Knative's kinds, for a sandbox to serve."""
    yield served("serving.kserve.io/v1beta1", inferenceservices="InferenceService")
    yield served("serving.knative.dev/v1", services="Service", revisions="Revision")


_CONTROLLERS: Final = (
    ("kserve", "kserve-controller-manager", "kserve/kserve-controller:v0.20.0"),
    ("knative-serving", "controller", "knative/controller:v1.19.0"),
)


def controllers() -> Iterator[Object]:
    for place, name, image in _CONTROLLERS:
        yield controller(place, name, image=image, labels={"app": name})


NAMESPACE: Final = "kserve-models"
CHAT: Final = "chat"
SEARCH: Final = "search"

_OOM: Final = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has 0.9 GiB free"
)
_TEMPLATE: Final = "KeyError: 'query' in tokenizer chat template"


def inferenceservice(name: str, source: str, *, transformer: bool = False) -> Object:
    """Return an InferenceService that runs vLLM, optionally behind a transformer."""
    image = {"image": f"registry.example/{name}-transformer:1"}
    return {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "predictor": {"model": {"modelFormat": {"name": "vllm"}, "storageUri": source}},
            **({"transformer": {"containers": [image]}} if transformer else {}),
        },
    }


def _subject(name: str) -> str:
    return f"inferenceservice/{NAMESPACE}/{name}"


class ServedRevisions(Background):
    """A cluster with KServe and Knative, whose controllers run on request.

    Attributes:
        fates: the fate of pods, by a prefix of their name; other pods run.

    """

    def __init__(self, sandbox: Sandbox, _say: Callable[[str], None]) -> None:
        namespaces = [namespace(each) for each in (NAMESPACE, "kserve", "knative-serving")]
        sandbox.load([*kinds(), *namespaces])
        for each in controllers():
            sandbox.create(each)
        self.sandbox = sandbox
        self.fates: dict[str, Fate] = {}
        self._node = min(name_of(node) for node in sandbox.list("nodes"))
        self._addresses = 0

    def settle(self) -> None:
        """Run the controllers until nothing is left to do.

        Raises:
            RuntimeError: the controllers do not settle.

        """
        for found in self.sandbox.list(INFERENCESERVICES):
            for _ in range(_MOST_PASSES):
                self._start(self._world(name_of(found)).pods)
                wanted = plan(self._world(name_of(found)), present())
                if wanted.is_empty:
                    break
                self._carry_out(wanted)
            else:
                raise RuntimeError(f"InferenceService {name_of(found)} does not settle")

    def _world(self, name: str) -> InferenceServiceWorld:
        """Return an InferenceService and its objects."""
        services, revisions, pods = (
            self.sandbox.list(each, namespace=NAMESPACE, label_selector=f"{NAME}={name}")
            for each in (KNATIVE_SERVICES, REVISIONS, "pods")
        )
        found = self.sandbox.get(INFERENCESERVICES, name, namespace=NAMESPACE)
        if found is None:
            raise LookupError(f"there is no InferenceService {name}")
        return InferenceServiceWorld(found, services, revisions, pods)

    def _carry_out(self, wanted: ControllerPlan) -> None:
        for each in wanted.delete:
            self.sandbox.delete("pods", name_of(each), namespace=NAMESPACE)
        for each in wanted.create:
            if each["kind"] == "Pod":
                each["spec"]["nodeName"] = self._node
            self.sandbox.create(each)
        for each in wanted.replace:
            self.sandbox.replace(each)
        for each in wanted.tell:
            self.sandbox.replace(each, subresource="status")

    def _start(self, pods: Sequence[Object]) -> None:
        """Give each pod the status of its fate."""
        for pod in pods:
            name, before = name_of(pod), pod.get("status") or {}
            fate = next((self.fates[each] for each in self.fates if name.startswith(each)), runs)
            address = dig(before, "podIP") or self._address()
            began = dig(before, "startTime") or present()
            status = fate(running_status(pod, now=began, address=address))
            if {key: before.get(key) for key in status} != status:
                self.sandbox.patch_status("pods", name, status, namespace=NAMESPACE)

    def _address(self) -> str:
        self._addresses += 1
        return f"127.246.0.{self._addresses}"

    def lines(self) -> Iterator[str]:
        found = self.sandbox.list(INFERENCESERVICES)
        if found:
            yield f"# kubectl -n {NAMESPACE} get isvc"
        yield from (f"#   {_line(each)}" for each in found)


def _line(inferenceservice: Object) -> str:
    conditions = dig(inferenceservice, "status", "conditions") or ()
    known = {each["type"]: each["status"] for each in conditions}
    shown = ("Ready", *(each for each in ("PredictorReady", "TransformerReady") if each in known))
    predictor = dig(inferenceservice, "status", "components", "predictor") or {}
    traffic = ", ".join(
        f"{each['revisionName']} {each['percent']}%" for each in predictor.get("traffic") or ()
    )
    states = ", ".join(f"{each} {known.get(each, 'Unknown')}" for each in shown)
    newest = predictor.get("latestCreatedRevision", "none")
    return f"{name_of(inferenceservice)}: {states}; newest {newest}; traffic {traffic}"


def _create(scene: Scene) -> None:
    here = ServedRevisions.of(scene)
    here.sandbox.create(inferenceservice(CHAT, "hf://example/chat-1"))
    here.sandbox.create(inferenceservice(SEARCH, "hf://example/search-1", transformer=True))
    here.settle()


def _predictor(name: str, **spec: object) -> Callable[[Scene], None]:
    """Change the spec of a predictor; None removes a field."""

    def act(scene: Scene) -> None:
        here = ServedRevisions.of(scene)
        patch = {"spec": {"predictor": spec}}
        here.sandbox.patch(INFERENCESERVICES, name, patch, namespace=NAMESPACE)
        here.settle()

    return act


def _fails(scene: Scene) -> None:
    ServedRevisions.of(scene).fates[f"{CHAT}-predictor-00003"] = load_fails(_OOM)
    _predictor(CHAT, model={"storageUri": "hf://example/chat-70b"})(scene)


def _transformer_fails(scene: Scene) -> None:
    here = ServedRevisions.of(scene)
    here.fates[f"{SEARCH}-transformer"] = load_fails(_TEMPLATE)
    here.settle()


def _transformer_works(scene: Scene) -> None:
    here = ServedRevisions.of(scene)
    del here.fates[f"{SEARCH}-transformer"]
    here.settle()


_CANARY: Final = Expected(
    k.CANARY_IN_PROGRESS, _subject(CHAT), f"{CHAT}-predictor-00002 gets 20 percent"
)
_ROLLED_BACK: Final = Expected(k.ROLLED_BACK, _subject(SEARCH), f"{SEARCH}-predictor-00001")
_NOT_LOADED: Final = Expected(
    k.MODEL_LOAD_FAILED, _subject(CHAT), f"revision {CHAT}-predictor-00002 still serves"
)
_HIDDEN: Final = Expected(k.PODS_NOT_READY, _subject(SEARCH), "Ready is True all the same")

_STEPS: Final = (
    HEALTHY,
    Step(
        f"kubectl apply of two InferenceServices: {CHAT}, and {SEARCH} with a transformer.",
        _create,
        (Expected(k.READY, _subject(CHAT)), Expected(k.READY, _subject(SEARCH))),
    ),
    Step(
        f"{CHAT} gets a new model, with canaryTrafficPercent: 20.",
        _predictor(CHAT, canaryTrafficPercent=20, model={"storageUri": "hf://example/chat-2"}),
        (_CANARY,),
    ),
    Step(
        "The canary is promoted: canaryTrafficPercent is removed.",
        _predictor(CHAT, canaryTrafficPercent=None),
        over=(_CANARY,),
    ),
    Step(
        f"{SEARCH} gets a new model too, all at once.",
        _predictor(SEARCH, model={"storageUri": "hf://example/search-2"}),
    ),
    Step(
        "It answers badly, and is rolled back: canaryTrafficPercent: 0.",
        _predictor(SEARCH, canaryTrafficPercent=0),
        (_ROLLED_BACK,),
    ),
    Step(
        f"{CHAT} gets a model that is too large for its GPU: it does not load.",
        _fails,
        (_NOT_LOADED,),
    ),
    Step(
        f"{CHAT} goes back to its previous model: one more revision.",
        _predictor(CHAT, model={"storageUri": "hf://example/chat-2"}),
        (Expected(k.READY, _subject(CHAT), f"{CHAT}-predictor-00004"),),
        over=(_NOT_LOADED,),
    ),
    Step(
        f"The transformer of {SEARCH} crashes. Ready of {SEARCH} does not follow it.",
        _transformer_fails,
        (_HIDDEN,),
    ),
    Step(
        "The transformer runs again.",
        _transformer_works,
        (Expected(k.READY, _subject(SEARCH)),),
        over=(_HIDDEN,),
    ),
)

INFERENCESERVICE: Final = Story(_STEPS, background=ServedRevisions)
