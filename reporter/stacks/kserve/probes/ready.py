"""inferenceserviceReady: positive evidence that an InferenceService serves."""

from collections.abc import Iterator

from reporter.model.finding import ReadyEvidence
from reporter.model.text import MESSAGE_BYTES, clean, cut
from reporter.stacks.kserve.derived.components import Component
from reporter.stacks.kserve.derived.mode import Mode
from reporter.stacks.kserve.probes.scope import View, is_true
from reporter.stacks.kserve.reasons import READY


def probe_ready(view: View) -> Iterator[ReadyEvidence]:
    """Yield evidence if Ready is True, and everything that it and its components rest on agrees.

    Nothing is concluded while any of it is unknown. Ready alone does not tell of transformers.
    """
    if view.facts.mode is not Mode.MODELMESH and not _agrees(view):
        return
    if not view.shows_ready:
        return
    parts = ", ".join(f"{each} ready{_revision(view, each)}" for each in view.components)
    yield ReadyEvidence(
        reason=READY,
        subject=view.subject,
        involved=view.namespace,
        related=view.ref,
        message=cut(clean(f"{view.title} is ready: {parts}"), MESSAGE_BYTES),
    )


def _agrees(view: View) -> bool:
    known = view.facts.services if view.in_knative_mode else view.facts.deployments
    if known is None or view.all_pods is None or not set(view.components) <= set(known):
        return False
    if not is_true(view.condition("Ready")):
        return False
    return all(is_true(view.condition(each.ready)) and _newest(view, each) for each in view.components)  # fmt: skip


def _newest(view: View, component: Component) -> bool:
    status = view.status_of(component)
    return status.latest_created_revision == status.latest_ready_revision


def _revision(view: View, component: Component) -> str:
    rolled_out = view.status_of(component).latest_rolledout_revision
    return f" (revision {rolled_out})" if view.in_knative_mode and rolled_out else ""
