"""Whether it is us: if no pod at all can be scraped, that says nothing about the pods."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from reporter.catalogue.reasons import CLUSTER_STATUS_UNKNOWN
from reporter.catalogue.runtime import SCRAPE_FAILING
from reporter.model.finding import Finding
from reporter.model.subject import CLUSTER, ObjectRef
from reporter.model.text import clean
from reporter.samples.samples import Doubt, Judged, Samples, Verdict
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.namespaces import namespace_ref

_PODS: Final = 3
_SUBJECTS: Final = 2
_NODES: Final = 2
"""Fewer than these, all failing, may well be a fault of their own (design 8)."""


def nothing_reached(samples: Samples) -> tuple[Judged, ...]:
    """Return the pods in service if none of them can be scraped and they are far enough apart.

    Only once one of them has a fault: a single round that fails is nothing to speak of.
    """
    pods = tuple(each for each in samples.pods.values() if each.verdict.in_service)
    if len(pods) < _PODS or not all(each.verdict.failing for each in pods):
        return ()
    if not any(SCRAPE_FAILING in each.verdict.faults for each in pods):
        return ()
    targets = [each.history.newest.target for each in pods]
    subjects = {(target.namespace, target.inferenceset) for target in targets}
    nodes = {target.node for target in targets}
    return pods if len(subjects) >= _SUBJECTS and len(nodes) >= _NODES else ()


def probe_network(
    samples: Samples, snapshot: Snapshot, settings: EvaluationSettings
) -> Iterator[Finding]:
    """Yield one finding in place of one for each pod."""
    pods = nothing_reached(samples)
    if not pods:
        return
    how = _usual_failure(pods)
    yield Finding(
        reason=CLUSTER_STATUS_UNKNOWN,
        subject=CLUSTER,
        involved=namespace_ref(snapshot, settings.release_namespace),
        related=ObjectRef("v1", "APIResource", "", "pods/metrics"),
        message=clean(
            f"No metrics page of a model pod can be read ({how}), so what rests on them is unknown;"
            " let the reporter reach the pods, or scrape them with --scrape-via apiserver-proxy"
        ),
        cause=clean(f"metrics of all pods: {how}"),
        transition=min(
            fault.since for each in pods if (fault := each.verdict.faults.get(SCRAPE_FAILING))
        ),
    )


def without_failing(samples: Samples) -> Samples:
    """Return the samples with the failed scrapes undecided instead of a fault of each pod."""
    return replace(samples, pods={name: _without(judged) for name, judged in samples.pods.items()})


def _without(judged: Judged) -> Judged:
    verdict = judged.verdict
    fault = verdict.faults.get(SCRAPE_FAILING)
    if fault is None:
        return judged
    faults = {name: each for name, each in verdict.faults.items() if name != SCRAPE_FAILING}
    doubt = Doubt("no pod can be scraped", judged.history.newest.at.boot, fault)
    doubts = {**verdict.doubts, SCRAPE_FAILING: doubt}
    return replace(judged, verdict=replace(verdict, faults=faults, doubts=doubts))


def _usual_failure(pods: Iterable[Judged]) -> str:
    """Return the failure that most pods have, so that a single one changes no message."""
    looks = (each.history.newest for each in pods)
    failures = Counter(f"{look.failure} {look.detail}".strip() for look in looks)
    return min(failures, key=lambda failure: (-failures[failure], failure))


def verdicts_by_namespace(samples: Samples) -> Mapping[str, tuple[Verdict, ...]]:
    """Return the verdicts of each namespace, for telling whether any is another than before."""
    found: dict[str, list[Verdict]] = defaultdict(list)
    for (namespace, _), judged in samples.pods.items():
        found[namespace].append(judged.verdict)
    return {namespace: tuple(verdicts) for namespace, verdicts in found.items()}
