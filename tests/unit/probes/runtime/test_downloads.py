"""A slow download, a stalled one, and everything that looks like them."""

from dataclasses import replace
from itertools import product

import pytest

from reporter.catalogue.runtime import DOWNLOAD_SLOW, DOWNLOAD_STALLED
from reporter.metrics.samples.sample import ContainerRun, Failure
from tests.unit.probes.runtime.scraped import (
    LOADING,
    NOON,
    TARGET,
    Scraped,
    loading,
    seconds,
    serving,
)

NEVER = None


def slow(at=0, speed=10e6, remaining=500):
    return loading(speed, remaining)


def young(fields, at=0):
    return fields | {"target": replace(LOADING, created=NOON - seconds(at))}


def restarted(fields, count):
    return fields | {"target": replace(LOADING, containers=(ContainerRun("main", count, NOON),))}


SLOW = [
    ("sustained", slow, 60),
    ("of unknown length", lambda _: loading(10e6, -1), 60),
    ("exactly fast enough", lambda _: loading(20e6, 500), NEVER),
    ("nearly fast enough", lambda _: loading(19_999_999, 500), 60),
    ("fast once", lambda at: loading(20e6 if at == 30 else 10e6, 500), 105),
    ("fast each minute", lambda at: loading(10e6 if at % 60 else 30e6, 500), NEVER),
    ("finished, frozen speed", lambda _: loading(10e6, 0), NEVER),
    ("cached", lambda _: loading(0, 0), NEVER),
    ("streamed", lambda _: loading(0, -1), NEVER),
    ("seems finished for a moment", lambda at: loading(1e6, 500 if at >= 30 else 0), 90),
    ("near its end", lambda _: loading(10e6, 60), NEVER),
    ("not so near", lambda _: loading(10e6, 61), 60),
    ("finishes in the window", lambda at: loading(10e6, 100 - at if at < 100 else 0), NEVER),
    ("stands still after something arrived", lambda at: loading(10e6 if at < 15 else 0, -1), 60),
    ("the pod is Ready", lambda at: slow() | {"target": TARGET}, NEVER),
    ("the engine is up", lambda at: serving(at) | loading(10e6, 500), NEVER),
    ("no download page", lambda _: {"target": LOADING}, NEVER),
    ("speed is no number", lambda _: loading(None, 500), NEVER),
    ("time left is no number", lambda _: loading(10e6, None), NEVER),
    ("no page", lambda _: {"target": LOADING, "failure": Failure.TIMEOUT}, NEVER),
    ("one page fails", lambda at: {"target": LOADING, "failure": Failure.TIMEOUT} if at == 30 else slow(), 60),
    ("two pages in a row fail", lambda at: {"target": LOADING, "failure": Failure.TIMEOUT} if at in {15, 30} else slow(), 105),
    ("restarts", lambda at: restarted(slow(), int(at // 60)), NEVER),
    ("restarted once", lambda at: restarted(slow(), int(at >= 45)), 105),
    ("another pod each minute", lambda at: slow() | {"target": replace(LOADING, uid=str(at // 60))}, NEVER),
]  # fmt: skip


@pytest.mark.parametrize(("page", "when"), [pytest.param(*row[1:], id=row[0]) for row in SLOW])
def test_slow_download(page, when):
    assert Scraped().first(DOWNLOAD_SLOW, page, 600) == when


def test_one_good_sample_clears_it():
    pod = Scraped()
    assert pod.first(DOWNLOAD_SLOW, slow, 60) == 60
    assert DOWNLOAD_SLOW not in pod.see(75, **loading(20e6, 400)).faults
    assert DOWNLOAD_SLOW not in pod.verdict.doubts


@pytest.mark.parametrize("then", [serving(75), loading(10e6, 0), loading(0, 0), {}])
def test_the_end_of_the_download_clears_it(then):
    pod = Scraped()
    pod.watch(slow, 60)
    pod.see(75, **then)
    assert DOWNLOAD_SLOW not in {*pod.verdict.faults, *pod.verdict.doubts}


def test_a_page_that_fails_neither_clears_nor_counts():
    pod = Scraped()
    pod.watch(slow, 60)
    pod.see(75, target=LOADING, failure=Failure.TIMEOUT)
    assert DOWNLOAD_SLOW in pod.verdict.inconclusive
    pod.see(90, **slow(speed=30e6))
    assert DOWNLOAD_SLOW not in {*pod.verdict.faults, *pod.verdict.doubts}


def found_with(period, jitter):
    """When a slow download is found if it is scraped at this interval, with jitter."""
    pod = Scraped(period=period)
    times = (n * period + jitter * (n % 3) for n in range(40))
    return next(at for at in times if DOWNLOAD_SLOW in pod.see(at, **slow()).faults)


def test_found_at_any_interval_with_any_jitter():
    """The window is full although no two samples are exactly its length apart."""
    found = {
        key: found_with(*key) for key in product([5, 10, 15, 20, 30, 60], [0.0, 0.001, 0.2, 0.9])
    }
    assert {key: at for key, at in found.items() if not 60 <= at <= 60 + 2 * key[0]} == {}


@pytest.mark.parametrize(
    ("settings", "when"),
    [
        ({"weight_download_window_seconds": 120}, 120),
        ({"weight_download_window_seconds": 1}, 15),
        ({"weight_download_min_mbps": 5}, NEVER),
        ({"weight_download_min_mbps": 10.1}, 60),
        ({"weight_download_min_mbps": 0}, NEVER),
        ({"disable_reasons": "runtime"}, 60),
    ],
)
def test_settings(settings, when):
    """A single sample is not a window, however short it is."""
    assert Scraped(**settings).first(DOWNLOAD_SLOW, slow, 600) == when


def test_message_has_the_fastest_sample():
    pod = Scraped()
    pod.watch(lambda at: loading(4e6 if at == 30 else 3e6, 5000), 60)
    fault = pod.verdict.faults[DOWNLOAD_SLOW]
    assert fault.text == "has downloaded its weights at 4.0 MB/s at most for 60 s, below 20 MB/s"
    assert fault.cause == "4.0 MB/s"
    assert fault.since == NOON


STALLED = [
    ("for long", lambda _: loading(0, -1), 180),
    ("after something arrived", lambda at: young(loading(0 if at else 5e6, -1)), 195),
    ("a young pod", lambda _: young(loading(0, -1)), 315),
    ("a pod of four minutes", lambda _: young(loading(0, -1), 240), 180),
    ("cached", lambda _: loading(0, 0), NEVER),
    ("trickles", lambda _: loading(1, -1), NEVER),
    ("trickles at times", lambda at: loading(at % 120 == 0, -1), NEVER),
    ("Ready", lambda _: loading(0, -1) | {"target": TARGET}, NEVER),
    ("the engine is up", lambda at: serving(at) | loading(0, -1), NEVER),
    ("restarts", lambda at: restarted(loading(0, -1), int(at // 150)), NEVER),
]


@pytest.mark.parametrize(("page", "when"), [pytest.param(*row[1:], id=row[0]) for row in STALLED])
def test_download_that_stands_still(page, when):
    assert Scraped().first(DOWNLOAD_STALLED, page, 600) == when
