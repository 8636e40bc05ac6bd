"""Which pods are judged by their pages, at what cost, and the verdicts on recorded pages."""

import csv
from dataclasses import replace
from functools import cache, partial
from itertools import groupby
from pathlib import Path

import pytest

from reporter.catalogue import runtime as t
from reporter.metrics.pages.reading import read_page
from reporter.metrics.samples.sample import (
    ContainerRun,
    Counter,
    Failure,
    Latency,
    Scrape,
    sample_of,
)
from reporter.probes.runtime.judge import objectives
from reporter.stacks.settings import FullEvaluationSettings
from tests.engine.recording import load, recorded
from tests.tables import rows
from tests.unit.probes.runtime.faults import BOUNDS
from tests.unit.probes.runtime.scraped import (
    LOADING,
    NOON,
    START,
    TARGET,
    Scraped,
    buckets,
    seconds,
    serving,
)

NEVER = None


def fails(at, *good, failure=Failure.REFUSED):
    return serving(at) if at in good else {"failure": failure}


FAILING = [
    ("now and then", 15, lambda at: fails(at, *range(0, 2000, 120)), NEVER),
    ("since a good one", 15, lambda at: fails(at, 60), 195),
    ("every minute", 60, fails, 120),
    ("twice in a long time", 120, fails, 240),
    ("no page of text", 15, lambda at: fails(at, failure=Failure.UNSUPPORTED), NEVER),
    ("not in service", 15, lambda at: fails(at) | {"target": LOADING}, NEVER),
] + [(str(each), 15, lambda at, each=each: fails(at, failure=each), 120)
     for each in Failure if each is not Failure.UNSUPPORTED]  # fmt: skip


@pytest.mark.parametrize(
    ("period", "page", "when"), [pytest.param(*row[1:], id=row[0]) for row in FAILING]
)
def test_scrapes_that_fail(period, page, when):
    assert Scraped(period=period).first(t.SCRAPE_FAILING, page) == when


def test_message_names_the_failure_that_was_found_first():
    """A failure that changes from scrape to scrape must not write a new message each time."""
    pod = Scraped()
    kinds = (Failure.TIMEOUT, Failure.REFUSED)
    pod.watch(lambda at: {"failure": kinds[int(at / 15) % 2]}, 300)
    assert (
        pod.verdict.faults[t.SCRAPE_FAILING].text == "its metrics could not be read for 2 min: "
        "timeout"
    )


@pytest.mark.parametrize(("requests", "told"), [(0.1, "91% or more"), (0.2, "83% or more")])
def test_share_of_refused_requests_is_the_least_it_can_be(requests, told):
    pod = Scraped()
    rates = {Counter.RATE_LIMITED: 1, Counter.HTTP_REQUESTS: requests}
    pod.watch(lambda at: serving(at, pod=rates), 300)
    assert f"refused 300 requests ({told})" in pod.verdict.faults[t.REJECTED].text


MISSING = [
    ("a page of something else", lambda _: {}, 120),
    ("now and then", lambda at: {} if at % 120 else serving(at), NEVER),
    ("still downloads", lambda _: {"speed": 1e6, "remaining": 30}, NEVER),
    ("cached", lambda _: {"speed": 0, "remaining": 0}, 120),
    ("no page of text", lambda _: {"failure": Failure.UNSUPPORTED}, NEVER),
    ("no page", lambda _: {"failure": Failure.REFUSED}, NEVER),
]


@pytest.mark.parametrize(("page", "when"), [pytest.param(*row[1:], id=row[0]) for row in MISSING])
def test_pages_without_vllm(page, when):
    assert Scraped().first(t.METRICS_MISSING, page) == when


def restarting(every, *, process=True, containers=True, last=10_000):
    """A pod whose container is gone for 30 s, and then not Ready for a minute."""

    def page(at):
        count, age = divmod(min(at, last), every)
        since = NOON + seconds(count * every)
        target = replace(TARGET, ready_since=since if count else TARGET.ready_since)
        if containers:
            target = replace(target, containers=(ContainerRun("main", int(count), since),))
        started = count if process else None
        if count and age < 30:
            return None
        if count and age < 90:
            target = replace(target, ready=False, ready_since=None)
        else:
            target = replace(target, ready_since=since if count == 0 else since + seconds(90))
        return serving(at, started=started) | {"target": target}

    return page


RESTARTING = [
    # In service 150 s after each start.
    ("three times", restarting(165), 3 * 165 + 150),
    ("by the containers alone", restarting(165, process=False), 3 * 165 + 150),
    ("by the process alone", restarting(165, containers=False), 3 * 165 + 150),
    ("too seldom", restarting(300), NEVER),
    ("a new pod each time", lambda at: restarting(165)(at)
        and restarting(165)(at) | {"target": replace(TARGET, uid=str(at // 165))}, NEVER),
    ("another container", lambda at: serving(at) | {
        "target": replace(TARGET, containers=(ContainerRun("proxy", int(at // 60), NOON),))}, NEVER),
    ("counters that fall", lambda at: serving(at, {Counter.GENERATED_TOKENS: lambda at: at % 150}, started=None), 450),
    ("counters that fall in one process", lambda at: serving(at, {Counter.GENERATED_TOKENS: lambda at: at % 150}), 450),
    ("three at once", lambda at: serving(at, started=float(at >= 60)) | {
        "target": replace(TARGET, containers=(ContainerRun("main", 3 * (at >= 60), NOON),))}, 60),
]  # fmt: skip


@pytest.mark.parametrize(
    ("page", "when"), [pytest.param(*row[1:], id=row[0]) for row in RESTARTING]
)
def test_restarts(page, when):
    assert Scraped().first(t.ENGINE_RESTARTING, page) == when


def test_restarts_end_when_there_were_few_in_the_window():
    pod = Scraped()
    pod.watch(restarting(165, last=4 * 165 - 15), 645)
    assert t.ENGINE_RESTARTING in pod.verdict.faults
    pod.watch(restarting(165, last=4 * 165 - 15), 1200, 660)
    assert t.ENGINE_RESTARTING not in pod.verdict.faults


def test_restarts_are_not_judged_before_the_window_is_full():
    """A daemon that has just started has not seen any, and must not end an episode."""
    pod = Scraped()
    pod.watch(serving, 585)
    assert t.ENGINE_RESTARTING in pod.verdict.inconclusive
    pod.watch(serving, 600, 600)
    assert t.ENGINE_RESTARTING not in pod.verdict.doubts


def test_few_attempts_that_fail_are_in_doubt_only_if_nothing_else_was_seen():
    """A restarted daemon ends no episode for them; after a good page they are not a fault yet."""
    pod = Scraped()
    pod.watch(fails, 105)
    assert t.SCRAPE_FAILING in pod.verdict.inconclusive
    pod = Scraped()
    pod.watch(lambda at: fails(at, 0), 105)
    assert t.SCRAPE_FAILING not in {*pod.verdict.faults, *pod.verdict.doubts}


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
    """When a fault was last found or held."""
    pod, last = Scraped(), None
    for at in range(0, until + 1, 15):
        verdict = pod.see(at, **page(at))
        if reason in verdict.faults or (last and reason in verdict.inconclusive):
            last = at
    return last


FEW_ERRORS = {"finished": {Counter.FAILED: lambda at: 0.2 * min(at, 300)}, "http": {Counter.HTTP_ERRORS: lambda at: 0.2 * min(at, 300)}}  # fmt: skip


def few_requests(at, finished=None, http=None):
    """Errors of the last requests of a model: those of the engine, or those of the server."""
    answered = min(at, 300.0)
    if finished:
        pod = {Counter.HTTP_REQUESTS: None}
        return serving(at, {**finished, Counter.FINISHED: lambda _: answered}, pod=pod)
    pod = {**http, Counter.HTTP_REQUESTS: lambda _: answered}
    return serving(at, {Counter.FINISHED: None}, pod=pod)


@rows(
    ("reason", "page", "until", "least", "most"),
    {
        "it goes on while requests wait and none finishes: a collapsed engine has not recovered": (t.LATENCY, partial(collapsed, waiting=5), 3000, 3000, 3000),
        "none waits, so that none is served late: it ends two windows after the last evidence": (
            t.LATENCY, partial(collapsed, waiting=0), 3000, SLOW_UNTIL + 1215, SLOW_UNTIL + 1785,
        ),
        "it ends once enough answers are fast": (t.LATENCY, partial(collapsed, waiting=5, later=1), 3000, 0, SLOW_UNTIL + 600),
        "it is given up two windows after nothing waits any more": (
            t.LATENCY, lambda at: collapsed(at, waiting=5 if at < 2400 else 0), 3900, 2400 + 2 * 600 - 15, 2400 + 2 * 600 - 15,
        ),
        "a request that waits now and then holds none open: a model that is hardly used has not collapsed": (
            t.LATENCY, lambda at: collapsed(at, waiting=5 if at % 300 == 0 else 0), 3000, 0, SLOW_UNTIL + 1785,
        ),
        **{
            f"errors of few requests decide nothing: {of}": (t.ERROR_RATE, partial(few_requests, **{of: errors}), 1800, 615, 1800)
            for of, errors in FEW_ERRORS.items()
        },
    },
)  # fmt: skip
def test_how_long_a_fault_is_open(reason, page, until, *, least, most):
    """The error rate, or the latency, of a model without requests is unknown."""
    assert least <= last_time_open(page, reason, until) <= most


def test_few_requests_begin_no_fault():
    """Nor do they decide anything in the other direction."""
    pod = Scraped()
    pod.watch(lambda at: collapsed(at / 10, waiting=5), 1200)
    assert t.LATENCY not in pod.verdict.faults
    assert pod.verdict.why[t.LATENCY] == "too few requests were answered to tell, and others wait"


def test_refusals_that_are_answered_late_are_no_errors():
    """Admission control counts a refusal before it is answered, maybe before the window."""

    def refused(at):
        return 0.5 * min(max(at - 150, 0.0), 240.0)

    def page(at):
        answered = refused(at - 12)
        pod = {Counter.NOT_ADMITTED: refused, Counter.HTTP_ERRORS: lambda _: answered}
        return serving(at, pod={**pod, Counter.HTTP_REQUESTS: lambda at: 0.15 * at + answered})

    assert Scraped().first(t.ERROR_RATE, page) is None


class Told:
    """The samples of recorded pages, and which reasons were found, or held, after each."""

    def __init__(self, name, **settings):
        pod = Scraped(**settings)
        self.samples = {}
        self.reasons = {}
        before = frozenset()
        for at, body in load(recorded(name)).items():
            scrape = Scrape(at=START.after(at), page=read_page(body))
            sample = sample_of(TARGET, scrape, objectives(pod.settings))
            verdict = pod.judge(sample)
            before = verdict.faults.keys() | (verdict.inconclusive & before)
            self.samples[at], self.reasons[at] = sample.engines["0"], before

    def episodes(self, reason):
        """When a reason was reported without a break: first and last time of each episode."""
        spells = groupby(self.reasons, key=lambda at: reason in self.reasons[at])
        times = [list(each) for told, each in spells if told]
        return [(each[0], each[-1]) for each in times]

    def waiting(self):
        """When requests waited for room: first and last time."""
        times = [at for at, sample in self.samples.items() if sample.capacity]
        return times[0], times[-1]


def test_a_backlog_is_one_episode_of_a_full_cache():
    """It begins after a window of waiting, ends within one after it, and is the only reason."""
    told = Told("backlog")
    first, last = told.waiting()
    ((began, ended),) = told.episodes(t.KV_CACHE)
    window = Scraped().settings.window_seconds(t.KV_CACHE)
    assert first + window <= began <= first + 1.25 * window
    assert last <= ended <= last + window
    alone = {reason for each in told.reasons.values() if t.KV_CACHE not in each for reason in each}
    assert alone - {t.BACKLOG, t.LATENCY} == set()


def test_the_full_cache_swings_as_each_preemption_frees_blocks():
    """So usage alone does not show that it is full: hence the rule above."""
    told = Told("backlog")
    first, last = told.waiting()
    usage = [sample.kv_usage for at, sample in told.samples.items() if first <= at <= last]
    full = Scraped().settings.threshold(t.KV_USAGE)
    assert min(usage) < 0.9 * full
    assert max(usage) >= full


@pytest.mark.parametrize("share", [0.25, 0.45, 0.5, 0.6])
def test_preemptions_of_a_steady_load_do_not_come_and_go(share):
    """However close to the limit: once reported, they are reported as long as the load lasts."""
    told = Told("preempting", runtime_threshold={t.PREEMPTED_SHARE.name: share})
    ((_, ended),) = told.episodes(t.PREEMPTION)
    assert ended == max(told.reasons)
    assert not told.episodes(t.KV_CACHE)


def test_late_answers_go_on_while_requests_wait_and_none_finishes():
    """The engine hangs under load: the absence of answers is not a recovery."""
    name, window = FullEvaluationSettings.metrics_name(t.LATENCY), 90
    told = Told("collapse", grace={name: window}, runtime_threshold={t.TTFT_SECONDS.name: 1})
    ((_, ended),) = told.episodes(t.LATENCY)
    finished = [
        (sample.counters[Counter.FINISHED].value, at) for at, sample in told.samples.items()
    ]
    hung_since = min(at for value, at in finished if value == finished[-1][0])
    # The window runs empty, and what is only inconclusive is given up two windows later.
    assert ended == max(told.reasons) > hung_since + 3 * window


# Engines over time, from files: one line for each scrape.
SERIES = Path(__file__).parents[3] / "data" / "series"


def series(name: str):
    """The page of a pod at each time that a file has a line for."""
    found = _rows(name)
    return lambda at: _page(at, found[at])


def last_time(name: str) -> int:
    """The time of the last line of a file."""
    return int(max(_rows(name)))


@cache
def _rows(name):
    lines = (SERIES / f"{name}.csv").read_text().splitlines()
    found = csv.DictReader(line for line in lines if not line.startswith("#"))
    return {
        float(row.pop("seconds")): {key: float(value) for key, value in row.items()}
        for row in found
    }


def _page(at, row):
    counters = {
        counter: constant(row[name]) for counter in Counter if (name := counter.name.lower()) in row
    }
    gauges = {name: row[name] for name in ("running", "kv_usage")}
    return serving(at, counters, waiting=row["waiting"], capacity=row["waiting"], **gauges)


def constant(value: float):
    return lambda _: value


def goes_on(pod, reason, page, *, since, until):
    """Tell whether a fault is found or held in each sample of a period."""
    states = []
    for at in range(since, until + 1, int(pod.period)):
        verdict = pod.see(at, **page(at))
        states.append(reason in verdict.faults or reason in verdict.inconclusive)
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
    """The window has calm samples at first; until it has none, preemptions are not another fault."""
    pod, page, calm = Scraped(), series("full_and_preempting"), Scraped().period * 20
    idle = page(0)["engines"]["0"].counters
    before = {name: constant(each.value) for name, each in idle.items()}
    pod.watch(lambda _: serving(0, before), calm - pod.period)
    found = pod.watch(lambda at: page(at - calm), calm + 600, calm)
    told = [at for at in found if t.KV_CACHE in found[at]]
    assert told[0] == calm + 300
    assert not [at for at in found if t.PREEMPTION in found[at] and at not in told]


def test_preemptions_wait_for_a_longer_window_of_the_full_cache():
    """Otherwise they would be reported first, and the other reason after them."""
    name = FullEvaluationSettings.metrics_name(t.KV_CACHE)
    pod, page = Scraped(grace={name: 600}), series("full_and_preempting")
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
