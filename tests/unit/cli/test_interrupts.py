"""Ctrl-C: no traceback, whatever the program is at."""

import asyncio
import signal
import subprocess
import sys

import pytest

from tests.unit.kube.scripted import kubeconfig, serving

INTERRUPTED_AT = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupt())
sys.argv[1:] = {argv!r}
from reporter.entry import main, plugin
sys.exit({start}())
"""


@pytest.mark.parametrize(
    ("start", "argv", "module"),
    [
        ("main", ["explain"], "reporter.cli.main"),
        pytest.param("main", ["check"], "pydantic", marks=pytest.mark.long),
        ("main", ["check"], "reporter.kube.client"),
        pytest.param("main", ["dump"], "reporter.kube.collecting", marks=pytest.mark.long),
        pytest.param("main", ["run"], "reporter.daemon.main", marks=pytest.mark.long),
        ("plugin", [], "reporter.cli.kubectl"),
        pytest.param("plugin", ["--watch"], "aiohttp", marks=pytest.mark.long),
    ],
)
def test_while_it_is_imported(start, argv, module):
    """It dies of the signal without a word, as a shell expects."""
    code = INTERRUPTED_AT.format(module=module, argv=argv, start=start)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


@pytest.mark.parametrize(
    ("argv", "status"),
    [
        (["check"], -signal.SIGINT),
        pytest.param(["dump"], -signal.SIGINT, marks=pytest.mark.long),
        pytest.param(["run", "--metrics-bind-address=0", "--health-probe-bind-address=0",
                      "--report-bind-address=0", "--log-level=error"], 0, marks=pytest.mark.long),
    ],
)  # fmt: skip
async def test_while_it_waits_for_the_api_server(tmp_path, argv, status):
    """A look dies of the signal; the daemon ends as it should."""
    asked = asyncio.Event()

    async def hang(_request):
        asked.set()
        await asyncio.Event().wait()

    async with serving(hang) as url:
        path = kubeconfig(tmp_path / "config", url)
        code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        code += "from reporter.entry import main; sys.exit(main())"
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", code, *argv, "--kubeconfig", str(path)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        await asked.wait()
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
    assert (process.returncode, err) == (status, b"")
