"""Faults that are judged by finished requests, while few finish: that is no recovery."""

from functools import partial

import pytest

from reporter.catalogue import runtime as t
from reporter.metrics.looks.look import Counter, Latency
from tests.unit.probes.runtime.faults import BOUNDS
from tests.unit.probes.runtime.scraped import Scraped, buckets, serving

SLOW_UNTIL = 600


def collapsed(at, *, waiting, later=0.0):
    """Slow answers until throughput collapses; afterwards fast ones at a rate."""
    slow = buckets(min(at, SLOW_UNTIL), BOUNDS, (0, 0, 0.2, 0))
    fast = later * max(0, at - SLOW_UNTIL)
    counts = tuple(count + fast for count in slow.counts)
    return serving(
        at,
        {Counter.FAILED: 0, Counter.FINISHED: lambda at: 0.2 * min(at, SLOW_UNTIL)},
        latencies={Latency.TTFT: type(slow)(BOUNDS, counts)},
        waiting=waiting,
        capacity=waiting,
    )


def last_time_open(page, reason, until):
    """When a fault was found or held last."""
    pod, last = Scraped(), None
    for at in range(0, until + 1, 15):
        verdict = pod.see(at, **page(at))
        if reason in verdict.faults or (last and reason in verdict.undecided):
            last = at
    return last


def test_latency_fault_goes_on_while_requests_wait_and_none_finishes():
    """However long, more than two windows: what collapsed is not well."""
    assert last_time_open(partial(collapsed, waiting=5), t.LATENCY, 3000) == 3000


def test_latency_fault_without_requests_is_given_up_in_time():
    """Nothing waits, so nobody is served late; two windows after the last evidence it is over."""
    last = last_time_open(partial(collapsed, waiting=0), t.LATENCY, 3000)
    assert SLOW_UNTIL + 600 + 600 < last < SLOW_UNTIL + 600 + 1200


def test_latency_fault_ends_once_enough_answers_are_fast():
    last = last_time_open(partial(collapsed, waiting=5, later=1), t.LATENCY, 3000)
    assert last <= SLOW_UNTIL + 600


def test_collapse_is_given_up_two_windows_after_nothing_waits_any_more():

    def page(at):
        return collapsed(at, waiting=5 if at < 2400 else 0)

    assert last_time_open(page, t.LATENCY, 3900) == 2400 + 2 * 600 - 15


def test_a_request_that_waits_now_and_then_holds_no_fault_open():
    """A model that hardly anybody asks is not one whose throughput has collapsed."""

    def page(at):
        return collapsed(at, waiting=5 if at % 300 == 0 else 0)

    assert last_time_open(page, t.LATENCY, 3000) < SLOW_UNTIL + 600 + 1200


@pytest.mark.parametrize("counter", [Counter.FAILED, Counter.HTTP_ERRORS])
def test_errors_of_few_requests_decide_nothing(counter):
    """The error rate of a model that nobody asks any more is not known to be well."""
    fails = {counter: lambda at: 0.2 * min(at, 300)}

    def page(at):
        finished = min(at, 300.0)
        if counter is Counter.FAILED:
            pod = {Counter.HTTP_REQUESTS: None}
            return serving(at, {**fails, Counter.FINISHED: lambda _: finished}, pod=pod)
        return serving(
            at, {Counter.FINISHED: None}, pod={**fails, Counter.HTTP_REQUESTS: lambda _: finished}
        )

    assert last_time_open(page, t.ERROR_RATE, 1800) > 300 + 300


def test_few_requests_begin_no_fault():
    """They decide nothing in the other direction either."""
    pod = Scraped()
    pod.watch(lambda at: collapsed(at / 10, waiting=5), 1200)
    assert t.LATENCY not in pod.verdict.faults
    assert pod.verdict.why[t.LATENCY] == "too few requests were answered to tell, and others wait"


def test_refusals_that_are_answered_late_are_no_errors():
    """Admission control counts a refusal before it is answered; some are on the way where a window begins."""

    def refused(at):
        return 0.5 * min(max(at - 150, 0.0), 240.0)

    def page(at):
        answered = refused(at - 12)
        pod = {Counter.NOT_ADMITTED: refused, Counter.HTTP_ERRORS: lambda _: answered}
        return serving(at, pod={**pod, Counter.HTTP_REQUESTS: lambda at: 0.15 * at + answered})

    assert Scraped().first(t.ERROR_RATE, page) is None
