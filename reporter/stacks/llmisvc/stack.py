"""KServe's LLMInferenceServices: kind, controller and installation of their own."""

from typing import TYPE_CHECKING, Final

from reporter.catalogue import resources as r
from reporter.model.stack import Controller, RequiredKind, ScrapedPods, StackWords, need
from reporter.stacks.llmisvc import reasons
from reporter.stacks.stack import Stack

if TYPE_CHECKING:
    from reporter.probes.subjects import StackProbes


OF_LLMISVC: Final = need(
    reasons.LLMS,
    "LLMInferenceServices",
    evidence="llmisvc-controller-manager makes what each runs on, and writes its status "
    "(kserve/kserve, pkg/controller/v1alpha2/llmisvc)",
)
LEFT_OF_LLMISVC: Final = need(
    r.PODS,
    f"Pods with the label {reasons.PART_OF}={reasons.LLM_PART}",
    evidence="they serve an LLMInferenceService (kserve/kserve, pkg/constants)",
    shows=lambda pod, _: pod.metadata.label(reasons.PART_OF) == reasons.LLM_PART,
)
OF_LWS: Final = need(
    reasons.LLMS,
    "LLMInferenceServices with a worker in the spec",
    evidence="each of their replicas is a group of a LeaderWorkerSet, whose controller makes "
    "the StatefulSets (kubernetes-sigs/lws, pkg/controllers)",
    shows=lambda llm, _: bool(llm.spec.worker or (llm.spec.prefill and llm.spec.prefill.worker)),
    detail=lambda _: ", which has workers",
)


LWS: Final = "lws"


def _probes() -> "StackProbes":
    from reporter.stacks.llmisvc.probes import PROBES

    return PROBES


LLMISVC: Final = Stack(
    name=reasons.STACK,
    project="KServe for LLMs",
    resources=reasons.RESOURCES,
    cluster_reasons=reasons.CLUSTER_REASONS,
    reasons=reasons.REASONS,
    suppression=reasons.SUPPRESSION,
    scales=True,
    controllers=(
        Controller(
            reason=reasons.CLUSTER_LLMISVC,
            names=("llmisvc-controller-manager",),
            home=reasons.HOME,
            images=("llmisvc-controller",),
            labels=("control-plane=llmisvc-controller-manager",),
            leases=("llminferenceservice-kserve-controller-manager",),
            makes_for=("LLMInferenceService",),
            observes=True,
            needs=(OF_LLMISVC,),
            governs=True,
        ),
        Controller(
            reason=reasons.CLUSTER_LWS,
            names=("lws-controller-manager",),
            home=("lws-system",),
            images=("lws/lws",),
            leases=("b8b2488c.x-k8s.io",),
            makes_for=("LeaderWorkerSet",),
            part=LWS,
            needs=(OF_LWS,),
            governs=True,
            optional=True,  # only multi-node replicas need it
        ),
    ),
    required=(
        RequiredKind(
            crd=reasons.LLMS.crd_name,
            owner="KServe",
            needs=(LEFT_OF_LLMISVC,),
            of=(reasons.STACK,),
        ),
    ),
    scraped=ScrapedPods(
        kind=reasons.LLM_KIND,
        label="app.kubernetes.io/name",
        labels={reasons.PART_OF: reasons.LLM_PART, "kserve.io/component": "workload"},
        container="main",
        index_label="leaderworkerset.sigs.k8s.io/worker-index",
        not_ready=reasons.PODS_NOT_READY,
    ),
    pickers=reasons.PICKERS,
    words=StackWords(
        derived="the conditions of workloads and of what leads to them, and how many replicas are "
        "ready",
        required="Deployment `llmisvc-controller-manager`; for multi-node replicas Deployment "
        "`lws-controller-manager`",
    ),
    settings=tuple,
    probes=_probes,
)
