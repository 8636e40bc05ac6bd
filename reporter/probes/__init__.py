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
from reporter.probes.runtime.network import (
    probe_network,
    unproven,
    verdicts_by_namespace,
    without_failing,
)
from reporter.samples.samples import NONE, Samples
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.namespaces import managed_namespaces

__all__ = ["Answered", "evaluate", "evaluate_again"]


def evaluate(
    snapshot: Snapshot, settings: EvaluationSettings, samples: Samples = NONE
) -> Evaluation:
    """Return all that the probes say about a snapshot, and about what was scraped beside it."""
    return evaluate_again(snapshot, settings, Answered(), samples)[0]


def evaluate_again(
    snapshot: Snapshot,
    settings: EvaluationSettings,
    answered: Answered,
    samples: Samples = NONE,
) -> tuple[Evaluation, Answered]:
    """Return the same as `evaluate`, and what the next evaluation may reuse.

    Namespaces of which all inputs are the same objects as when `answered` was made are not asked
    again.
    """
    verdicts = verdicts_by_namespace(samples)
    blind = tuple(probe_network(samples, snapshot, settings))
    if doubtful := unproven(samples):
        samples = without_failing(samples, doubtful)
    shared = (samples.scraping, doubtful, *shared_inputs(snapshot, settings))
    earlier = answered.spaces if same_shared(shared, answered.shared) else {}
    spaces = {}
    for namespace in managed_namespaces(snapshot):
        own = (*own_inputs(snapshot, namespace), verdicts.get(namespace.name, ()))
        before = earlier.get(namespace.name)
        if before is not None and same_objects(own, before[0]):
            spaces[namespace.name] = before
        else:
            spaces[namespace.name] = (
                own,
                _evaluate_namespace(snapshot, settings, namespace, samples),
            )
    parts = [
        evaluate_cluster(snapshot, settings),
        Evaluation(blind, (), ()),
        *(part for _, part in spaces.values()),
    ]
    return _joined(parts), Answered(shared, spaces)


def _evaluate_namespace(
    snapshot: Snapshot, settings: EvaluationSettings, namespace: Namespace, samples: Samples
) -> Evaluation:
    parts = (
        evaluate_harness(snapshot, settings, (namespace,)),
        evaluate_inferencesets(snapshot, settings, (namespace,), samples),
    )
    return _joined(parts)


def _joined(parts: Iterable[Evaluation]) -> Evaluation:
    parts = tuple(parts)
    return Evaluation(
        findings=tuple(finding for part in parts for finding in part.findings),
        ready=tuple(evidence for part in parts for evidence in part.ready),
        subjects=tuple(subject for part in parts for subject in part.subjects),
        undecided={pod: which for part in parts for pod, which in part.undecided.items()},
    )
