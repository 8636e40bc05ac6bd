"""modelservingInvalidSpec: rules of the spec that are broken."""

from collections.abc import Iterator
from typing import Final

from reporter.catalogue.modelserving import INVALID_SPEC
from reporter.derived.modelserving.validity import violations
from reporter.model.finding import Finding
from reporter.probes.modelserving.scope import View, finding_about
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot

_MOST_TOLD: Final = 3


def probe_spec(view: View, _: Snapshot, __: EvaluationSettings) -> Iterator[Finding]:
    """Yield a finding if the spec breaks rules; it names the first few."""
    broken = violations(view.modelserving)
    if not broken:
        return
    told = "; ".join(str(each) for each in broken[:_MOST_TOLD])
    more = f"; and {len(broken) - _MOST_TOLD} more" if len(broken) > _MOST_TOLD else ""
    yield finding_about(
        view,
        reason=INVALID_SPEC,
        related=view.ref,
        cause=broken[0].field,
        text=f"the spec is invalid: {told}{more}",
        created=view.modelserving.created,
        exempt=True,
    )
