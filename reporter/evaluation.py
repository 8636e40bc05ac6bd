"""Asks all probes about a snapshot: cluster, namespaces, and the subjects of each stack."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from reporter.catalogue.reasons import CLUSTER_NODE, CLUSTER_SHARED, CLUSTER_STATUS_UNKNOWN
from reporter.metrics.samples.window import NONE, PodSamples
from reporter.model.finding import Evaluation
from reporter.probes.cluster import ClusterLayer
from reporter.probes.cluster.blindness import look_again, probe_unjudged
from reporter.probes.cluster.shared_causes import probe_nodes, probe_shared, with_shared_causes
from reporter.probes.custom import evaluate_custom
from reporter.probes.harness import Namespaces
from reporter.probes.reuse import Answered, Question, answer, changed_cells, shared_inputs
from reporter.probes.runtime.network import probe_network, unproven, without_failing
from reporter.probes.scope import Scope, contained_probe, joined
from reporter.probes.subjects import Asks, StackProbes
from reporter.setting_types import StackMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.snapshot.trace import Trace, TracedSamples, traced
from reporter.stacks.stack import stacks_of


def evaluate(
    snapshot: Snapshot, settings: EvaluationSettings, samples: PodSamples = NONE
) -> Evaluation:
    return evaluate_again(snapshot, settings, Answered(), samples=samples)[0]


def evaluate_again(
    snapshot: Snapshot,
    settings: EvaluationSettings,
    answered: Answered,
    *,
    samples: PodSamples = NONE,
) -> tuple[Evaluation, Answered]:
    """Return the same as `evaluate`, and answers that the next evaluation may reuse.

    An answer in `answered` is reused if the objects that it depends on are unchanged. A shared part
    that was there for `answered`, and is not now, has vanished. Parts of an evaluation that equal
    those of the one before are the identical objects.
    """
    network = contained_probe(
        CLUSTER_STATUS_UNKNOWN,
        "metrics of all pods",
        partial(probe_network, samples, snapshot, settings),
    )
    if doubtful := unproven(samples):
        samples = without_failing(samples, doubtful)
    asked = [
        each.probes()
        for each in stacks_of(settings)
        if settings.stack(each.name) is not StackMode.OFF
    ]
    scope = Scope(snapshot=snapshot, settings=settings, samples=samples)
    now_answered = _answers(scope, asked, before=answered, doubtful=doubtful)
    scope = replace(scope, earlier=now_answered.seen)
    more = [network]
    if settings.catalogue.declared:
        subjects = {known.subject for known in now_answered.evaluation.subjects}
        more.append(evaluate_custom(scope, subjects))
    parts = with_shared_causes((now_answered.evaluation, *more), snapshot)
    resting = tuple(chain(*(each.findings for each in parts)))
    parts = (
        *parts,
        contained_probe(CLUSTER_NODE, "nodes", partial(probe_nodes, snapshot, resting)),
        contained_probe(CLUSTER_SHARED, "shared", partial(probe_shared, snapshot, resting)),
    )
    failed = probe_unjudged(scope, chain(*(each.unjudged for each in parts)))
    return joined((*parts, Evaluation(tuple(failed), (), ()))), now_answered


def _answers(
    scope: Scope, asked: Sequence[StackProbes], *, before: Answered, doubtful: object
) -> Answered:
    """Return the answers about cluster, namespaces and subjects; only changed ones are new."""
    trace = Trace()
    snapshot = traced(scope.snapshot, trace)
    now = Answered(
        shared=(scope.samples.scraping, doubtful, *shared_inputs(snapshot, scope.settings)),
        tables=snapshot.tables,
        samples=scope.samples,
        evidence=scope.snapshot.evidence,
    )
    known = before.shared[:-1] == now.shared
    changed = changed_cells(now, before, snapshot) if known else frozenset()
    seen = look_again(snapshot, scope.settings, before.seen)
    now = replace(now, shared=(*now.shared, seen), seen=seen)
    noting = replace(
        scope,
        snapshot=snapshot,
        samples=TracedSamples(scope.samples.scraping, scope.samples.pods, trace=trace),
        earlier=seen,
    )
    of_cluster = ClusterLayer(tuple(chain.from_iterable(each.cluster for each in asked)))
    asks: tuple[Asks, ...] = (of_cluster, Namespaces(), *(each.subjects for each in asked))

    def questions() -> Iterable[Question]:
        return chain.from_iterable(each.questions(noting) for each in asks)

    return answer(questions, noting, snapshot, now=now, before=before, changed=changed)
