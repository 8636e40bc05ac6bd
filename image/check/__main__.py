"""`python -m image.check`: build twice, build for the other processor, start it, say what holds."""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from image.check import daemon, facts, laboratory
from image.check.build import ELSEWHERE, Built, build
from image.check.container import Container
from image.check.context import Allowed
from image.check.measure import megabytes
from image.fetch import ARCHITECTURES

Fact = tuple[str, Callable[[], str]]

DUMPS: Final = {"healthy-stack": 0, "broken-stack": 1}
"""Examples, and the exit status of `check` that they deserve."""

_TOOLS: Final = ("unshare", "chroot", "mount")


def main() -> int:
    """Print a line for each fact; the exit status is 1 if one does not hold."""
    if os.geteuid() != 0 or any(shutil.which(tool) is None for tool in _TOOLS):
        sys.stderr.write(
            f"image-check: needs root on Linux, and {', '.join(_TOOLS)}: it mounts a root file system "
            "of its own. Run it as root.\n"
        )
        return 2
    with TemporaryDirectory(prefix="status-reporter-image-") as folder:
        os.chmod(folder, 0o755)  # noqa: S103,PTH101  # uid 65532 goes through it
        try:
            failed = [name for name, fact in _facts(Path(folder)) if not _holds(name, fact)]
        except subprocess.CalledProcessError as error:
            sys.stderr.write(f"image-check: a step of the build failed: {error}\n")
            return 1
    sys.stdout.write(f"failed: {', '.join(failed)}\n" if failed else "all hold\n")
    return 1 if failed else 0


def _holds(name: str, fact: Callable[[], str]) -> bool:
    try:
        saw, holds = fact(), True
    except (facts.FactError, subprocess.SubprocessError, ValueError) as error:
        saw, holds = str(error), False
    sys.stdout.write(f"{'ok' if holds else 'FAILED':7} {name:38} {saw}\n")
    sys.stdout.flush()
    return holds


def _facts(folder: Path) -> Iterator[Fact]:
    here = next(ours for ours, uname in ARCHITECTURES.items() if uname == platform.machine())
    (other,) = set(ARCHITECTURES) - {here}
    # Copied once: who edits the sources meanwhile changes no build.
    context = folder / "context"
    Allowed.read().copy(context)
    first = build(context, folder / "first", here)
    yield from _facts_of_builds(
        first,
        build(context, folder / "again", here, circumstances=ELSEWHERE),
        build(context, folder / "other", other),
    )
    yield from _facts_of_container(_container(first, folder))
    added = laboratory.install(first, folder / "laboratory")
    yield "laboratory installed too", partial(laboratory.tells_the_demo, first, added)


def _facts_of_builds(first: Built, second: Built, other: Built) -> Iterator[Fact]:
    yield "reproducible", partial(facts.is_reproducible, first, second)
    yield f"linux/{first.arch}", partial(facts.is_for_its_processor, first)
    yield f"linux/{other.arch}", partial(facts.is_for_its_processor, other)
    yield "same for both", partial(facts.has_same_packages, first, other)
    yield "whole packages", partial(facts.has_whole_packages, first)
    yield "size", partial(_sizes, first)


def _facts_of_container(container: Container) -> Iterator[Fact]:
    yield "its own Python", partial(facts.runs_its_own_python, container)
    yield "no build tools", partial(facts.has_no_build_tools, container)
    yield "no laboratory", partial(laboratory.is_left_out, container)
    yield "bytecode", partial(facts.is_compiled, container)
    yield "unprivileged", partial(facts.is_unprivileged, container)
    yield "--version", partial(facts.says_its_version, container)
    yield "run --help-all", partial(facts.says_its_help, container)
    for dump, status in DUMPS.items():
        yield f"check --from {dump}", partial(facts.judges, container, dump, status)
    yield "run, ready, SIGTERM", partial(daemon.ends_on_sigterm, container)


def _container(built: Built, folder: Path) -> Container:
    container = Container.assemble(built, folder)
    for dump in DUMPS:
        shutil.copytree(Path("examples") / dump, container.mounted / dump)
    return container


def _sizes(built: Built) -> str:
    python, installed = megabytes(built.python), megabytes(built.installed)
    return f"program and libraries {installed:.0f} MB, this machine's Python {python:.0f} MB"


if __name__ == "__main__":
    sys.exit(main())
