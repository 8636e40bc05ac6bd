"""The settings of the replicas, and how long reporting everything may take by them."""

import random
from dataclasses import dataclass
from typing import Any, Final

from reporter.daemon.passes import SHORTEST_SECONDS
from reporter.kube.errors import Backoff
from reporter.kube.informer import Timing
from reporter.kube.lease import LeaseTimes
from reporter.sinks.outbox import DOUBTED_SECONDS, REFUSED_SECONDS

_OWN_GRACE: Final = (
    "modelharnessGatewayProgrammingFailed",
    "inferencesetInfraProvisioningFailed",
)
"""Reasons whose own grace is minutes; nothing in a fault depends on it."""


@dataclass(frozen=True)
class Form:
    """The settings of the replicas, in seconds.

    Attributes:
        short: faults have the duration of their short form.
        lease: periods of the election.
        resync: longest time between two passes.
        grace: how long a fault must last before it is reported.
    """

    short: bool
    lease: LeaseTimes
    resync: int
    grace: int

    @property
    def settings(self) -> dict[str, Any]:
        """Return them as settings of the daemon."""
        return {
            "resync_seconds": self.resync,
            "startup_grace_seconds": self.grace,
            "grace": ",".join(f"{reason}={self.grace}" for reason in _OWN_GRACE),
            "lease_duration_seconds": self.lease.duration,
        }


FULL: Final = Form(False, LeaseTimes(), resync=5, grace=5)
SHORT: Final = Form(True, LeaseTimes(4.0), resync=1, grace=0)


MACHINE: Final = 10.0
"""For requests, passes, and a busy machine."""

_BACKOFF: Final = Backoff(lambda: 0.0, random.Random())
_JITTER: Final = 2.0
_DISCOVERY_SECONDS: Final = 30.0
_CANDIDATE: Final = 2.2
"""A candidate waits up to this many retry periods between two tries."""


def telling(form: Form, _: float = 0.0) -> float:
    """A fault is reported after its grace, by the next pass."""
    return form.grace + SHORTEST_SECONDS + MACHINE


def takeover(form: Form, _: float = 0.0) -> float:
    """The lease expires, a candidate tries, and reports."""
    return form.lease.duration + _CANDIDATE * form.lease.retry + telling(form)


def reconnecting(form: Form, seconds: float) -> float:
    """A replica that was cut off for `seconds` retries after at most twice as long, or 60 s."""
    waiting = _JITTER * min(_BACKOFF.most, seconds + _BACKOFF.first)
    return max(waiting, takeover(form) - telling(form)) + telling(form)


def restarting(form: Form, seconds: float) -> float:
    """A starting server refuses everybody for a moment, which is not believed at once."""
    return DOUBTED_SECONDS + reconnecting(form, seconds)


def refreshing(form: Form, _: float = 0.0) -> float:
    """A pass misses an object that somebody deleted, and the next refresh finds it gone."""
    return 2 * form.resync + telling(form)


def refused(form: Form, seconds: float) -> float:
    """A refused write is not retried for a while."""
    return REFUSED_SECONDS + reconnecting(form, seconds)


def rediscovering(form: Form, seconds: float) -> float:
    """Discovery runs every 30 s; then the kind is listed."""
    return _DISCOVERY_SECONDS + reconnecting(form, seconds)


def idling(form: Form, _: float = 0.0) -> float:
    """A watch that is silent for this long counts as dead, and its kind is listed."""
    return Timing().idle + reconnecting(form, 0.0)
