"""Faults of engines whose load is steady: they begin once, and do not come and go."""

import pytest

from reporter.catalogue import runtime as t
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.runtime.scraped import Scraped, serving
from tests.unit.probes.runtime.series import constant, last_time, series


def goes_on(pod, reason, page, *, since, until):
    """Tell whether a fault is found or held in each look of a time."""
    states = []
    for at in range(since, until + 1, int(pod.period)):
        verdict = pod.see(at, **page(at))
        states.append(reason in verdict.faults or reason in verdict.undecided)
    return all(states)


@pytest.mark.parametrize(
    ("name", "told", "not_told"),
    [
        ("full_and_preempting", t.KV_CACHE, t.PREEMPTION),
        ("preempting_now_and_then", t.PREEMPTION, t.KV_CACHE),
    ],
)
def test_one_of_two_reasons_is_told_of_an_engine_without_room(name, told, not_told):
    """As soon as the window is full, and without a break: a full cache suppresses preemptions."""
    pod, page = Scraped(), series(name)
    found = pod.watch(page, 300)
    assert told in found[300]
    assert goes_on(pod, told, page, since=315, until=last_time(name))
    again = Scraped().watch(page, last_time(name))
    alone = [at for at, reasons in again.items() if not_told in reasons and told not in reasons]
    assert not (alone if told == t.KV_CACHE else [at for at in again if not_told in again[at]])


def test_a_cache_that_fills_up_is_told_as_such_from_the_first():
    """The window has calm looks at first; preemptions are no other fault until it has none."""
    pod, page, calm = Scraped(), series("full_and_preempting"), Scraped().period * 20
    idle = page(0)["engines"]["0"].counters
    before = {name: constant(each.value) for name, each in idle.items()}
    pod.watch(lambda _: serving(0, before), calm - pod.period)
    found = pod.watch(lambda at: page(at - calm), calm + 600, calm)
    told = [at for at in found if t.KV_CACHE in found[at]]
    assert told[0] == calm + 300
    assert not [at for at in found if t.PREEMPTION in found[at] and at not in told]


def test_preemptions_wait_for_a_longer_window_of_the_full_cache():
    """Else they would be told first, and the other reason after them."""
    name = FullEvaluationSettings.metrics_name(t.KV_CACHE)
    pod, page = Scraped(runtime_window={name: 600}), series("full_and_preempting")
    found = pod.watch(page, 600)
    assert t.KV_CACHE in found[600]
    assert not [at for at in found if at < 600 and found[at]]


def test_preemption_ends_when_it_is_over():
    pod, page = Scraped(), series("preempting_now_and_then")
    pod.watch(page, 600)
    counted = page(600)["engines"]["0"].counters
    calm = serving(600, {name: constant(each.value) for name, each in counted.items()})
    pod.watch(lambda _: calm, 1200, 615)
    assert not {t.PREEMPTION, t.KV_CACHE} & {*pod.verdict.faults, *pod.verdict.doubts}
