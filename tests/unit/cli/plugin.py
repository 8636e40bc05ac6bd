"""The plugin as it is installed: an executable on PATH that kubectl runs, and a sandbox to look at."""

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[3]
NAME = "kubectl-status_reporter"
SECONDS = 60.0

_INTERRUPTIBLE = (
    "import os, signal, sys\n"
    "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
    "os.execv(sys.argv[1], sys.argv[1:])\n"
)
"""A shell starts what it runs in the background with interrupts ignored, and so its children."""


def entry_point() -> tuple[str, str]:
    """Return module and function that the package registers for the executable."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, function = scripts[NAME].partition(":")
    return module, function


def install(folder: Path) -> Path:
    """Write the executable as pip does, with the interpreter of the tests."""
    module, function = entry_point()
    program = folder / NAME
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        f"from {module} import {function}\nsys.exit({function}())\n"
    )
    program.chmod(0o755)
    return program


@contextmanager
def sandbox(dump: Path, folder: Path) -> Iterator[Path]:
    """Serve a dump and yield the kubeconfig."""
    with served(dump, folder) as (_, kubeconfig):
        yield kubeconfig


@contextmanager
def served(dump: Path, folder: Path) -> Iterator[tuple[subprocess.Popen, Path]]:
    """Serve a dump and yield the server, to be killed if need be, and the kubeconfig."""
    kubeconfig = folder / "kubeconfig"
    command = [sys.executable, "-m", "reporter", "sandbox", "--from", dump]
    with subprocess.Popen(
        [*command, "--kubeconfig", kubeconfig], stdout=subprocess.PIPE, cwd=ROOT
    ) as server:
        server.stdout.readline()
        yield server, kubeconfig
        server.send_signal(signal.SIGTERM)


class Plugin:
    """Runs the plugin, through kubectl where the machine has one."""

    def __init__(self, bin_: Path, kubeconfig: Path, home: Path) -> None:
        self.environment = {
            "PATH": f"{bin_}:{os.environ['PATH']}",
            "HOME": str(home),
            "KUBECONFIG": str(kubeconfig),
        }
        kubectl = shutil.which("kubectl")
        self.command = [kubectl, "status-reporter"] if kubectl else [str(bin_ / NAME)]

    def __call__(self, *flags: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command, *flags],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )

    @contextmanager
    def running(self, *flags: str, output: int) -> Iterator[subprocess.Popen]:
        command = [sys.executable, "-c", _INTERRUPTIBLE, *self.command, *flags]
        with subprocess.Popen(
            command, env=self.environment, stdout=output, stderr=subprocess.PIPE
        ) as process:
            try:
                yield process
            finally:
                process.kill()


def read_until(descriptor: int, pattern: str) -> str:
    """Return what is written to a descriptor until it matches.

    Raises:
        AssertionError: it does not in time.

    """
    text, end = b"", time.monotonic() + SECONDS
    while not re.search(pattern, text.decode("utf-8", "ignore")):
        ready, _, _ = select.select([descriptor], [], [], max(0.0, end - time.monotonic()))
        assert ready, text.decode()
        read = os.read(descriptor, 65536)
        assert read, text.decode()
        text += read
    return text.decode("utf-8", "ignore")
