"""What operators see of an endpoint picker over time: page, rules, probes and resolution together."""

from datetime import timedelta
from itertools import pairwise

import pytest

from reporter.catalogue.pickers import NO_ENDPOINTS
from reporter.evaluation import evaluate_again
from reporter.metrics.looks.look import Failure, Scrape, look_at
from reporter.metrics.looks.window import History, Judged, Samples
from reporter.metrics.pages.reading import read_page
from reporter.metrics.scraping.targets import find_targets
from reporter.model.instant import rfc3339
from reporter.probes.reuse import Answered
from reporter.probes.runtime.judge import judge, longest_window
from reporter.resolution.memory import Memory
from reporter.resolution.resolve import resolve
from reporter.stacks.kaito.reasons import MODEL_EPP, MODEL_PODS
from tests.unit.metrics.pages.reading import PAGES
from tests.unit.probes.building import at, condition, document, pod
from tests.unit.stacks.kaito.probes.kaito import NS, SETTINGS, not_ready, stack

STEP = 15
NAME = "qwen-inferencepool-epp"
REASON = f"inferenceset{NO_ENDPOINTS}"
PAGE = (PAGES / "epp-former-metrics.txt").read_bytes()
NONE = PAGE.replace(b'{name="pool-a"} 3', b'{name="pool-a"} 0')
CLOSED = None
"""A page that wants a token."""


def cluster(*more, since=-3600, picker_ready=True, **changes):
    """A healthy set whose picker has been Ready since that second."""
    ready = condition("Ready", "True" if picker_ready else "False", since=rfc3339(at(since).wall))
    picker = pod(
        NS, "picker-0", "picker",
        {
            "metadata": {"labels": {"inferencepool": NAME}},
            "status": {"podIP": "10.0.0.9", "conditions": [ready]},
        },
        ready=picker_ready,
    )  # fmt: skip
    reference = {"spec": {"endpointPickerRef": {"name": NAME, "port": {"number": 9002}}}}
    service = document("Service", NAME, NS, {"spec": {"selector": {"inferencepool": NAME}}})
    address = {"status": {"podIP": "10.0.0.7"}}
    changes.setdefault("pod", {})
    status = {**changes["pod"].get("status", {}), **address["status"]}
    changes["pod"] = {**changes["pod"], "status": status}
    return stack(picker, service, *more, pool=reference, **changes)


def story(*stages, until):
    """What is told of the set: (second, disposition, reason), whenever that of a reason changes.

    A stage is the second it begins, the cluster, and the page of the picker.
    """
    starts = [*(stage[0] for stage in stages), until]
    memory, answered, told, before = Memory(), Answered(), [], {}
    history, verdict = History(timedelta(seconds=STEP)), None
    for (start, end), (_, snapshot, body) in zip(pairwise(starts), stages, strict=True):
        for second in range(start, end, STEP):
            pods = {}
            for target in find_targets(snapshot, SETTINGS) or ():
                if target.picked is None:
                    continue
                look = look_at(target, scrape(second, body), {})
                history = history.seen(look, longest_window(SETTINGS))
                verdict = judge(history, verdict, SETTINGS)
            if verdict is not None:
                pods[NS, "picker-0"] = Judged(history, verdict)
            samples = Samples(scraping=True, pods=pods)
            evaluation, answered = evaluate_again(snapshot, SETTINGS, answered, samples=samples)
            found = resolve(evaluation, snapshot, memory, now=at(second), settings=SETTINGS)
            memory = found.memory
            now = {
                each.reason: str(each.disposition)
                for each in found.report.findings
                if each.reason in {REASON, MODEL_EPP, MODEL_PODS}
            }
            told += [
                (second, now.get(reason, "over"), reason)
                for reason in sorted(now.keys() | before.keys())
                if before.get(reason) != now.get(reason)
            ]
            before = now
    return told


def scrape(second, body):
    if body is CLOSED:
        return Scrape(at=at(second), failure=Failure.STATUS, detail="401")
    return Scrape(at=at(second), page=read_page(body))


def test_fault_and_recovery():
    """It fires once its window is full, and is over a grace after it was seen last."""
    told = story((0, cluster(), PAGE), (60, cluster(), NONE), (180, cluster(), PAGE), until=300)
    assert told == [(120, "firing", REASON), (180, "clearing", REASON), (225, "over", REASON)]


@pytest.mark.parametrize(
    ("stages", "reason"),
    [
        ([(0, cluster(pod=not_ready()), NONE)], MODEL_PODS),
        ([(0, cluster(picker_ready=False, epp={"status": {"readyReplicas": 0}}), NONE)], MODEL_EPP),
    ],
)
def test_what_is_told_in_its_place(stages, reason):
    """Without a Ready pod, or a Ready picker, that is the fault, and the page says nothing more."""
    assert {each for _, _, each in story(*stages, until=900)} == {reason}


def test_a_young_picker_is_not_judged():
    """It has just begun to read the pages of its pods."""
    told = story((0, cluster(since=-15), NONE), (60, cluster(since=-15), PAGE), until=300)
    assert told == []


def test_a_page_that_wants_a_token_is_no_fault():
    assert story((0, cluster(), CLOSED), until=900) == []


def test_a_fault_is_given_up_when_its_page_closes():
    """Two windows after it could be judged the last time; then it recovers like every fault."""
    told = story((0, cluster(), NONE), (90, cluster(), CLOSED), until=600)
    assert [each for _, each, _ in told] == ["firing", "clearing", "over"]
    assert told[1][0] >= 90 + 120


def test_pods_that_fail_are_the_cause():
    """They come first by priority, and then the picker has nothing to pick."""
    told = story((0, cluster(), NONE), (90, cluster(pod=not_ready()), NONE), until=900)
    assert told[0] == (60, "firing", REASON)
    assert ("over", REASON) in {each[1:] for each in told}
    assert MODEL_PODS in {each for _, _, each in told}
