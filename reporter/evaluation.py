"""All that the probes say of a snapshot: the cluster, the namespaces, the subjects of each stack."""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain

from reporter.catalogue.reasons import CLUSTER_STATUS_UNKNOWN
from reporter.metrics.looks.samples import NONE, Samples, Verdict
from reporter.model.finding import Evaluation
from reporter.model.objects import Namespace
from reporter.model.stack import Stack
from reporter.model.subject import Subject
from reporter.probes.cluster import evaluate_cluster
from reporter.probes.cluster.unknown import probe_unjudged
from reporter.probes.custom import evaluate_custom
from reporter.probes.harness import evaluate_harness
from reporter.probes.parts import contained_probe, joined
from reporter.probes.reuse import (
    Answered,
    Question,
    answer,
    own_inputs,
    shared_inputs,
)
from reporter.probes.runtime.network import (
    probe_network,
    unproven,
    verdicts_by_namespace,
    without_failing,
)
from reporter.setting_types import StackMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kaito.probes import evaluate_inferencesets
from reporter.stacks.questions import stack_questions
from reporter.workload.namespaces import managed_namespaces


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

    What rests on the same objects as when `answered` was made is not asked again.
    """
    verdicts = verdicts_by_namespace(samples)
    network = contained_probe(
        CLUSTER_STATUS_UNKNOWN,
        "metrics of all pods",
        partial(probe_network, samples, snapshot, settings),
    )
    if doubtful := unproven(samples):
        samples = without_failing(samples, doubtful)
    shared = (samples.scraping, doubtful, *shared_inputs(snapshot, settings))
    questions = chain(
        _namespace_questions(snapshot, settings, samples, verdicts),
        stack_questions(snapshot, settings, samples),
    )
    now_answered = answer(questions, shared, answered)
    parts = [
        evaluate_cluster(snapshot, settings),
        network,
        *(part for _, part in now_answered.answers.values()),
    ]
    if settings.catalogue.declared:
        subjects = {known.subject for part in parts for known in part.subjects}
        parts.append(evaluate_custom(snapshot, settings, subjects))
    failed = probe_unjudged((each for part in parts for each in part.unjudged), snapshot, settings)
    return joined((*parts, Evaluation(tuple(failed), (), ()))), now_answered


def _namespace_questions(
    snapshot: Snapshot,
    settings: EvaluationSettings,
    samples: Samples,
    verdicts: Mapping[str, tuple[Verdict, ...]],
) -> Iterator[Question]:
    for namespace in managed_namespaces(snapshot):
        yield Question(
            Subject.of_namespace(namespace.name),
            (*own_inputs(snapshot, namespace), verdicts.get(namespace.name, ())),
            partial(_evaluate_namespace, snapshot, settings, namespace, samples),
        )


def _evaluate_namespace(
    snapshot: Snapshot, settings: EvaluationSettings, namespace: Namespace, samples: Samples
) -> Evaluation:
    harness = evaluate_harness(snapshot, settings, (namespace,))
    if settings.stack(Stack.KAITO) is StackMode.OFF:
        return harness
    return joined((harness, evaluate_inferencesets(snapshot, settings, (namespace,), samples)))
