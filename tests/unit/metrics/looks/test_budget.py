"""Looks take no more memory than they may."""

from dataclasses import replace
from datetime import timedelta

import pytest

from reporter.daemon.pod_scraping import SampleStore
from reporter.metrics.looks import window
from reporter.metrics.looks.look import Scrape
from reporter.metrics.pages.reader import PageLimits, UnreadablePage
from reporter.metrics.pages.reading import read_page
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.building import at
from tests.unit.probes.runtime.scraped import TARGET


def page(engines, value):
    """A page of so many engines, each of whose numbers is another one each time."""
    lines = [
        f'vllm:{name}{{engine="{number}"}} {value + number}'
        for number in range(engines)
        for name in (
            "num_requests_running",
            "num_requests_waiting",
            "generation_tokens_total",
            "prompt_tokens_total",
        )
    ]
    return ("\n".join(lines) + "\n").encode()


@pytest.fixture(name="gave_up")
def _gave_up():
    return []


def filled(gave_up, looks, engines):
    """A store that was told of so many pages of one pod."""
    settings = FullEvaluationSettings(runtime_window={"inferencesetSchedulerStuck": 3600})
    store = SampleStore(settings, timedelta(seconds=15), lambda: None, gave_up=gave_up.append)
    for number in range(looks):
        read = read_page(page(engines, number))
        store.scraped(TARGET, Scrape(at=at(15 * number), page=read))
    return store


def _other(number):
    return replace(TARGET, name=f"other-{number}", uid=f"uid-other-{number}")


def test_the_looks_at_one_pod_are_bounded(gave_up, monkeypatch):
    """The oldest are given up, which is counted and said; the newest stays."""
    monkeypatch.setattr(window, "POD_BYTES", most := 2**18)
    store = filled(gave_up, looks=20, engines=64)
    history = store.judged(TARGET.pod).history
    assert most / 2 < history.bytes <= most
    assert history.given_up == sum(gave_up) > 0
    assert history.newest.at == at(15 * 19)
    assert len(history.sizes) == len(history.looks)


def test_the_looks_at_all_pods_are_bounded(gave_up, monkeypatch):
    """Who takes the most gives up first: a small pod keeps its window."""
    monkeypatch.setattr(window, "ALL_BYTES", 2**20)
    store = filled(gave_up, looks=10, engines=1)
    small = store.judged(TARGET.pod).history
    for number in range(30):
        changed = read_page(page(64, number))
        for pod in (1, 2):
            store.scraped(_other(pod), Scrape(at=at(200 + 15 * number), page=changed))
    kept = [store.judged(_other(pod).pod).history for pod in (1, 2)]
    assert sum(each.bytes for each in kept) <= 2**20
    assert all(each.given_up for each in kept)
    assert store.judged(TARGET.pod).history == small


def test_a_page_with_more_engines_than_nodes_have_ranks_is_refused():
    with pytest.raises(UnreadablePage, match="more than 64 engines"):
        read_page(page(65, 0))


def test_a_page_that_takes_too_long_to_read_is_refused():
    with pytest.raises(UnreadablePage, match="takes longer than"):
        read_page(page(64, 0), PageLimits(seconds=-1))
