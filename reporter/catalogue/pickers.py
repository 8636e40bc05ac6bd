"""Reasons from the metrics of endpoint pickers, the same for all stacks with pickers.

An endpoint picker chooses the pod for every request of an InferencePool. Its page shows faults that
no engine's page can. Sources: kubernetes-sigs/gateway-api-inference-extension v1.3 to v1.5
(pkg/epp/metrics/metrics.go, pkg/epp/datalayer/logger/logger.go, pkg/epp/requestcontrol/director.go)
and its successor llm-d/llm-d-router since v0.9. Names here are suffixes, as in `runtime.py`.

Metric names of engines are from the releases of vLLM (vllm/v1/metrics/loggers.py, and its Rust
front end, which has families of its own) and SGLang
(python/sglang/srt/observability/metrics_collector.py).
"""

from dataclasses import replace
from typing import Final

from reporter.catalogue import runtime
from reporter.model.reason import Reason
from reporter.model.resource import AnyResource
from reporter.model.subject import Layer, RequestStage, SubjectKind

NO_ENDPOINTS: Final = "EPPNoEndpoints"
STALE_METRICS: Final = "EPPStaleMetrics"
SHEDDING: Final = "EPPShedding"
SCHEDULING_FAILING: Final = "EPPSchedulingFailing"

_ROW: Final = Reason(
    name="",
    layer=Layer.DEPLOYMENT,
    stage=RequestStage.PICKER,
    summary="",
    trigger="",
    action="",
    grace_note="The window is the grace.",
)
_SERVES: Final = replace(_ROW, chain=False, blocks_ready=False)
"""For faults with which the model serves, but badly."""

PICKERS: Final = (
    replace(_ROW, name=NO_ENDPOINTS,
        summary="The endpoint picker sees no endpoint although pods that it may pick are Ready.",
        trigger="In every scrape of the window the page of a Ready picker says 0 by "
        "llm_d_epp_ready_endpoints, or by its former name inference_pool_ready_pods, while a pod "
        "that the InferencePool selects has been Ready for a minute. The message says whether it "
        "knows no pod, and answers with 503, or knows pods whose metrics it has not read for 2 s, "
        "and chooses blindly.",
        silent="A picker that is not Ready or has been for less than a minute; no pod of the pool "
        "that is Ready; a page without the gauge, that cannot be read, or that wants a token; "
        "pickers before v1.3, which never say 0.",
        action="If it knows no pod, look in its log: the name and namespace of the pool in its "
        "arguments, its permission to watch pods. If it reads no metrics, compare targetPorts of "
        "the InferencePool with the port of the pods, and look for a NetworkPolicy between picker "
        "and pods, for TLS on one side only, and for another engine than label "
        "inference.networking.k8s.io/engine-type of the pods says.",
        look=("kubectl -n <namespace> get inferencepools.inference.networking.k8s.io -o yaml",
        "kubectl -n <namespace> get networkpolicies"), window_seconds=60),
    replace(_SERVES, name=STALE_METRICS,
        summary="The endpoint picker sees some of the Ready pods that it may pick, and not the "
        "others.",
        trigger="In every scrape of the window its page counts fewer endpoints, but some, than "
        "pods that the InferencePool selects have been Ready for a minute.",
        silent="Pods whose metrics the reporter cannot read either, which it reports for the pod; "
        "a picker that is not judged; all that silences EPPNoEndpoints.",
        action="For the other pods it goes by old numbers, and with flow control takes them for "
        "full: look in its log for those pods, and at a NetworkPolicy, a node or a port that "
        "differs.", look=("kubectl -n <namespace> get pods -o wide",), window_seconds=120),
    replace(_SERVES, name=SCHEDULING_FAILING,
        summary="The endpoint picker finds no fitting endpoint for requests.",
        trigger="Of the attempts in the window 5 at least, and more than 5 %, ended with status "
        "failure (scheduler_attempts_total): its filters left no endpoint. Clients get 429, as "
        "after a refusal.",
        silent="A pool without endpoints, which EPPNoEndpoints reports; a pod of the model that is "
        "not Ready, as with a role that is missing; pickers before v1.3, which do not count "
        "attempts.",
        action="Compare its configuration (filters, profiles, plug-ins) with the labels of the "
        "pods: roles of prefill and decode, LoRA adapters. Its log names the filter.",
        look=("kubectl -n <namespace> get pods --show-labels",), window_seconds=300),
    replace(_SERVES, name=SHEDDING,
        summary="The endpoint picker refuses requests because the pool is full.",
        trigger="Refused requests, by count and by share of all: with flow control those that its "
        "queue had no room for or kept too long, else those with the error ResourceExhausted, less "
        "the attempts that failed.",
        silent="Clients that hang up; a pool without endpoints, or with stale metrics; pickers "
        "before v1.3.",
        action="Add replicas, or look what keeps the pods full: their own reasons tell. Requests "
        "are refused before any pod sees them, so no pod's metrics show it.", window_seconds=300,
        thresholds=(runtime.REJECTED_REQUESTS, runtime.REJECTED_SHARE)),
)  # fmt: skip

PICKER_NAMES: Final = tuple(reason.name for reason in PICKERS)

SWITCHED_NAMES: Final = (*runtime.RUNTIME_NAMES, *PICKER_NAMES)

FROM_PAGES: Final = {**runtime.ROWS, **{reason.name: reason for reason in PICKERS}}
"""Every reason from pages of model pods and pickers, by the suffix of its name."""


def picker_rows_of(
    kind: SubjectKind, *, chain: bool, reads: tuple[AnyResource, ...]
) -> tuple[Reason, ...]:
    """Return the rows for subjects of a kind that are in the priority chain, or those that are not.

    Rows of the chain come after the reason for a picker that is not Ready, others with the reasons
    of pods.
    """
    return tuple(
        replace(row, name=runtime.of_kind(row.name, kind), of=kind, reads=reads)
        for row in PICKERS
        if row.chain is chain
    )
