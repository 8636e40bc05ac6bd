"""Which looks were taken while a pod was in service: only those count."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from reporter.metrics.looks.look import Look

SETTLED: Final = timedelta(seconds=60)
"""A pod that is Ready for less may still show the load of its benchmark."""


def is_settled(look: Look) -> bool:
    """Tell whether the pod had been Ready for a while."""
    since = look.target.ready_since
    return look.target.ready and since is not None and look.at.wall - since >= SETTLED


def settled(looks: Sequence[Look]) -> tuple[Look, ...]:
    """Return the looks since the pod has been in service without a break."""
    for n in range(len(looks), 0, -1):
        if not is_settled(looks[n - 1]):
            return tuple(looks[n:])
    return tuple(looks)


def in_service(looks: Sequence[Look]) -> tuple[Look, ...]:
    """Return those of them that have a page."""
    return tuple(look for look in settled(looks) if look.failure is None)
