"""The demo checks itself; here all of its stories are told quickly, and somebody looks at the page."""

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lab.demo.daemon import daemon, page_in
from lab.demo.main import STORIES, run_demo
from tests.daemon.onlooker import Onlooker

SECONDS = 30.0


@pytest.mark.long
@pytest.mark.parametrize("scenario", STORIES)
async def test_every_expected_event_comes_and_no_other(scenario, capsys):
    """As `status-reporter demo --fast --scenario ...`; the page tells each step too."""
    onlooker = Onlooker()
    assert await run_demo(scenario, fast=True, onlooker=onlooker) == 0
    told = capsys.readouterr().out
    assert "# Every expected Event came, and no other" in told
    assert f"\n# page:    {onlooker.url}\n" in told
    assert onlooker.steps == len(STORIES[scenario].steps)


def test_a_demo_that_is_killed_leaves_nothing_behind():
    """Neither its daemon nor its folder, as with Ctrl-C."""
    command = [sys.executable, "-m", "reporter", "demo", "--fast", "--keep"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        told = "".join(iter_until(demo.stdout, "# page:"))
        folder = Path(re.search("--kubeconfig=(.*)/", told)[1])
        assert folder.is_dir()
        demo.terminate()
        demo.communicate(timeout=SECONDS)
    assert demo.returncode == 128 + signal.SIGTERM
    assert not folder.exists()
    port = int(re.search(r"# page: .*:(\d+)/", told)[1])
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def iter_until(lines, start):
    """Yield lines up to the first that begins so."""
    for line in lines:
        yield line
        if line.startswith(start):
            return


async def test_a_daemon_that_does_not_start_is_noticed_at_once(tmp_path):
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
        ('{"event": "x"}\n{"setting": "report-bind-address", "address": "127.0.0.1:5"}\n{"', "http://127.0.0.1:5/"),
    ],
)  # fmt: skip
def test_the_page_is_where_the_log_says(log, page):
    """The log may be read while a line is being written."""
    assert page_in(log) == page
