"""Pure functions from a snapshot to findings; one package for each layer, one module a subject."""

from reporter.model.finding import Evaluation
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot

__all__ = ["evaluate"]


def evaluate(snapshot: Snapshot, settings: EvaluationSettings) -> Evaluation:
    """Return all that the probes say about a snapshot."""
    from reporter.probes.cluster import evaluate_cluster
    from reporter.probes.harness import evaluate_harness
    from reporter.probes.inferenceset import evaluate_inferencesets

    parts = [
        evaluate_cluster(snapshot, settings),
        evaluate_harness(snapshot, settings),
        evaluate_inferencesets(snapshot, settings),
    ]
    return Evaluation(
        findings=tuple(finding for part in parts for finding in part.findings),
        ready=tuple(evidence for part in parts for evidence in part.ready),
        subjects=tuple(subject for part in parts for subject in part.subjects),
    )
