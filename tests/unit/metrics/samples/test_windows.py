"""What holds over a window, for any page: increases are real, and memory is bounded."""

import tracemalloc
from dataclasses import replace
from itertools import pairwise
from math import inf

from hypothesis import given
from hypothesis import strategies as st

from reporter.metrics.pages.reading import Count
from reporter.metrics.samples.sample import Buckets, Counter, EngineSample, Failure, Latency, Sample
from reporter.metrics.samples.window import (
    MOST_SAMPLES,
    History,
    Slower,
    Window,
    restarts,
    since_restart,
)
from tests.unit.probes.runtime.scraped import START, TARGET, buckets, engine, seconds, serving


def sample(at, **fields):
    return Sample(**{"at": START.after(at), "target": TARGET} | fields)


def history(*times, keep=100.0, period=15.0):
    known = History(seconds(period))
    for at in times:
        known = known.with_sample(sample(at), seconds(keep))
    return known


def times(samples):
    return [(each.at.boot - START.boot).total_seconds() for each in samples]


def test_the_sample_at_the_left_edge_stays():
    assert times(history(*range(0, 400, 15)).samples) == [285, 300, 315, 330, 345, 360, 375, 390]
    assert times(history(*range(0, 301, 50)).samples) == [200, 250, 300]
    assert times(history(0, 10, 500).samples) == [10, 500]


def test_the_last_answer_is_remembered_for_as_long_as_it_is_the_same_pod():
    known = History(seconds(15)).with_sample(sample(0, **serving(0)), seconds(60))
    for at in range(15, 300, 15):
        known = known.with_sample(sample(at, failure=Failure.REFUSED), seconds(60))
        assert known.last_answer == START
    other = replace(TARGET, uid="b")
    known = known.with_sample(sample(300, target=other, failure=Failure.REFUSED), seconds(60))
    assert known.last_answer is None


def test_samples_are_bounded():
    assert len(history(*(n / 100 for n in range(1500)), keep=1e6).samples) <= MOST_SAMPLES + 1


@given(st.lists(st.floats(0.01, 40), min_size=1, max_size=40), st.integers(1, 120))
def test_a_covered_window_reaches_back_and_has_no_hole(gaps, length):
    at, known = 0.0, History(seconds(15))
    for gap in gaps:
        at += gap
        known = known.with_sample(sample(at), seconds(120))
    samples = known.last(seconds(length))
    assert all(known.newest.at.boot - each.at.boot < seconds(length) for each in samples[1:])
    if known.covers(samples, seconds(length)):
        assert len(samples) >= 2
        assert known.newest.at.boot - samples[0].at.boot >= seconds(length)
        assert all(b.at.boot - a.at.boot <= seconds(37.5) for a, b in pairwise(samples))


def test_a_window_that_ended_long_ago_does_not_cover():
    known = history(*range(0, 200, 15), keep=1000)
    assert known.covers(known.samples[:-2], seconds(60))
    assert not known.covers(known.samples[:-3], seconds(60))


steps = st.tuples(st.sampled_from(["grow", "reset", "lost", "begun"]), st.floats(0, 1e6))


@given(st.lists(steps, min_size=2, max_size=30))
def test_an_increase_is_what_was_seen_to_grow(changes):
    """Neither negative nor inflated, whatever began again in between."""
    value, created, grown, comparable, told = 0.0, 1.0, 0.0, False, False
    samples = []
    for what, amount in changes:
        if what == "lost":
            samples.append(EngineSample())
            told = False
            continue
        if what == "grow":
            grown += amount if told else 0.0
            comparable = comparable or told
            value += amount
        else:
            value = value / 2 - 1 if what == "reset" and value > 2 else amount
            created += 1
        samples.append(EngineSample(counters={Counter.STEPS: Count(value, created)}))
        told = True
    increase = Window(seconds(1), tuple(samples)).increase(Counter.STEPS)
    assert (increase is not None) == comparable
    assert increase is None or abs(increase - grown) <= 1e-6 * max(1.0, grown)


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=30))
def test_a_value_that_falls_is_no_increase(values):
    """Where the page does not say when a counter began."""
    samples = tuple(EngineSample(counters={Counter.STEPS: Count(value)}) for value in values)
    rises = [b - a for a, b in pairwise(values) if b >= a]
    increase = Window(seconds(1), samples).increase(Counter.STEPS)
    assert increase == (sum(rises) if rises else None)


@given(st.lists(st.lists(st.floats(0, 1e3), min_size=3, max_size=3), min_size=2, max_size=10))
def test_a_share_is_a_share(counts):
    samples = tuple(
        EngineSample(
            latencies={Latency.TTFT: Buckets((1.0, 10.0, float("inf")), tuple(sorted(each)))}
        )
        for each in counts
    )
    slower = Window(seconds(1), samples).slower(Latency.TTFT, 5)
    assert slower is None or (0 <= slower.share <= 1 and slower.bound == 10)


def test_bounds_that_change_are_another_histogram():
    counts = [
        ((1.0, inf), (0, 0)), ((1.0, inf), (0, 50)), ((5.0, inf), (0, 50)), ((5.0, inf), (3, 54)),
    ]  # fmt: skip
    samples = tuple(EngineSample(latencies={Latency.TTFT: Buckets(*each)}) for each in counts)
    assert Window(seconds(1), samples).slower(Latency.TTFT, 1) == Slower(5.0, 1, 4)


def pages(*pages):
    known = History(seconds(15))
    for n, fields in enumerate(pages):
        known = known.with_sample(sample(15 * n, **fields), seconds(1000))
    return known.samples


def test_restarts_are_counted_by_the_strongest_evidence():
    """A process that goes on outweighs a container beside it, and falling counters go with it."""
    proxy = replace(TARGET, containers=(*TARGET.containers, TARGET.containers[0]))
    assert restarts(pages(serving(90), serving(95) | {"target": proxy})) == 0
    assert restarts(pages(serving(90), serving(95, started=2.0) | {"target": proxy})) == 1
    assert restarts(pages(serving(90), serving(5, started=2.0))) == 1
    assert restarts(pages(serving(90), {}, serving(5))) == 1
    assert restarts(pages(serving(90, started=None), serving(95))) == 0


def test_pages_since_an_engine_began_anew():

    def both(at, of_second):
        return serving(at, engines={"0": engine(at), "1": engine(of_second)})

    samples = pages(both(60, 60), both(75, 75), both(90, 3), both(105, 18))
    assert len(since_restart(samples, "0")) == 4
    assert len(since_restart(samples, "1")) == len(since_restart(samples)) == 2


def busy(at, number=0):
    return serving(
        at, waiting=at + number, capacity=at + number, kv_usage=at / 1e6,
        latencies={Latency.TTFT: buckets(at + number, (10.0, inf), (1, 1))},
        pod={Counter.HTTP_REQUESTS: 3},
    )  # fmt: skip


def kept(page):
    known = History(seconds(15))
    for at in range(0, 900, 15):
        known = known.with_sample(sample(at, **page(at)), seconds(600))
    return known


def test_memory_of_a_pod():
    """1,000 pods whose every number changes with each scrape stay within 75 MB."""
    kept(busy)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        histories = [kept(busy) for _ in range(10)]
        size = (tracemalloc.get_traced_memory()[0] - before) / len(histories)
    finally:
        tracemalloc.stop()
    assert len(histories[0].samples) == 41
    assert size < 75_000


def test_what_is_kept_is_what_was_seen():
    at = 600
    known = kept(busy)
    there = next(each for each in known.samples if each.at == START.after(at))
    (now,) = there.engines.values()
    (then,) = busy(at)["engines"].values()
    assert dict(now.counters) == dict(then.counters)
    assert tuple(now.latencies[Latency.TTFT].counts) == then.latencies[Latency.TTFT].counts
    assert replace(now, counters={}, latencies={}) == replace(then, counters={}, latencies={})
