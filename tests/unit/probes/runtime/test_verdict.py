"""What stays the same from verdict to verdict, and that nothing a page lacks breaks a rule."""

from dataclasses import replace
from math import inf

from hypothesis import given
from hypothesis import strategies as st

from reporter.catalogue import runtime as t
from reporter.metrics.looks.look import (
    Buckets,
    ContainerRun,
    Count,
    Counter,
    EngineLook,
    Failure,
    Latency,
    Look,
)
from reporter.metrics.looks.window import History
from reporter.probes.runtime.judge import judge, objectives
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import of_inferencesets
from tests.unit.probes.runtime.faults import FAULTS
from tests.unit.probes.runtime.scraped import (
    LOADING,
    NOON,
    START,
    TARGET,
    Scraped,
    engine,
    loading,
    seconds,
    serving,
)


def test_fault_that_goes_on_is_the_same_verdict():
    """Numbers in its words are those when it was found, so the Event is not written again."""
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
    """A severity that moves would write the message again with each scrape."""
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
    assert not objectives(FullEvaluationSettings(runtime_reasons="off"))


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
engine_looks = st.builds(
    EngineLook,
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
    "engines": st.dictionaries(st.sampled_from("01"), engine_looks), "pod": engine_looks,
})  # fmt: skip
failures = st.fixed_dictionaries({"target": targets, "failure": st.sampled_from(Failure)})
QUICK = FullEvaluationSettings(
    runtime_window=dict.fromkeys(of_inferencesets.RUNTIME_NAMES, 30),
    grace={of_inferencesets.DOWNLOAD_STALLED: 30},
    weight_download_window_seconds=30,
    runtime_threshold=["stalled-without-demand-seconds=45", "itl-seconds=1", "e2e-seconds=1"],
)


@given(st.lists(st.tuples(st.floats(0, 40), pages | failures), min_size=1, max_size=12))
def test_any_mixture_of_missing_values_is_judged(looks):
    """No rule raises, and a reason is never found and in doubt at once."""
    history, verdict, at = History(seconds(15)), None, 0.0
    for gap, fields in looks:
        at += gap
        history = history.seen(Look(at=START.after(at), **fields), seconds(60))
        before, verdict = verdict, judge(history, verdict, QUICK)
        assert not verdict.faults.keys() & verdict.doubts.keys()
        assert verdict.uid == fields["target"].uid
        if before is None or before.uid != verdict.uid:
            only = t.ENGINE_RESTARTING, t.SCRAPE_FAILING
            assert not verdict.faults.keys() - set(only)


def test_what_an_engine_never_tells_is_no_doubt_where_the_pod_tells():
    """Old releases do not count failed requests; HTTP does."""
    pod = Scraped()
    pod.watch(lambda at: serving(at, {Counter.FAILED: None}), 300)
    assert t.ERROR_RATE not in {*pod.verdict.faults, *pod.verdict.doubts}
    pod = Scraped()
    pod.watch(lambda at: serving(at, {Counter.PREEMPTIONS: None}), 300)
    assert pod.verdict.why[t.PREEMPTION] == "the page does not have what the rule reads"
