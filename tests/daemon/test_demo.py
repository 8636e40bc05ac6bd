"""The demo checks itself; here all of its stories are told quickly, and somebody looks at the page."""

import pytest

from reporter.demo.daemon import daemon, page_in
from reporter.demo.main import STORIES, run_demo
from tests.daemon.onlooker import Onlooker


@pytest.mark.parametrize("scenario", STORIES)
async def test_every_expected_event_comes_and_no_other(scenario, capsys):
    """As `status-reporter demo --fast --scenario ...`; the page tells each step too."""
    onlooker = Onlooker()
    assert await run_demo(scenario, fast=True, onlooker=onlooker) == 0
    told = capsys.readouterr().out
    assert "# Every expected Event came, and no other" in told
    assert f"\n# page:    {onlooker.url}\n" in told
    assert onlooker.steps == len(STORIES[scenario].steps)


async def test_a_daemon_that_does_not_start_is_noticed_at_once(tmp_path):
    """Its log says why."""
    log = tmp_path / "log"
    async with daemon(["--nonsense"], log) as page:
        assert page is None
    assert "--nonsense" in log.read_text()


@pytest.mark.parametrize(
    ("log", "page"),
    [
        ("", None),
        ('{"event": "listening", "setting": "metrics-bind-address", "address": "*:1"}', None),
        ('Warning\n{"setting": "report-bind-address", "addr', None),
        (
            '{"event": "x"}\n{"setting": "report-bind-address", "address": "127.0.0.1:5"}\n{"',
            "http://127.0.0.1:5/",
        ),
    ],
)
def test_the_page_is_where_the_log_says(log, page):
    """The log may be read while a line is being written."""
    assert page_in(log) == page
