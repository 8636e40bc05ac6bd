"""When a pod cannot be judged: nothing begins, nothing ends."""

from dataclasses import replace

import pytest

from reporter.catalogue import runtime as t
from reporter.metrics.looks.look import Counter
from reporter.metrics.looks.scrape import Failure
from reporter.metrics.looks.target import ContainerRun
from tests.unit.probes.runtime.faults import ENGINE_FAULTS, FAULTS
from tests.unit.probes.runtime.scraped import (
    FROZEN,
    LOADING,
    NOON,
    PER_SECOND,
    TARGET,
    Scraped,
    engine,
    seconds,
    serving,
)

FAILED = {"failure": Failure.TIMEOUT}
OF_PAGES = {reason: each for reason, each in FAULTS.items() if reason != t.SCRAPE_FAILING}


def in_service_since(at):
    return replace(TARGET, ready_since=NOON + seconds(at))


@pytest.mark.parametrize("reason", FAULTS)
def test_pod_that_is_not_ready_is_not_judged(reason):
    """Its start shows the load of a benchmark."""
    pod = Scraped()
    assert pod.first(reason, lambda at: FAULTS[reason].page(at) | {"target": LOADING}) is None
    assert reason in pod.verdict.why


@pytest.mark.parametrize("reason", FAULTS)
def test_window_begins_a_minute_after_ready(reason):
    """Counters hold the traffic of the benchmark by then."""
    fault = FAULTS[reason]

    def page(at):
        return fault.page(at) | {"target": in_service_since(150) if at >= 150 else LOADING}

    assert Scraped().first(reason, page) == 150 + 60 + fault.window


@pytest.mark.parametrize("reason", ENGINE_FAULTS)
def test_engine_asleep_is_not_judged(reason):
    fault, pod = ENGINE_FAULTS[reason], Scraped()
    page = {"engines": {}}

    def asleep(at):
        page.update(fault.page(at))
        page["engines"] = {n: replace(each, awake=False) for n, each in page["engines"].items()}
        return page

    assert pod.first(reason, asleep) is None
    assert "asleep" in pod.verdict.why[reason]


@pytest.mark.parametrize("reason", ENGINE_FAULTS)
def test_window_begins_when_the_engine_awakes(reason):
    fault = ENGINE_FAULTS[reason]

    def page(at):
        fields = fault.page(at)
        engines = {n: replace(each, awake=at > 90) for n, each in fields["engines"].items()}
        return fields | {"engines": engines}

    assert Scraped().first(reason, page) == 105 + fault.window


@pytest.mark.parametrize("reason", OF_PAGES)
@pytest.mark.parametrize("lost", [None, FAILED], ids=["not scraped", "failed"])
def test_two_scrapes_in_a_row_that_are_missing_are_a_hole(reason, lost):
    fault = FAULTS[reason]

    def page(at):
        return lost if at in {15, 30} else fault.page(at)

    first = Scraped().first(reason, page)
    assert first == 45 + fault.window


@pytest.mark.parametrize("reason", OF_PAGES)
def test_one_scrape_that_is_missing_is_no_hole(reason):
    fault = FAULTS[reason]
    assert (
        Scraped().first(reason, lambda at: FAILED if at == 15 else fault.page(at)) == fault.window
    )


@pytest.mark.parametrize("reason", FAULTS)
def test_another_pod_of_the_same_name_begins_anew(reason):
    fault = FAULTS[reason]

    def page(at):
        return fault.page(at) | {"target": replace(TARGET, uid="a" if at < 30 else "b")}

    assert Scraped().first(reason, page) == 30 + fault.window


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


@pytest.mark.parametrize("reason", OF_PAGES.keys() - {t.METRICS_MISSING})
@pytest.mark.parametrize("evidence", RESTARTS)
def test_window_lies_in_one_life(reason, evidence):
    """Both ends belong to the same process; a page without vLLM has none."""
    fault = FAULTS[reason]
    first = Scraped().first(reason, lambda at: RESTARTS[evidence](at, fault.page(at)))
    assert first == 30 + fault.window


@pytest.mark.parametrize("reason", ENGINE_FAULTS)
@pytest.mark.parametrize("evidence", ["value", "created"])
def test_counters_that_begin_anew_are_another_life_of_that_engine_only(reason, evidence):
    fault = ENGINE_FAULTS[reason]

    def page(at):
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

    pod = Scraped()
    assert pod.first(reason, page, fault.window) == fault.window
    found = pod.verdict.faults[reason]
    assert found.engine == "0"
    assert not found.text.endswith("more)")


@pytest.mark.parametrize("reason", ENGINE_FAULTS)
def test_engine_that_vanishes_is_unknown(reason):
    """It is not well, and not ill."""
    fault, pod = ENGINE_FAULTS[reason], Scraped()
    pod.watch(fault.page, fault.window)
    pod.see(fault.window + 15, **(serving(0) | {"engines": {"7": engine(fault.window + 15)}}))
    assert reason not in pod.verdict.faults
    assert reason in pod.verdict.undecided


@pytest.mark.parametrize("reason", [t.KV_CACHE, t.BACKLOG, t.SCHEDULER_STUCK, t.ENGINE_STALLED])
def test_gauge_that_vanishes_is_unknown(reason):
    fault, pod = ENGINE_FAULTS[reason], Scraped()
    pod.watch(fault.page, fault.window)
    gone = engine(0, kv_usage=None, running=None, capacity=None, waiting=None)
    pod.see(fault.window + 15, **(serving(0) | {"engines": {"0": gone}}))
    assert reason in pod.verdict.undecided


@pytest.mark.parametrize("reason", FAULTS)
def test_fault_that_cannot_be_judged_any_more_is_held_for_two_windows(reason):
    """Then nothing is known of it for so long that it is given up."""
    fault, pod = FAULTS[reason], Scraped()
    pod.watch(fault.page, fault.window)
    assert reason in pod.verdict.faults
    length = 2 * (600 if reason == t.ENGINE_STALLED else fault.window)
    since = fault.window + 15

    def blind(at):
        return fault.page(at) | {"target": LOADING}

    pod.watch(blind, since + length - 15, since)
    assert reason in pod.verdict.undecided
    pod.watch(blind, since + length, since + length)
    assert reason not in pod.verdict.undecided
    assert reason in pod.verdict.doubts


@pytest.mark.parametrize("reason", ENGINE_FAULTS)
def test_pages_that_fail_hold_a_fault_and_find_none(reason):
    fault, pod = ENGINE_FAULTS[reason], Scraped()
    pod.watch(fault.page, fault.window)
    pod.see(fault.window + 15, **FAILED)
    assert reason not in pod.verdict.faults
    assert reason in pod.verdict.undecided
    pod.see(fault.window + 30, **fault.page(fault.window + 30))
    assert reason in pod.verdict.faults


@pytest.mark.parametrize("reason", FAULTS)
def test_fault_ends_when_the_pod_is_well_again(reason):
    """At the first good page, or when the window holds nothing but good ones."""
    fault, pod = FAULTS[reason], Scraped()
    pod.watch(fault.page, fault.window)

    def well(at):
        # Counters go on from where they were.
        was = fault.page(fault.window)
        fields = serving(at)
        if was.get("engines"):
            before = was["engines"]["0"]
            counters = {
                name: replace(each, value=each.value + PER_SECOND[name] * (at - fault.window))
                for name, each in before.counters.items()
            }
            latencies = before.latencies
            fields["engines"] = {
                "0": replace(engine(at, healthy=True), counters=counters, latencies=latencies)
            }
        if was.get("pod"):
            fields["pod"] = was["pod"]
        return fields

    found = pod.watch(well, 2 * fault.window + 30, fault.window + 15)
    assert reason not in pod.verdict.faults
    assert reason not in pod.verdict.doubts
    at_once = {
        t.ENGINE_UNHEALTHY, t.ENGINE_STALLED, t.SCHEDULER_STUCK, t.KV_CACHE, t.BACKLOG,
        t.METRICS_MISSING, t.SCRAPE_FAILING,
    }  # fmt: skip
    if reason in at_once:
        assert reason not in found[fault.window + 15]


def test_what_needs_longer_to_tell_does_not_end_it():
    """A restarted daemon has a short history, and an engine without demand is told after 600 s."""
    pod = Scraped()
    pod.watch(lambda at: serving(at, FROZEN), 585)
    assert t.ENGINE_STALLED in pod.verdict.undecided
    pod.watch(lambda at: serving(at, FROZEN), 600, 600)
    assert t.ENGINE_STALLED in pod.verdict.faults
