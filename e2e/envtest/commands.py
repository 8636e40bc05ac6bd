"""Access to an API server, and the programs that use it: kubectl and helm, as an operator runs them."""

import shutil
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from lab.sandbox.objects import JSON


class EnvtestError(Exception):
    """The control plane, or a program used on it, could not do what a test needs."""


@dataclass(frozen=True)
class Access:
    """What a client needs; the token does not appear in messages.

    Attributes:
        url: of the API server, such as `https://127.0.0.1:6443`.
        authority: PEM file of the certificate authority.
        token: bearer token.
    """

    url: str
    authority: Path
    token: str = field(repr=False)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def tls(self) -> ssl.SSLContext:
        """A TLS context that trusts only the authority."""
        return ssl.create_default_context(cafile=str(self.authority))

    def write_kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig that only its owner may read, and return its path."""
        name = "envtest"
        cluster = {"server": self.url, "certificate-authority": str(self.authority)}
        path.touch(mode=0o600)
        path.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": name, "cluster": cluster}],
                    "users": [{"name": name, "user": {"token": self.token}}],
                    "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
                    "current-context": name,
                }
            )
        )
        return path


def run(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> str:
    """Run a command and return its output; an error has the end of it."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=cwd)
    if done.returncode:
        said = (done.stdout + done.stderr)[-4000:]
        raise EnvtestError(f"{' '.join(command)}: status {done.returncode}\n{said}")
    return done.stdout


def filled(value: JSON, words: Mapping[str, object]) -> JSON:
    """Return arguments or settings with their words in place of `{word}`."""
    if isinstance(value, dict):
        return {key: filled(each, words) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, words) for each in value]
    return value.format_map(words) if isinstance(value, str) else value


def poll(condition: Callable[[], object], failure: str, seconds: float) -> None:
    """Wait until a condition holds, or raise the failure."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise EnvtestError(failure)
        time.sleep(0.05)


@dataclass(frozen=True)
class Command:
    """A program with the arguments that every call has."""

    program: Path
    always: tuple[str, ...] = ()

    def __call__(self, *arguments: str, stdin: str | None = None) -> str:
        """Run it and return its output."""
        done = self.run(*arguments, stdin=stdin)
        if done.returncode:
            called = " ".join((self.program.name, *arguments))
            raise EnvtestError(f"{called}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def run(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.program, *self.always, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )


def kubectl(program: Path, kubeconfig: Path) -> Command:
    return Command(program, ("--kubeconfig", str(kubeconfig)))


def helm(kubeconfig: Path | None = None) -> Command:
    """Return helm: the one in the project's environment, or else the machine's."""
    own = Path(sys.executable).with_name("helm")
    found = own if own.exists() else shutil.which("helm")
    if found is None:
        raise EnvtestError("no helm: run `make setup`, which installs it")
    always = ("--kubeconfig", str(kubeconfig)) if kubeconfig else ()
    return Command(Path(found), always)
