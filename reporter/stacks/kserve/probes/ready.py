"""inferenceserviceReady: positive evidence that an InferenceService serves."""

from collections.abc import Iterator

from reporter.model.finding import ReadyEvidence, ServingEvidence
from reporter.stacks.kserve.derived.components import INGRESS_READY, Component
from reporter.stacks.kserve.derived.mode import Mode
from reporter.stacks.kserve.probes.scope import InferenceServiceScope
from reporter.stacks.kserve.reasons import READY
from reporter.workload.conditions import is_false, is_true


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


def probe_serving(scope: InferenceServiceScope) -> Iterator[ServingEvidence]:
    """Yield whether it serves, by the same evidence.

    A request needs every component; one whose newest revision fails serves as long as another is
    ready. Of a service of ModelMesh nothing but its Ready condition is seen.
    """
    if scope.facts.mode is Mode.MODELMESH:
        yield _serving(scope, serves=scope.shows_ready)
        return
    known = scope.facts.services if scope.in_knative_mode else scope.facts.deployments
    if known is not None and scope.all_pods is not None:
        yield _serving(scope, serves=all(_serves(scope, each) for each in scope.components))


def idle(scope: InferenceServiceScope) -> ServingEvidence:
    """Return what is said of one that is stopped."""
    return ServingEvidence(subject=scope.subject, wanted=0, serving=0)


def _serving(scope: InferenceServiceScope, *, serves: bool) -> ServingEvidence:
    return ServingEvidence(
        subject=scope.subject,
        wanted=1,
        serving=int(serves),
        reached=not is_false(scope.condition(INGRESS_READY)),
    )


def _serves(scope: InferenceServiceScope, component: Component) -> bool:
    return is_true(scope.condition(component.ready)) or scope.has_ready_pod(component)


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
