"""Samples take no more memory than they may."""

from dataclasses import replace
from datetime import timedelta

import pytest

from reporter.daemon.pod_scraping import SampleStore
from reporter.metrics.pages.reader import PageLimits, UnreadablePage
from reporter.metrics.pages.reading import read_page
from reporter.metrics.samples import window
from reporter.metrics.samples.sample import Scrape
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


@pytest.fixture(name="dropped")
def _dropped():
    return []


def filled(dropped, samples, engines):
    """A store that was told of so many pages of one pod."""
    settings = FullEvaluationSettings(grace={"inferencesetSchedulerStuck": 3600})
    store = SampleStore(settings, timedelta(seconds=15), lambda: None, dropped=dropped.append)
    for number in range(samples):
        read = read_page(page(engines, number))
        store.scraped(TARGET, Scrape(at=at(15 * number), page=read))
    return store


def _other(number):
    return replace(TARGET, name=f"other-{number}", uid=f"uid-other-{number}")


def test_the_samples_of_one_pod_are_bounded(dropped, monkeypatch):
    """The oldest are given up, which is counted and said; the newest stays."""
    monkeypatch.setattr(window, "POD_BYTES", most := 2**18)
    store = filled(dropped, samples=20, engines=64)
    history = store.judged(TARGET.pod).history
    assert most / 2 < history.bytes <= most
    assert history.dropped == sum(dropped) > 0
    assert history.newest.at == at(15 * 19)
    assert len(history.sizes) == len(history.samples)


def test_the_samples_of_all_pods_are_bounded(dropped, monkeypatch):
    """Who takes the most gives up first: a small pod keeps its window."""
    monkeypatch.setattr(window, "ALL_BYTES", 2**20)
    store = filled(dropped, samples=10, engines=1)
    small = store.judged(TARGET.pod).history
    for number in range(30):
        changed = read_page(page(64, number))
        for pod in (1, 2):
            store.scraped(_other(pod), Scrape(at=at(200 + 15 * number), page=changed))
    kept = [store.judged(_other(pod).pod).history for pod in (1, 2)]
    assert sum(each.bytes for each in kept) <= 2**20
    assert all(each.dropped for each in kept)
    assert store.judged(TARGET.pod).history == small


def test_a_page_with_more_engines_than_nodes_have_ranks_is_refused():
    with pytest.raises(UnreadablePage, match="more than 64 engines"):
        read_page(page(65, 0))


def test_a_page_that_takes_too_long_to_read_is_refused():
    with pytest.raises(UnreadablePage, match="takes longer than"):
        read_page(page(64, 0), PageLimits(seconds=-1))
