"""What goes from one leader to the next by the Lease: `resolution/handing_on.py` says why."""

from datetime import datetime

from reporter.daemon.one_pass import Pass
from reporter.kube.lease import Elector
from reporter.model.instant import Instant, parse_rfc3339
from reporter.resolution.handing_on import NOTHING, Handed, take_over


class HandOver:
    """Stands between the passes and the elector; neither knows the other."""

    def __init__(self) -> None:
        self._text: str | None = None

    def passed(self, done: Pass) -> None:
        """Note what the newest pass hands on."""
        self._text = done.to_hand_on

    def outgoing(self) -> str | None:
        """Return what to write on the Lease; None before the first pass: what stands there stays."""
        return self._text


def handed_by(elector: Elector, now: Instant) -> Handed:
    """Return what the last other holder of the Lease has handed on."""
    left = elector.left_by_another
    return NOTHING if left is None else take_over(left.text, _moment(left.renewed), now.wall)


def _moment(text: str) -> datetime | None:
    try:
        return parse_rfc3339(text)
    except ValueError:
        return None
