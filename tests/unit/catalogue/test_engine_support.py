"""The table of reasons and engines, against the metric names of pages."""

import re

import pytest

from reporter.catalogue.runtime import RUNTIME_NAMES
from reporter.metrics.pages.reading import read_page
from reporter.metrics.samples.sample import Latency, Scrape, sample_of
from tests.engine.recording import RECORDED, load
from tests.unit.metrics.pages.reading import RUST, SGLANG, VLLM
from tests.unit.probes.runtime.scraped import START, TARGET, Scraped
from tools.pages import ENGINES, NO, YES

PAGES = {"vllm": VLLM, "rust": RUST, "sglang": SGLANG}


def not_told(body):
    """The reasons that a page does not have the numbers for."""
    sample = sample_of(TARGET, Scrape(at=START, page=read_page(body)), {Latency.TTFT: 10})
    pod = Scraped()
    pod.watch(lambda _: {"known": sample.known, "engines": sample.engines, "pod": sample.pod}, 600)
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


def version(release):
    """A release as numbers: 0.32.0 is one of 0.32."""
    return tuple(map(int, release.split(".")))[:2]


def says(condition, release):
    """Whether a release can raise what has a condition; None where that depends on how it is run."""
    since, until = (
        re.match(r"([0-9.]+) and later", condition),
        re.match(r"no release up to ([0-9.]+)", condition),
    )
    if since:
        return version(release) >= version(since[1])
    if until:
        return False if version(release) <= version(until[1]) else None
    return {YES: True, NO: False}.get(condition)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_page_that_a_release_served_has_what_the_table_says(path):
    missing = not_told(list(load(path).values())[-1])
    _, release, _ = path.stem.split("-")
    wrong = {
        reason: row.vllm
        for reason, row in ENGINES.items()
        if says(row.vllm, release) not in {None, reason not in missing}
    }
    assert wrong == {}


@pytest.mark.parametrize(
    ("condition", "release", "can"),
    [
        (YES, "0.28.0", True),
        (NO, "0.33.0", False),
        ("0.32 and later, or else", "0.32.0", True),
        ("0.32 and later, or else", "0.31.0", False),
        ("no release up to 0.33, only others", "0.33.1", False),
        ("no release up to 0.33, only others", "0.34.0", None),
        ("with a flag", "0.32.0", None),
    ],
)
def test_which_release_a_condition_means(condition, release, can):
    assert says(condition, release) is can
