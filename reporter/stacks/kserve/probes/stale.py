"""inferenceserviceStatusStale: the stored status is not what should have been propagated."""

from collections.abc import Iterator
from typing import Final

from reporter.model.finding import Finding
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kserve.derived.differs import differs
from reporter.stacks.kserve.probes.scope import View, finding_about
from reporter.stacks.kserve.reasons import STATUS_STALE

_MOST_TOLD: Final = 5


def probe_stale(view: View, _: Snapshot, __: EvaluationSettings) -> Iterator[Finding]:
    """Yield a finding if fields of the status differ, of an InferenceService that has a status."""
    stored = view.inferenceservice.status
    if not stored.conditions:
        return
    fields = differs(stored, view.derivation)
    if not fields:
        return
    more = f" and {len(fields) - _MOST_TOLD} more" if len(fields) > _MOST_TOLD else ""
    yield finding_about(
        view,
        reason=STATUS_STALE,
        related=view.ref,
        cause=fields[0],
        text=f"its status is not what its objects say, in {', '.join(fields[:_MOST_TOLD])}{more}",
    )
