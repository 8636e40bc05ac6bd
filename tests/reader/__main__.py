"""`make readme-check`: each command of ours in README and docs, typed as it stands there, and each story of the demo.

A reader has a clone, the program on PATH, and a cluster: here an API server in memory with
`examples/broken-stack`, and the daemon that the README starts. What has the reader's own name stands
for a file of the examples. The demos, which mostly wait, run side by side at their ordinary speed.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from lab.demo.main import STORIES
from tests.unit.docs.pages import PAGES, ROOT
from tests.unit.docs.test_commands import STANDS_FOR

_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
_LINE = re.compile(
    r"^(?:    |\$ )((?:d=\S+ )?(?:kubectl status-reporter|(?:\S*/bin/)?status-reporter)(?: .*)?|make .*)$"
)

ELSEWHERE = {
    r"make ": "a step of .ci/run, make fresh-check for setup and demo, or an engine for images",
    r"reporter/bin/": "make release-try",
    r"status-reporter demo": "run below, all stories",
    r"status-reporter run --kubeconfig ~": "is up meanwhile",
    r"status-reporter: ": "what a command said",
}
"""Lines that are not typed here, and where they are."""

SERVING = re.compile(r"--watch|--keep")
"""What goes on until Ctrl-C."""

CONTEXTS = ("a", "b", "prod-eu", "prod-us")
"""Clusters that pages name; all are the one that is there."""

_SECONDS = 180.0
_SERVES_SECONDS = 12.0
_AT_ONCE = 2
_DEMOS_AT_ONCE = 3


def lines():
    """Yield page and line of each command in a block of code, as it stands there."""
    for name, text in PAGES.items():
        if name.startswith("docs/reasons"):
            continue
        indented = [line for line in text.splitlines() if line.startswith("    ")]
        for line in [*"\n".join(_BLOCK.findall(text)).splitlines(), *indented]:
            found = _LINE.match(line)
            if found and not any(re.match(rf"(?:\S*/bin/)?{each}", found[1]) for each in ELSEWHERE):
                yield name, found[1]


class Reader:
    """Somebody with a clone, a home and a cluster."""

    def __init__(self, folder: Path) -> None:
        self.clone, self.home = folder / "clone", folder / "home"
        binaries = Path(sys.executable).parent
        path = [str(binaries), *_kubectl(), os.environ["PATH"]]
        ours = ("STATUS_REPORTER", "KUBE", "PIP_", "PYTEST")
        outside = {name: each for name, each in os.environ.items() if not name.startswith(ours)}
        self.variables = {
            **outside, "HOME": str(self.home), "PATH": os.pathsep.join(path), "NO_COLOR": "1",
        }  # fmt: skip
        (self.home / ".kube").mkdir(parents=True)
        subprocess.run(
            ["git", "clone", "-q", "--no-local", f"file://{ROOT}", self.clone], check=True
        )
        (self.clone / ".venv").symlink_to(binaries.parent)
        for name, example in STANDS_FOR.items():
            there = self.clone / name
            if (ROOT / example).is_dir() and not name.endswith(".tgz"):
                shutil.copytree(ROOT / example, there, dirs_exist_ok=True)
            elif (ROOT / example).is_file():
                there.mkdir() if name.endswith("/") else None
                shutil.copy2(ROOT / example, there)
        (self.clone / "node_exporter").mkdir()

    def starts(self, line: str) -> subprocess.Popen[str]:
        """Start a line in a shell that it replaces."""
        return subprocess.Popen(
            ["bash", "-o", "pipefail", "-c", line],
            cwd=self.clone,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def types(self, line: str) -> str:
        """Return what is wrong with a line; empty if nothing is."""
        typed = self._typed(line)
        serves = SERVING.search(typed)
        process = self.starts(typed)
        try:
            said, _ = process.communicate(timeout=_SERVES_SECONDS if serves else _SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGINT)
            said, _ = process.communicate(timeout=_SECONDS)
            return "" if serves else f"{typed}\nno end after {_SECONDS:.0f} s\n{said[-2000:]}"
        status = process.returncode
        judges = re.search(r"status-reporter (?:check|status)\b|kubectl status-reporter", typed)
        right = {2} if "wrong.yaml" in typed else {0, 1} if judges else {0}
        if serves or status not in right or "Traceback" in said:
            return f"{typed}\nexit status {status}\n{said[-2000:]}"
        return ""

    def _typed(self, line: str) -> str:
        line = line.replace("/var/lib/node_exporter", "node_exporter")
        line = re.sub(r"\bREASON\b", STANDS_FOR["REASON"], line)
        # Of a pipe, what this machine has; the cluster in memory has no RBAC to compare with.
        head, _, rest = line.partition(" | ")
        there = rest and shutil.which(rest.split()[0], path=self.variables["PATH"])
        return line if there and not rest.startswith("kubectl diff") else head


def _kubectl() -> list[str]:
    from e2e.envtest import binaries

    if shutil.which("kubectl"):
        return []
    return [str(binaries.binaries().kubectl.parent)]


def _until(ready, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.3)
    return True


def _with_contexts(path: Path) -> None:
    kubeconfig = yaml.safe_load(path.read_text())
    (only,) = kubeconfig["contexts"]
    kubeconfig["contexts"] += [{**only, "name": name} for name in CONTEXTS]
    path.write_text(yaml.safe_dump(kubeconfig))


def _typed_pages(reader: Reader) -> list[str]:
    """Return what is wrong with the lines of all pages: the README's first, which others build on."""
    pages: dict[str, list[str]] = {}
    for page, line in lines():
        if not line.endswith("&"):
            pages.setdefault(page, []).append(line)
    first, *others = pages
    wrong = [f"{first}: {each}" for each in map(reader.types, pages[first]) if each]
    with ThreadPoolExecutor(_AT_ONCE) as hands:
        found = hands.map(lambda page: [*map(reader.types, pages[page])], others)
        for page, each in zip(others, found, strict=True):
            wrong += [f"{page}: {one}" for one in each if one]
    return wrong


def _ends(process: subprocess.Popen[str], line: str) -> list[str]:
    """End what serves, and return what is wrong with how it ends."""
    os.killpg(process.pid, signal.SIGTERM)
    said, _ = process.communicate(timeout=_SECONDS)
    right = process.returncode in {0, -signal.SIGTERM, 128 + signal.SIGTERM}
    return [] if right and "Traceback" not in said else [f"{line}\n{said[-2000:]}"]


def _served(reader: Reader, serving: dict[str, Path | None]) -> Iterator[str]:
    """Start what serves, one after the other, type all pages meanwhile, and end it."""
    started: list[tuple[subprocess.Popen[str], str]] = []
    try:
        for line, file in serving.items():
            started.append((reader.starts(f"exec {line}"), line))
            is_up = file.exists if file else lambda: not reader.types("status-reporter status")
            if not _until(is_up, _SECONDS):
                yield f"{line}: does not serve"
            elif file and file.parent.name == ".kube":
                _with_contexts(file)
        if not any("kc.yaml" in line for line in serving):
            yield from _typed_pages(reader)
    finally:
        wrong = [each for one in reversed(started) for each in _ends(*one)]
    yield from wrong


def main() -> int:
    """Type everything, and say what did not work."""
    # Whoever starts this in the background may have it ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    began, count = time.monotonic(), len(list(lines())) + len(STORIES)
    background = [line.removesuffix(" &") for _, line in lines() if line.endswith("&")]
    with TemporaryDirectory(prefix="status-reporter-reader-") as name:
        reader = Reader(Path(name))
        kubeconfig = reader.home / ".kube" / "config"
        sandbox = f"status-reporter sandbox --from examples/broken-stack --kubeconfig {kubeconfig}"
        first = {sandbox: kubeconfig, "status-reporter run --kubeconfig ~/.kube/config": None}
        then = {
            line: reader.clone / "kc.yaml" if " sandbox " in line else None for line in background
        }
        with ThreadPoolExecutor(_DEMOS_AT_ONCE) as pool:
            demos = pool.map(
                reader.types,
                [f".venv/bin/status-reporter demo --scenario {each}" for each in STORIES],
            )
            wrong = [*_served(reader, first), *_served(reader, then), *filter(None, demos)]
    for each in wrong:
        sys.stderr.write(f"readme-check: {each}\n")
    sys.stdout.write(f"typed {count} commands in {time.monotonic() - began:.0f} s\n")
    sys.stdout.write(f"{count - len(wrong)} passed, {len(wrong)} failed\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
