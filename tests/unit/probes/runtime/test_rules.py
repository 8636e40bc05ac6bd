"""The rules on pages of engines and of downloads, and about the network."""

from dataclasses import replace
from math import inf

import pytest

from reporter.catalogue import runtime as t
from reporter.catalogue.reasons import CLUSTER_STATUS_UNKNOWN
from reporter.catalogue.runtime import SCRAPE_FAILING
from reporter.metrics.samples.sample import Counter, Failure, Latency
from reporter.metrics.samples.window import Judged, PodSamples
from reporter.model.subject import CLUSTER, Subject
from reporter.probes.runtime.engine_rules import DOWNLOAD_RULES
from reporter.probes.runtime.network import (
    nothing_reached,
    probe_network,
    unproven,
    without_failing,
)
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.building import snapshot_of
from tests.unit.probes.runtime.faults import FAULTS, SLOW, late
from tests.unit.probes.runtime.scraped import (
    FROZEN,
    LOADING,
    PER_SECOND,
    TARGET,
    Scraped,
    engine,
    serving,
)

NEVER = None
GONE = dict.fromkeys(PER_SECOND, None)


def step(at_time, after=1):
    """A counter that rises once."""
    return lambda at: after if at >= at_time else 0


def test_found_once_the_window_is_full_and_not_before():
    found = {reason: Scraped().first(reason, fault.page) for reason, fault in FAULTS.items()}
    assert found == {reason: fault.window for reason, fault in FAULTS.items()}


UNHEALTHY = [
    ("for a moment", lambda at: serving(at, healthy=at % 30 == 0), NEVER),
    ("does not tell", lambda at: serving(at, healthy=None), NEVER),
    ("recovers", lambda at: serving(at, healthy=at >= 30), NEVER),
]
CORRUPTED = [
    ("one request", lambda at: serving(at, {Counter.CORRUPTED: step(30)}), 60),
    ("before we looked", lambda at: serving(at, {Counter.CORRUPTED: lambda _: 7}), NEVER),
    ("does not tell", lambda at: serving(at, {Counter.CORRUPTED: None}), NEVER),
]


def still(at, changes=None, **gauges):
    """An engine that makes no step while requests wait."""
    return serving(at, FROZEN | (changes or {}), **{"waiting": 3, "capacity": 3} | gauges)


STALLED = [
    ("nothing waits", lambda at: still(at, waiting=0, capacity=0), 600),
    ("refuses", lambda at: still(at, waiting=0, capacity=0)
        | {"pod": serving(at, pod={Counter.RATE_LIMITED: 1})["pod"]}, 120),
    ("answers 5xx", lambda at: still(at, waiting=0, capacity=0)
        | {"pod": serving(at, pod={Counter.HTTP_ERRORS: 1})["pod"]}, 120),
    ("nothing runs", lambda at: still(at, running=0), NEVER),
    ("idle for a moment", lambda at: still(at, running=0 if at == 300 else 2), 120),
    ("a long prefill", lambda at: still(at, kv_usage=0.5 + at / 10_000), NEVER),
    ("all that wait are deferred", lambda at: still(at, capacity=0, deferred=3), NEVER),
    ("the queue moves", lambda at: still(at, waiting=3 + at, capacity=3 + at), NEVER),
    ("neither tokens nor steps", lambda at: serving(at, GONE, waiting=3, capacity=3), NEVER),
    ("only steps are told", lambda at: serving(
        at, GONE | {Counter.STEPS: 0}, waiting=3, capacity=3), 120),
    ("without the cause of waiting", lambda at: still(at, capacity=None, deferred=None), 120),
    ("KV use is not told once", lambda at: still(at, kv_usage=None if at == 60 else 0.5), 120),
    ("without KV use", lambda at: still(at, kv_usage=None), 120),
] + [
    (f"{counter.name} moves", lambda at, counter=counter: still(at, {counter: 0.01}), NEVER)
    for counter in (
        Counter.GENERATED_TOKENS, Counter.PROMPT_TOKENS, Counter.STEPS, Counter.FINISHED,
        Counter.PREEMPTIONS, Counter.PREFIX_QUERIES,
    )
]  # fmt: skip


def stuck(at, changes=None, **gauges):
    """An engine that defers all its requests."""
    fields = {"running": 0, "waiting": 2, "deferred": 2, "kv_usage": 0.2} | gauges
    return serving(at, FROZEN | (changes or {}), **fields)


STUCK = [
    ("they wait for room", lambda at: stuck(at, deferred=0, capacity=2), NEVER),
    ("the cache is half full", lambda at: stuck(at, kv_usage=0.5), NEVER),
    ("something runs", lambda at: stuck(at, running=1), NEVER),
    ("something is prefilled", lambda at: stuck(at, {Counter.PREFIX_QUERIES: 1}), NEVER),
    ("the cause of waiting is not told", lambda at: stuck(at, deferred=None), NEVER),
]
TRANSFER = [
    ("four", lambda at: serving(at, {Counter.TRANSFER_FAILURES: step(60, 4)}), NEVER),
    ("five", lambda at: serving(at, {Counter.TRANSFER_FAILURES: step(60, 5)}), 300),
    ("no connector", lambda at: serving(at, {Counter.TRANSFER_FAILURES: None}), NEVER),
]


def full(at, changes=None, **gauges):
    """An engine whose KV cache is full."""
    return serving(at, changes, **{"kv_usage": 0.97} | gauges)


KV_CACHE = [
    ("nothing waits", full, NEVER),
    ("only deferred ones wait", lambda at: full(at, waiting=2, deferred=2), NEVER),
    ("preempts", lambda at: full(at, {Counter.PREEMPTIONS: step(100)}), 300),
    ("the cause of waiting is not told", lambda at: full(at, waiting=2, capacity=None), 300),
    ("nearly full", lambda at: full(at, kv_usage=0.94, capacity=2), NEVER),
    ("exactly", lambda at: full(at, kv_usage=0.95, capacity=2), 300),
    ("with room once", lambda at: full(at, kv_usage=0.5 if at == 150 else 0.97, capacity=2), 300),
    ("nothing waits once", lambda at: full(at, capacity=0 if at == 150 else 2), 300),
    ("nothing waits half of the time", lambda at: full(at, capacity=at % 30), NEVER),
    ("each preemption frees blocks", lambda at: full(at, {Counter.PREEMPTIONS: 1}, kv_usage=0.6 + at % 45 / 100, capacity=20), 300),
    ("waits, with room and without preemption", lambda at: full(at, kv_usage=0.6, capacity=9), NEVER),
]  # fmt: skip


def queue(at, waiting, **gauges):
    return serving(at, **{"waiting": waiting, "capacity": waiting} | gauges)


BACKLOG = [
    ("a plateau", lambda at: queue(at, 50), NEVER),
    ("short", lambda at: queue(at, min(at / 60, 5)), NEVER),
    ("grows by four", lambda at: queue(at, 6 + 4 * (at >= 150)), NEVER),
    ("grows by five", lambda at: queue(at, 6 + 5 * (at >= 150)), 300),
    ("grows by a fifth", lambda at: queue(at, 100 + 20 * (at >= 150)), NEVER),
    ("grows by a quarter", lambda at: queue(at, 100 + 25 * (at >= 150)), 300),
    ("shrinks", lambda at: queue(at, max(200 - at / 10, 6)), NEVER),
    ("deferred ones", lambda at: queue(at, 6 + at / 10, capacity=0), NEVER),
    ("the cause is not told", lambda at: queue(at, 8 + at / 10, capacity=None), 330),
]


def preempts(at, preemptions, finished):
    return serving(at, {Counter.PREEMPTIONS: preemptions, Counter.FINISHED: finished})


PREEMPTION = [
    ("one a second", lambda at: preempts(at, 1, 10), NEVER),
    ("for a third of the requests", lambda at: preempts(at, 0.1, 0.3), 300),
    ("for a quarter of the requests", lambda at: preempts(at, 0.1, 0.4), NEVER),
    ("nine", lambda at: preempts(at, 0.03, 0.01), NEVER),
    ("nothing finishes", lambda at: preempts(at, 0.1, 0), 300),
    ("nobody says what finishes", lambda at: preempts(at, 0.1, None), NEVER),
    ("no more", lambda at: preempts(at, lambda at: min(6 * at, 600), 10), NEVER),
    ("the cache fills up", lambda at: (preempts(at, 3, 10) | full(at, {Counter.PREEMPTIONS: 3}, kv_usage=0.97 if at >= 200 else 0.5)), 510),
]  # fmt: skip
ERRORS = [
    ("a twentieth", lambda at: serving(at, {Counter.FAILED: 0.05}), NEVER),
    ("two", lambda at: serving(at, {Counter.FAILED: step(9, 2), Counter.FINISHED: 0.1}), NEVER),
    ("three", lambda at: serving(at, {Counter.FAILED: step(9, 3), Counter.FINISHED: 0.1}), 300),
    ("few requests", lambda at: serving(at, {Counter.FAILED: 0.05, Counter.FINISHED: 0.06}), NEVER),
    ("errors are not told", lambda at: serving(at, {Counter.FAILED: None}), NEVER),
    ("HTTP 5xx", lambda at: serving(at, pod={Counter.HTTP_ERRORS: 0.1}), 300),
    ("HTTP 503 of a limit", lambda at: serving(at, pod={Counter.HTTP_ERRORS: 0.1, Counter.NOT_ADMITTED: 0.1}), NEVER),
    ("few HTTP 5xx", lambda at: serving(at, pod={Counter.HTTP_ERRORS: 0.05}), NEVER),
]  # fmt: skip


def refuses(at, limited, requests=1.0, **others):
    pod = {Counter.RATE_LIMITED: limited, Counter.HTTP_REQUESTS: requests}
    return serving(at, pod=pod | others)


REJECTED = [
    ("nineteen", lambda at: refuses(at, step(9, 19)), NEVER),
    ("twenty", lambda at: refuses(at, step(9, 20), 0.1), 300),
    ("of many", lambda at: refuses(at, 0.2, 10), NEVER),
    # A twentieth of those that are counted, and less if the refused are not among them.
    ("by one reading only", lambda at: refuses(at, 0.515, 10), NEVER),
    ("by admission control", lambda at: serving(at, pod={Counter.NOT_ADMITTED: 0.2}), 300),
    ("nobody says of how many", lambda at: refuses(at, 0.2, None), NEVER),
]
LATENCIES = [
    ("a hundredth", lambda at: late(at, 99, 0, 1, 0), NEVER),
    ("more than a hundredth", lambda at: late(at, 98, 0, 2, 0), 600),
    ("within the bound", lambda at: late(at, 0, 1, 0, 0), NEVER),
    ("a twentieth of fifty", lambda at: late(at, 0.08, 0, 0.004, 0), NEVER),
    ("a tenth of fifty", lambda at: late(at, 0.08, 0, 0.01, 0), 600),
    ("nineteen", lambda at: late(at, 0, 0, 0.03, 0), NEVER),
    ("the next bound", lambda at: late(at, 1, 0.5, 0, bounds=(1.0, 20.0, inf)), NEVER),
    ("no bound", lambda at: late(at, 0, 1, bounds=(1.0, inf)), NEVER),
    ("another latency", lambda at: late(at, 0, 0, 0, 1, kind=Latency.ITL), NEVER),
    ("bounds that change", lambda at: late(at, 0, 0, 0, 1, bounds=(1.0, 10.0, 20.0 + at, inf)), NEVER),
]  # fmt: skip

TABLE = {
    t.ENGINE_UNHEALTHY: UNHEALTHY, t.OUTPUT_CORRUPTED: CORRUPTED, t.ENGINE_STALLED: STALLED,
    t.SCHEDULER_STUCK: STUCK, t.KV_TRANSFER: TRANSFER, t.KV_CACHE: KV_CACHE, t.BACKLOG: BACKLOG,
    t.PREEMPTION: PREEMPTION, t.ERROR_RATE: ERRORS, t.REJECTED: REJECTED, t.LATENCY: LATENCIES,
}  # fmt: skip


@pytest.mark.parametrize(
    ("reason", "page", "when"),
    [
        pytest.param(reason, page, when, id=f"{reason.removeprefix('inferenceset')}: {what}")
        for reason, rows in TABLE.items()
        for what, page, when in rows
    ],
)
def test_when_a_rule_finds_its_fault(reason, page, when):
    assert Scraped().first(reason, page) == when


@pytest.mark.parametrize(
    ("reason", "thresholds", "page", "when"),
    [
        (t.ENGINE_STALLED, "stalled-without-demand-seconds=300", lambda at: still(at, waiting=0, capacity=0), 300),
        (t.ENGINE_STALLED, "stalled-without-demand-seconds=0", serving, NEVER),
        (t.ENGINE_STALLED, "stalled-without-demand-seconds=0", lambda at: still(at, waiting=0, capacity=0), 120),
        (t.ENGINE_STALLED, "stalled-without-demand-seconds=20", lambda at: still(at, waiting=0, capacity=0), 120),
        (t.KV_TRANSFER, "kv-transfer-failures=100", FAULTS[t.KV_TRANSFER].page, NEVER),
        (t.SCHEDULER_STUCK, "scheduler-stuck-kv-usage=0.1", FAULTS[t.SCHEDULER_STUCK].page, NEVER),
        (t.KV_CACHE, "kv-usage=0.8", lambda at: full(at, kv_usage=0.85, capacity=1), 300),
        (t.BACKLOG, "backlog-waiting=100", FAULTS[t.BACKLOG].page, NEVER),
        (t.BACKLOG, "backlog-waiting=0,backlog-growth=0", lambda at: queue(at, 3), NEVER),
        (t.BACKLOG, "backlog-growth=10", FAULTS[t.BACKLOG].page, NEVER),
        (t.PREEMPTION, "preemptions-per-second=3,preempted-share=9", FAULTS[t.PREEMPTION].page, NEVER),
        (t.PREEMPTION, "preempted-share=0.01", lambda at: preempts(at, 0.1, 1), 300),
        (t.ERROR_RATE, "error-share=0.2", FAULTS[t.ERROR_RATE].page, NEVER),
        (t.REJECTED, "rejected-requests=100", FAULTS[t.REJECTED].page, NEVER),
        (t.REJECTED, "rejected-share=0.5", FAULTS[t.REJECTED].page, NEVER),
        (t.LATENCY, "ttft-seconds=20,slow-share=0.02", FAULTS[t.LATENCY].page, NEVER),
        (t.LATENCY, "ttft-seconds=0", FAULTS[t.LATENCY].page, NEVER),
        (t.LATENCY, "itl-seconds=1", lambda at: late(at, 0, 1, 0, 0, kind=Latency.ITL), 600),
        (t.LATENCY, "e2e-seconds=1", lambda at: late(at, 0, 1, 0, 0, kind=Latency.E2E), 600),
        (t.SCRAPE_FAILING, "scrape-attempts=20", FAULTS[t.SCRAPE_FAILING].page, 285),
        (t.SCRAPE_FAILING, "scrape-attempts=70", FAULTS[t.SCRAPE_FAILING].page, 1035),
    ],
)  # fmt: skip
def test_thresholds(reason, thresholds, page, *, when):
    pod = Scraped(runtime_threshold=thresholds.split(","))
    assert pod.first(reason, page) == when


def test_windows():
    """The window of a reason is its grace."""
    reasons = [t.KV_CACHE, t.SCRAPE_FAILING, t.METRICS_MISSING, t.REJECTED]
    found = {
        each: Scraped(grace={FullEvaluationSettings.metrics_name(each): 200}).first(
            each, FAULTS[each].page
        )
        for each in reasons
    }
    assert found == dict.fromkeys(reasons, 210)


@pytest.mark.parametrize(
    "setting",
    [
        {"weight_download_window_seconds": 200},
        {"grace": {FullEvaluationSettings.metrics_name(t.DOWNLOAD_SLOW): 200}},
    ],
)
def test_window_of_a_slow_download(setting):
    assert Scraped(**setting).first(t.DOWNLOAD_SLOW, SLOW.page) == 210


@pytest.mark.parametrize(("threshold", "told"), [(0.95, "95%"), (0.995, "99.5%"), (0.07, "7%")])
def test_a_full_cache_is_told_as_full_as_it_was_asked_for(threshold, told):
    pod = Scraped(runtime_threshold={"kv-usage": threshold})
    pod.watch(lambda at: full(at, kv_usage=0.996, capacity=1), 300)
    assert f"KV cache at {told} or more" in pod.verdict.faults[t.KV_CACHE].text


@pytest.mark.parametrize("grace", [0, 900])
def test_the_global_grace_is_no_window(grace):
    pod = Scraped(startup_grace_seconds=grace)
    assert pod.first(t.KV_CACHE, FAULTS[t.KV_CACHE].page) == 300


@pytest.mark.parametrize(
    ("setting", "judged"),
    [
        ("", set(t.RUNTIME_NAMES)),
        ("runtime", set()),
        (FullEvaluationSettings.metrics_name(t.BACKLOG), set(t.RUNTIME_NAMES)),
    ],
)
def test_switching_off(setting, judged):
    for reason, fault in FAULTS.items():
        pod = Scraped(disable_reasons=setting)
        pod.watch(fault.page, fault.window)
        assert (reason in pod.verdict.faults) == (reason in judged)
        assert {*pod.verdict.faults, *pod.verdict.doubts} <= judged | DOWNLOAD_RULES.keys()


def test_engines_are_judged_one_by_one():
    """Half a fault in each of two engines is not a fault; a whole one in one of them is."""

    def page(at, *engines):
        return serving(at, engines={str(n): engine(at, **each) for n, each in enumerate(engines)})

    busy, waits = {"kv_usage": 0.97}, {"capacity": 5, "waiting": 5}
    assert Scraped().first(t.KV_CACHE, lambda at: page(at, busy, waits)) is NEVER
    pod = Scraped()
    assert pod.first(t.KV_CACHE, lambda at: page(at, {}, busy | waits)) == 300
    assert pod.verdict.faults[t.KV_CACHE].text.startswith("engine 1 KV cache at 95% or more")
    pod = Scraped()
    pod.watch(lambda at: page(at, busy | waits, busy | {"capacity": 7}), 300)
    text = pod.verdict.faults[t.KV_CACHE].text
    assert text.startswith("engine 1 KV cache")
    assert text.endswith("(and 1 more)")


@pytest.mark.parametrize(
    ("stages", "told"),
    [
        ({}, "there is room"),
        ({"fetching": 2, "unfetched": 0}, "from a peer that does not deliver them"),
        ({"fetching": 0, "unfetched": 2}, "has not begun to fetch their KV caches"),
        ({"fetching": lambda at: at % 30, "unfetched": 2}, "there is room"),
    ],
)
def test_who_keeps_deferred_requests_waiting(stages, told):
    """If the engine reports the stages of a transfer, the message names the stage."""
    pod = Scraped()
    pod.watch(lambda at: stuck(at, **stages), 300)
    assert pod.verdict.faults[t.SCHEDULER_STUCK].text.endswith(told)


FAILS = {"failure": Failure.TIMEOUT}


def samples(*pods, turns=None):
    """Pods as (name, InferenceSet, node, result of a scrape), and when they were last scraped."""
    found = {}
    for name, inferenceset, node, page in pods:
        pod = Scraped()
        subject = Subject(INFERENCESET_KIND, "demo", inferenceset)

        def sample(at, page=page, name=name, subject=subject, node=node):
            told = page(at) if callable(page) else page
            base = told.get("target", TARGET)
            target = replace(base, name=name, subject=subject, node=node)
            return told | {"target": target}

        pod.watch(sample, (turns or {}).get(name, 135))
        found["demo", name] = Judged(pod.history, pod.verdict)
    return PodSamples(scraping=True, pods=found)


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
        pytest.param([*APART, ("p-3", "c", "n3", serving(0) | {"target": LOADING})], True, id="one that is not in service answers"),
        pytest.param([*APART[1:], ("p-0", "a", "n1", FAILS | {"target": LOADING})], False, id="one that is not in service fails"),
        pytest.param([*APART, ("p-3", "c", "n3", {"failure": Failure.UNSUPPORTED})], False, id="one answers with something else"),
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
    """An evicted pod stays in the list, with its last good page."""
    seen = samples(*APART, ("p-3", "c", "n3", serving), turns={"p-3": last})
    assert {each.history.newest.target.name for each in nothing_reached(seen)} == (
        {"p-0", "p-1", "p-2"} if blind else set()
    )


def test_the_failure_that_most_have_is_named():
    """A pod whose failure keeps changing must not change the message."""
    other = ("p-0", "a", "n1", {"failure": Failure.REFUSED})
    (finding,) = probe_network(samples(other, *APART[1:]), snapshot_of(), FullEvaluationSettings())
    assert "(timeout)" in finding.message
    assert finding.cause == "metrics of all pods: timeout"


def test_meanwhile_the_pods_are_inconclusive():
    seen = samples(*APART)
    for judged in without_failing(seen, unproven(seen)).pods.values():
        assert SCRAPE_FAILING not in judged.verdict.faults
        assert SCRAPE_FAILING in judged.verdict.inconclusive


def test_pods_that_fail_while_another_answers_are_told():
    assert unproven(samples(*APART, WELL)) == frozenset()


def test_first_answer_after_an_outage_says_nothing_of_who_has_not_been_asked_since():
    names = {name for name, *_ in APART}
    first = ("p-3", "c", "n3", lambda at: serving(at) if at >= 135 else FAILS)
    pods = samples(*APART, first, turns={"p-0": 120, "p-1": 120, "p-2": 135})
    assert not nothing_reached(pods)
    assert unproven(pods) == {("demo", name) for name in names - {"p-2"}}
