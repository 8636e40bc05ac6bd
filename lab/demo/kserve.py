"""Simulates KServe's and Knative's controllers and the kubelets in the sandbox."""

from collections.abc import Callable, Iterator
from typing import Final

from lab.demo.controller_deployments import controller
from lab.demo.sample_stack import served
from lab.sandbox.objects import Object, dig, name_of, namespace_of
from lab.sandbox.sandbox import Sandbox
from lab.sandbox.workloads import running_status
from lab.simulation.kserve import InferenceServicePlan, InferenceServiceWorld, plan
from lab.simulation.kserve_fates import Fate, runs
from lab.simulation.kserve_objects import NAME

INFERENCESERVICES: Final = "inferenceservices.serving.kserve.io"
KNATIVE_SERVICES: Final = "services.serving.knative.dev"
REVISIONS: Final = "revisions.serving.knative.dev"

_MOST_PASSES: Final = 50


class KServe:
    """Reconciles the InferenceServices of a sandbox on request.

    Attributes:
        fates: the fate of pods, by a prefix of their name; other pods run.

    """

    def __init__(self, sandbox: Sandbox, *, node: str, now: Callable[[], str]) -> None:
        """Pods run on `node`."""
        self.fates: dict[str, Fate] = {}
        self._sandbox = sandbox
        self._node = node
        self._now = now
        self._addresses = 0

    def settle(self) -> None:
        """Run the controllers until nothing is left to do.

        Raises:
            RuntimeError: the controllers do not settle.

        """
        for inferenceservice in self._sandbox.list(INFERENCESERVICES):
            place = namespace_of(inferenceservice), name_of(inferenceservice)
            for _ in range(_MOST_PASSES):
                self._start(*place)
                wanted = plan(self.world(*place), self._now())
                if wanted.is_empty:
                    break
                self._carry_out(wanted)
            else:
                raise RuntimeError(f"InferenceService {'/'.join(place)} does not settle")

    def world(self, namespace: str, name: str) -> InferenceServiceWorld:
        """Return an InferenceService and its objects."""
        selector = f"{NAME}={name}"
        services, revisions, pods = (
            self._sandbox.list(each, namespace=namespace, label_selector=selector)
            for each in (KNATIVE_SERVICES, REVISIONS, "pods")
        )
        found = self._sandbox.get(INFERENCESERVICES, name, namespace=namespace)
        if found is None:
            raise LookupError(f"there is no InferenceService {namespace}/{name}")
        return InferenceServiceWorld(found, services, revisions, pods)

    def _carry_out(self, wanted: InferenceServicePlan) -> None:
        for each in wanted.delete:
            self._sandbox.delete("pods", name_of(each), namespace=namespace_of(each))
        for each in wanted.create:
            if each["kind"] == "Pod":
                each["spec"]["nodeName"] = self._node
            self._sandbox.create(each)
        for each in wanted.replace:
            self._sandbox.replace(each)
        for each in wanted.tell:
            self._sandbox.replace(each, subresource="status")

    def _start(self, namespace: str, name: str) -> None:
        """Give each pod the status of its fate."""
        for pod in self.world(namespace, name).pods:
            fate = self._fate(name_of(pod))
            before = pod.get("status") or {}
            address = dig(before, "podIP") or self._address()
            began = dig(before, "startTime") or self._now()
            status = fate(pod, running_status(pod, now=began, address=address))
            if {key: before.get(key) for key in status} != status:
                self._sandbox.patch(
                    "pods", name_of(pod), {"status": status}, namespace=namespace,
                    subresource="status",
                )  # fmt: skip

    def _fate(self, pod: str) -> Fate:
        fitting = (fate for prefix, fate in self.fates.items() if pod.startswith(prefix))
        return next(fitting, runs)

    def _address(self) -> str:
        self._addresses += 1
        return f"127.246.0.{self._addresses}"


def kinds() -> Iterator[Object]:
    """Yield the APIResourceLists of KServe's and Knative's kinds, for a sandbox to serve."""
    yield served("serving.kserve.io/v1beta1", inferenceservices="InferenceService")
    yield served("serving.knative.dev/v1", services="Service", revisions="Revision")


_CONTROLLERS: Final = (
    ("kserve", "kserve-controller-manager", "kserve/kserve-controller:v0.20.0"),
    ("knative-serving", "controller", "knative/controller:v1.19.0"),
)


def controllers() -> Iterator[Object]:
    """Yield the Deployments of KServe's and Knative's controllers."""
    for namespace, name, image in _CONTROLLERS:
        yield controller(namespace, name, image=image, labels={"app": name})
