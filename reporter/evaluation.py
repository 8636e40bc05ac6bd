"""All that the probes say of a snapshot: the cluster, the namespaces, the subjects of each stack."""

from dataclasses import replace
from functools import partial
from itertools import chain

from reporter.catalogue.reasons import CLUSTER_STATUS_UNKNOWN
from reporter.metrics.looks.samples import NONE, Samples
from reporter.model.finding import Evaluation
from reporter.probes.cluster import evaluate_cluster
from reporter.probes.cluster.seen import look_again
from reporter.probes.cluster.unknown import probe_unjudged
from reporter.probes.custom import evaluate_custom
from reporter.probes.evaluation_parts import contained_probe, joined
from reporter.probes.harness import Namespaces
from reporter.probes.reuse import Answered, answer, shared_inputs
from reporter.probes.runtime.network import probe_network, unproven, without_failing
from reporter.probes.scope import Scope
from reporter.setting_types import StackMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.stack import stacks_of


def evaluate(
    snapshot: Snapshot, settings: EvaluationSettings, samples: Samples = NONE
) -> Evaluation:
    """Return all that the probes say about a snapshot, and about what was scraped besides."""
    return evaluate_again(snapshot, settings, Answered(), samples=samples)[0]


def evaluate_again(
    snapshot: Snapshot,
    settings: EvaluationSettings,
    answered: Answered,
    *,
    samples: Samples = NONE,
) -> tuple[Evaluation, Answered]:
    """Return the same as `evaluate`, and what the next evaluation may reuse.

    What rests on the same objects as when `answered` was made is not asked again. A shared part that
    was there when it was made, and is not now, has vanished.
    """
    network = contained_probe(
        CLUSTER_STATUS_UNKNOWN,
        "metrics of all pods",
        partial(probe_network, samples, snapshot, settings),
    )
    if doubtful := unproven(samples):
        samples = without_failing(samples, doubtful)
    seen = look_again(snapshot, settings, answered.seen)
    scope = Scope(snapshot=snapshot, settings=settings, samples=samples, earlier=seen)
    asked = [
        each.probes()
        for each in stacks_of(settings)
        if settings.stack(each.name) is not StackMode.OFF
    ]
    questions = chain(
        Namespaces().questions(scope), *(each.subjects.questions(scope) for each in asked)
    )
    shared = (samples.scraping, doubtful, *shared_inputs(snapshot, settings))
    now_answered = replace(answer(questions, shared, answered), seen=seen)
    parts = [
        evaluate_cluster(scope, chain.from_iterable(each.cluster for each in asked)),
        network,
        *(part for _, part in now_answered.answers.values()),
    ]
    if settings.catalogue.declared:
        subjects = {known.subject for part in parts for known in part.subjects}
        parts.append(evaluate_custom(scope, subjects))
    failed = probe_unjudged(scope, (each for part in parts for each in part.unjudged))
    return joined((*parts, Evaluation(tuple(failed), (), ()))), now_answered
