"""The daemon in the container, against the checkout's sandbox: it becomes ready, a signal ends it."""

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGTERM
from typing import Final

from image.check.container import Container, Process
from image.check.facts import FactError, require

STACK: Final = Path("examples/healthy-stack")
READY_SECONDS: Final = 60.0
END_SECONDS: Final = 20.0
"""Less than the 30 s that Kubernetes gives before it kills."""


def ends_on_sigterm(container: Container) -> str:
    """`run` gets ready and, as process 1, ends with 0 when it gets SIGTERM."""
    port = _free_port()
    with _sandbox(container.mounted):
        began = time.monotonic()
        process = container.start(
            "run", "--kubeconfig=/mnt/kubeconfig", "--metrics-bind-address=0",
            "--report-bind-address=0", f"--health-probe-bind-address=127.0.0.1:{port}",
        )  # fmt: skip
        try:
            _wait_until_ready(port, process)
            ready_after = time.monotonic() - began
            process.signal(SIGTERM)
            status, output = process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            raise FactError(f"still running {END_SECONDS:.0f} s after SIGTERM") from None
        finally:
            process.kill()
    require(status == 0, f"exit status {status}: {output}")
    return f"ready after {ready_after:.1f} s; exit status 0"


@contextmanager
def _sandbox(mounted: Path) -> Iterator[None]:
    """Serve the healthy stack outside the container, with a kubeconfig that it can read.

    The image has no sandbox; this is the one that `make setup` installed.
    """
    kubeconfig = mounted / "kubeconfig"
    command = ("sandbox", "--from", str(STACK), "--kubeconfig", str(kubeconfig))
    with subprocess.Popen(  # noqa: S603  # our own words
        [sys.executable, "-m", "reporter", *command], stdout=subprocess.PIPE, text=True
    ) as sandbox:
        try:
            # It prints how to use the kubeconfig once that is written.
            started = sandbox.stdout is not None and bool(sandbox.stdout.readline())
            require(started, "the sandbox did not start; it has said why")
            kubeconfig.chmod(0o644)
            yield
        finally:
            sandbox.terminate()


def _wait_until_ready(port: int, process: Process) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and process.outside.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    process.kill()
    raise FactError(f"not ready: {process.wait()[1]}")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
