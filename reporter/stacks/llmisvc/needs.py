"""What shows that a cluster needs the controllers of LLMInferenceServices."""

from typing import Final

from reporter.catalogue import resources as r
from reporter.model.stack import Need, need
from reporter.stacks.llmisvc.objects import LLMInferenceService
from reporter.stacks.llmisvc.resources import LLMS

PART_OF: Final = "app.kubernetes.io/part-of"
LLM_PART: Final = "llminferenceservice"

OF_LLMISVC: Final[tuple[Need, ...]] = (
    need(
        LLMS,
        "LLMInferenceServices",
        evidence="llmisvc-controller-manager makes what each runs on, and writes its status "
        "(kserve/kserve, pkg/controller/v1alpha2/llmisvc)",
    ),
)
LEFT_OF_LLMISVC: Final[tuple[Need, ...]] = (
    need(
        r.PODS,
        f"Pods with the label {PART_OF}={LLM_PART}",
        evidence="they serve an LLMInferenceService (kserve/kserve, pkg/constants)",
        shows=lambda pod, _: pod.metadata.label(PART_OF) == LLM_PART,
    ),
)
OF_LWS: Final[tuple[Need, ...]] = (
    need(
        LLMS,
        "LLMInferenceServices with a worker in the spec",
        evidence="each of their replicas is a group of a LeaderWorkerSet, whose controller makes the "
        "StatefulSets (kubernetes-sigs/lws, pkg/controllers)",
        shows=lambda llm, _: _has_worker(llm),
        detail=lambda _: ", which has workers",
    ),
)


def _has_worker(llm: LLMInferenceService) -> bool:
    prefill = llm.spec.prefill
    return llm.spec.worker is not None or (prefill is not None and prefill.worker is not None)
