"""Reasons from the metrics of model pods, the same for all stacks whose pods are scraped.

Names here are suffixes, such as `KVCacheSaturated`; the kind of subject is the prefix. Each reason
is judged per pod, over a window that is its grace. They are outside of the priority chain and do
not block a model's Ready reason: the model serves, but badly.
"""

from dataclasses import replace
from typing import Final

from reporter.model.reason import Reason, Threshold
from reporter.model.resource import AnyResource
from reporter.model.subject import Layer, SubjectKind

DOWNLOAD_SLOW: Final = "WeightDownloadSlow"
DOWNLOAD_STALLED: Final = "WeightDownloadStalled"
SCRAPE_FAILING: Final = "MetricsScrapeFailing"
METRICS_MISSING: Final = "MetricsMissing"
ENGINE_UNHEALTHY: Final = "EngineUnhealthy"
ENGINE_STALLED: Final = "EngineStalled"
ENGINE_RESTARTING: Final = "EngineRestarting"
OUTPUT_CORRUPTED: Final = "OutputCorrupted"
KV_TRANSFER: Final = "KVTransferFailing"
SCHEDULER_STUCK: Final = "SchedulerStuck"
KV_CACHE: Final = "KVCacheSaturated"
BACKLOG: Final = "RequestBacklogGrowing"
PREEMPTION: Final = "ExcessivePreemption"
ERROR_RATE: Final = "HighErrorRate"
REJECTED: Final = "RequestsRejected"
LATENCY: Final = "LatencySLOBreached"

SCRAPE_ATTEMPTS: Final = Threshold("scrape-attempts", 3, 1000, "failed attempts in a row, at least")
STALLED_IDLE: Final = Threshold(
    "stalled-without-demand-seconds", 600, 86_400,
    "seconds without progress where nothing waits and nothing is refused",
)  # fmt: skip
RESTARTS: Final = Threshold("restarts", 3, 1000, "restarts of the engine in the window")
TRANSFER_FAILURES: Final = Threshold(
    "kv-transfer-failures", 5, 1e9, "failed transfers and expired requests, of all connectors"
)
STUCK_KV_USAGE: Final = Threshold(
    "scheduler-stuck-kv-usage", 0.5, 1, "share of the KV cache below which there is room"
)
KV_USAGE: Final = Threshold(
    "kv-usage", 0.95, 1, "share of the KV cache in use from which it counts as full"
)
BACKLOG_WAITING: Final = Threshold(
    "backlog-waiting", 5, 1e9,
    "requests that wait for room, all the time; twice as many where vLLM does not say what for",
)  # fmt: skip
BACKLOG_GROWTH: Final = Threshold(
    "backlog-growth", 0.25, 1000, "growth from the first third of the window to the last, as share"
)
PREEMPTIONS_RATE: Final = Threshold("preemptions-per-second", 1, 1e9, "preemptions a second")
PREEMPTED_SHARE: Final = Threshold(
    "preempted-share", 0.25, 1e9, "preemptions for each finished request"
)
ERROR_SHARE: Final = Threshold("error-share", 0.05, 1, "share of finished requests that failed")
REJECTED_REQUESTS: Final = Threshold("rejected-requests", 20, 1e9, "refused requests, at least")
REJECTED_SHARE: Final = Threshold("rejected-share", 0.05, 1, "share of requests that are refused")
TTFT_SECONDS: Final = Threshold(
    "ttft-seconds", 10, 86_400, "seconds to the first token; 0 does not judge it"
)
ITL_SECONDS: Final = Threshold(
    "itl-seconds", 0, 86_400, "seconds between two tokens; 0 does not judge it"
)
E2E_SECONDS: Final = Threshold(
    "e2e-seconds", 0, 86_400, "seconds of a whole request; 0 does not judge it"
)
SLOW_SHARE: Final = Threshold(
    "slow-share", 0.01, 1,
    "share of requests that may be slower; five times that where there are fewer than 100",
)  # fmt: skip


def _row(
    name: str,
    summary: str,
    *thresholds: Threshold,
    trigger: str,
    silent: str,
    action: str,
    window_seconds: int,
) -> Reason:
    return Reason(
        name=name,
        layer=Layer.DEPLOYMENT,
        summary=summary,
        trigger=trigger,
        silent=silent,
        action=action,
        chain=False,
        blocks_ready=False,
        grace_note="The window is the grace.",
        window_seconds=window_seconds,
        thresholds=thresholds,
    )


DOWNLOADS: Final = (
    _row(DOWNLOAD_SLOW, "A model pod downloads its weights slowly.",
        trigger="In every scrape of the window a pod that is not Ready, and whose engine is not "
        "up, downloads at less than --weight-download-min-mbps, with more left than fits into one "
        "more window; something had arrived before.",
        silent="A download that is finished, cached, streamed or nearly done; a pod that failed; a "
        "window that is not covered; one good scrape.",
        action="Check the network of the node and the registry that the weights come from; a "
        "mirror of the model in the cluster avoids the download.", window_seconds=60),
    _row(DOWNLOAD_STALLED, "A model pod makes no progress with the download of its weights.",
        trigger="In every scrape of the window nothing arrives and it is not known how much is "
        "left, after something had arrived, or more than 5 min after the pod was made.",
        silent="Weights that are cached, local or streamed; a download that has not begun; a pod "
        "that failed.",
        action="kubectl -n <namespace> logs <pod>: look for errors of the registry, an access "
        "token that is missing, or a full disk.", window_seconds=180),
)  # fmt: skip
"""Loading weights; tuned by `--weight-download-window-seconds` and `--weight-download-min-mbps`."""

RUNTIME: Final = (
    _row(SCRAPE_FAILING, "The metrics of a Ready model pod cannot be read.", SCRAPE_ATTEMPTS,
        trigger="Every attempt fails, for the whole window and a number of attempts at least.",
        silent="Pods that are not Ready; all pods of several models at once, which "
        "clusterStatusUnknown reports: then the cause is the reporter's own network or permission.",
        action="kubectl -n <namespace> port-forward <pod> <port>, then get /metrics; look for a "
        "NetworkPolicy that keeps the reporter out. After a 404, start SGLang with "
        "--enable-metrics.", window_seconds=120),
    _row(METRICS_MISSING, "A Ready model pod serves a metrics page without metrics of its engine.",
        trigger="Every page of the window lacks names that begin with vllm: or sglang:.",
        silent="Pods that load weights; runtimes other than vLLM and SGLang, whose pods are not "
        "scraped where their image tells.",
        action="Look for --disable-log-stats in the arguments of vLLM, and whether a proxy answers "
        "in its place.", window_seconds=120),
    _row(ENGINE_UNHEALTHY, "An engine reports that it is not healthy.",
        trigger="vllm:engine_healthy is 0 all the time.",
        silent="Every release of vLLM up to 0.33: vllm:engine_healthy is only in builds from its "
        "sources, so there this cannot fire. In its place tell EngineStalled, MetricsScrapeFailing "
        "and the readiness of the pod: a dead engine ends the server, which /health says.",
        action="Look at the logs of the pod for the rank that failed; delete the pod if it does "
        "not recover.", window_seconds=30),
    _row(ENGINE_STALLED, "An engine has running requests and makes no progress.", STALLED_IDLE,
        trigger="Requests run all the time, and no counter of tokens, steps, finished requests, "
        "preemptions or cache look-ups moves, nor the KV cache or the queue. Where nothing waits "
        "and nothing is refused it takes longer.",
        silent="Long prefills, which move the KV cache; decode pods whose requests are all "
        "deferred; an engine that sleeps.",
        action="The engine hangs although /health says 200: look at its last log lines and at the "
        "GPU (nvidia-smi, dmesg), then delete the pod.", window_seconds=120),
    _row(ENGINE_RESTARTING, "The engine of a pod restarts again and again.", RESTARTS,
        trigger="Counters start from zero, or containers restart, several times in the window.",
        silent="Pods that are replaced, as in a rollout; another container of the pod.",
        action="kubectl -n <namespace> logs <pod> --previous.", window_seconds=600),
    _row(OUTPUT_CORRUPTED, "A model produces NaN.", trigger="vllm:corrupted_requests_total rises.",
        silent="Engines without VLLM_COMPUTE_NANS_IN_LOGITS, which do not report it.",
        action="Take the pod out of service: suspect the GPU, the quantization or the weights.",
        window_seconds=60),
    _row(KV_TRANSFER,
        "KV caches are not handed from prefill to decode, or not loaded from where they are kept.",
        TRANSFER_FAILURES,
        trigger="Counters of failed transfers and expired requests rise: of NIXL, Mooncake and its "
        "store, 3FS or UMBP.",
        silent="A few failures, as when the other side is rolled out; connectors that count none "
        "(LMCache in the process, MoRI-IO, FlexKV); blocks that find no room to be offloaded.",
        action="Look at the network between prefill and decode pods, and at the logs of both.",
        window_seconds=300),
    _row(SCHEDULER_STUCK, "Requests are deferred although nothing runs and there is room.",
        STUCK_KV_USAGE,
        trigger="Requests are deferred, none runs, the KV cache is not full, and no counter moves.",
        silent="Requests that wait for room.",
        action="Look at the peer that sends the KV caches, and at the limit of LoRA adapters.",
        window_seconds=300),
    _row(KV_CACHE, "The KV cache of an engine is full and requests suffer from it.", KV_USAGE,
        trigger="Requests wait for room in four of five scrapes, and are preempted in every second "
        "interval or the KV cache is full in every fourth scrape; or it is full in four of five "
        "and requests are preempted. It goes on until nothing waits, or there is room and no "
        "preemption.",
        silent="A full cache while nothing waits: that is good use of the GPU; requests that wait "
        "while there is room.",
        action="Add replicas, lower max_model_len or max_num_seqs, or raise "
        "gpu_memory_utilization.", window_seconds=300),
    _row(BACKLOG, "Requests arrive faster than an engine serves them.", BACKLOG_WAITING,
        BACKLOG_GROWTH,
        trigger="Requests wait for room all the time, and more at the end of the window than at "
        "its beginning.",
        silent="A queue that stays as it is; one that begins to grow while fewer replicas are "
        "ready than wanted, as in a scale-out.",
        action="Add replicas; see whether the autoscaler does (for KAITO: clusterKedaNotReady, "
        "inferencesetScalingMisconfigured).", window_seconds=300),
    _row(PREEMPTION, "Requests are preempted: taken out of the batch and computed again.",
        PREEMPTIONS_RATE, PREEMPTED_SHARE,
        trigger="Preemptions are many, by time or for each finished request (10 at least), and the "
        "KV cache is not saturated. It goes on until they are fewer than half of that.",
        silent="A short burst; preemptions of an engine whose requests wait for room most of the "
        "time, which are told as a full KV cache.",
        action="Lower max_num_seqs, raise gpu_memory_utilization, or add replicas.",
        window_seconds=300),
    _row(ERROR_RATE, "Requests fail.", ERROR_SHARE,
        trigger="The share of finished requests that failed, in the engine or as HTTP 5xx (3 "
        "errors and 20 requests at least).",
        silent="Clients that hang up; requests that a limit refuses.",
        action="kubectl -n <namespace> logs <pod>.", window_seconds=300),
    _row(REJECTED, "A pod refuses requests because its queue is full.", REJECTED_REQUESTS,
        REJECTED_SHARE, trigger="Refused requests, by count and by share of all.",
        silent="A few; refusals that begin while fewer replicas are ready than wanted.",
        action="Add replicas; the limit is the rate limit of KAITO (max_num_seqs) or vLLM's "
        "admission control.", window_seconds=300),
    _row(LATENCY, "Requests are answered late.", TTFT_SECONDS, ITL_SECONDS, E2E_SECONDS, SLOW_SHARE,
        trigger="Too large a share of requests was slower than the objective, by the histogram's "
        "next bound (20 requests at least).",
        silent="Few requests; latencies that no objective is set for.",
        action="Look whether the KV cache or the queue is full, and at the length of prompts.",
        window_seconds=600),
)  # fmt: skip
"""Serving; tuned by `--disable-reasons`, `--grace` and `--runtime-threshold`."""

RUNTIME_NAMES: Final = tuple(reason.name for reason in RUNTIME)

ROWS: Final = {reason.name: reason for reason in (*DOWNLOADS, *RUNTIME)}
"""Every reason from the pages of model pods, by the suffix of its name."""

THRESHOLDS: Final = {each.name: each for reason in RUNTIME for each in reason.thresholds}


def of_kind(reason: str, kind: SubjectKind) -> str:
    return f"{kind}{reason}"


def rows_of(kind: SubjectKind, *, reads: tuple[AnyResource, ...]) -> tuple[Reason, ...]:
    return tuple(
        replace(row, name=of_kind(row.name, kind), of=kind, reads=reads) for row in ROWS.values()
    )
