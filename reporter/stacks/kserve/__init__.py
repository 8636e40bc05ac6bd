"""KServe: InferenceServices, on Knative or as plain Deployments."""

from typing import TYPE_CHECKING, Final

from reporter.model.stack import Controller, RequiredKind, ScrapedPods, StackWords
from reporter.stacks.kserve import needs as n
from reporter.stacks.kserve.reasons import (
    CLUSTER_KNATIVE,
    CLUSTER_KSERVE,
    CLUSTER_REASONS,
    PODS_NOT_READY,
    REASONS,
)
from reporter.stacks.kserve.resources import (
    INFERENCESERVICE_KIND,
    INFERENCESERVICES,
    RESOURCES,
    STACK,
)
from reporter.stacks.kserve.suppression import SUPPRESSION
from reporter.stacks.stack import Stack

if TYPE_CHECKING:
    from reporter.probes.subjects import StackProbes
    from reporter.settings import EvaluationSettings

KNATIVE: Final = "knative"


def _settings() -> "tuple[type[EvaluationSettings], ...]":
    from reporter.stacks.kserve.settings import KserveSettings

    return (KserveSettings,)


def _probes() -> "StackProbes":
    from reporter.stacks.kserve.probes import PROBES

    return PROBES


KSERVE: Final = Stack(
    name=STACK,
    project="KServe",
    resources=RESOURCES,
    cluster_reasons=CLUSTER_REASONS,
    reasons=REASONS,
    suppression=SUPPRESSION,
    controllers=(
        Controller(
            reason=CLUSTER_KSERVE,
            deployment="kserve_deployment",
            namespaces="kserve_namespace",
            needs=n.OF_KSERVE,
            governs=True,
        ),
        Controller(
            reason=CLUSTER_KNATIVE,
            deployment="knative_deployment",
            part=KNATIVE,
            namespaces="knative_namespace",
            needs=n.OF_KNATIVE,
            governs=True,
            optional=True,  # KServe's Standard mode does without
        ),
    ),
    required=(
        RequiredKind(
            crd=INFERENCESERVICES.crd_name,
            owner="KServe",
            settings=("kserve_deployment", "kserve_namespace"),
            needs=n.LEFT_OF_KSERVE,
            of=(STACK,),
        ),
    ),
    scraped=ScrapedPods(
        kind=INFERENCESERVICE_KIND,
        label="serving.kserve.io/inferenceservice",
        labels={"component": "predictor"},
        container="kserve-container",
        images=("vllm", "sglang"),
        not_ready=PODS_NOT_READY,
    ),
    words=StackWords(
        derived="revisions, traffic and conditions of each component",
        required="Deployment `kserve-controller-manager`; in Knative mode Deployment `controller` "
        "of Knative Serving",
    ),
    settings=_settings,
    probes=_probes,
)
