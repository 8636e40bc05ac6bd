"""The commands that run until they are stopped, as processes of their own."""

import signal
import subprocess
import sys
from urllib.request import urlopen

PROGRAM = [sys.executable, "-m", "reporter"]


def test_the_sandbox_serves_a_dump_until_it_is_stopped(healthy, tmp_path):
    """It prints its URL, writes a kubeconfig, and SIGTERM ends it with 0."""
    kubeconfig = tmp_path / "kubeconfig"
    command = [*PROGRAM, "sandbox", "--from", healthy, "--kubeconfig", kubeconfig]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sandbox:
        try:
            url = sandbox.stdout.readline().strip()
            with urlopen(f"{url}/apis/kaito.sh/v1beta1/inferencesets") as answer:
                assert b"llama-3-1-8b" in answer.read()
            assert url in kubeconfig.read_text()
        finally:
            sandbox.send_signal(signal.SIGTERM)
        assert sandbox.wait(timeout=30) == 0
