"""What is read of the page of an endpoint picker, under the names of each of its releases."""

import pytest

from reporter.metrics.pages.reading import Count, read_page
from reporter.metrics.samples.sample import Counter, Endpoints, Scrape, sample_of
from tests.unit.metrics.pages.reading import PAGES
from tests.unit.probes.runtime.scraped import START, TARGET

ROUTER = (PAGES / "epp-router-metrics.txt").read_bytes()
FORMER = (PAGES / "epp-former-metrics.txt").read_bytes()


def sample_in(body: bytes):
    return sample_of(TARGET, Scrape(at=START, page=read_page(body)), {})


@pytest.mark.parametrize(
    ("page", "endpoints", "known", "counts"),
    [
        ("no-endpoints", 0, 2, {Counter.CHOICES: 4, Counter.FAILED_CHOICES: 0, Counter.PICKED: 4}),
        ("scheduling-failing", 2, 2, {Counter.CHOICES: 1360, Counter.FAILED_CHOICES: 1360, Counter.EXHAUSTED: 1360}),
        ("shedding", 2, 2, {Counter.QUEUED: 2280, Counter.SHED: 2227, Counter.EXHAUSTED: 2218}),
    ],
)  # fmt: skip
def test_what_a_real_picker_served(page, endpoints, known, counts):
    """Of release 1.5, in each state that a reason is about; a family that has not begun is not there."""
    sample = sample_in((PAGES / f"epp-1.5-{page}.txt").read_bytes())
    assert sample.endpoints == (endpoints, known)
    told = sample.pod.counters
    assert {name: each.value for name, each in told.items() if name in counts} == counts


@pytest.mark.parametrize(("body", "endpoints"), [(ROUTER, 2), (FORMER, 3)])
def test_a_page_under_either_name(body, endpoints):
    """Where both names stand on a page, they are the same number and not two."""
    assert sample_in(body).endpoints == Endpoints(endpoints, endpoints)
    assert read_page(body).reading.bad == 0


@pytest.mark.parametrize(
    ("body", "counts"),
    [
        (ROUTER, {Counter.QUEUED: 397, Counter.SHED: 25}),
        (FORMER, {Counter.QUEUED: 395, Counter.SHED: 25}),
    ],
)
def test_what_a_sample_keeps_of_it(body, counts):
    """Sums over models, clients and endpoints; outcomes from the queue's times where nothing else has them."""
    assert sample_in(body).pod.counters == {
        Counter.CHOICES: Count(384),
        Counter.FAILED_CHOICES: Count(4),
        Counter.PICKED: Count(400),
        Counter.EXHAUSTED: Count(12),
        **{name: Count(each) for name, each in counts.items()},
    }


def test_a_picker_is_no_engine():
    page = read_page(ROUTER)
    assert (page.vllm, page.sglang, page.router, dict(page.engines)) == (False, False, False, {})


@pytest.mark.parametrize(
    "body", [b"go_goroutines 12\n", b'inference_pool_ready_pods{name="a"} NaN\n']
)
def test_what_a_page_does_not_tell_is_not_zero(body):
    """A picker of another make, or one that knows no pool, has no endpoints that could be missed."""
    sample = sample_in(body)
    assert sample.endpoints is None
    assert sample.pod.counters == {}
