"""Programs of the host."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from e2e.envtest.errors import EnvtestError


def run(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> str:
    """Run a command and return its output.

    Raises:
        EnvtestError: it failed; the message has its output.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=cwd)
    if done.returncode:
        said = (done.stdout + done.stderr)[-3000:]
        raise EnvtestError(f"{' '.join(command)}: status {done.returncode}\n{said}")
    return done.stdout


def say(text: str) -> None:
    """Print the progress."""
    print(f"cluster: {text}", file=sys.stderr, flush=True)
