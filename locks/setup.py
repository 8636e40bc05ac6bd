"""Environments from a lock: each step is told while it lasts; a failure is a line that says what to do.

What takes the time is pip's, and pip tells it in pages: they are read for how far it is and for what
went wrong, and kept in a file. An environment that could not be filled is taken away again.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Final

from locks.pip import DEVELOPMENT, WHEELS, command, locked, sources

PROJECTS: Final = (Path(), Path("lab"))
"""What `make setup` installs to be worked on."""

ROOM: Final = 700_000_000
"""Bytes: the environment (400 MB), and wheels while they are unpacked."""

_MODULES: Final = ("venv", "ensurepip", "ssl")
_EVERY: Final = 5.0
"""Seconds between two lines where a line cannot be written over the one before."""
_POLL: Final = 0.3

_NEEDED: Final = (
    ("No space left on device|Disk quota exceeded", "the disk is full", "make room, and try again"),
    (
        "Permission denied: '([^']+)",
        "{0} cannot be written",
        "get the right to, or clone elsewhere",
    ),
    (
        "ProxyError|Tunnel connection failed|407 Proxy",
        "the proxy lets nothing through",
        "set HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT as your network wants it",
    ),
    (
        "CERTIFICATE_VERIFY_FAILED|SSLCertVerificationError",
        "the certificate of the package index is not trusted here",
        "name the file of your network's CA in PIP_CERT",
    ),
    (
        "(40[13]) Client Error",
        "the package index answers {0}",
        "put name and password into PIP_INDEX_URL or ~/.netrc",
    ),
    (
        "[Cc]onnection broken|NewConnectionError|NameResolutionError|[Rr]ead timed out|ReadTimeout",
        "the package index does not answer",
        "connect to the network; behind a proxy set HTTPS_PROXY, for a mirror PIP_INDEX_URL",
    ),
    (
        r"DO NOT MATCH THE HASHES[^\n]*\s+(\S+)",
        "{0} is not the file that was locked",
        "set PIP_INDEX_URL to an index that serves the original files",
    ),
    (
        r"No matching distribution found for (\S+)",
        "the package index has no {0} for this Python and processor",
        "set PYTHON to CPython 3.11 to 3.14, or PIP_INDEX_URL to a mirror that is not behind",
    ),
)
"""What pip says, what that means, and what to do; the first that fits."""


class SetupError(Exception):
    """The environment is not there; the message is a line that says what to do."""


def main(argv: list[str]) -> int:
    """Make an environment, install a lock into this one, or check that locks are complete."""
    match argv:
        case ["setup", venv]:
            return _told(lambda: make(Path(venv)))
        case ["install", lock]:
            return _told(lambda: install(Path(sys.executable), Path(lock)))
        case ["check"]:
            from locks.complete import check

            return check()
    sys.stderr.write("usage: python -m locks setup VENV | install LOCK | check\n")
    return 2


def _told(work: Callable[[], None]) -> int:
    try:
        work()
    except SetupError as error:
        _say(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        _say("interrupted\n")
        return 130
    return 0


def make(venv: Path) -> None:
    """Make the environment of `requirements-dev.lock` and of the projects of this checkout.

    Raises:
        SetupError: it could not be made; what was there before is still there.

    """
    _require(venv.absolute())
    began, new = time.monotonic(), not venv.exists()
    try:
        _say(f"making {venv}, once: about a minute, most of it for {DEVELOPMENT}\n")
        _run([sys.executable, "-m", "venv", str(venv)], "making the environment")
        python = venv / "bin" / "python"
        install(python, DEVELOPMENT)
        _run(_pip(python, *sources(*PROJECTS)), "installing the project itself")
    except BaseException:
        if new:
            shutil.rmtree(venv, ignore_errors=True)
        raise
    _say(f"{venv} is ready after {time.monotonic() - began:.0f} s\n")


def install(python: Path, lock: Path) -> None:
    """Install what a lock names into an environment.

    Raises:
        SetupError: pip failed; the message says what to do.

    """
    # What is imported is compiled then; to compile all of it took as long as to fetch it.
    progress = _Progress(lock, packages=python.parents[1])
    words = ("--progress-bar", "off", "--no-compile", WHEELS, *locked(lock))
    _run(_pip(python, *words), "", progress)


def _require(venv: Path) -> None:
    """Refuse what cannot end well, before anything is made."""
    for module in _MODULES:
        if find_spec(module) is None:
            raise SetupError(
                f"{sys.executable} has no module {module}: on Debian and Ubuntu `apt-get install "
                "python3-venv` brings it, or name another: make setup PYTHON=/path/to/python3"
            )
    folder = next(each for each in venv.parents if each.exists())
    free = shutil.disk_usage(folder).free
    if free < ROOM and not venv.exists():
        raise SetupError(
            f"{folder} has {free / 1e6:.0f} MB free, and {ROOM / 1e6:.0f} MB are needed: make room, "
            "or make setup VENV=/path/on/another/disk"
        )


def _pip(python: Path, *words: str) -> list[str]:
    """Return the words by which an environment's own pip installs."""
    _, *rest = command("install", *words)
    return [str(python), *rest]


@dataclass
class _Progress:
    """How far pip is, by what it says and by what is there."""

    lock: Path
    packages: Path
    began: float = field(default_factory=lambda: time.time() - 1)
    total: int = 0
    fetched: int = 0
    installing: bool = False
    last: str = ""

    def __post_init__(self) -> None:
        text = self.lock.read_text(encoding="utf-8")
        self.total = len(re.findall(r"(?m)^[\w.-]+==", text))

    def read(self, line: str) -> None:
        """Follow pip by a line of its output."""
        if line.startswith("Ignoring "):
            self.total -= 1
        elif found := re.match(r"(?:Collecting|Requirement already satisfied:) ([^=\s]+)", line):
            self.fetched += 1
            self.last = found[1]
        elif found := re.match(r" +Downloading \S+ \((.+)\)", line):
            self.last += f", {found[1]}"
        elif line.startswith("Installing collected packages"):
            self.installing = True

    def __str__(self) -> str:
        """Say it in a line."""
        if not self.installing:
            return f"fetching package {self.fetched} of {self.total}: {self.last}"
        there = self.packages.glob("lib/python*/site-packages/*.dist-info")
        done = sum(each.stat().st_mtime >= self.began for each in there)
        return f"installing package {min(done + 1, self.total)} of {self.total}"


def _run(words: list[str], doing: str, progress: _Progress | None = None) -> None:
    """Run a command and tell how far it is.

    Raises:
        SetupError: it failed; the message says what to do.

    """
    said: list[str] = []
    lines: SimpleQueue[str | None] = SimpleQueue()
    with subprocess.Popen(  # noqa: S603  # our own words
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        reader = Thread(target=_queue, args=(process.stdout, lines), daemon=True)
        reader.start()
        told, last = 0.0, ""
        line: str | None = ""
        while line is not None:
            now, state = time.monotonic(), doing if progress is None else str(progress)
            if state != last and (sys.stderr.isatty() or now - told >= _EVERY):
                told, last = now, state
                _say(state)
            try:
                line = lines.get(timeout=_POLL)
            except Empty:
                continue
            if line is not None:
                said.append(line)
                if progress is not None:
                    progress.read(line)
    if process.returncode:
        raise SetupError(explained("".join(said)))


def _queue(stream: IO[str] | None, lines: "SimpleQueue[str | None]") -> None:
    for line in stream or ():
        lines.put(line)
    lines.put(None)


def explained(output: str) -> str:
    """Return in a line what went wrong and what to do; pip's own words are kept in a file."""
    with tempfile.NamedTemporaryFile("w", prefix="setup-", suffix=".log", delete=False) as file:
        file.write(output)
    kept = f"(all that pip said: {file.name})"
    for pattern, cause, advice in _NEEDED:
        if found := re.search(pattern, output):
            return f"{cause.format(*found.groups())}: {advice} {kept}"
    errors = (line for line in reversed(output.splitlines()) if "error" in line.lower())
    return f"{next(errors, 'pip failed').strip()} {kept}"


def _say(text: str) -> None:
    """Show a line: written over the one before on a terminal, else below it."""
    if sys.stderr.isatty():
        columns = shutil.get_terminal_size().columns - 1
        end = "\n" if text.endswith("\n") else ""
        body = f"setup: {text.rstrip()}"
        sys.stderr.write(f"\r\033[K{body if end else body[:columns]}{end}")
    else:
        sys.stderr.write(f"setup: {text.rstrip()}\n")
    sys.stderr.flush()
