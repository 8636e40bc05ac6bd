"""What keeps a rule from judging, and what happens to a verdict."""

from dataclasses import replace
from functools import partial
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reporter.catalogue import runtime as t
from reporter.metrics.samples.sample import (
    Buckets,
    ContainerRun,
    Count,
    Counter,
    EngineSample,
    Failure,
    Latency,
    Sample,
)
from reporter.metrics.samples.window import History
from reporter.probes.runtime.judge import judge, objectives
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import of_inferencesets, rows
from tests.unit.probes.runtime.faults import ENGINE_FAULTS, FAULTS
from tests.unit.probes.runtime.scraped import (
    FROZEN,
    LOADING,
    NOON,
    OF_POD,
    PER_SECOND,
    START,
    TARGET,
    Scraped,
    counted,
    engine,
    loading,
    seconds,
    serving,
)

FAILED = {"failure": Failure.TIMEOUT}
OF_PAGES = {reason: each for reason, each in FAULTS.items() if reason != t.SCRAPE_FAILING}


def watched(faults, page):
    """When each fault is first found, each in a pod of its own, and the pod's last verdict.

    `page` changes the page of a fault.
    """
    pods = {reason: Scraped() for reason in faults}
    first = {
        reason: pods[reason].first(reason, partial(page, fault)) for reason, fault in faults.items()
    }
    return first, {reason: pod.verdict for reason, pod in pods.items()}


def asleep(fields):
    engines = {name: replace(each, awake=False) for name, each in fields["engines"].items()}
    return fields | {"engines": engines}


def of_target(fields, **target):
    return fields | {"target": replace(TARGET, **target)}


def restarted(fields, **run):
    """The page of a container of which only the kubelet says that it runs for the second time."""
    containers = (ContainerRun("main", run.get("count", 0), NOON + seconds(run.get("since", 0))),)
    return of_target(fields | {"process_started": None}, containers=containers)


OF_VLLM = {reason: each for reason, each in OF_PAGES.items() if reason != t.METRICS_MISSING}
"""A page without vLLM has no process."""


@rows(
    ("faults", "page", "after"),
    {
        "a pod that is not Ready is not judged": (FAULTS, lambda page, at: page(at) | {"target": LOADING}, None),
        "nor a minute after: by then, the traffic of the benchmark is in the counters": (
            FAULTS, lambda page, at: of_target(page(at), ready_since=NOON + seconds(150)) if at >= 150 else page(at) | {"target": LOADING}, 210,
        ),
        "an engine asleep is not judged: it serves nobody, and nothing is expected of it": (ENGINE_FAULTS, lambda page, at: asleep(page(at)), None),
        "when it awakes it is": (ENGINE_FAULTS, lambda page, at: page(at) if at > 90 else asleep(page(at)), 105),
        "two scrapes in a row that are missing are a hole": (OF_PAGES, lambda page, at: None if at in {15, 30} else page(at), 45),
        "so are two that failed": (OF_PAGES, lambda page, at: FAILED if at in {15, 30} else page(at), 45),
        "one is none: a lost scrape says nothing about the pod": (OF_PAGES, lambda page, at: FAILED if at == 15 else page(at), 0),
        "another pod of the same name": (FAULTS, lambda page, at: of_target(page(at), uid="a" if at < 30 else "b"), 30),
        "another process": (OF_VLLM, lambda page, at: page(at) | {"process_started": 2.0 if at >= 30 else 1.0}, 30),
        "a container that was restarted": (OF_VLLM, lambda page, at: restarted(page(at), count=int(at >= 30)), 30),
        "a container that began later": (OF_VLLM, lambda page, at: restarted(page(at), since=30 * (at >= 30)), 30),
    },
)  # fmt: skip
def test_when_a_window_begins(faults, page, after):
    """It lies in one life of an engine that is in service; both its ends belong to it."""
    first, verdicts = watched(faults, lambda fault, at: page(fault.page, at))
    if after is None:
        assert first == dict.fromkeys(faults)
        word = "asleep" if faults is ENGINE_FAULTS else ""
        assert all(word in verdict.why[reason] for reason, verdict in verdicts.items())
    else:
        assert first == {reason: after + fault.window for reason, fault in faults.items()}


@pytest.mark.parametrize("evidence", ["value", "created"])
def test_counters_that_begin_anew_are_another_life_of_that_engine_only(evidence):
    """Another engine of the pod has its own counters, and its own fault."""

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


def inconclusive_after(faults, **page):
    """Which faults are inconclusive once the page changes."""
    inconclusive = {}
    for reason, fault in faults.items():
        pod = found(fault)
        pod.see(fault.window + 15, **page)
        inconclusive[reason] = (
            reason in pod.verdict.inconclusive and reason not in pod.verdict.faults
        )
    return inconclusive


def test_engine_that_vanishes_is_unknown():
    page = serving(0) | {"engines": {"7": engine(615)}}
    assert inconclusive_after(ENGINE_FAULTS, **page) == dict.fromkeys(ENGINE_FAULTS, True)


@pytest.mark.parametrize("reason", [t.KV_CACHE, t.BACKLOG, t.SCHEDULER_STUCK, t.ENGINE_STALLED])
def test_gauge_that_vanishes_is_unknown(reason):
    gone = engine(0, kv_usage=None, running=None, capacity=None, waiting=None)
    page = serving(0) | {"engines": {"0": gone}}
    assert inconclusive_after({reason: FAULTS[reason]}, **page) == {reason: True}


def test_fault_that_cannot_be_judged_any_more_is_held_for_two_windows():
    """After that, nothing was known about it for too long."""
    held = {reason: held_for(fault) for reason, fault in FAULTS.items()}
    assert held == {
        reason: 2 * (600 if reason == t.ENGINE_STALLED else fault.window)
        for reason, fault in FAULTS.items()
    }


def held_for(fault):
    """How long an unjudgeable fault stays inconclusive before it is dropped."""
    pod = found(fault)
    at = since = fault.window + 15
    while fault.reason in pod.see(at, **fault.page(at) | {"target": LOADING}).inconclusive:
        at += 15
    assert fault.reason in pod.verdict.doubts
    return at - since


def test_pages_that_fail_hold_a_fault_and_find_none():
    assert inconclusive_after(ENGINE_FAULTS, **FAILED) == dict.fromkeys(ENGINE_FAULTS, True)

    def told_again(fault):
        pod, at = found(fault), fault.window + 30
        pod.see(at - 15, **FAILED)
        return fault.reason in pod.see(at, **fault.page(at)).faults

    assert [reason for reason, fault in ENGINE_FAULTS.items() if not told_again(fault)] == []


def recovered(fault, at):
    """The page of a recovered pod; its counters continue from where they were."""
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
"""They count over their window; the others look at the current state."""


def test_fault_ends_when_the_pod_is_well_again():
    """At the first good page, or when the window has only good ones."""
    first, last = set(), set()
    for reason, fault in FAULTS.items():
        pod, again = found(fault), fault.window + 15
        seen = pod.watch(partial(recovered, fault), again + fault.window + 15, again)
        first |= {reason} & set(seen[again])
        last |= {reason} & {*pod.verdict.faults, *pod.verdict.doubts}
    assert last == set()
    assert first <= GRADUAL


def test_what_needs_longer_to_tell_does_not_end_it():
    """A restarted daemon has a short history, and a stall without demand takes 600 s."""
    pod = Scraped()
    pod.watch(lambda at: serving(at, FROZEN), 585)
    assert t.ENGINE_STALLED in pod.verdict.inconclusive
    pod.watch(lambda at: serving(at, FROZEN), 600, 600)
    assert t.ENGINE_STALLED in pod.verdict.faults


def test_fault_that_goes_on_is_the_same_verdict():
    """Its numbers are those of when it was found, so the Event is not written again."""
    for reason, fault in FAULTS.items():
        pod = Scraped()
        pod.watch(fault.page, fault.window)
        first = pod.verdict
        pod.watch(fault.page, fault.window + 120, fault.window + 15)
        assert pod.verdict.faults[reason] == first.faults[reason]
        if not first.doubts:
            assert pod.verdict == first


def test_fault_that_is_found_again_after_a_doubt_has_its_words_again():
    fault, pod = FAULTS[t.BACKLOG], Scraped()
    pod.watch(fault.page, 300)
    before = pod.verdict.faults[t.BACKLOG]
    pod.see(315, failure=Failure.TIMEOUT)
    pod.watch(fault.page, 330, 330)
    assert pod.verdict.faults[t.BACKLOG] == before


def test_fault_that_comes_back_after_it_was_over_has_new_words():
    pod = Scraped()
    slow, fast = loading(10e6, 5000), loading(30e6, 5000)
    pod.watch(lambda _: slow, 60)
    pod.see(75, **fast)
    pod.watch(lambda _: loading(5e6, 5000), 150, 90)
    fault = pod.verdict.faults[t.DOWNLOAD_SLOW]
    assert fault.cause == "5.0 MB/s"
    assert fault.since == NOON + seconds(90)


def test_engines_that_come_and_go_beside_the_named_one_change_no_word():
    """A changing severity would write the message again with each scrape."""
    full = {"kv_usage": 0.97, "waiting": 3, "capacity": 3}

    def page(at):
        other = full if at % 60 else {}
        engines = {"0": engine(at, **full), "1": engine(at, **full), "2": engine(at, **other)}
        return serving(at, engines=engines)

    pod = Scraped()
    pod.watch(page, 300)
    first = pod.verdict.faults[t.KV_CACHE]
    for n in range(21, 60):
        pod.see(n * 15, **page(n * 15))
        assert pod.verdict.faults[t.KV_CACHE] is first


def test_another_engine_than_the_named_one_is_named():
    full = {"kv_usage": 0.97, "waiting": 3, "capacity": 3}

    def page(at):
        return serving(at, engines={
            "0": engine(at, **(full if at <= 300 else {})), "1": engine(at, **full),
        })  # fmt: skip

    pod = Scraped()
    pod.watch(page, 390)
    assert pod.verdict.faults[t.KV_CACHE].engine == "1"
    assert pod.verdict.faults[t.KV_CACHE].since == NOON


def test_since_is_the_left_edge_of_the_window():
    pod = Scraped()
    pod.watch(lambda at: serving(at) if at < 150 else FAULTS[t.KV_CACHE].page(at), 450)
    assert pod.verdict.faults[t.KV_CACHE].since == NOON + seconds(150)


def test_histograms_without_an_objective_are_not_kept():
    assert objectives(FullEvaluationSettings()) == {Latency.TTFT: 10}
    settings = FullEvaluationSettings(runtime_threshold=["ttft-seconds=0", "e2e-seconds=3"])
    assert objectives(settings) == {Latency.E2E: 3}
    assert not objectives(FullEvaluationSettings(disable_reasons="runtime"))


maybe_number = st.none() | st.sampled_from([-1.0, 0.0, 0.5, 1.0, 7.0, 20e6, 1e15])
bounds = st.sampled_from([(inf,), (1.0, inf), (1.0, 10.0, 20.0, inf)])
buckets = bounds.flatmap(
    lambda le: st.builds(
        Buckets,
        st.just(le),
        st.lists(st.floats(0, 1e9), min_size=len(le), max_size=len(le)).map(sorted).map(tuple),
        maybe_number,
    )
)
engine_samples = st.builds(
    EngineSample,
    running=maybe_number, waiting=maybe_number, capacity=maybe_number, deferred=maybe_number,
    kv_usage=maybe_number, awake=st.none() | st.booleans(), healthy=st.none() | st.booleans(),
    counters=st.dictionaries(
        st.sampled_from(Counter), st.builds(Count, st.floats(0, 1e12), maybe_number)
    ),
    latencies=st.dictionaries(st.sampled_from(Latency), buckets),
)  # fmt: skip
targets = st.builds(
    replace,
    st.sampled_from([TARGET, LOADING, replace(TARGET, created=None, ready_since=None)]),
    uid=st.sampled_from("aaab"),
    containers=st.sampled_from([(), (ContainerRun("main", 1, None),), TARGET.containers]),
)
pages = st.fixed_dictionaries({
    "target": targets, "known": st.booleans(), "process_started": maybe_number,
    "speed": maybe_number, "remaining": maybe_number,
    "engines": st.dictionaries(st.sampled_from("01"), engine_samples), "pod": engine_samples,
})  # fmt: skip
failures = st.fixed_dictionaries({"target": targets, "failure": st.sampled_from(Failure)})
QUICK = FullEvaluationSettings(
    grace=dict.fromkeys([*of_inferencesets.RUNTIME_NAMES, of_inferencesets.DOWNLOAD_STALLED], 30),
    weight_download_window_seconds=30,
    runtime_threshold=["stalled-without-demand-seconds=45", "itl-seconds=1", "e2e-seconds=1"],
)


@given(st.lists(st.tuples(st.floats(0, 40), pages | failures), min_size=1, max_size=12))
def test_any_mixture_of_missing_values_is_judged(samples):
    """No rule raises, and a reason is never found and inconclusive at once."""
    history, verdict, at = History(seconds(15)), None, 0.0
    for gap, fields in samples:
        at += gap
        history = history.with_sample(Sample(at=START.after(at), **fields), seconds(60))
        before, verdict = verdict, judge(history, verdict, QUICK)
        assert not verdict.faults.keys() & verdict.doubts.keys()
        assert verdict.uid == fields["target"].uid
        if before is None or before.uid != verdict.uid:
            only = t.ENGINE_RESTARTING, t.SCRAPE_FAILING
            assert not verdict.faults.keys() - set(only)


def test_what_an_engine_never_tells_is_no_doubt_where_the_pod_tells():
    """Old releases do not count failed requests; HTTP metrics do."""
    pod = Scraped()
    pod.watch(lambda at: serving(at, {Counter.FAILED: None}), 300)
    assert t.ERROR_RATE not in {*pod.verdict.faults, *pod.verdict.doubts}
    pod = Scraped()
    pod.watch(lambda at: serving(at, {Counter.PREEMPTIONS: None}), 300)
    assert pod.verdict.why[t.PREEMPTION] == "the page does not have what the rule reads"
