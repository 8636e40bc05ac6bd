"""What is told of a pod as a whole: scrapes that fail, pages without vLLM, restarts."""

from dataclasses import replace

import pytest

from reporter.catalogue import runtime as t
from reporter.metrics.looks.look import ContainerRun, Counter, Failure
from tests.unit.probes.runtime.scraped import LOADING, NOON, TARGET, Scraped, seconds, serving

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
    """One that changes its kind from scrape to scrape writes no new message each time."""
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
    """A pod whose container is not there for 30 s, and then not Ready for a minute."""

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
    ("counters that fall", lambda at: serving(
        at, {Counter.GENERATED_TOKENS: lambda at: at % 150}, started=None), 450),
    ("counters that fall in one process", lambda at: serving(
        at, {Counter.GENERATED_TOKENS: lambda at: at % 150}), 450),
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
    """A daemon that has just started has not seen any, and ends no episode for that."""
    pod = Scraped()
    pod.watch(serving, 585)
    assert t.ENGINE_RESTARTING in pod.verdict.undecided
    pod.watch(serving, 600, 600)
    assert t.ENGINE_RESTARTING not in pod.verdict.doubts


def test_few_attempts_that_fail_are_in_doubt_only_if_nothing_else_was_seen():
    """A restarted daemon ends no episode for them; after a good page they are no fault yet."""
    pod = Scraped()
    pod.watch(fails, 105)
    assert t.SCRAPE_FAILING in pod.verdict.undecided
    pod = Scraped()
    pod.watch(lambda at: fails(at, 0), 105)
    assert t.SCRAPE_FAILING not in {*pod.verdict.faults, *pod.verdict.doubts}
