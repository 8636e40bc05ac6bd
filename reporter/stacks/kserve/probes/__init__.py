"""What is asked about InferenceServices: a module for each thing that can fail."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS
from reporter.model.finding import Evaluation, Finding
from reporter.probes.pods import metric_faults, metric_finding, undecided_pods
from reporter.probes.scope import Probe, evaluated
from reporter.probes.subjects import StackProbes, SubjectProbes
from reporter.served.scaledobjects import judge_scalers, scalers_of
from reporter.stacks.kserve.probes.conditions import probe_conditions, probe_stale
from reporter.stacks.kserve.probes.model import probe_model, probe_pods, probe_spec
from reporter.stacks.kserve.probes.ready import idle, probe_ready, probe_serving
from reporter.stacks.kserve.probes.revisions import probe_revisions, probe_traffic
from reporter.stacks.kserve.probes.scope import InferenceServiceScope
from reporter.stacks.kserve.reasons import INFERENCESERVICES, SCALING_NOT_READY, STOPPED


def probe_runtime(scope: InferenceServiceScope) -> Iterator[Finding]:
    """Yield a finding for each fault that the rules found in the metrics of a pod."""
    return (metric_finding(scope, *each) for each in metric_faults(scope, scope.pods))


def probe_scaling(scope: InferenceServiceScope) -> Iterator[Finding]:
    """Yield a finding for each ScaledObject of its Deployments that KEDA cannot use."""
    found = chain.from_iterable((scope.facts.deployments or {}).values())
    names = [(DEPLOYMENTS.kind, each.name) for each in found]
    scalers = scalers_of(scope.snapshot, scope.place, names)
    yield from judge_scalers(scope, scalers, reason=SCALING_NOT_READY)


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
    """Return all that is said about one InferenceService, and the status that it should have.

    Of one that is stopped only that is said.
    """
    if scope.stopped:
        return evaluated(scope, (_stopped(scope),), derived=scope.derived, serving=(idle(scope),))
    return evaluated(
        scope,
        chain.from_iterable(probe(scope) for probe in _PROBES),
        probe_ready(scope),
        undecided=undecided_pods(scope, scope.pods),
        derived=scope.derived,
        serving=probe_serving(scope),
    )


def _stopped(scope: InferenceServiceScope) -> Finding:
    return scope.finding(
        reason=STOPPED,
        related=scope.ref,
        cause="stopped",
        text="is stopped, by the annotation serving.kserve.io/stop",
    )


PROBES: Final = StackProbes(
    subjects=SubjectProbes(
        resources=(INFERENCESERVICES,),
        scope=InferenceServiceScope,
        evaluate=evaluate_inferenceservice,
    )
)
