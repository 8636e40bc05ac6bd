"""The story of an LLMInferenceService: faults that Ready hides, and states that only look wrong."""

from collections.abc import Callable, Iterator
from typing import Final

from lab.demo.sample_stack import controller, deployment, namespace, present, served, told_by
from lab.demo.story import CHAT, HEALTHY, Background, Expected, Scene, Step, Story
from lab.sandbox.objects import JSON, Object, dig
from lab.sandbox.sandbox import Sandbox
from reporter.stacks.llmisvc import reasons as k

NAMESPACE: Final = "llm-models"
NAME: Final = "qwen3"
CONFIG: Final = "house-defaults"
LLMS: Final = "llminferenceservices.serving.kserve.io"
CONFIGS: Final = "llminferenceserviceconfigs.serving.kserve.io"
_EPP: Final = f"{NAME}-kserve-router-scheduler"
_POOLS: Final = "inferencepools.inference.networking.k8s.io"
_POOL: Final = f"{NAME}-inference-pool"
_TRUE: Final = ("PresetsCombined", "MainWorkloadReady", "PrefillWorkloadReady", "WorkloadsReady")
_WAITING: Final = ("InferencePoolReady", "RouterReady", "Ready")


def _labels(part: str) -> dict[str, JSON]:
    return {
        "app.kubernetes.io/name": NAME,
        "app.kubernetes.io/part-of": "llminferenceservice",
        "app.kubernetes.io/component": f"llminferenceservice-{part}",
    }


def _deployment(name: str, part: str) -> Object:
    container: JSON = {"name": "main", "image": "ghcr.io/llm-d/llm-d-cuda:v0.4.0"}
    return deployment(NAMESPACE, name, container, labels=_labels(part))


def _service(name: str, part: str, port: int) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": _labels(part)},
        "spec": {"selector": _labels(part), "ports": [{"port": port}]},
    }


def _pool() -> Object:
    reference: JSON = {"name": f"{NAME}-epp-service", "port": {"number": 9002}}
    return {
        "apiVersion": "inference.networking.k8s.io/v1",
        "kind": "InferencePool",
        "metadata": {"name": _POOL, "namespace": NAMESPACE, "labels": _labels("router-scheduler")},
        "spec": {
            "selector": {"matchLabels": {"app.kubernetes.io/name": NAME}},
            "targetPorts": [{"number": 8000}],
            "endpointPickerRef": reference,
        },
    }


def _config() -> Object:
    return {
        "apiVersion": "serving.kserve.io/v1alpha2",
        "kind": "LLMInferenceServiceConfig",
        "metadata": {"name": CONFIG, "namespace": NAMESPACE},
        "spec": {"prefill": {"replicas": 1}},
    }


def _llm() -> Object:
    gateway: JSON = {"name": f"{CHAT}-gw", "namespace": CHAT}
    return {
        "apiVersion": "serving.kserve.io/v1alpha2",
        "kind": "LLMInferenceService",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {
            "model": {"uri": "hf://Qwen/Qwen3-0.6B", "name": NAME},
            "baseRefs": [{"name": CONFIG}],
            "router": {"gateway": {"refs": [gateway]}, "scheduler": {}},
        },
    }


def _condition(kind: str, status: str, reason: str = "") -> Object:
    fields: dict[str, JSON] = {"type": kind, "status": status, "reason": reason, "message": ""}
    return {**fields, "lastTransitionTime": present()}


def made() -> tuple[Object, ...]:
    """Return an LLMInferenceService, its config, and the objects that KServe creates for it."""
    return (
        _config(),
        _deployment(f"{NAME}-kserve", "workload"),
        _deployment(f"{NAME}-kserve-prefill", "workload-prefill"),
        _deployment(_EPP, "router-scheduler"),
        _service(f"{NAME}-kserve-workload-svc", "workload", 8000),
        _service(f"{NAME}-epp-service", "router-scheduler", 9002),
        _pool(),
        _llm(),
    )


def statuses() -> Iterator[tuple[str, str, JSON]]:
    """Yield resource, name and status for the objects whose status controllers write."""
    accepted = [_condition(each, "True", each) for each in ("Accepted", "ResolvedRefs")]
    yield _POOLS, _POOL, told_by(CHAT, f"{CHAT}-gw", accepted)
    waiting = [_condition(each, "False", "WaitingForGateway") for each in _WAITING]
    conditions: JSON = [*(_condition(each, "True") for each in _TRUE), *waiting]
    yield LLMS, NAME, {"observedGeneration": 1, "conditions": conditions}


class LlmCluster(Background):
    """A cluster with KServe's controller of LLMInferenceServices while entered."""

    def __init__(self, sandbox: Sandbox, _say: Callable[[str], None]) -> None:
        listed = served(
            "serving.kserve.io/v1alpha2",
            llminferenceservices="LLMInferenceService",
            llminferenceserviceconfigs="LLMInferenceServiceConfig",
        )
        sandbox.load([listed, namespace(NAMESPACE), namespace("kserve")])
        name = "llmisvc-controller-manager"
        image = "kserve/llmisvc-controller:v0.20.0"
        sandbox.create(controller("kserve", name, image=image, labels={"app": name}))
        self.sandbox = sandbox

    def make(self) -> None:
        """Create an LLMInferenceService with the objects that its controller creates."""
        for each in made():
            self.sandbox.create(each)
        for resource, name, status in statuses():
            self.sandbox.patch_status(resource, name, status, namespace=NAMESPACE)

    def lines(self) -> Iterator[str]:
        for each in self.sandbox.list(LLMS):
            conditions = {one["type"]: one for one in dig(each, "status", "conditions") or ()}
            ready = conditions.get("Ready") or {"status": "Unknown", "reason": ""}
            yield f"# kubectl get llmisvc: {NAME} {ready['status']} {ready['reason']}"


def _picker(replicas: int) -> Callable[[Scene], None]:
    return lambda scene: scene.cluster.scale(NAMESPACE, _EPP, replicas)


def _stop(scene: Scene) -> None:
    patch: JSON = {"metadata": {"annotations": {"serving.kserve.io/stop": "true"}}}
    LlmCluster.of(scene).sandbox.patch(LLMS, NAME, patch, namespace=NAMESPACE)


_SUBJECT: Final = f"llminferenceservice/{NAMESPACE}/{NAME}"
_READY: Final = Expected(k.READY, _SUBJECT, "decode Deployment and prefill Deployment available")
_PICKER: Final = Expected(
    k.EPP_NOT_READY, _SUBJECT, f"endpoint picker is down: scaled to zero (Deployment {_EPP})"
)
_CONFIG: Final = Expected(k.INVALID, _SUBJECT, f"LLMInferenceServiceConfig {CONFIG} does not exist")

_STEPS: Final = (
    HEALTHY,
    Step(
        f"kubectl apply of LLMInferenceService {NAME}, with a Gateway and no route: KServe waits "
        "for ever, and requests are answered.",
        lambda scene: LlmCluster.of(scene).make(),
        (_READY,),
    ),
    Step(f"Its endpoint picker {_EPP} is scaled to zero.", _picker(0), (_PICKER,)),
    Step("It is scaled back.", _picker(1), (_READY,), over=(_PICKER,)),
    Step(
        f"Somebody deletes the config {CONFIG}: the pods go on, and so does the status.",
        lambda scene: LlmCluster.of(scene).sandbox.delete(CONFIGS, CONFIG, namespace=NAMESPACE),
        (_CONFIG,),
    ),
    Step(
        "The config is applied again.",
        lambda scene: LlmCluster.of(scene).sandbox.create(_config()),
        (_READY,),
        over=(_CONFIG,),
    ),
    Step(
        f"{NAME} is stopped by its annotation: worth knowing, and no fault.",
        _stop,
        (Expected(k.STOPPED, _SUBJECT, "is stopped"),),
    ),
)

LLMINFERENCESERVICE: Final = Story(_STEPS, background=LlmCluster, graced=(k.EPP_NOT_READY,))
"""An LLMInferenceService with separate prefill and decode pods, and an endpoint picker."""
