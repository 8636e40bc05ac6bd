"""The two forms of the faults: with the settings of a real installation, or quick."""

from dataclasses import dataclass
from typing import Any, Final

from reporter.kube.lease import LeaseTimes

_OWN_GRACE: Final = (
    "modelharnessGatewayProgrammingFailed",
    "inferencesetInfraProvisioningFailed",
)
"""Reasons whose own grace is minutes; nothing in a fault depends on it."""


@dataclass(frozen=True)
class Form:
    """The settings of the replicas, in seconds.

    Attributes:
        name: of the form.
        short: faults have the duration of their short form.
        lease: periods of the election.
        resync: longest time between two passes.
        grace: how long a fault must last before it is reported.
    """

    name: str
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
            "renew_deadline_seconds": self.lease.renew_deadline,
            "retry_period_seconds": self.lease.retry,
        }


FULL: Final = Form("full", False, LeaseTimes(), resync=5, grace=5)
SHORT: Final = Form("short", True, LeaseTimes(4.0, 2.8, 0.5), resync=1, grace=0)
