"""inferenceserviceStatusStale: the stored status is not what should have been propagated."""

from collections.abc import Iterator
from typing import Final

from reporter.model.finding import Finding
from reporter.stacks.kserve.derived.differs import differs
from reporter.stacks.kserve.probes.ages import last_change
from reporter.stacks.kserve.probes.scope import InferenceServiceScope
from reporter.stacks.kserve.reasons import STATUS_STALE

_MOST_TOLD: Final = 5
_OF_PODS: Final = "modelStatus."
"""Fields that follow from pods."""


def probe_stale(scope: InferenceServiceScope) -> Iterator[Finding]:
    """Yield a finding if fields of the status differ, of an InferenceService that has a status.

    It is no older than what changed last. That is no transition: most fields change without any
    condition, so that the time may be one of long ago.
    """
    stored = scope.inferenceservice.status
    if not stored.conditions:
        return
    fields = differs(stored, scope.derivation)
    if not fields:
        return
    more = f" and {len(fields) - _MOST_TOLD} more" if len(fields) > _MOST_TOLD else ""
    yield scope.finding(
        reason=STATUS_STALE,
        related=scope.ref,
        cause=fields[0],
        text=f"its status does not match its objects, in {', '.join(fields[:_MOST_TOLD])}{more}",
        created=last_change(scope, pods=any(each.startswith(_OF_PODS) for each in fields)),
    )
