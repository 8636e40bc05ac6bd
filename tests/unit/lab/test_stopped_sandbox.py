"""A sandbox that ends says how to start it again."""

import re
import shlex
import signal
import subprocess
import sys

import yaml

from tests.unit.cli.plugin import ROOT
from tests.unit.conftest import EXAMPLES


def _served(flags, folder):
    """Start a sandbox, stop it at once, and return its kubeconfig and what it said at the end."""
    command = [sys.executable, "-m", "reporter", "sandbox", *flags]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    ) as server:
        server.stdout.readline()
        kubeconfig = yaml.safe_load((folder / "kc.yaml").read_text())
        server.send_signal(signal.SIGTERM)
        _, err = server.communicate(timeout=60)
    assert server.returncode == 0
    return kubeconfig, err


def test_what_it_says_starts_it_again_with_the_same_data_and_address(tmp_path):
    """The kubeconfig that somebody has goes on to work."""
    flags = ["--from", str(EXAMPLES / "healthy-stack"), "--kubeconfig", "kc.yaml"]
    before, said = _served(flags, tmp_path)
    assert said.startswith("Stopped; what was changed is gone.")
    again = shlex.split(re.search(r"^status-reporter sandbox (.*)$", said, re.MULTILINE)[1])
    assert again[:2] == flags[:2]
    after, _ = _served(again, tmp_path)
    assert after == before
