"""When a pod cannot be judged: nothing begins, nothing ends."""

from dataclasses import replace
from functools import partial

import pytest

from reporter.catalogue import runtime as t
from reporter.metrics.looks.look import ContainerRun, Counter, Failure
from tests.unit.probes.runtime.faults import ENGINE_FAULTS, FAULTS
from tests.unit.probes.runtime.scraped import (
    FROZEN,
    LOADING,
    NOON,
    OF_POD,
    PER_SECOND,
    TARGET,
    Scraped,
    counted,
    engine,
    seconds,
    serving,
)

FAILED = {"failure": Failure.TIMEOUT}
OF_PAGES = {reason: each for reason, each in FAULTS.items() if reason != t.SCRAPE_FAILING}


def in_service_since(at):
    return replace(TARGET, ready_since=NOON + seconds(at))


def watched(faults, page):
    """For each fault when it is found first in a pod of its own, and the last verdict of that pod.

    `page` changes what the page of the fault says.
    """
    pods = {reason: Scraped() for reason in faults}
    first = {
        reason: pods[reason].first(reason, partial(page, fault)) for reason, fault in faults.items()
    }
    return first, {reason: pod.verdict for reason, pod in pods.items()}


def firsts(faults, page):
    return watched(faults, page)[0]


def windows(faults, after=0):
    """When each window is full that begins so late."""
    return {reason: after + fault.window for reason, fault in faults.items()}


def test_pod_that_is_not_ready_is_not_judged():
    first, verdicts = watched(FAULTS, lambda fault, at: fault.page(at) | {"target": LOADING})
    assert first == dict.fromkeys(FAULTS)
    assert [reason for reason, verdict in verdicts.items() if reason not in verdict.why] == []


def test_window_begins_a_minute_after_ready():
    """Counters hold the traffic of the benchmark by then."""

    def page(fault, at):
        return fault.page(at) | {"target": in_service_since(150) if at >= 150 else LOADING}

    assert firsts(FAULTS, page) == windows(FAULTS, after=150 + 60)


def asleep(fields):
    engines = {name: replace(each, awake=False) for name, each in fields["engines"].items()}
    return fields | {"engines": engines}


def test_engine_asleep_is_not_judged():
    """It serves nobody, and is asked for nothing."""
    first, verdicts = watched(ENGINE_FAULTS, lambda fault, at: asleep(fault.page(at)))
    assert first == dict.fromkeys(ENGINE_FAULTS)
    assert [
        reason for reason, verdict in verdicts.items() if "asleep" not in verdict.why[reason]
    ] == []


def test_window_begins_when_the_engine_awakes():

    def page(fault, at):
        return fault.page(at) if at > 90 else asleep(fault.page(at))

    assert firsts(ENGINE_FAULTS, page) == windows(ENGINE_FAULTS, after=105)


@pytest.mark.parametrize("lost", [None, FAILED], ids=["not scraped", "failed"])
def test_two_scrapes_in_a_row_that_are_missing_are_a_hole(lost):

    def page(fault, at):
        return lost if at in {15, 30} else fault.page(at)

    assert firsts(OF_PAGES, page) == windows(OF_PAGES, after=45)


def test_one_scrape_that_is_missing_is_no_hole():
    """One that is lost on the way says nothing of the pod."""

    def page(fault, at):
        return FAILED if at == 15 else fault.page(at)

    assert firsts(OF_PAGES, page) == windows(OF_PAGES)


def test_another_pod_of_the_same_name_begins_again():

    def page(fault, at):
        return fault.page(at) | {"target": replace(TARGET, uid="a" if at < 30 else "b")}

    assert firsts(FAULTS, page) == windows(FAULTS, after=30)


RESTARTS = {
    "process": lambda at, fields: fields | {"process_started": 2.0 if at >= 30 else 1.0},
    "container": lambda at, fields: fields | {
        "process_started": None,
        "target": replace(TARGET, containers=(ContainerRun("main", int(at >= 30), NOON),)),
    },
    "start of a container": lambda at, fields: fields | {
        "process_started": None,
        "target": replace(
            TARGET, containers=(ContainerRun("main", 0, NOON + seconds(30 * (at >= 30))),)
        ),
    },
}  # fmt: skip


@pytest.mark.parametrize("evidence", RESTARTS)
def test_window_lies_in_one_life(evidence):
    """Both ends belong to the same process; a page without vLLM has none."""
    faults = {reason: each for reason, each in OF_PAGES.items() if reason != t.METRICS_MISSING}

    def page(fault, at):
        return RESTARTS[evidence](at, fault.page(at))

    assert firsts(faults, page) == windows(faults, after=30)


@pytest.mark.parametrize("evidence", ["value", "created"])
def test_counters_that_begin_anew_are_another_life_of_that_engine_only(evidence):
    """Another engine of the pod has its own, and its fault is told of it alone."""

    def page(fault, at):
        fields = fault.page(at)
        (bad,) = fields["engines"].values()
        counters = dict(bad.counters)
        tokens = counters[Counter.PROMPT_TOKENS]
        if evidence == "value":
            counters[Counter.PROMPT_TOKENS] = replace(tokens, value=tokens.value - 1e6 * (at >= 30))
        else:
            counters[Counter.PROMPT_TOKENS] = replace(tokens, created=float(at >= 30))
        engines = {"0": bad, "1": replace(bad, counters=counters)}
        return fields | {"engines": engines, "process_started": None}

    pods = {reason: found(fault, partial(page, fault)) for reason, fault in ENGINE_FAULTS.items()}
    told = {reason: pod.verdict.faults[reason] for reason, pod in pods.items()}
    assert {reason: fault.engine for reason, fault in told.items()} == dict.fromkeys(told, "0")
    assert [reason for reason, fault in told.items() if fault.text.endswith("more)")] == []


def found(fault, page=None):
    """A pod whose fault has just been found."""
    pod = Scraped()
    assert pod.first(fault.reason, page or fault.page, fault.window) == fault.window
    return pod


def undecided_after(faults, **page):
    """Which of the faults are undecided once the page says something else."""
    undecided = {}
    for reason, fault in faults.items():
        pod = found(fault)
        pod.see(fault.window + 15, **page)
        undecided[reason] = reason in pod.verdict.undecided and reason not in pod.verdict.faults
    return undecided


def test_engine_that_vanishes_is_unknown():
    page = serving(0) | {"engines": {"7": engine(615)}}
    assert undecided_after(ENGINE_FAULTS, **page) == dict.fromkeys(ENGINE_FAULTS, True)


@pytest.mark.parametrize("reason", [t.KV_CACHE, t.BACKLOG, t.SCHEDULER_STUCK, t.ENGINE_STALLED])
def test_gauge_that_vanishes_is_unknown(reason):
    gone = engine(0, kv_usage=None, running=None, capacity=None, waiting=None)
    page = serving(0) | {"engines": {"0": gone}}
    assert undecided_after({reason: FAULTS[reason]}, **page) == {reason: True}


def test_fault_that_cannot_be_judged_any_more_is_held_for_two_windows():
    """Then nothing has been known of it for so long that it is given up."""
    held = {reason: held_for(fault) for reason, fault in FAULTS.items()}
    assert held == {
        reason: 2 * (600 if reason == t.ENGINE_STALLED else fault.window)
        for reason, fault in FAULTS.items()
    }


def held_for(fault):
    """For how long a fault is undecided that cannot be judged any more, before it is in doubt."""
    pod = found(fault)
    at = since = fault.window + 15
    while fault.reason in pod.see(at, **fault.page(at) | {"target": LOADING}).undecided:
        at += 15
    assert fault.reason in pod.verdict.doubts
    return at - since


def test_pages_that_fail_hold_a_fault_and_find_none():
    assert undecided_after(ENGINE_FAULTS, **FAILED) == dict.fromkeys(ENGINE_FAULTS, True)

    def told_again(fault):
        pod, at = found(fault), fault.window + 30
        pod.see(at - 15, **FAILED)
        return fault.reason in pod.see(at, **fault.page(at)).faults

    assert [reason for reason, fault in ENGINE_FAULTS.items() if not told_again(fault)] == []


def recovered(fault, at):
    """The page of a pod that is well again; its counters go on from where they were."""
    was = fault.page(fault.window)
    fields = serving(at)
    if was.get("engines"):
        before = was["engines"]["0"]
        counters = {
            name: replace(each, value=each.value + PER_SECOND[name] * (at - fault.window))
            for name, each in before.counters.items()
        }
        latencies = {
            name: replace(each, counts=tuple(n + at - fault.window for n in each.counts))
            for name, each in before.latencies.items()
        }
        fields["engines"] = {
            "0": replace(engine(at, healthy=True), counters=counters, latencies=latencies)
        }
    if was.get("pod"):
        more = counted(OF_POD, at - fault.window)
        goes_on = {
            name: replace(each, value=each.value + more[name].value)
            for name, each in was["pod"].counters.items()
        }
        fields["pod"] = replace(was["pod"], counters=goes_on)
    return fields


GRADUAL = {
    t.OUTPUT_CORRUPTED, t.KV_TRANSFER, t.KV_CACHE, t.PREEMPTION, t.ERROR_RATE, t.REJECTED, t.LATENCY,
}  # fmt: skip
"""They count over their window; the others look at how it is."""


def test_fault_ends_when_the_pod_is_well_again():
    """At the first good page, or when the window holds nothing but good ones."""
    first, last = set(), set()
    for reason, fault in FAULTS.items():
        pod, again = found(fault), fault.window + 15
        seen = pod.watch(partial(recovered, fault), again + fault.window + 15, again)
        first |= {reason} & set(seen[again])
        last |= {reason} & {*pod.verdict.faults, *pod.verdict.doubts}
    assert last == set()
    assert first <= GRADUAL


def test_what_needs_longer_to_tell_does_not_end_it():
    """A restarted daemon has a short history, and an engine without demand is told after 600 s."""
    pod = Scraped()
    pod.watch(lambda at: serving(at, FROZEN), 585)
    assert t.ENGINE_STALLED in pod.verdict.undecided
    pod.watch(lambda at: serving(at, FROZEN), 600, 600)
    assert t.ENGINE_STALLED in pod.verdict.faults
