"""modelservingInvalidSpec: rules of the spec that are broken."""

from collections.abc import Iterator
from typing import Final

from reporter.model.finding import Finding
from reporter.stacks.kthena.derived.validity import violations
from reporter.stacks.kthena.probes.scope import ModelServingScope
from reporter.stacks.kthena.reasons import INVALID_SPEC

_MOST_TOLD: Final = 3


def probe_spec(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding if the spec breaks rules; it names the first few."""
    broken = violations(scope.modelserving)
    if not broken:
        return
    told = "; ".join(str(each) for each in broken[:_MOST_TOLD])
    more = f"; and {len(broken) - _MOST_TOLD} more" if len(broken) > _MOST_TOLD else ""
    yield scope.finding(
        reason=INVALID_SPEC,
        related=scope.ref,
        cause=broken[0].field,
        text=f"the spec is invalid: {told}{more}",
        created=scope.modelserving.created,
        exempt=True,
    )
