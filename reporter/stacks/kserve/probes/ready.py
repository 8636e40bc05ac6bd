"""inferenceserviceReady: positive evidence that an InferenceService serves."""

from collections.abc import Iterator

from reporter.model.finding import ReadyEvidence
from reporter.stacks.kserve.derived.components import Component
from reporter.stacks.kserve.derived.mode import Mode
from reporter.stacks.kserve.probes.scope import InferenceServiceScope
from reporter.stacks.kserve.reasons import READY
from reporter.workload.conditions import is_true


def probe_ready(scope: InferenceServiceScope) -> Iterator[ReadyEvidence]:
    """Yield evidence if Ready is True, and everything that it and its components rest on agrees.

    Nothing is concluded while any of it is unknown. Ready alone does not tell of transformers.
    """
    if scope.facts.mode is not Mode.MODELMESH and not _agrees(scope):
        return
    if not scope.shows_ready:
        return
    parts = ", ".join(f"{each} ready{_revision(scope, each)}" for each in scope.components)
    yield scope.evidence(READY, f"{parts}")


def _agrees(scope: InferenceServiceScope) -> bool:
    known = scope.facts.services if scope.in_knative_mode else scope.facts.deployments
    if known is None or scope.all_pods is None or not set(scope.components) <= set(known):
        return False
    if not is_true(scope.condition("Ready")):
        return False
    return all(is_true(scope.condition(each.ready)) and _newest(scope, each) for each in scope.components)  # fmt: skip


def _newest(scope: InferenceServiceScope, component: Component) -> bool:
    status = scope.status_of(component)
    return status.latest_created_revision == status.latest_ready_revision


def _revision(scope: InferenceServiceScope, component: Component) -> str:
    rolled_out = scope.status_of(component).latest_rolledout_revision
    return f" (revision {rolled_out})" if scope.in_knative_mode and rolled_out else ""
