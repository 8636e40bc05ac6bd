"""KServe: InferenceServices, on Knative or as plain Deployments."""

from typing import TYPE_CHECKING, Final

from reporter.catalogue import resources as r
from reporter.model.stack import Controller, Need, RequiredKind, ScrapedPods, StackWords, need
from reporter.stacks.kserve import reasons
from reporter.stacks.kserve.objects import Mode
from reporter.stacks.stack import Stack

if TYPE_CHECKING:
    from reporter.probes.subjects import StackProbes


_MADE_FOR: Final = "serving.kserve.io/inferenceservice"

OF_KSERVE: Final = need(
    reasons.INFERENCESERVICES,
    "InferenceServices",
    evidence="the KServe controller makes what each runs on, and writes its status "
    "(kserve/kserve, pkg/controller/v1beta1/inferenceservice)",
)
LEFT_OF_KSERVE: Final = need(
    r.PODS,
    f"Pods with the label {_MADE_FOR}",
    evidence="they serve the InferenceService that the label names (kserve/kserve, pkg/constants)",
    shows=lambda pod, _: pod.metadata.label(_MADE_FOR) is not None,
)
OF_KNATIVE: Final[tuple[Need, ...]] = (
    need(
        reasons.INFERENCESERVICES,
        "InferenceServices whose deployment mode is Knative, by status or annotation",
        evidence="each of their components is a Knative Service (kserve.github.io, Knative mode)",
        shows=lambda service, _: service.named_mode is Mode.KNATIVE,
        detail=lambda _: " in Knative mode",
    ),
    need(
        reasons.KNATIVE_SERVICES,
        "Knative Services of InferenceServices",
        evidence="the Knative controller makes their revisions and routes "
        "(knative.dev, Knative Serving architecture)",
    ),
)


KNATIVE: Final = "knative"


def _probes() -> "StackProbes":
    from reporter.stacks.kserve.probes import PROBES

    return PROBES


KSERVE: Final = Stack(
    name=reasons.STACK,
    project="KServe",
    resources=reasons.RESOURCES,
    cluster_reasons=reasons.CLUSTER_REASONS,
    reasons=reasons.REASONS,
    suppression=reasons.SUPPRESSION,
    scales=True,
    controllers=(
        Controller(
            reason=reasons.CLUSTER_KSERVE,
            names=("kserve-controller-manager",),
            home=reasons.HOME,
            images=("kserve-controller",),
            labels=("control-plane=kserve-controller-manager",),
            leases=("kserve-controller-manager-leader-lock",),
            observes=True,
            needs=(OF_KSERVE,),
            governs=True,
        ),
        Controller(
            reason=reasons.CLUSTER_KNATIVE,
            names=("controller",),
            home=("knative-serving",),
            images=("serving/cmd/controller",),
            leases=("controller.knative.dev.serving.pkg.reconciler.revision.reconciler.00-of-01",),
            observes=True,
            part=KNATIVE,
            needs=OF_KNATIVE,
            governs=True,
            optional=True,  # KServe's Standard mode does not need it
        ),
    ),
    required=(
        RequiredKind(
            crd=reasons.INFERENCESERVICES.crd_name,
            owner="KServe",
            needs=(LEFT_OF_KSERVE,),
            of=(reasons.STACK,),
        ),
    ),
    scraped=ScrapedPods(
        kind=reasons.INFERENCESERVICE_KIND,
        label="serving.kserve.io/inferenceservice",
        labels={"component": "predictor"},
        container="kserve-container",
        images=("vllm", "sglang"),
        not_ready=reasons.PODS_NOT_READY,
    ),
    words=StackWords(
        derived="revisions, traffic and conditions of each component",
        required="Deployment `kserve-controller-manager`; in Knative mode Deployment `controller` "
        "of Knative Serving",
    ),
    settings=tuple,
    probes=_probes,
)
