"""A model pod over time: its phases, and the counters of its engine and process."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from lab.simulation.engine import EngineTotals, Load


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


class Life:
    """The life of a pod. All times are Unix seconds and never go back.

    Attributes:
        behaviour: the current behaviour of the pod.
        engine: the engine's totals since the process started.
        process_started: when the process started.
    """

    def __init__(self, now: float) -> None:
        self.behaviour: Behaviour = PHASES[Phase.SERVING]
        self._now = now
        self._begin_process()
        self.become(Phase.SERVING, now)

    @property
    def uptime(self) -> float:
        return self._now - self.process_started

    @property
    def download_speed(self) -> float:
        """Value of KAITO's gauge, in bytes per second; 0 once vLLM serves."""
        return self.behaviour.speed if isinstance(self.behaviour, Download) else 0.0

    @property
    def remaining(self) -> float:
        """Value of KAITO's gauge for the seconds left to download: -1 unknown, 0 done."""
        now = self.behaviour
        if not isinstance(now, Download):
            return 0.0
        left = max(0.0, now.total_bytes - self._received)
        if left and not now.speed:
            return -1.0
        return left / now.speed if left else 0.0

    def become(self, phase: Phase, now: float, **parameters: float) -> None:
        """Enter a phase; `parameters` override fields of its behaviour."""
        self.advance(now)
        # Which fields a phase has is known only here; `replace` refuses others.
        entered = replace(PHASES[phase], **parameters)  # type: ignore[arg-type]
        if self._is_new_process(entered):
            self._begin_process()
        self.behaviour = entered
        if isinstance(entered, Load):
            self.engine.load = entered

    def advance(self, now: float) -> None:
        seconds = max(0.0, now - self._now)
        self._now += seconds
        match self.behaviour:
            case Download(speed):
                self._received += speed * seconds
            case Load():
                self.engine.advance(seconds)
            case Unreachable():
                pass

    def _is_new_process(self, entered: Behaviour) -> bool:
        match self.behaviour:
            case Unreachable(ends_process=True):
                return not isinstance(entered, Unreachable)
            case Load():
                return isinstance(entered, Download)
        return False

    def _begin_process(self) -> None:
        self.process_started = self._now
        self._received = 0.0
        self.engine = EngineTotals(self._now)
