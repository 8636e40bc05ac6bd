"""Verdicts on pods become findings of their InferenceSet, and what is in doubt is passed on."""

from dataclasses import replace

import pytest

from reporter.catalogue import runtime as t
from reporter.catalogue.runtime import of_kind
from reporter.evaluation import evaluate, evaluate_again
from reporter.metrics.looks.look import ContainerRun, Look
from reporter.metrics.looks.window import (
    NONE,
    Doubt,
    History,
    Judged,
    MetricFault,
    PodVerdict,
    Samples,
)
from reporter.model.instant import Instant
from reporter.probes.reuse import Answered
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from tests.unit.probes.asking import evaluate_inferencesets
from tests.unit.probes.building import DELETING, SINCE_AT, condition, merged
from tests.unit.probes.runtime.scraped import TARGET, seconds
from tests.unit.stacks.kaito.probes.kaito import (
    NS,
    SET,
    SETTINGS,
    conditions,
    inferenceset,
    model_pod,
    not_ready,
    stack,
    waits,
)

OTHER = "qwen-a-1"


def fault(reason, severity=0):
    return MetricFault(
        reason=reason, cause="cause", text="suffers", severity=severity, since=SINCE_AT, engine=""
    )


def verdict(*reasons, name="qwen-a-0", doubts=(), uid=None, severity=0):
    return PodVerdict(
        uid=uid or f"uid-{name}",
        faults={each: fault(each, severity) for each in reasons},
        doubts={each: Doubt("why", seconds(0)) for each in doubts},
        in_service=True,
    )


def samples(*reasons, others=None, **fields):
    pods = {(NS, "qwen-a-0"): Judged(History(seconds(15)), verdict(*reasons, **fields))}
    for name, each in (others or {}).items():
        pods[NS, name] = Judged(History(seconds(15)), each)
    return Samples(scraping=True, pods=pods)


def evaluated(seen, *changes, **more):
    found = evaluate_inferencesets(stack(*changes, **more), SETTINGS, samples=seen)
    ends = {of_kind(each, INFERENCESET_KIND): each for each in t.ROWS}
    return [
        replace(each, reason=ends[each.reason]) for each in found.findings if each.reason in ends
    ], {ref.name: {ends[each] for each in reasons} for ref, reasons in found.undecided.items()}


DOWNLOADS = (t.DOWNLOAD_SLOW, t.DOWNLOAD_STALLED)


def test_finding():
    """It fires at once, since the left edge of its window, and names set, pod and fault."""
    ((finding,), undecided) = evaluated(samples(t.KV_CACHE, severity=3))
    assert finding.message == f"InferenceSet {NS}/{SET}: pod qwen-a-0: suffers"
    assert (finding.related.kind, finding.related.name) == ("Pod", "qwen-a-0")
    assert (finding.exempt, finding.severity, finding.transition) == (True, 3, SINCE_AT)
    assert undecided == {}


def test_what_is_in_doubt_is_passed_on_with_the_uid():
    findings, undecided = evaluated(samples(doubts=[t.KV_CACHE]))
    assert findings == []
    assert undecided == {"qwen-a-0": {t.KV_CACHE}}
    seen = evaluate_inferencesets(stack(), SETTINGS, samples=samples(doubts=[t.KV_CACHE]))
    assert [each.uid for each in seen.undecided] == ["uid-qwen-a-0"]


@pytest.mark.parametrize(("restarts", "old"), [(2, False), (3, True)])
def test_engine_that_began_anew_has_not_the_faults_of_its_last_life(restarts, old):
    """Until the next scrape nothing is known of it."""
    target = replace(TARGET, containers=(ContainerRun("vllm", 2, None),))
    looks = (Look(at=Instant(SINCE_AT, seconds(0)), target=target),)
    seen = Judged(History(seconds(15), looks), verdict(t.KV_CACHE))
    again = {"name": "vllm", "ready": True, "restartCount": restarts,
             "state": {"running": {"startedAt": "2026-11-20T11:59:00Z"}}}  # fmt: skip
    findings, undecided = evaluated(
        Samples(scraping=True, pods={(NS, "qwen-a-0"): seen}),
        pod={"status": {"containerStatuses": [again]}},
    )
    assert [each.reason for each in findings] == ([] if old else [t.KV_CACHE])
    assert undecided == ({"qwen-a-0": {*DOWNLOADS, *t.RUNTIME_NAMES}} if old else {})


@pytest.mark.parametrize("seen", [Samples(scraping=True), samples(t.KV_CACHE, uid="earlier")])
def test_pod_that_was_not_scraped_yet_is_in_doubt(seen):
    """A restarted daemon, or another pod of that name."""
    findings, undecided = evaluated(seen)
    assert findings == []
    assert undecided == {"qwen-a-0": {*DOWNLOADS, *t.RUNTIME_NAMES}}


def test_nothing_is_in_doubt_where_nothing_is_scraped():
    assert evaluated(NONE) == ([], {})


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(DELETING, id="being deleted"),
        pytest.param({"status": {"phase": "Failed"}}, id="failed"),
        pytest.param(waits("CrashLoopBackOff"), id="crashed"),
        pytest.param(not_ready({"terminated": {"exitCode": 1}}), id="ended"),
        pytest.param({"status": {"containerStatuses": None}}, id="not begun"),
    ],
)
def test_pod_that_does_not_run_has_none(pod):
    """What its page said is over, and another reason tells of it."""
    everything = (*DOWNLOADS, *t.RUNTIME_NAMES)
    assert evaluated(samples(*everything), pod=pod) == ([], {})
    assert evaluated(Samples(scraping=True), pod=pod) == ([], {})


def test_download_that_is_streamed_has_none():
    """Its page looks like a download that stalls."""
    streams = conditions(condition("ModelMirrorReady", "True"))
    findings, _ = evaluated(samples(*DOWNLOADS, t.KV_CACHE), workspace=streams)
    assert [each.reason for each in findings] == [t.KV_CACHE]
    findings, _ = evaluated(samples(*DOWNLOADS), pod=not_ready())
    assert [each.reason for each in findings] == [*DOWNLOADS]


@pytest.mark.parametrize(
    ("left", "speeds", "tells"),
    [(60.0, (0.0, 1e6), True), (-1.0, (1e6, 0.0), True), (0.0, (1e6, 1e6), False), (60.0, (0.0, 0.0), False)],
)  # fmt: skip
def test_a_pod_that_downloads_does_more_than_start(left, speeds, tells):
    """Weights arrived and some are left: it is no pod that hangs."""
    looks = tuple(
        Look(at=Instant(SINCE_AT, seconds(n)), target=TARGET, speed=speed, remaining=left)
        for n, speed in enumerate(speeds)
    )
    seen = Samples(
        scraping=True, pods={(NS, "qwen-a-0"): Judged(History(seconds(15), looks), verdict())}
    )
    found = evaluate_inferencesets(stack(pod=not_ready()), SETTINGS, samples=seen).findings
    said = ["its metrics show that it downloads weights" in each.message for each in found]
    assert said == [tells]


@pytest.mark.parametrize(
    ("replicas", "ready", "waiting"), [(2, 1, True), (2, 2, False), (1, None, False), (1, 2, False)]
)
def test_replicas_on_their_way(replicas, ready, waiting):
    """What they will relieve does not begin, and what fires goes on."""
    of_scale = {t.BACKLOG, t.REJECTED}
    status = {"spec": {"replicas": replicas}, "status": {"readyReplicas": ready}}
    findings, undecided = evaluated(samples(*of_scale, t.KV_CACHE), set=status)
    assert {each.reason for each in findings} == {t.KV_CACHE} | (set() if waiting else of_scale)
    assert undecided == ({"qwen-a-0": of_scale} if waiting else {})


def test_each_pod_has_its_own():
    others = {OTHER: verdict(t.KV_CACHE, name=OTHER, doubts=[t.BACKLOG])}
    findings, undecided = evaluated(samples(t.KV_CACHE, others=others), model_pod(OTHER))
    assert [each.related.name for each in findings] == ["qwen-a-0", OTHER]
    assert undecided == {OTHER: {t.BACKLOG}}


def test_pods_of_other_sets_are_theirs():
    of_b = {"inferenceset.kaito.sh/created-by": "b", "kaito.sh/workspace": None}
    other = merged(model_pod("b-0"), {"metadata": {"labels": of_b}})
    others = {"b-0": verdict(t.KV_CACHE, name="b-0")}
    findings, _ = evaluated(samples(others=others), inferenceset(name="b"), other)
    assert [str(each.subject) for each in findings] == [f"inferenceset/{NS}/b"]


def test_another_verdict_asks_again_and_the_same_one_does_not():
    """Reuse goes by the verdict object, which the store keeps while it is equal."""
    snapshot, seen = stack(), samples(t.KV_CACHE)
    found, answered = evaluate_again(snapshot, SETTINGS, Answered(), samples=seen)
    again = Samples(scraping=True, pods=dict(seen.pods))
    _, same = evaluate_again(snapshot, SETTINGS, answered, samples=again)
    (asked,) = (each for each in answered.answers if each.kind == INFERENCESET_KIND)
    assert same.answers[asked] is answered.answers[asked]
    other, _ = evaluate_again(snapshot, SETTINGS, answered, samples=samples())
    full = of_kind(t.KV_CACHE, INFERENCESET_KIND)
    assert full in {each.reason for each in found.findings}
    assert full not in {each.reason for each in other.findings}
    assert other == evaluate(snapshot, SETTINGS, samples())
