"""The table of reasons and engines, against the metric names of pages."""

import pytest

from reporter.catalogue.engine_support import ENGINES, NO, YES
from reporter.catalogue.runtime import RUNTIME_NAMES
from reporter.metrics.looks.look import Latency
from reporter.metrics.looks.look_of_page import look_at
from reporter.metrics.looks.scrape import Scrape
from reporter.metrics.pages.reading import read_page
from tests.unit.metrics.pages.reading import RUST, SGLANG, VLLM
from tests.unit.probes.runtime.scraped import START, TARGET, Scraped

PAGES = {"vllm": VLLM, "rust": RUST, "sglang": SGLANG}


def not_told(body):
    """The reasons that a page does not have the numbers for."""
    look = look_at(TARGET, Scrape(at=START, page=read_page(body)), {Latency.TTFT: 10})
    pod = Scraped()
    pod.watch(lambda _: {"known": look.known, "engines": look.engines, "pod": look.pod}, 600)
    return {
        reason for reason, why in pod.verdict.why.items() if "does not have what the rule" in why
    }


def test_every_reason_about_serving_is_in_the_table():
    assert list(ENGINES) == list(RUNTIME_NAMES)


@pytest.mark.parametrize("engine", PAGES)
def test_page_has_what_the_table_says(engine):
    """Under a condition it may have it; the page of a test meets some and not others."""
    said = {reason: getattr(row, engine) for reason, row in ENGINES.items()}
    missing = not_told(PAGES[engine])
    assert {reason for reason in missing if said[reason] == YES} == set()
    assert {reason for reason in said.keys() - missing if said[reason] == NO} == set()
