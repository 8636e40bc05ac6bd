"""The phases of a model pod's life, as data."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lab.simulation.engine import Load


@dataclass(frozen=True, slots=True)
class Download:
    """KAITO's server before vLLM: the download page, one client at a time.

    Attributes:
        speed: bytes per second, the value of the gauge.
        total_bytes: size of the weights.
    """

    speed: float = 150e6
    total_bytes: float = 16e9


@dataclass(frozen=True, slots=True)
class Unreachable:
    """No page: connections are refused.

    Attributes:
        ends_process: whether a new process serves afterwards.
    """

    ends_process: bool = False


Behaviour = Download | Load | Unreachable


class Phase(StrEnum):
    """A phase of a pod's life; `PHASES` says how a pod behaves in it."""

    DOWNLOADING = "downloading"
    LOADING_REFUSED = "loading-refused"
    """Without a pre-server: plain vLLM, or a local model path."""

    IDLE = "idle"
    SERVING = "serving"
    SATURATED = "saturated"
    SHUTTING_DOWN = "shutting-down"


PHASES: Final[Mapping[Phase, Behaviour]] = {
    Phase.DOWNLOADING: Download(),
    Phase.LOADING_REFUSED: Unreachable(),
    Phase.IDLE: Load(),
    Phase.SERVING: Load(running=9, kv_usage=0.21, requests=2.5, steps=30.0),
    Phase.SATURATED: Load(
        running=24,
        waiting=14,
        kv_usage=0.98,
        requests=4.0,
        steps=30.0,
        preemptions=0.4,
        ttft=2.1,
        queue_seconds=2.0,
    ),
    Phase.SHUTTING_DOWN: Unreachable(ends_process=True),
}
