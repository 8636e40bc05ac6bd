"""A model pod over time: which behaviour it is in, and what its engines and process count."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from lab.simulation.engine import EngineTotals, Load
from lab.simulation.phases import PHASES, Behaviour, Download, Phase, Stage, Unreachable

Parameter = float | str | None
"""Of a phase: a field of `Load`, `Download` or `Unreachable`."""


class Life:
    """The life of a pod with some engines. All times are Unix seconds and never go back.

    Attributes:
        behaviour: of the pod; while it serves, each engine has a load of its own.
        engines: by their rank, as in the label `engine`.
        process_started: when the process began.
        speed: of the download, in bytes per second; kept when it is over.
    """

    def __init__(self, now: float, engines: Sequence[str] = ("0",)) -> None:
        self.behaviour: Behaviour = PHASES[Phase.SERVING]
        self.speed = 0.0
        self._now = now
        self._stages: list[tuple[float, Behaviour]] = []
        self._restart_every: float | None = None
        self.engines: dict[str, EngineTotals] = dict.fromkeys(engines, EngineTotals(now))
        self._begin_process()
        self.become(Phase.SERVING, now)

    @property
    def next_change(self) -> float | None:
        """When the walk takes its next step; None if it is over."""
        return self._stages[0][0] if self._stages else None

    @property
    def uptime(self) -> float:
        """Seconds since the process began."""
        return self._now - self.process_started

    @property
    def download_speed(self) -> float:
        """Bytes per second, as KAITO's gauge says it; 0 once vLLM serves."""
        return self.speed if isinstance(self.behaviour, Download) else 0.0

    @property
    def remaining(self) -> float:
        """Seconds of download left, as KAITO's gauge says it: -1 unknown, 0 done."""
        now = self.behaviour
        if not isinstance(now, Download):
            return 0.0
        if now.remaining is not None:
            return now.remaining
        if now.total_bytes is None:
            return -1.0
        left = max(0.0, now.total_bytes - self._received)
        if left and not self.speed:
            return -1.0
        return left / self.speed if left else 0.0

    def become(
        self,
        phase: Phase,
        now: float,
        *,
        engine: str | None = None,
        **parameters: Parameter,
    ) -> None:
        """Enter a phase, and leave the walk if there is one.

        Args:
            phase: what to become.
            now: when.
            engine: of a phase that serves: only this engine, instead of all.
            parameters: fields of the phase's behaviour that differ from `PHASES`.
        """
        self.advance(now)
        self._stages.clear()
        # Which fields a phase has is known only here; `replace` refuses others.
        behaviour = replace(PHASES[phase], **parameters)  # type: ignore[arg-type]
        self._enter(behaviour, engine)

    def walk(self, stages: Iterable[Stage], now: float, then: Phase = Phase.SERVING) -> None:
        """Enter the stages one after another, beginning now, and `then` a phase for good."""
        self.advance(now)
        self._stages.clear()
        at = now
        for stage in stages:
            self._stages.append((at, stage.behaviour))
            at += stage.seconds
        self._stages.append((at, PHASES[then]))
        self.advance(now)

    def restart(self, now: float, *, every: float | None = None) -> None:
        """Begin a new process with all counters at 0.

        Args:
            now: when.
            every: seconds after which the next one begins, again and again; None ends this.
        """
        self.advance(now)
        self._begin_process()
        self._restart_every = every

    def advance(self, now: float) -> None:
        """Let time pass until `now`."""
        while (change := self._next_event(now)) is not None:
            self._pass(change - self._now)
            self._now = change
            if self._is_restart(change):
                self._begin_process()
            while self._stages and self._stages[0][0] <= change:
                self._enter(self._stages.pop(0)[1])
        if now > self._now:
            self._pass(now - self._now)
            self._now = now

    def _is_restart(self, at: float) -> bool:
        return self._restart_every is not None and at >= self.process_started + self._restart_every

    def _next_event(self, now: float) -> float | None:
        """Return when the next stage or restart is due, unless it is after `now`."""
        due = [] if self.next_change is None else [self.next_change]
        if self._restart_every is not None:
            due.append(self.process_started + self._restart_every)
        first = min(due, default=None)
        return None if first is None or first > now else first

    def _pass(self, seconds: float) -> None:
        match self.behaviour:
            case Download():
                self._received += self.speed * seconds
            case Load():
                for engine in self.engines.values():
                    engine.advance(seconds)
            case Unreachable():
                pass

    def _enter(self, behaviour: Behaviour, engine: str | None = None) -> None:
        if self._is_new_process(behaviour):
            self._begin_process()
        self.behaviour = behaviour
        if isinstance(behaviour, Download) and behaviour.speed is not None:
            self.speed = behaviour.speed
        if isinstance(behaviour, Load):
            for rank, each in self.engines.items():
                if engine in {None, rank}:
                    each.take(behaviour)

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
        for rank, before in self.engines.items():
            self.engines[rank] = EngineTotals(self._now)
            self.engines[rank].take(before.load)
