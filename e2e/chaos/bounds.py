"""How long it may take to tell all that is so, from the program's own periods; in seconds."""

import random
from typing import Final

from e2e.chaos.form import Form
from reporter.daemon.passes import SHORTEST_SECONDS
from reporter.kube.errors import Backoff
from reporter.kube.informer import Timing
from reporter.sinks.outbox import DOUBTED_SECONDS, REFUSED_SECONDS

MACHINE: Final = 10.0
"""For requests, passes and a machine that has other things to do."""

_BACKOFF: Final = Backoff(lambda: 0.0, random.Random())
_JITTER: Final = 2.0
_DISCOVERY_SECONDS: Final = 30.0
_CANDIDATE: Final = 2.2
"""A candidate waits up to this many retry periods between two tries."""


def telling(form: Form, _: float = 0.0) -> float:
    """A fault that is seen is told after its grace, by the next pass."""
    return form.grace + SHORTEST_SECONDS + MACHINE


def takeover(form: Form, _: float = 0.0) -> float:
    """The lease runs out, a candidate tries, and tells."""
    return form.lease.duration + _CANDIDATE * form.lease.retry + telling(form)


def reconnecting(form: Form, seconds: float) -> float:
    """A replica that was cut off for `seconds` waits at most twice as long, and 60 s, to try again."""
    waiting = _JITTER * min(_BACKOFF.most, seconds + _BACKOFF.first)
    return max(waiting, takeover(form) - telling(form)) + telling(form)


def restarting(form: Form, seconds: float) -> float:
    """A server that starts refuses everybody for a moment, which is not believed at once."""
    return DOUBTED_SECONDS + reconnecting(form, seconds)


def refreshing(form: Form, _: float = 0.0) -> float:
    """What somebody deleted is missed by a pass, and found gone by the refresh after it."""
    return 2 * form.resync + telling(form)


def refused(form: Form, seconds: float) -> float:
    """A refused write is left alone for a while."""
    return REFUSED_SECONDS + reconnecting(form, seconds)


def rediscovering(form: Form, seconds: float) -> float:
    """What is served is asked for every 30 s; then the kind is listed."""
    return _DISCOVERY_SECONDS + reconnecting(form, seconds)


def idling(form: Form, _: float = 0.0) -> float:
    """A watch that is silent for so long counts as dead, and its kind is listed."""
    return Timing().idle + reconnecting(form, 0.0)
