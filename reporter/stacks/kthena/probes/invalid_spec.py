"""modelservingInvalidSpec: rules of the spec that are broken."""

from collections.abc import Iterator
from typing import Final

from reporter.model.finding import Finding
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kthena.derived.validity import violations
from reporter.stacks.kthena.probes.scope import View, finding_about
from reporter.stacks.kthena.reasons import INVALID_SPEC

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
