"""The demo checks itself; here all of its stories are told quickly."""

import pytest

from reporter.demo.main import STORIES, run_demo


@pytest.mark.parametrize("scenario", STORIES)
async def test_every_expected_event_comes_and_no_other(scenario, capsys):
    """As `status-reporter demo --fast --scenario ...`."""
    assert await run_demo(scenario, fast=True) == 0
    assert "# Every expected Event came, and no other" in capsys.readouterr().out
