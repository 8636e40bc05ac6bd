"""KServe's LLMInferenceServices: a kind, a controller and an installation apart from InferenceServices."""

from typing import TYPE_CHECKING, Final

from reporter.model.stack import Controller, RequiredKind, ScrapedPods, StackWords
from reporter.stacks.llmisvc import needs as n
from reporter.stacks.llmisvc.pickers import PICKERS
from reporter.stacks.llmisvc.reasons import (
    CLUSTER_LLMISVC,
    CLUSTER_LWS,
    CLUSTER_REASONS,
    PODS_NOT_READY,
    REASONS,
)
from reporter.stacks.llmisvc.resources import LLM_KIND, LLMS, RESOURCES, STACK
from reporter.stacks.llmisvc.suppression import SUPPRESSION
from reporter.stacks.stack import Stack

if TYPE_CHECKING:
    from reporter.probes.subjects import StackProbes
    from reporter.settings import EvaluationSettings

LWS: Final = "lws"


def _settings() -> "tuple[type[EvaluationSettings], ...]":
    from reporter.stacks.llmisvc.settings import LlmisvcSettings

    return (LlmisvcSettings,)


def _probes() -> "StackProbes":
    from reporter.stacks.llmisvc.probes import PROBES

    return PROBES


LLMISVC: Final = Stack(
    name=STACK,
    project="KServe for LLMs",
    resources=RESOURCES,
    cluster_reasons=CLUSTER_REASONS,
    reasons=REASONS,
    suppression=SUPPRESSION,
    controllers=(
        Controller(
            reason=CLUSTER_LLMISVC,
            deployment="llmisvc_deployment",
            namespaces="llmisvc_namespace",
            needs=n.OF_LLMISVC,
            governs=True,
        ),
        Controller(
            reason=CLUSTER_LWS,
            deployment="lws_deployment",
            part=LWS,
            namespaces="lws_namespace",
            needs=n.OF_LWS,
            governs=True,
            optional=True,  # only multi-node replicas need it
        ),
    ),
    required=(
        RequiredKind(
            crd=LLMS.crd_name,
            owner="KServe",
            settings=("llmisvc_deployment", "llmisvc_namespace"),
            needs=n.LEFT_OF_LLMISVC,
            of=(STACK,),
        ),
    ),
    scraped=ScrapedPods(
        kind=LLM_KIND,
        label="app.kubernetes.io/name",
        labels={n.PART_OF: n.LLM_PART, "kserve.io/component": "workload"},
        container="main",
        index_label="leaderworkerset.sigs.k8s.io/worker-index",
        not_ready=PODS_NOT_READY,
    ),
    pickers=PICKERS,
    words=StackWords(
        derived="the conditions of workloads and of what leads to them, and how many replicas are ready",
        required="Deployment `llmisvc-controller-manager`; for multi-node replicas Deployment "
        "`lws-controller-manager`",
    ),
    settings=_settings,
    probes=_probes,
)
