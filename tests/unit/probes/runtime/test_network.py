"""All pods that fail at once say something of the reporter, not of the pods."""

from dataclasses import replace

import pytest

from reporter.catalogue.reasons import CLUSTER_STATUS_UNKNOWN
from reporter.catalogue.runtime import SCRAPE_FAILING
from reporter.metrics.looks.look import Failure
from reporter.metrics.looks.window import Judged, Samples
from reporter.model.subject import CLUSTER, Subject
from reporter.probes.runtime.network import (
    nothing_reached,
    probe_network,
    unproven,
    without_failing,
)
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.building import snapshot_of
from tests.unit.probes.runtime.scraped import LOADING, TARGET, Scraped, serving

FAILS = {"failure": Failure.TIMEOUT}


def samples(*pods, turns=None):
    """Pods as (name, InferenceSet, node, what a scrape says), and when their last turns were."""
    found = {}
    for name, inferenceset, node, page in pods:
        pod = Scraped()
        subject = Subject(INFERENCESET_KIND, "demo", inferenceset)

        def look(at, page=page, name=name, subject=subject, node=node):
            told = page(at) if callable(page) else page
            base = told.get("target", TARGET)
            target = replace(base, name=name, subject=subject, node=node)
            return told | {"target": target}

        pod.watch(look, (turns or {}).get(name, 135))
        found["demo", name] = Judged(pod.history, pod.verdict)
    return Samples(scraping=True, pods=found)


APART = [("p-0", "a", "n1", FAILS), ("p-1", "b", "n2", FAILS), ("p-2", "b", "n2", FAILS)]
WELL = ("p-3", "c", "n3", serving(0))


@pytest.mark.parametrize(
    ("pods", "blind"),
    [
        pytest.param(APART, True, id="three pods of two sets on two nodes"),
        pytest.param(APART[:2], False, id="two pods"),
        pytest.param([*APART[1:], ("p-0", "b", "n1", FAILS)], False, id="one set"),
        pytest.param([*APART[1:], ("p-0", "a", "n2", FAILS)], False, id="one node"),
        pytest.param([*APART, WELL], False, id="one answers"),
        pytest.param(
            [*APART, ("p-3", "c", "n3", serving(0) | {"target": LOADING})], True,
            id="one that is not in service answers",
        ),
        pytest.param(
            [*APART[1:], ("p-0", "a", "n1", FAILS | {"target": LOADING})], False,
            id="one that is not in service fails",
        ),
        pytest.param(
            [*APART, ("p-3", "c", "n3", {"failure": Failure.UNSUPPORTED})], False,
            id="one answers with something else",
        ),
        pytest.param([], False, id="no pods"),
    ],
)  # fmt: skip
def test_when_it_is_us(pods, blind):
    seen = samples(*pods)
    assert bool(nothing_reached(seen)) == blind
    findings = list(probe_network(seen, snapshot_of(), FullEvaluationSettings()))
    assert [(each.reason, each.subject) for each in findings] == (
        [(CLUSTER_STATUS_UNKNOWN, CLUSTER)] if blind else []
    )


@pytest.mark.parametrize(("last", "blind"), [(120, False), (15, True)])
def test_a_pod_that_is_asked_no_more_proves_nothing(last, blind):
    """An evicted pod stays in the list, with the good page that it had at last."""
    seen = samples(*APART, ("p-3", "c", "n3", serving), turns={"p-3": last})
    assert {each.history.newest.target.name for each in nothing_reached(seen)} == (
        {"p-0", "p-1", "p-2"} if blind else set()
    )


def test_the_failure_that_most_have_is_named():
    """One pod that fails in another way each time changes no message."""
    other = ("p-0", "a", "n1", {"failure": Failure.REFUSED})
    (finding,) = probe_network(samples(other, *APART[1:]), snapshot_of(), FullEvaluationSettings())
    assert "(timeout)" in finding.message
    assert finding.cause == "metrics of all pods: timeout"


def test_meanwhile_the_pods_are_undecided():
    seen = samples(*APART)
    for judged in without_failing(seen, unproven(seen)).pods.values():
        assert SCRAPE_FAILING not in judged.verdict.faults
        assert SCRAPE_FAILING in judged.verdict.undecided


def test_pods_that_fail_while_another_answers_are_told():
    assert unproven(samples(*APART, WELL)) == frozenset()


def test_first_answer_after_an_outage_says_nothing_of_who_has_not_been_asked_since():
    names = {name for name, *_ in APART}
    first = ("p-3", "c", "n3", lambda at: serving(at) if at >= 135 else FAILS)
    pods = samples(*APART, first, turns={"p-0": 120, "p-1": 120, "p-2": 135})
    assert not nothing_reached(pods)
    assert unproven(pods) == {("demo", name) for name in names - {"p-2"}}
