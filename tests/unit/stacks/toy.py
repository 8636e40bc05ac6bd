"""A stack of nobody's, in one module: all that a stack is."""

from itertools import chain

from reporter.catalogue.reasons import controller_row, ready_row, row
from reporter.catalogue.resources import PODS
from reporter.catalogue.runtime import rows_of
from reporter.catalogue.suppression import missing_kind, seen_on_objects
from reporter.model.objects import Conditioned, KubeObject
from reporter.model.reason import SuppressionRow
from reporter.model.resource import Resource
from reporter.model.stack import Controller, RequiredKind, ScrapedPods, StackWords
from reporter.model.subject import SubjectKind
from reporter.probes.pods import fault_of_pod, pod_finding
from reporter.probes.scope import SubjectScope, evaluated
from reporter.probes.subjects import StackProbes, SubjectProbes
from reporter.setting_types import DeploymentName, Namespaces
from reporter.settings import EvaluationSettings
from reporter.stacks.output import Decision
from reporter.stacks.stack import Stack

TOYSERVER = SubjectKind("toyserver")


class ToyServer(KubeObject, frozen=True):
    """What the toy's users make."""

    status: Conditioned = Conditioned()


TOYSERVERS = Resource(
    group="toys.example.org", versions=("v1",), plural="toyservers", kind="ToyServer",
    namespaced=True, custom=True, type=ToyServer, purpose="ToyServers, and how they are",
    stack="toy", subject_kind=TOYSERVER,
)  # fmt: skip

CONTROLLER_DOWN, PODS_NOT_READY, READY = (
    "clusterToyControllerNotReady",
    "toyserverPodsNotReady",
    "toyserverReady",
)
REASONS = (
    row(
        PODS_NOT_READY,
        "Pods of the ToyServer do not run.",
        of=TOYSERVER,
        trigger="A pod is at fault.",
        action="kubectl -n <namespace> describe toyserver <name>",
        reads=(TOYSERVERS, PODS),
    ),
    *rows_of(TOYSERVER, reads=(TOYSERVERS, PODS)),
    ready_row(READY, "A ToyServer serves.", of=TOYSERVER, trigger="It has pods, and none is at fault.", reads=(TOYSERVERS, PODS)),
)  # fmt: skip


class ToySettings(EvaluationSettings):
    """Where the toy's controller may be."""

    toy_namespace: Namespaces = ("toy-system",)
    """Namespaces where the toy's controller may be."""

    toy_deployment: DeploymentName = "toy-controller"
    """Deployment of the toy's controller. Empty: not probed."""


def pods_of(scope):
    """Return the pods that carry the toy's label."""
    return scope.snapshot[PODS].labelled(scope.place, "toys.example.org/server", scope.name)


def probe_pods(scope):
    """Yield a finding for each pod at fault."""
    for pod in pods_of(scope):
        fault = fault_of_pod(scope, pod)
        if fault is not None:
            yield pod_finding(
                scope,
                pod,
                fault,
                reason=PODS_NOT_READY,
                related=PODS.ref(pod),
                cause=fault.cause,
                text=f"pod {pod.name}: {fault.detail}",
            )


def probe_ready(scope):
    """Yield evidence if there are pods and none is at fault."""
    if pods_of(scope) and not any(probe_pods(scope)):
        yield scope.evidence(READY, "all pods run")


def _evaluate(scope):
    findings = chain.from_iterable(probe(scope) for probe in (probe_pods,))
    return evaluated(scope, findings, probe_ready(scope))


class ToyOutput:
    """Counts the passes, and writes that count."""

    def decide(self, scope, memory, answers):
        """Plan the next number."""
        number = (memory or 0) + 1
        return Decision(memory=number, plan=f"{scope.instance}: {number} after {answers}")


TOY = Stack(
    name="toy",
    project="Toys",
    words=StackWords(derived="nothing", required="Deployment `toy-controller`"),
    resources=(TOYSERVERS,),
    cluster_reasons=(
        controller_row(
            CONTROLLER_DOWN, "The toys' controller", setting="toy", frozen="no toy is made"
        ),
    ),
    reasons=REASONS,
    suppression=(
        SuppressionRow(CONTROLLER_DOWN, (PODS_NOT_READY,), "the controller makes the pods"),
        missing_kind(TOYSERVERS, *seen_on_objects(REASONS)),
    ),
    controllers=(
        Controller(
            reason=CONTROLLER_DOWN,
            deployment="toy_deployment",
            namespaces="toy_namespace",
            governs=True,
        ),
    ),
    required=(RequiredKind(crd=TOYSERVERS.crd_name, owner="Toys"),),
    scraped=ScrapedPods(
        kind=TOYSERVER, label="toys.example.org/server", container="toy", not_ready=PODS_NOT_READY
    ),
    settings=lambda: (ToySettings,),
    probes=lambda: StackProbes(
        subjects=SubjectProbes(resources=(TOYSERVERS,), scope=SubjectScope, evaluate=_evaluate)
    ),
    output=ToyOutput,
)
