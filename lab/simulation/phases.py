"""The phases of a model pod's life, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from lab.simulation.engine import Load


@dataclass(frozen=True, slots=True)
class Download:
    """KAITO's server before vLLM: the download page, one client at a time.

    Attributes:
        speed: bytes per second, as the gauge says it; None keeps the last one, frozen.
        total_bytes: of the weights; None is unknown, so that the remaining time is -1.
        remaining: seconds, as the gauge says it whatever has arrived; None is computed.
    """

    speed: float | None = 0.0
    total_bytes: float | None = None
    remaining: float | None = None


@dataclass(frozen=True, slots=True)
class Unreachable:
    """No page.

    Attributes:
        accepts: whether connections are accepted, to hear nothing, rather than refused.
        ends_process: whether what serves afterwards is a new process.
    """

    accepts: bool = False
    ends_process: bool = False


Behaviour = Download | Load | Unreachable


class Phase(StrEnum):
    """A phase of a pod's life; `PHASES` says how a pod behaves in it."""

    DOWNLOADING = "downloading"
    DOWNLOADING_UNKNOWN_TOTAL = "downloading-unknown-total"
    DOWNLOAD_STALLED = "download-stalled"
    DOWNLOAD_LATCHED = "download-latched"
    """The monitor took the first small files for all, and stopped for good."""

    STREAMING = "streaming"
    """Weights come from object storage, which the gauges do not see."""

    CACHED = "cached"
    LOADING = "loading"
    LOADING_REFUSED = "loading-refused"
    """Without a pre-server: plain vLLM, or a local model path."""

    HAND_OVER = "hand-over"
    BENCHMARK = "benchmark"
    IDLE = "idle"
    SERVING = "serving"
    PACKED = "packed"
    """A full KV cache that serves well."""

    SATURATED = "saturated"
    PREEMPTING = "preempting"
    BACKLOG_GROWING = "backlog-growing"
    STALLED = "stalled"
    LONG_PREFILL = "long-prefill"
    """Nothing but the KV cache moves, and nothing is wrong."""

    SCHEDULER_STUCK = "scheduler-stuck"
    ERRORING = "erroring"
    REJECTING = "rejecting"
    SLOW_ANSWERS = "slow-answers"
    UNHEALTHY = "unhealthy"
    CORRUPTING = "corrupting"
    KV_TRANSFER_FAILING = "kv-transfer-failing"
    ASLEEP = "asleep"
    PAUSED = "paused"
    SHUTTING_DOWN = "shutting-down"


_SERVING: Final = Load(running=9, kv_usage=0.21, requests=2.5, steps=30.0)
_FULL: Final = replace(_SERVING, running=24, kv_usage=0.97, requests=4.0)

PHASES: Final[Mapping[Phase, Behaviour]] = {
    Phase.DOWNLOADING: Download(speed=150e6, total_bytes=16e9),
    Phase.DOWNLOADING_UNKNOWN_TOTAL: Download(speed=150e6),
    Phase.DOWNLOAD_STALLED: Download(remaining=-1.0),
    Phase.DOWNLOAD_LATCHED: Download(speed=3100.0, remaining=0.0),
    Phase.STREAMING: Download(remaining=-1.0),
    Phase.CACHED: Download(remaining=0.0),
    Phase.LOADING: Download(speed=None, remaining=0.0),
    Phase.LOADING_REFUSED: Unreachable(),
    Phase.HAND_OVER: Unreachable(accepts=True),
    # 2,048 tokens in and 256 out, with as many requests as fit (KAITO's start-up probe).
    Phase.BENCHMARK: replace(
        _FULL, waiting_capacity=30, preemptions=0.2, prompt_tokens=2048, generation_tokens=256
    ),
    Phase.IDLE: Load(),
    Phase.SERVING: _SERVING,
    Phase.PACKED: _FULL,
    Phase.SATURATED: replace(
        _FULL, kv_usage=0.98, waiting_capacity=14, preemptions=0.4, queue_seconds=2.0, ttft=2.1
    ),
    Phase.PREEMPTING: replace(_SERVING, kv_usage=0.9, preemptions=1.5),
    Phase.BACKLOG_GROWING: replace(
        _SERVING, running=24, kv_usage=0.8, waiting_capacity=8, backlog_growth=0.1
    ),
    Phase.STALLED: Load(running=9, waiting_capacity=4, kv_usage=0.31),
    Phase.LONG_PREFILL: Load(running=1, kv_usage=0.05, kv_growth=0.001),
    Phase.SCHEDULER_STUCK: Load(waiting_deferred=6, kv_usage=0.18),
    Phase.ERRORING: replace(_SERVING, error_share=0.2),
    Phase.REJECTING: replace(
        _SERVING, waiting_capacity=5, guard_rejections=0.5, admission_rejections=0.5
    ),
    Phase.SLOW_ANSWERS: replace(_SERVING, slow_share=0.1),
    Phase.UNHEALTHY: replace(_SERVING, healthy=False),
    Phase.CORRUPTING: replace(_SERVING, corrupted=0.1),
    Phase.KV_TRANSFER_FAILING: replace(_SERVING, kv_transfer_failures=0.1),
    Phase.ASLEEP: Load(sleep_state="weights_offloaded"),
    Phase.PAUSED: Load(sleep_state="paused"),
    Phase.SHUTTING_DOWN: Unreachable(ends_process=True),
}


@dataclass(frozen=True, slots=True)
class Stage:
    """A behaviour that lasts for some seconds, in a walk through a pod's life."""

    behaviour: Behaviour
    seconds: float


def start_up(*, speed: float = 150e6, total_bytes: float = 16e9) -> tuple[Stage, ...]:
    """Return the life of a KAITO pod until it serves; `speed` is in bytes per second."""
    return (
        Stage(Download(speed, total_bytes), total_bytes / speed),
        Stage(PHASES[Phase.LOADING], 40.0),
        Stage(PHASES[Phase.HAND_OVER], 4.0),
        Stage(PHASES[Phase.BENCHMARK], 60.0),
    )
