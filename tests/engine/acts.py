"""What is done to the engine, one after another, and which reasons that has to raise, and no others."""

from dataclasses import dataclass, field
from enum import Enum, auto

from reporter.catalogue import runtime as t
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from reporter.stacks.settings import FullDaemonSettings
from tests.engine.load import Load

PERIOD = 2
FASTER = 10
"""How many times shorter windows are than those of a daemon; their order stays."""

LASTS = 36
"""Seconds for which an act goes on once what it has to tell is told: longer than the windows of full caches."""

PATIENCE = 600
"""Seconds after which a reason that has not come will not come."""


MOST_QUEUED = 60
FLAGS = (f"--max-num-queued-reqs={MOST_QUEUED}",)
"""vLLM 0.32 and later count whom they refuse for it."""


class Harm(Enum):
    """What is done to the server in addition to the load."""

    NONE = auto()
    HANG = auto()
    """The engine's process is stopped, the one that serves HTTP is not."""
    KILL = auto()
    START = auto()


@dataclass(frozen=True, slots=True)
class Act:
    """A part of the check.

    Attributes:
        name: what is done.
        load: the clients meanwhile.
        harm: what else is done as it begins.
        tells: the reasons that have to fire at its end, and no others.
        passing: those that may fire or not, as they depend on how fast the machine is.

    """

    name: str
    load: Load = field(default_factory=Load)
    harm: Harm = Harm.NONE
    tells: frozenset[str] = frozenset()
    passing: frozenset[str] = frozenset()

    def wrong(self, told: frozenset[str], before: "Act | None") -> frozenset[str]:
        """Return the reasons among those that fire in it that do not belong here.

        Until it ends, those of the act before may still fire.
        """
        mine = self.tells | self.passing
        return told - mine - (before.tells | before.passing if before else frozenset())

    def done(self, told: frozenset[str]) -> bool:
        """Tell whether what has to fire does, and nothing else."""
        return self.tells <= told <= self.tells | self.passing


def _named(*reasons: str) -> frozenset[str]:
    return frozenset(t.of_kind(each, INFERENCESET_KIND) for each in reasons)


_SLOW = _named(t.BACKLOG, t.LATENCY)
"""What a queue may become on a slow machine before it is known why."""

ACTS = (
    Act("idle"),
    Act("steady: 3 clients", Load(clients=3, think=0.2)),
    Act("backlog: 26 clients", Load(clients=26), tells=_named(t.KV_CACHE), passing=_SLOW),
    Act("the clients are gone"),
    Act("3 clients, each leaves amid the answer", Load(clients=3, think=0.2, leaves_after=20)),
    Act(
        f"{MOST_QUEUED + 30} clients, {MOST_QUEUED} are let in",
        Load(clients=MOST_QUEUED + 30),
        tells=_named(t.KV_CACHE, t.REJECTED),
        passing=_SLOW,
    ),
    Act("the clients are gone"),
    Act(
        "the engine hangs, 26 clients wait",
        Load(clients=26),
        Harm.HANG,
        tells=_named(t.ENGINE_STALLED),
    ),
    Act("it goes on, without clients"),
    Act("killed", Load(clients=3, think=0.2), Harm.KILL, tells=_named(t.SCRAPE_FAILING)),
    Act("started again, 3 clients", Load(clients=3, think=0.2), Harm.START),
)


def settings() -> FullDaemonSettings:
    """Return the daemon's settings, with windows that are shorter and thresholds as they are."""
    usual = FullDaemonSettings()
    return FullDaemonSettings(
        scrape_interval_seconds=PERIOD,
        grace={
            usual.metrics_name(reason): usual.window_seconds(reason) // FASTER
            for reason in t.RUNTIME_NAMES
        },
    )
