"""The story of a ModelService: faults that its (simulated) operator's phase does not show."""

import asyncio
from collections.abc import Iterator
from typing import Final, Self

import msgspec

from lab.demo.sample_stack import controller, namespace, present, served, told_by
from lab.demo.story import CHAT, HEALTHY, Background, Expected, Scene, Step, Story
from lab.sandbox.objects import JSON, Object, copy_json, dig, name_of
from lab.sandbox.sandbox import Sandbox
from lab.sandbox.storage import Change
from lab.sandbox.workloads import running_status
from reporter.model.objects import Deployment
from reporter.stacks.otterscale import reasons as m
from reporter.stacks.otterscale.derived.observe import observe
from reporter.stacks.otterscale.manifests.names import OperatorSettings
from reporter.stacks.otterscale.manifests.wanted import wanted
from reporter.stacks.otterscale.objects import ModelService

NAMESPACE: Final = "otterscale-models"
SYSTEM: Final = "otterscale-system"
NAME: Final = "qwen3"

MODELSERVICES: Final = "modelservices.model.otterscale.io"
DEPLOYMENTS: Final = "deployments.apps"
ROUTED: Final = (
    "httproutes.gateway.networking.k8s.io",
    "inferencepools.inference.networking.k8s.io",
)
DECODE: Final = f"{NAME}-decode"
PREFILL: Final = f"{NAME}-prefill"
_KINDS: Final = (
    served("model.otterscale.io/v1alpha1", modelservices="ModelService"),
    served("networking.istio.io/v1beta1", destinationrules="DestinationRule"),
    served("monitoring.coreos.com/v1", podmonitors="PodMonitor", servicemonitors="ServiceMonitor"),
)


def modelservice() -> Object:
    """Return the ModelService: a decode and a prefill pod behind an endpoint picker."""
    return {
        "apiVersion": "model.otterscale.io/v1alpha1",
        "kind": "ModelService",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {
            "model": {
                "name": "Qwen/Qwen3-0.6B",
                "image": "registry.example.com/models/qwen3-0.6b:v1",
                "imagePullSecrets": [{"name": "registry"}],
            },
            "engine": {"port": 8000},
            "accelerator": {"type": "nvidia"},
            "decode": {"replicas": 1},
            "prefill": {"replicas": 1},
            "routingProxy": {"targetPort": 8200},
            "inferencePool": {
                "endpointPicker": {"replicas": 1, "port": 9002, "failureMode": "FailClose"}
            },
            "httpRoute": {"gatewayRef": {"name": f"{CHAT}-gw", "namespace": CHAT}},
        },
    }


def operator() -> Object:
    labels: dict[str, JSON] = {
        "control-plane": "controller-manager",
        "app.kubernetes.io/name": "model-operator",
    }
    image = "ghcr.io/otterscale/model-operator:v0.9.0"
    return controller(SYSTEM, "model-operator-controller-manager", image=image, labels=labels)


def observed(service: Object, decode: Object | None, prefill: Object | None, *, now: str) -> Object:
    """Return the status that the operator writes: it reads only these Deployments."""
    deployments = (
        None if each is None else msgspec.convert(each, Deployment) for each in (decode, prefill)
    )
    status: Object = copy_json(dict(observe(msgspec.convert(service, ModelService), *deployments)))
    status["conditions"] = [{"lastTransitionTime": now, **each} for each in status["conditions"]]
    return status


class OtterScale(Background):
    """A cluster with OtterScale's operator, which creates missing objects only on request.

    While entered, it writes the status like the operator, from the Deployments.
    """

    def __init__(self, sandbox: Sandbox, _say: object) -> None:
        sandbox.load([*_KINDS, namespace(NAMESPACE), namespace(SYSTEM)])
        sandbox.create(operator())
        self.sandbox = sandbox
        self._collection = sandbox.storage.collection(DEPLOYMENTS)
        self._due: asyncio.Handle | None = None

    async def __aenter__(self) -> Self:
        self._collection.subscribers.append(self.notify)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._collection.subscribers.remove(self.notify)
        if self._due is not None:
            self._due.cancel()

    def notify(self, change: Change | None) -> None:
        """Schedule an update of the status; called by the sandbox."""
        if change is not None and change.new.key.namespace == NAMESPACE and self._due is None:
            self._due = asyncio.get_running_loop().call_soon(self._write_status)

    @property
    def service(self) -> Object | None:
        return self.sandbox.get(MODELSERVICES, NAME, namespace=NAMESPACE)

    def make(self) -> None:
        """Create missing objects, and write the status."""
        if (service := self.service) is None:
            return
        typed = msgspec.convert(service, ModelService)
        for manifest in wanted(typed, OperatorSettings(kit_image="kitops:v1")):
            document = copy_json(dict(manifest.document))
            resource = self.sandbox.registry.by_kind(manifest.ref.api_version, manifest.ref.kind)
            if resource is None:
                continue  # Secrets and RBAC objects, which nothing here reads
            place = {"namespace": manifest.ref.namespace} if manifest.ref.namespace else {}
            if self.sandbox.get(resource.name, manifest.ref.name, **place) is None:
                self.sandbox.create(document)
        self._take_up()
        self._write_status()

    def _take_up(self) -> None:
        """Let the Gateway accept the route and the pool, like its controller."""
        accepted: list[Object] = [
            {"type": each, "status": "True", "reason": each, "lastTransitionTime": present()}
            for each in ("Accepted", "ResolvedRefs")
        ]
        for resource in ROUTED:
            told = told_by(CHAT, f"{CHAT}-gw", accepted)
            self.sandbox.patch_status(resource, NAME, told, namespace=NAMESPACE)

    def _write_status(self) -> None:
        self._due = None
        service = self.service
        if service is None:
            return
        roles = [
            self.sandbox.get(DEPLOYMENTS, each, namespace=NAMESPACE) for each in (DECODE, PREFILL)
        ]
        status = observed(service, *roles, now=present())
        before = service.get("status") or {}
        if before != status:
            gone: Object = {key: None for key in before if key not in status}
            told = {**gone, **status}
            self.sandbox.patch_status(MODELSERVICES, NAME, told, namespace=NAMESPACE)

    def unpack(self, *, fails: bool) -> None:
        """Let the decode pod's unpacking of its model fail or succeed."""
        for pod in self.sandbox.list("pods", namespace=NAMESPACE):
            if not name_of(pod).startswith(DECODE):
                continue
            address = str(dig(pod, "status", "podIP"))
            status = running_status(pod, now=present(), address=address)
            if fails:
                status = unpack_fails(status, present())
            else:
                status["initContainerStatuses"] = None
            self.sandbox.patch_status("pods", name_of(pod), status, namespace=NAMESPACE)

    @property
    def at_rest(self) -> bool:
        return self._due is None

    def lines(self) -> Iterator[str]:
        """Yield the line of `kubectl get modelservice`: the operator's view."""
        service = self.service
        if service is None:
            return
        phase = dig(service, "status", "phase")
        counts = ", ".join(
            f"{role} {dig(service, 'status', f'{role}Ready') or 0}"
            f"/{dig(service, 'status', f'{role}Replicas') or 0}"
            for role in ("decode", "prefill")
        )
        yield f"# kubectl -n {NAMESPACE} get modelservice {NAME}: phase {phase}, {counts}"

    def verdict(self) -> str:
        return "The operator's phase said Ready all the time, but for the pod that did not run."


def unpack_fails(running: Object, now: str) -> Object:
    """Turn the status of a running pod into that of one whose model cannot be unpacked."""
    ended: Object = {"exitCode": 1, "reason": "Error", "finishedAt": now}
    back_off: Object = {"waiting": {"reason": "CrashLoopBackOff"}}
    waits: Object = {"waiting": {"reason": "PodInitializing"}}
    conditions = [
        {**each, "status": "True" if each["type"] == "PodScheduled" else "False"}
        for each in running["conditions"]
    ]
    return {
        **running,
        "phase": "Pending",
        "conditions": conditions,
        "initContainerStatuses": [
            {
                "name": "model-unpack",
                "image": "kitops:v1",
                "imageID": "",
                "ready": False,
                "restartCount": 3,
                "state": back_off,
                "lastState": {"terminated": ended},
            }
        ],
        "containerStatuses": [
            {**each, "ready": False, "started": False, "state": waits}
            for each in running["containerStatuses"]
        ],
    }


_EPP: Final = f"{NAME}-epp"
_POD_MONITORS: Final = "podmonitors.monitoring.coreos.com"

_SUBJECT: Final = f"modelservice/{NAMESPACE}/{NAME}"
_READY: Final = Expected(m.READY, _SUBJECT, "the pods have no probes")
_UNPACK: Final = Expected(m.PODS, _SUBJECT, "init container model-unpack waits in CrashLoopBackOff")
_MISSING: Final = Expected(m.OBJECT_MISSING, _SUBJECT, f"Deployment {PREFILL} is missing")
_PICKER: Final = Expected(
    m.EPP, _SUBJECT, f"scaled to zero (Deployment {_EPP}); failureMode is FailClose"
)
_DRIFT: Final = Expected(m.DRIFT, _SUBJECT, f"PodMonitor {DECODE} differs: spec.selector")


def _create(scene: Scene) -> None:
    otterscale = OtterScale.of(scene)
    otterscale.sandbox.create(modelservice())
    otterscale.make()


def _drift(scene: Scene) -> None:
    labels: JSON = {"llm-d.ai/role": "prefill"}
    patch: JSON = {"spec": {"selector": {"matchLabels": labels}}}
    OtterScale.of(scene).sandbox.patch(_POD_MONITORS, DECODE, patch, namespace=NAMESPACE)


_STEPS: Final = (
    HEALTHY,
    Step(
        f"kubectl apply of ModelService {NAME}: decode and prefill pods; its operator makes the rest.",
        _create,
        (_READY,),
    ),
    Step(
        "The registry no longer accepts the credentials of Secret registry, and a decode pod is "
        "replaced.",
        lambda scene: OtterScale.of(scene).unpack(fails=True),
        (_UNPACK,),
    ),
    Step(
        "The Secret is corrected.",
        lambda scene: OtterScale.of(scene).unpack(fails=False),
        (_READY,),
        over=(_UNPACK,),
    ),
    Step(
        f"kubectl -n {NAMESPACE} delete deployment {PREFILL}, and the operator does not get to "
        "recreate it: it counts it as no pods wanted.",
        lambda scene: OtterScale.of(scene).sandbox.delete(
            DEPLOYMENTS, PREFILL, namespace=NAMESPACE
        ),
        (_MISSING,),
    ),
    Step(
        "The operator comes and recreates it.",
        lambda scene: OtterScale.of(scene).make(),
        (_READY,),
        over=(_MISSING,),
    ),
    Step(
        f"kubectl -n {NAMESPACE} scale deployment {_EPP} --replicas=0, and the operator does not "
        "get to revert it; its status never mentions the endpoint picker.",
        lambda scene: scene.cluster.scale(NAMESPACE, _EPP, 0),
        (_PICKER,),
    ),
    Step(
        "It is scaled back.",
        lambda scene: scene.cluster.scale(NAMESPACE, _EPP, 1),
        (_READY,),
        over=(_PICKER,),
    ),
    Step(
        "Somebody changes the selector of a PodMonitor, which the operator does not watch: worth "
        "knowing, and no fault.",
        _drift,
        (_DRIFT,),
    ),
)

MODELSERVICE: Final = Story(
    _STEPS, background=OtterScale, graced=(m.OBJECT_MISSING, m.EPP, m.DRIFT)
)
