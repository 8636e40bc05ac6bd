"""`make fresh-check`: a clone of the last commit on a fresh machine, a year from now.

No cache, the pip of Debian 12 (Python 3.11.2 brings 23.0.1) and the newest one, and an index where
each locked package has a newer release. What comes out is what is locked, by `make setup` as by the
commands of the README; `make demo` ends well, and a second time there is nothing left to set up.

The locked files are downloaded once, by this machine's pip as it is configured, for both.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from image.check.base import copy_python
from locks.complete import LINE
from locks.index import Index, serving
from locks.pip import ASSISTANTS, BUILD_REQUIREMENTS, DEVELOPMENT, REQUIREMENTS, locked, pip

OLDEST_PIP: Final = Path("locks/oldest-pip.txt")
OURS: Final = frozenset(
    {"productionstack-status-reporter", "productionstack-status-reporter-lab", "pip", "setuptools"}
)
"""What an environment has in addition to what is locked: the project, and what Python brings."""

_RECIPES: Final = (Path("README.md"), Path("docs/command-line.md"))
_RECIPE: Final = re.compile(r"(?m)^(?:\$ |    )((?:python3 -m venv |\.venv/bin/pip ).*)$")
_INSTALLED: Final = (
    "import importlib.metadata as m, json\n"
    "print(json.dumps([(d.name, d.version) for d in m.distributions()]))"
)
_OLDEST: Final = "oldest"
"""The machine that the recipes of the pages are typed on, too: an old pip is what they fail with."""

_SECONDS: Final = 900.0


class NotFreshError(Exception):
    """Something else came out than what is locked; the message says what."""


@dataclass(frozen=True)
class Machine:
    """A fresh one: a Python with its own pip, an empty home, and the index.

    Attributes:
        folder: all of it.
        python: the interpreter.
        pip: the version that it brings.
        variables: the environment of a shell there.

    """

    folder: Path
    python: Path
    pip: str
    variables: Mapping[str, str]

    @classmethod
    def made(cls, folder: Path, wheel: Path, index: Index) -> "Machine":
        """Make one whose Python brings the pip of a wheel."""
        prefix = folder / "python"
        copy_python(prefix)
        (ensurepip,) = prefix.glob("lib/python3*/ensurepip")
        for old in ensurepip.glob("_bundled/pip-*.whl"):
            old.unlink()
        (ensurepip / "_bundled").mkdir(exist_ok=True)
        shutil.copy2(wheel, ensurepip / "_bundled")
        module = ensurepip / "__init__.py"
        text = module.read_text(encoding="utf-8")
        version = wheel.name.split("-")[1]
        text = re.sub(r"(?m)^_PIP_VERSION = .*$", f'_PIP_VERSION = "{version}"', text)
        # Debian keeps its wheels elsewhere.
        text = re.sub(r"(?m)^_WHEEL_PKG_DIR = .*$", "_WHEEL_PKG_DIR = None", text)
        module.write_text(text, encoding="utf-8")
        (folder / "home").mkdir()
        python = prefix / "bin" / "python3"
        variables = {
            "PATH": f"{python.parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(folder / "home"),
            "LANG": "C.UTF-8",
            "PIP_INDEX_URL": index.url,
            "PIP_NO_CACHE_DIR": "1",
            "PIP_CONFIG_FILE": os.devnull,
        }
        return cls(folder, python, version, variables)

    def run(self, *words: str, where: Path) -> str:
        """Return what a command printed.

        Raises:
            NotFreshError: it failed.

        """
        done = subprocess.run(  # noqa: S603  # our own words
            words, cwd=where, env=self.variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=_SECONDS, check=False,
        )  # fmt: skip
        if done.returncode:
            raise NotFreshError(
                f"{shlex.join(words)}: exit status {done.returncode}\n{done.stdout}"
            )
        return done.stdout

    def clone(self, name: str) -> Path:
        """Return a clone of the checkout."""
        to = self.folder / name
        self.run("git", "clone", "--quiet", "--no-local", "--depth=1", f"file://{Path.cwd()}", str(to),
                 where=self.folder)  # fmt: skip
        return to


def main() -> int:
    """Try both, side by side, and say how it went."""
    with TemporaryDirectory(prefix="status-reporter-fresh-") as name:
        folder = Path(name)
        wheels = folder / "wheels"
        began = time.monotonic()
        for lock in (DEVELOPMENT, BUILD_REQUIREMENTS):
            pip("download", *locked(lock), "--dest", wheels)
        pip("download", *locked(OLDEST_PIP), "--dest", folder / _OLDEST)
        pip("download", "pip", "--dest", folder / "newest")
        sys.stdout.write(f"fetched what is locked in {time.monotonic() - began:.0f} s\n")
        with serving(wheels) as index, ThreadPoolExecutor(2) as pool:
            tried = [pool.submit(_tried, folder / each, index) for each in (_OLDEST, "newest")]
            failed = 0
            for each in tried:
                try:
                    sys.stdout.write(f"{each.result()}\n")
                except NotFreshError as error:
                    failed += 1
                    sys.stderr.write(f"fresh-check: {error}\n")
            if index.strange:
                failed += 1
                sys.stderr.write(f"fresh-check: asked for {', '.join(sorted(index.strange))}\n")
    return 1 if failed else 0


def _tried(folder: Path, index: Index) -> str:
    (wheel,) = folder.glob("pip-*.whl")
    machine = Machine.made(folder, wheel, index)
    clone, seconds = machine.clone("clone"), []
    for words in (("make", "setup"), ("make", "demo")):
        began = time.monotonic()
        machine.run(*words, f"PYTHON={machine.python}", where=clone)
        seconds.append(f"{shlex.join(words)} {time.monotonic() - began:.0f} s")
    machine.run("make", "--question", "setup", where=clone)
    count = _compare(machine, clone, DEVELOPMENT)
    if folder.name == _OLDEST:
        recipe = machine.clone("recipe")
        for path in _RECIPES:
            for line in _RECIPE.findall(path.read_text(encoding="utf-8")):
                machine.run("bash", "-c", line, where=recipe)
        _compare(machine, recipe, REQUIREMENTS, BUILD_REQUIREMENTS, ASSISTANTS)
        machine.run(".venv/bin/status-reporter", "--version", where=recipe)
    return f"pip {machine.pip}: {count} packages, all as locked; {', '.join(seconds)}"


def _compare(machine: Machine, checkout: Path, *files: Path) -> int:
    """Return how many packages an environment has, which are those of locks.

    Raises:
        NotFreshError: it has others.

    """
    listed = machine.run(".venv/bin/python", "-c", _INSTALLED, where=checkout)
    found: dict[str, str] = {canonicalize_name(name): each for name, each in json.loads(listed)}
    if found.get("pip") != machine.pip:
        raise NotFreshError(f"pip {found.get('pip')} is there, and not {machine.pip}")
    text = "".join(path.read_text(encoding="utf-8") for path in files)
    wanted: dict[str, str] = {
        canonicalize_name(each.name): str(each.specifier).removeprefix("==")
        for each in map(Requirement, LINE.findall(text))
        if each.marker is None or each.marker.evaluate()
    }
    for name in OURS:
        found.pop(name, None)
    if difference := set(found.items()) ^ set(wanted.items()):
        raise NotFreshError(f"{checkout.name}: not as locked: {sorted(difference)}")
    machine.run(".venv/bin/python", "-m", "pip", "check", where=checkout)
    return len(found)


if __name__ == "__main__":
    sys.exit(main())
