"""The rules about an endpoint picker as tables over time: when each fault is found, or never."""

from dataclasses import replace
from datetime import timedelta

import pytest

from reporter.catalogue import pickers as p
from reporter.catalogue.runtime import ROWS
from reporter.metrics.samples.sample import Counter, Endpoints, EngineSample, Failure, Picked
from reporter.probes.runtime.pod_rules import BLIND, EMPTY, WANTS_TOKEN
from tests.unit.probes.runtime.scraped import NOON, START, TARGET, Scraped, counted

NEVER = None
LONG_AGO = NOON - timedelta(hours=1)


def picks(*since, **fields):
    """A picker, with when each pod that it may pick became Ready."""
    return replace(TARGET, picked=Picked(tuple(since)), **fields)


PICKER = picks(LONG_AGO, LONG_AGO)


def page(endpoints=0.0, knows=0, **fields):
    """A sample of a picker that sees none of its two endpoints."""
    counted_now = None if endpoints is None else Endpoints(endpoints, knows)
    return {"target": PICKER, "endpoints": counted_now} | fields


def ready_at(second, pages):
    """Pages of a picker whose only pod becomes Ready at that second."""

    def at_time(at):
        ready = (START.after(second).wall,) if at >= second else ()
        return pages | {"target": picks(*ready)}

    return at_time


NO_ENDPOINTS = [
    ("none all the time", lambda _: page(), 60),
    ("one for a moment", lambda at: page(endpoints=1.0 if at == 30 else 0.0), 105),
    ("some", lambda _: page(endpoints=1.0), NEVER),
    ("not on the page", lambda _: page(endpoints=None), NEVER),
    ("the page of an engine", lambda _: page(endpoints=None, known=True), NEVER),
    ("no Ready pod", lambda _: page(target=picks()), NEVER),
    ("a pod Ready since 120 s", ready_at(120, page()), 240),
    ("the picker is not Ready", lambda _: page(target=replace(PICKER, ready=False, ready_since=None)), NEVER),
    ("the picker is young", lambda _: page(target=replace(PICKER, ready_since=NOON)), 120),
    ("wants a token", lambda _: page(failure=Failure.STATUS, detail="401", endpoints=None), NEVER),
    ("refuses", lambda _: page(failure=Failure.REFUSED, endpoints=None), NEVER),
    ("two scrapes missing", lambda at: page() if at < 45 or at >= 90 else None, 150),
]  # fmt: skip


@pytest.mark.parametrize(
    ("says", "first"), [each[1:] for each in NO_ENDPOINTS], ids=[each[0] for each in NO_ENDPOINTS]
)
def test_no_endpoints(says, first):
    """Only if it is 0 for the window, for a leading picker, with pods that have long been Ready."""
    assert Scraped().first(p.NO_ENDPOINTS, says) == first


STALE = [
    ("one of two", lambda _: page(endpoints=1.0), 120),
    ("none", lambda _: page(), NEVER),
    ("all", lambda _: page(endpoints=2.0), NEVER),
    ("more endpoints than pods, as with several ports", lambda _: page(endpoints=4.0), NEVER),
    ("all for a moment", lambda at: page(endpoints=2.0 if at == 60 else 1.0), 195),
    ("not on the page", lambda _: page(endpoints=None), NEVER),
    ("the other pod is just Ready", lambda _: page(endpoints=1.0, target=picks(LONG_AGO, START.after(600).wall)), NEVER),
]  # fmt: skip


@pytest.mark.parametrize(
    ("says", "first"), [each[1:] for each in STALE], ids=[each[0] for each in STALE]
)
def test_stale_metrics(says, first):
    """Some of the pods, for the window; seeing none is another reason."""
    assert Scraped().first(p.STALE_METRICS, says, until=600) == first


def counts(at, **rates):
    """A picker with all its endpoints, whose counters rise at these rates."""
    rising = {Counter[name.upper()]: rate for name, rate in rates.items()}
    return page(endpoints=2.0, pod=EngineSample(counters=counted(rising, at)))


SCHEDULING = [
    ("one in ten", lambda at: counts(at, choices=1, failed_choices=0.1), 300),
    ("one in fifty", lambda at: counts(at, choices=1, failed_choices=0.02), NEVER),
    ("four", lambda at: counts(at, choices=0.02, failed_choices=0.013), NEVER),
    ("not counted", lambda at: counts(at, picked=1), NEVER),
    ("for a while", lambda at: counts(min(at, 90), choices=1, failed_choices=0.1), 300),
]
SHED = [
    ("by flow control", lambda at: counts(at, queued=1, shed=0.1), 300),
    ("few of many", lambda at: counts(at, queued=10, shed=0.2), NEVER),
    ("fewer than 20", lambda at: counts(at, queued=0.2, shed=0.06), NEVER),
    ("errors without flow control", lambda at: counts(at, picked=1, exhausted=0.1, choices=1, failed_choices=0), 300),
    ("these were failed attempts", lambda at: counts(at, picked=1, exhausted=0.1, choices=1, failed_choices=0.1), NEVER),
    ("attempts are not counted", lambda at: counts(at, picked=1, exhausted=0.1), NEVER),
    ("errors with flow control", lambda at: counts(at, picked=1, exhausted=0.1, choices=1, failed_choices=0, queued=1, shed=0), NEVER),
]  # fmt: skip


@pytest.mark.parametrize(
    ("reason", "says", "first"),
    [
        pytest.param(reason, *case[1:], id=f"{reason}: {case[0]}")
        for reason, cases in ((p.SCHEDULING_FAILING, SCHEDULING), (p.SHEDDING, SHED))
        for case in cases
    ],
)
def test_counters(reason, says, first):
    assert Scraped().first(reason, says, until=900) == first


def test_it_ends_with_the_first_endpoint():
    found = Scraped().watch(lambda at: page(endpoints=float(at >= 90)), until=120)
    assert [at for at, reasons in found.items() if reasons] == [60, 75]


def test_it_goes_on_while_nobody_can_tell_but_not_for_ever():
    """As with every fault from metrics: two windows."""
    pod = Scraped()
    closed = page(failure=Failure.STATUS, detail="401", endpoints=None)
    pod.watch(lambda at: page() if at < 90 else closed, until=90)
    assert pod.verdict.doubts[p.NO_ENDPOINTS].why == WANTS_TOKEN.why
    assert p.NO_ENDPOINTS in pod.verdict.inconclusive
    pod.watch(lambda _: closed, since=105, until=300)
    assert p.NO_ENDPOINTS not in pod.verdict.inconclusive


def test_no_rule_about_engines_judges_a_picker():
    """Its page has no engines, and an unreadable page is neither its fault nor the network's."""
    pod = Scraped()
    for at in range(0, 600, 15):
        verdict = pod.see(at, **page(failure=Failure.REFUSED, endpoints=None))
        assert verdict.faults.keys() | verdict.doubts.keys() <= set(p.PICKER_NAMES) - ROWS.keys()
        assert (verdict.failing, verdict.in_service) == (False, False)


ONE = {"target": picks(LONG_AGO)}
UNKNOWN = "that its pool selects for 60 s: it answers requests with 503"
UNREAD = (
    "that its pool selects for 60 s: it chooses blindly, and with flow control holds requests back"
)
WORDS = [
    ({}, EMPTY, f"has not known any of the 2 Ready pods {UNKNOWN}"),
    (ONE, EMPTY, f"has not known the Ready pod {UNKNOWN}"),
    (ONE | {"knows": 1}, BLIND, f"has read no metrics of the Ready pod {UNREAD}"),
]


@pytest.mark.parametrize(("fields", "severity", "words"), WORDS)
def test_the_words_say_what_becomes_of_requests(fields, severity, words):
    """A picker that knows no pod answers 503; one without their metrics still chooses."""
    pod = Scraped()
    pod.watch(lambda _: page(**fields), until=60)
    fault = pod.verdict.faults[p.NO_ENDPOINTS]
    assert (fault.severity, fault.text) == (severity, words)


def test_the_words_say_how_many_pods_are_not_seen():
    pod = Scraped()
    pod.watch(lambda _: page(endpoints=1.0), until=120)
    assert pod.verdict.faults[p.STALE_METRICS].text == (
        "for 2 min has read the metrics of only 1 of the 2 Ready pods that its pool selects"
    )


@pytest.mark.parametrize(
    ("settings", "first"),
    [
        ({"disable_reasons": "runtime"}, NEVER),
        ({"grace": {"inferencesetEPPNoEndpoints": 120}}, 120),
    ],
)
def test_settings_count_as_for_every_reason_from_metrics(settings, first):
    assert Scraped(**settings).first(p.NO_ENDPOINTS, lambda _: page()) == first


def test_a_picker_that_was_just_seen_is_in_doubt():
    """A fault that fires by its Event continues until the window is full again."""
    assert p.NO_ENDPOINTS in Scraped().see(0, **page()).inconclusive
