"""Which fault of a pod explains which others of the same pod (section 3.5 of the vLLM sheet).

As in `suppression.py` the downstream check has no valid input meanwhile; but here that is so for
one pod, not for all that a component governs.
"""

from dataclasses import dataclass
from typing import Final

from reporter.catalogue import runtime as t
from reporter.catalogue.reasons import MODEL_PODS
from reporter.model.subject import SubjectKind

_OF_SERVING: Final = (
    t.METRICS_MISSING,
    t.ENGINE_UNHEALTHY,
    t.ENGINE_STALLED,
    t.ENGINE_RESTARTING,
    t.OUTPUT_CORRUPTED,
    t.KV_CACHE,
    t.BACKLOG,
    t.PREEMPTION,
    t.ERROR_RATE,
    t.REJECTED,
    t.LATENCY,
)
_OF_PAGES: Final = (*_OF_SERVING, t.KV_TRANSFER, t.SCHEDULER_STUCK)


@dataclass(frozen=True, slots=True)
class SilencingRow:
    """While `upstream` fires for a pod, `downstream` is suppressed for that pod."""

    upstream: str
    downstream: tuple[str, ...]
    why: str


_OF_INFERENCESETS: Final[tuple[SilencingRow, ...]] = (
    SilencingRow(
        MODEL_PODS, (t.SCRAPE_FAILING, *_OF_PAGES), "a pod that is not Ready is not in service"
    ),
    SilencingRow(
        t.DOWNLOAD_SLOW, (t.SCRAPE_FAILING, *_OF_SERVING), "the pod still loads its weights"
    ),
    SilencingRow(
        t.DOWNLOAD_STALLED, (t.SCRAPE_FAILING, *_OF_SERVING), "the pod still loads its weights"
    ),
    SilencingRow(
        t.DOWNLOAD_STALLED, (t.DOWNLOAD_SLOW,), "a download that stands still is slow too"
    ),
    SilencingRow(t.SCRAPE_FAILING, _OF_PAGES, "there are no numbers"),
    SilencingRow(t.ENGINE_UNHEALTHY, (t.ENGINE_STALLED,), "it is the same, with better evidence"),
    SilencingRow(
        t.ENGINE_STALLED,
        (t.KV_CACHE, t.BACKLOG, t.PREEMPTION, t.ERROR_RATE, t.REJECTED, t.LATENCY),
        "the gauges of an engine that makes no step are frozen",
    ),
    SilencingRow(
        t.KV_TRANSFER,
        (t.ERROR_RATE, t.SCHEDULER_STUCK),
        "requests whose KV cache does not arrive wait, or fail",
    ),
    SilencingRow(
        t.KV_CACHE, (t.PREEMPTION, t.LATENCY), "preemption and waiting are what a full cache does"
    ),
    SilencingRow(t.BACKLOG, (t.LATENCY,), "who waits in a queue that grows is answered late"),
)


def _of_kind(row: SilencingRow, kind: SubjectKind) -> SilencingRow:
    upstream = _PODS.get(kind, "") if row.upstream == MODEL_PODS else t.of_kind(row.upstream, kind)
    return SilencingRow(upstream, tuple(t.of_kind(each, kind) for each in row.downstream), row.why)


_PODS: Final = {
    SubjectKind.INFERENCESET: MODEL_PODS,
    SubjectKind.MODELSERVICE: "modelservicePodsNotReady",
    SubjectKind.INFERENCESERVICE: "inferenceservicePodsNotReady",
}
"""What is told of pods that are not Ready."""

SILENCING: Final[tuple[SilencingRow, ...]] = tuple(
    _of_kind(row, kind) for kind in t.KINDS for row in _OF_INFERENCESETS
)


def silencers_of(downstream: str) -> tuple[SilencingRow, ...]:
    """Return the rows that can suppress a reason for a pod."""
    return tuple(row for row in SILENCING if downstream in row.downstream)
