"""Probes of InferenceServices, and positive evidence that one serves."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, SCALEDOBJECTS
from reporter.model.finding import Evaluation, Finding, ReadyEvidence, ServingEvidence
from reporter.probes.pods import fault_of_pod, judged, metric_faults, metric_finding
from reporter.probes.scope import Probe
from reporter.probes.subjects import StackProbes, SubjectProbes
from reporter.served.pods import switched_off
from reporter.served.scaledobjects import judge_scalers
from reporter.stacks.kserve.objects import INGRESS_READY, REVISION, Mode
from reporter.stacks.kserve.probes.conditions import probe_conditions, probe_stale
from reporter.stacks.kserve.probes.model import probe_model, probe_pods, probe_spec
from reporter.stacks.kserve.probes.revisions import probe_revisions, probe_traffic
from reporter.stacks.kserve.probes.scope import InferenceServiceScope, ServedComponent
from reporter.stacks.kserve.reasons import INFERENCESERVICES, READY, SCALING_NOT_READY
from reporter.workload.owners import is_false, is_true, warning_about
from reporter.workload.pod import NOT_SET_UP, STARTING, counts, is_ready

_IN_START_UP: Final = frozenset({NOT_SET_UP, STARTING})
"""Severities of the faults of pods that are only starting and were never Ready."""


def probe_ready(scope: InferenceServiceScope) -> Iterator[ReadyEvidence]:
    """Yield evidence if Ready is True and all objects of its components agree with that.

    Nothing is concluded while an object is unknown. Ready alone does not cover transformers.
    """
    if scope.facts.mode is not Mode.MODELMESH and not _agrees(scope):
        return
    if not scope.shows_ready:
        return
    parts = ", ".join(map(_in_words, scope.components))
    yield scope.evidence(READY, parts)


def probe_serving(scope: InferenceServiceScope) -> Iterator[ServingEvidence]:
    """Yield whether it serves.

    A request needs every component. A component whose newest revision fails serves as long as
    another revision is ready. For ModelMesh only the Ready condition is known.
    """
    if scope.facts.mode is Mode.MODELMESH:
        yield _serving(scope, serves=scope.shows_ready)
        return
    if scope.facts.made is None or scope.all_pods is None:
        return
    if scope.wants_none:
        yield ServingEvidence(subject=scope.subject, wanted=0, serving=0)
    else:
        yield _serving(scope, serves=all(map(_serves, scope.components)))


def _serving(scope: InferenceServiceScope, *, serves: bool) -> ServingEvidence:
    ingress = scope.condition(INGRESS_READY)
    # The component's ingress from before remains while the whole is not ready.
    stays = ingress is not None and bool(scope.object.status.url) and scope.says_no_more(ingress)
    return ServingEvidence(
        subject=scope.subject, wanted=1, serving=int(serves), reached=stays or not is_false(ingress)
    )


def _serves(component: ServedComponent) -> bool:
    if component.scope.in_knative_mode:
        return any(_answers(component, each) for each in component.status.serving() or ("",))
    if component.at_zero:
        return False
    return is_true(component.ready) or any(is_ready(e) and counts(e) for e in component.pods)


def _answers(component: ServedComponent, revision: str) -> bool:
    """True if a revision that gets requests, or any if it has no name, answers; Knative mode.

    Ready of a revision does not follow its pods once they have served, and stays True even if all
    of them are lost (Knative Serving, pkg/apis/serving/v1/revision_lifecycle.go). While it has no
    pods, and while they start from zero, the activator queues requests (knative.dev, Serving
    architecture).
    """
    scope = component.scope
    mine = (each for each in component.pods if counts(each))
    pods = [each for each in mine if revision in ("", each.metadata.label(REVISION))]
    if any(map(is_ready, pods)):
        return True
    gone = bool(revision) and scope.revisions is not None and scope.revision(revision) is None
    faults = (fault_of_pod(scope, each) for each in pods)
    queued = component.service is not None and is_true(component.ready) and not gone
    return queued and all(each and each.severity in _IN_START_UP for each in faults)


def _agrees(scope: InferenceServiceScope) -> bool:
    made, parts = scope.facts.made, scope.components
    if made is None or scope.all_pods is None or not {each.kind for each in parts} <= made.keys():
        return False
    if not is_true(scope.condition("Ready")):
        return False
    if any(each.at_zero for each in parts) and not scope.wants_none:
        return False
    return all(
        is_true(each.ready)
        and each.status.latest_created_revision == each.status.latest_ready_revision
        for each in parts
    )


def _in_words(component: ServedComponent) -> str:
    if component.at_zero:
        return f"0 {component.kind} replicas wanted"
    rolled_out = component.status.latest_rolledout_revision
    shown = f" (revision {rolled_out})" if component.scope.in_knative_mode and rolled_out else ""
    return f"{component.kind} ready{shown}"


def probe_runtime(scope: InferenceServiceScope) -> Iterator[Finding]:
    """Yield a finding for each fault that the rules found in the metrics of a pod."""
    return (metric_finding(scope, *each) for each in metric_faults(scope, scope.pods))


def probe_scaling(scope: InferenceServiceScope) -> Iterator[Finding]:
    found = chain.from_iterable(each.deployments for each in scope.components)
    yield from judge_scalers(scope, ((DEPLOYMENTS.kind, each.name) for each in found))
    yield from _unscaled(scope)


def _unscaled(scope: InferenceServiceScope) -> Iterator[Finding]:
    """Yield a finding if KServe made no ScaledObject where KEDA is to scale its predictor.

    The API server or KEDA's webhook refuses it then, which an Event tells and no condition.
    """
    name = scope.predictor.ref.name
    there = {each.name for each in scope.predictor.deployments}
    by_keda = scope.object.metadata.annotation("serving.kserve.io/autoscalerClass") == "keda"
    if not by_keda or name not in there or scope.object.frozen:
        return
    if scope.facts.mode is Mode.STANDARD and scope.snapshot.lacks(SCALEDOBJECTS, scope.place, name):
        why = warning_about(scope.snapshot, scope.ref)
        yield scope.finding(
            reason=SCALING_NOT_READY,
            cause=f"ScaledObject {name} missing",
            text=f"KServe made no ScaledObject {name}, although its autoscalerClass is keda"
            f"{f': {why}' if why else ''}",
            created=scope.object.created,
        )


_PROBES: Final[tuple[Probe[InferenceServiceScope], ...]] = (
    probe_spec,
    probe_model,
    probe_pods,
    probe_revisions,
    probe_traffic,
    probe_conditions,
    probe_stale,
    probe_scaling,
    probe_runtime,
)


def evaluate_inferenceservice(scope: InferenceServiceScope) -> Evaluation:
    """Return the evaluation of one InferenceService, with the status that it should have.

    A stopped InferenceService is only reported as stopped.
    """
    if scope.stopped:
        return switched_off(scope, by="serving.kserve.io/stop", derived=scope.derived)
    ready, serving = probe_ready(scope), probe_serving(scope)
    return judged(
        scope, _PROBES, ready=ready, serving=serving, pods=scope.pods, derived=scope.derived
    )


PROBES: Final = StackProbes(
    subjects=SubjectProbes(
        resources=(INFERENCESERVICES,),
        scope=InferenceServiceScope,
        evaluate=evaluate_inferenceservice,
    )
)
