"""Probes of InferenceServices (KServe sheet, section 4): a module for each thing that can fail."""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from reporter.catalogue.resources import PODS
from reporter.metrics.looks.samples import NONE, Samples
from reporter.model.finding import Evaluation, Finding, KnownSubject
from reporter.model.subject import SubjectKind
from reporter.probes.runtime.told import faults, undecided, verdicts
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kserve.objects import InferenceService
from reporter.stacks.kserve.probes.conditions import probe_conditions
from reporter.stacks.kserve.probes.model import probe_model
from reporter.stacks.kserve.probes.pods import probe_pods
from reporter.stacks.kserve.probes.ready import probe_ready
from reporter.stacks.kserve.probes.revisions import probe_revisions
from reporter.stacks.kserve.probes.scope import View, finding_about, view_of
from reporter.stacks.kserve.probes.spec import probe_spec
from reporter.stacks.kserve.probes.stale import probe_stale
from reporter.stacks.kserve.probes.traffic import probe_traffic
from reporter.stacks.kserve.reasons import STOPPED

_Probe: TypeAlias = Callable[[View, Snapshot, EvaluationSettings], Iterator[Finding]]

_PROBES: Final[tuple[_Probe, ...]] = (
    probe_spec,
    probe_model,
    probe_pods,
    probe_revisions,
    probe_traffic,
    probe_conditions,
    probe_stale,
)


def inferenceservice_inputs(
    inferenceservice: InferenceService, snapshot: Snapshot, samples: Samples
) -> tuple[tuple[object, ...], ...]:
    """Return the objects that the answer about an InferenceService rests on, beside nodes."""
    view = view_of(inferenceservice, snapshot)
    deployments = (view.facts.deployments or {}).values()
    return (
        (view.facts.mode, view.all_pods is None, view.revisions is None, view.knative_absent),
        tuple((view.facts.services or {}).values()),
        tuple(each for group in deployments for each in group),
        view.all_pods or (),
        view.facts.pods or (),
        view.revisions or (),
        verdicts(view.all_pods or (), samples),
    )


def evaluate_inferenceservice(
    inferenceservice: InferenceService,
    snapshot: Snapshot,
    settings: EvaluationSettings,
    samples: Samples = NONE,
) -> Evaluation:
    """Return all that is said about one InferenceService, and the status that it should have.

    One that is being deleted is no subject, and nothing is said about it. Of one that is stopped
    only that is said.
    """
    if inferenceservice.deleting:
        return Evaluation((), (), ())
    view = view_of(inferenceservice, snapshot)
    subjects = (KnownSubject(view.subject, inferenceservice.created),)
    if view.stopped:
        return Evaluation((_stopped(view),), (), subjects, derived=view.derived)
    found = [each for probe in _PROBES for each in probe(view, snapshot, settings)]
    found += _runtime(view, samples)
    return Evaluation(
        findings=tuple(found),
        ready=tuple(probe_ready(view)),
        subjects=subjects,
        undecided=undecided(view.pods, samples, SubjectKind.INFERENCESERVICE),
        derived=view.derived,
    )


def _stopped(view: View) -> Finding:
    return finding_about(
        view,
        reason=STOPPED,
        related=view.ref,
        cause="stopped",
        text="is stopped, by the annotation serving.kserve.io/stop",
    )


def _runtime(view: View, samples: Samples) -> Iterator[Finding]:
    """Yield a finding for each fault that the rules found in the metrics of a pod."""
    for reason, pod, fault in faults(view.pods, samples, SubjectKind.INFERENCESERVICE):
        yield finding_about(
            view,
            reason=reason,
            related=PODS.ref(pod),
            cause=fault.cause,
            text=f"pod {pod.name}: {fault.text}",
            severity=fault.severity,
            transition=fault.since,
            created=pod.created,
            exempt=True,  # the window was its grace
        )
