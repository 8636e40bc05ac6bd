"""What a daemon loads."""

import os
import subprocess
import sys

NOT_NEEDED = {
    "dateutil", "dotenv", "httpx", "jinja2", "mcp", "multiprocessing", "pydantic_settings",
    "reporter.cli.check", "reporter.cli.rendering", "reporter.snapshot.documents",
    "reporter.snapshot.inputs", "tarfile", "urllib3",
}  # fmt: skip
"""Together they would take 10 MB and a quarter of a second."""

START = """\
import sys
from reporter.cli.configure import settings_from
from reporter.cli.run import command_parser
settings_from(command_parser().parse([]))
import reporter.daemon.main
from reporter.kube.credentials import library
library()
print(*sys.modules)
"""


def test_run_loads_what_a_daemon_needs_and_nothing_else():
    environment = {
        name: value for name, value in os.environ.items() if "STATUS_REPORTER" not in name
    }
    done = subprocess.run(
        [sys.executable, "-c", START], env=environment, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert {"reporter.daemon.main", "pydantic", "aiohttp"} <= loaded
    assert NOT_NEEDED & loaded == set()
