"""Pure functions from a snapshot to findings; one package for each layer, one module a subject."""

from collections.abc import Iterable

from reporter.model.finding import Evaluation
from reporter.model.objects import Namespace
from reporter.probes.cluster import evaluate_cluster
from reporter.probes.harness import evaluate_harness
from reporter.probes.inferenceset import evaluate_inferencesets
from reporter.probes.reuse import (
    Answered,
    own_inputs,
    same_objects,
    same_shared,
    shared_inputs,
)
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.namespaces import managed_namespaces

__all__ = ["Answered", "evaluate", "evaluate_again"]


def evaluate(snapshot: Snapshot, settings: EvaluationSettings) -> Evaluation:
    """Return all that the probes say about a snapshot."""
    return evaluate_again(snapshot, settings, Answered())[0]


def evaluate_again(
    snapshot: Snapshot, settings: EvaluationSettings, answered: Answered
) -> tuple[Evaluation, Answered]:
    """Return the same as `evaluate`, and what the next evaluation may reuse.

    Namespaces of which all inputs are the same objects as when `answered` was made are not asked
    again.
    """
    shared = shared_inputs(snapshot, settings)
    earlier = answered.spaces if same_shared(shared, answered.shared) else {}
    spaces = {}
    for namespace in managed_namespaces(snapshot):
        own = own_inputs(snapshot, namespace)
        before = earlier.get(namespace.name)
        if before is not None and same_objects(own, before[0]):
            spaces[namespace.name] = before
        else:
            spaces[namespace.name] = (own, _evaluate_namespace(snapshot, settings, namespace))
    parts = [evaluate_cluster(snapshot, settings), *(part for _, part in spaces.values())]
    return _joined(parts), Answered(shared, spaces)


def _evaluate_namespace(
    snapshot: Snapshot, settings: EvaluationSettings, namespace: Namespace
) -> Evaluation:
    parts = (
        evaluate_harness(snapshot, settings, (namespace,)),
        evaluate_inferencesets(snapshot, settings, (namespace,)),
    )
    return _joined(parts)


def _joined(parts: Iterable[Evaluation]) -> Evaluation:
    parts = tuple(parts)
    return Evaluation(
        findings=tuple(finding for part in parts for finding in part.findings),
        ready=tuple(evidence for part in parts for evidence in part.ready),
        subjects=tuple(subject for part in parts for subject in part.subjects),
    )
