"""All that the probes say of a snapshot: the cluster, the namespaces, the subjects of each stack."""

from collections.abc import Iterable
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
from reporter.probes.reuse import Answered, Question, answer, shared_inputs
from reporter.probes.runtime.network import probe_network, unproven, without_failing
from reporter.probes.scope import Scope
from reporter.probes.subjects import Asks, StackProbes
from reporter.setting_types import StackMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.snapshot.trace import Trace, traced, traced_samples
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
    now_answered = _answers(scope, asked, before=answered, doubtful=doubtful)
    parts = [
        evaluate_cluster(scope, chain.from_iterable(each.cluster for each in asked)),
        network,
        *(each.said for each in now_answered.answers.values()),
    ]
    if settings.catalogue.declared:
        subjects = {known.subject for part in parts for known in part.subjects}
        parts.append(evaluate_custom(scope, subjects))
    failed = probe_unjudged(scope, (each for part in parts for each in part.unjudged))
    return joined((*parts, Evaluation(tuple(failed), (), ()))), now_answered


def _answers(
    scope: Scope, asked: Iterable[StackProbes], *, before: Answered, doubtful: object
) -> Answered:
    """Return what is said of namespaces and subjects, as far as it must be asked again."""
    trace = Trace()
    snapshot = traced(scope.snapshot, trace)
    noting = replace(scope, snapshot=snapshot, samples=traced_samples(scope.samples, trace))
    now = Answered(
        shared=(scope.samples.scraping, doubtful, *shared_inputs(scope.snapshot, scope.settings)),
        tables=scope.snapshot.tables,
        samples=scope.samples,
        seen=scope.earlier,
    )
    asks: tuple[Asks, ...] = (Namespaces(), *(each.subjects for each in asked))

    def questions() -> Iterable[Question]:
        return chain.from_iterable(each.questions(noting) for each in asks)

    return answer(questions, noting, snapshot, now=now, before=before)
