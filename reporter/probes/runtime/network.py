"""Detect that the reporter is at fault: if no pod at all can be scraped, that says nothing about
the pods. And select the samples taken while a pod was in service, as only those count.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import takewhile
from operator import attrgetter
from typing import Final

from reporter.catalogue.reasons import CLUSTER_STATUS_UNKNOWN
from reporter.catalogue.runtime import SCRAPE_FAILING
from reporter.metrics.samples.sample import PodName, Sample, Samples
from reporter.metrics.samples.window import GAP_PERIODS, Doubt, Judged, PodSamples
from reporter.model.finding import Finding
from reporter.model.subject import API_RESOURCE, CLUSTER, ObjectRef
from reporter.model.text import clean
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.components import namespace_ref

_PODS: Final = 3
_SUBJECTS: Final = 2
_NODES: Final = 2
"""If fewer than these all fail, they may each have a fault of their own."""


def nothing_reached(samples: PodSamples) -> tuple[Judged, ...]:
    """Return the pods in service if none of them can be scraped and they are far enough apart.

    At least one of them must have a fault: a single failing round does not count. A pod that
    answered but was not scraped for long, such as an evicted one, proves nothing.
    """
    in_service = tuple(each for each in samples.pods.values() if each.verdict.in_service)
    pods = tuple(each for each in in_service if each.verdict.failing)
    if not any(SCRAPE_FAILING in each.verdict.faults for each in pods):
        return ()
    newest = max(map(_seen, pods))
    if any(not each.verdict.failing and _seen(each) > newest - _asked(each) for each in in_service):
        return ()
    return pods if _far_apart(pods) else ()


def unproven(samples: PodSamples) -> frozenset[PodName]:
    """Return the failing pods during whose failures no other pod answered.

    After all of them have failed and the first one answers again, the others have not had their
    turn yet: a fault is their own only if they fail after another pod has answered.
    """
    pods = tuple(each for each in samples.pods.values() if each.verdict.in_service)
    failing = [each for each in pods if SCRAPE_FAILING in each.verdict.faults]
    if not failing or not _far_apart(pods):
        return frozenset()
    runs = {each.history.newest.target.pod: _failing_run(each) for each in failing}
    earliest = min(began for began, _ in runs.values())
    answers = sorted(
        sample.at.boot
        for each in pods
        for sample in takewhile(
            lambda sample: sample.at.boot >= earliest, reversed(each.history.samples)
        )
        if not sample.fails
    )
    return frozenset(
        pod
        for pod, (began, ended) in runs.items()
        if (n := bisect_left(answers, began)) == len(answers) or answers[n] > ended
    )


def _seen(judged: Judged) -> timedelta:
    return judged.history.newest.at.boot


def _asked(judged: Judged) -> timedelta:
    """Return a time within which each scraped pod has had several turns."""
    return judged.history.period * GAP_PERIODS * 2


def _failing_run(judged: Judged) -> tuple[timedelta, timedelta]:
    """Return the boot times of the first and last of the newest failed attempts in a row."""
    failed = tuple(takewhile(attrgetter("fails"), reversed(judged.history.samples)))
    return failed[-1].at.boot, failed[0].at.boot


def _far_apart(pods: Collection[Judged]) -> bool:
    targets = [each.history.newest.target for each in pods]
    subjects = {target.subject for target in targets}
    nodes = {target.node for target in targets}
    return len(pods) >= _PODS and len(subjects) >= _SUBJECTS and len(nodes) >= _NODES


def probe_network(
    samples: PodSamples, snapshot: Snapshot, settings: EvaluationSettings
) -> Iterator[Finding]:
    """Yield one finding in place of one per pod."""
    pods = nothing_reached(samples)
    if not pods:
        return
    newest = (each.history.newest for each in pods)
    failures = Counter(f"{sample.failure} {sample.detail}".strip() for sample in newest)
    # The most frequent failure, so that a single pod does not change the message.
    how = min(failures, key=lambda failure: (-failures[failure], failure))
    yield Finding(
        reason=CLUSTER_STATUS_UNKNOWN,
        subject=CLUSTER,
        involved=namespace_ref(snapshot, settings.release_namespace),
        related=ObjectRef("v1", API_RESOURCE, "", "pods/metrics"),
        message=clean(
            f"Pods: no metrics page of a model pod can be read ({how}), so what depends on them is "
            "unknown; let the reporter reach the pods (NetworkPolicy, --scrape-port), or scrape "
            "them through the API server: --scrape-via apiserver-proxy, for which it needs get on "
            "pods/proxy, or not at all: --scrape-via off"
        ),
        cause=clean(f"metrics of all pods: {how}"),
        transition=min(
            fault.since for each in pods if (fault := each.verdict.faults.get(SCRAPE_FAILING))
        ),
    )


def without_failing(samples: PodSamples, pods: Collection[PodName]) -> PodSamples:
    """Return the samples with the scrape faults of some pods turned into doubts."""
    changed = dict(samples.pods)
    for name in pods:
        judged, faults = changed[name], dict(changed[name].verdict.faults)
        if fault := faults.pop(SCRAPE_FAILING, None):
            doubt = Doubt("no pod can be scraped", judged.history.newest.at.boot, fault)
            doubts = {**judged.verdict.doubts, SCRAPE_FAILING: doubt}
            verdict = replace(judged.verdict, faults=faults, doubts=doubts)
            changed[name] = replace(judged, verdict=verdict)
    return replace(samples, pods=changed)


SETTLED: Final = timedelta(seconds=60)
"""A pod that has been Ready for less may still show the load of its benchmark."""


def is_settled(sample: Sample) -> bool:
    since = sample.target.ready_since
    return sample.target.ready and since is not None and sample.at.wall - since >= SETTLED


def settled(samples: Sequence[Sample]) -> Samples:
    """Return the samples of the current uninterrupted time in service."""
    for n in range(len(samples), 0, -1):
        if not is_settled(samples[n - 1]):
            return tuple(samples[n:])
    return tuple(samples)


def in_service(samples: Sequence[Sample]) -> Samples:
    """Return the settled samples that have a page."""
    return tuple(sample for sample in settled(samples) if sample.failure is None)
