"""modelserviceDeletionStuck: a ModelService that is being deleted and does not go."""

from typing import Final

from reporter.model.finding import Evaluation
from reporter.model.text import clean
from reporter.probes.scope import evaluated
from reporter.stacks.otterscale.probes.scope import ModelServiceScope
from reporter.stacks.otterscale.reasons import DELETION_STUCK

OPERATORS_FINALIZER: Final = "model.otterscale.io/epp-cluster-rbac"
"""Put on every ModelService by the operator (otterscale/model-operator)."""

_MOST: Final = 5


def evaluate_leaving(scope: ModelServiceScope) -> Evaluation:
    """Return what is said about a ModelService that is being deleted: what holds it."""
    finalizers = scope.service.metadata.finalizers or ()
    if not finalizers:
        return Evaluation(findings=(), ready=(), subjects=())
    names = ", ".join(finalizers[:_MOST])
    who = "the operator has not removed" if OPERATORS_FINALIZER in finalizers else "nobody removes"
    found = scope.finding(
        reason=DELETION_STUCK,
        related=scope.ref,
        cause=clean(f"finalizer {finalizers[0]}"),
        text=clean(f"is being deleted and does not go: {who} its finalizer {names}"),
        transition=scope.service.metadata.deletion_timestamp,
    )
    return evaluated(scope, (found,))
