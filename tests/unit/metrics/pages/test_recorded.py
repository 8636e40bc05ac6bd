"""The reader and prometheus-client make the same of pages that real engines served (`make engine-check`)."""

import pytest

from reporter.metrics.pages.names import WANTED
from reporter.metrics.pages.reading import read_page
from tests.engine.recording import RECORDED, load
from tests.unit.metrics.pages.reading import all_names, ours, theirs

NAMES = tuple(name.decode() for name in WANTED)
EVERY = 8


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded_pages(path):
    """The wanted names, and all; no line is bad, and the page is one of vLLM."""
    pages = list(load(path).values())
    for body in pages[::EVERY]:
        for names in (NAMES, all_names(body)):
            assert sorted(ours(body, *names)) == sorted(theirs(body, *names)) != []
        page = read_page(body)
        assert (page.vllm, page.reading.bad, list(page.engines)) == (True, 0, ["0"])


def test_there_are_recorded_pages():
    """Else nothing is held to them."""
    assert RECORDED
