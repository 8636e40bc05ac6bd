"""The commands that run until they are stopped, as processes of their own."""

import os
import signal
import subprocess
import sys
from urllib.request import urlopen

import pytest

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


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--kubeconfig", "nowhere"], "nowhere"),
        (["--config", "nowhere"], "--config nowhere: no such file"),
        (["--lease-duration-seconds", "5"], "--lease-duration-seconds: '5' is not allowed"),
    ],
)
def test_a_daemon_that_cannot_start_says_why(tmp_path, argv, says):
    """Status 2 and one line, no traceback."""
    environment = {key: value for key, value in os.environ.items() if "KUBE" not in key}
    done = subprocess.run(
        [*PROGRAM, "run", *argv],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
        timeout=60,
    )
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
