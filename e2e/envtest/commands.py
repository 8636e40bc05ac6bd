"""kubectl and helm, as an operator would run them."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from e2e.envtest.errors import EnvtestError


@dataclass(frozen=True)
class Command:
    """A program with the arguments that every call has.

    Attributes:
        program: its path.
        always: arguments in front of those of a call.
    """

    program: Path
    always: tuple[str, ...] = ()

    def __call__(self, *arguments: str, stdin: str | None = None) -> str:
        """Run it and return its output.

        Raises:
            EnvtestError: it failed; the message has its output.
        """
        done = self.run(*arguments, stdin=stdin)
        if done.returncode:
            called = " ".join((self.program.name, *arguments))
            raise EnvtestError(f"{called}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def run(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run it, whatever its exit status."""
        return subprocess.run(
            [self.program, *self.always, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )


def kubectl(program: Path, kubeconfig: Path) -> Command:
    """Return kubectl for a cluster."""
    return Command(program, ("--kubeconfig", str(kubeconfig)))


def helm(kubeconfig: Path | None = None) -> Command:
    """Return helm: the one in the project's environment, or else the machine's.

    Raises:
        EnvtestError: helm is missing.
    """
    own = Path(sys.executable).with_name("helm")
    found = own if own.exists() else shutil.which("helm")
    if found is None:
        raise EnvtestError("no helm: run `make setup`, which installs it")
    always = ("--kubeconfig", str(kubeconfig)) if kubeconfig else ()
    return Command(Path(found), always)
