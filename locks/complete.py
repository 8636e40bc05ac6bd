"""Whether a lock has a line for each dependency of what it names.

The dependencies are those that the installed packages tell, with extras and markers, for each Python
and processor that is supported. A package that is not installed here tells nothing and is counted.
"""

import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any, Final

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from locks.pip import ASSISTANTS, BROWSER, BUILD_REQUIREMENTS, DEVELOPMENT, REQUIREMENTS, SITE

Requires = Callable[[str], Sequence[str] | None]
"""What a package, by its name, says that it needs; None if nobody knows."""

_PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
_MACHINES: Final = ("x86_64", "aarch64")
LINE: Final = re.compile(r"(?m)^([\w.-]+==[^\\\n]+)")
"""A line of a lock, without its hashes."""


@dataclass(frozen=True)
class Lock:
    """Files that are installed together, and what they are resolved from."""

    files: tuple[Path, ...]
    roots: tuple[str, ...]


def check() -> int:
    """Print a line for each lock, or for each line that it lacks; the exit status is then 1."""
    status = 0
    for lock in locks(tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))):
        name = " and ".join(map(str, lock.files))
        text = "".join(path.read_text(encoding="utf-8") for path in lock.files)
        if found := missing(text, lock.roots, installed):
            status = 1
            sys.stderr.write("".join(f"{name}: {line}\n" for line in found))
        else:
            names = {_read(line).name for line in LINE.findall(text)}
            unknown = sum(installed(each) is None for each in names)
            untold = f", {unknown} of them not installed here" if unknown else ""
            sys.stdout.write(f"{name}: complete, {len(names)} packages{untold}\n")
    if status:
        sys.stderr.write("`make lock` resolves the locks again\n")
    return status


def locks(project: Mapping[str, Any]) -> Iterator[Lock]:
    """Yield the locks of this checkout, by its pyproject.toml."""
    own, groups = project["project"], project["dependency-groups"]
    program = tuple(own["dependencies"])
    assistants = (*program, *own["optional-dependencies"]["mcp"])
    dev = (*assistants, *_group(groups, "dev"))
    yield Lock((REQUIREMENTS,), program)
    yield Lock((REQUIREMENTS, ASSISTANTS), assistants)
    yield Lock((DEVELOPMENT,), dev)
    yield Lock((DEVELOPMENT, BROWSER), (*dev, *_group(groups, "browser")))
    yield Lock((SITE,), tuple(_group(groups, "site")))
    yield Lock((BUILD_REQUIREMENTS,), tuple(project["build-system"]["requires"]))


def _group(groups: Mapping[str, list[str | dict[str, str]]], name: str) -> Iterator[str]:
    for each in groups[name]:
        if isinstance(each, str):
            yield each
        else:
            yield from _group(groups, each["include-group"])


@cache
def installed(name: str) -> Sequence[str] | None:
    """Return what a package of this environment says that it needs; None if it is not there."""
    try:
        return requires(name) or ()
    except PackageNotFoundError:
        return None


def missing(text: str, roots: Sequence[str], needs: Requires) -> list[str]:
    """Return a line for each requirement that a lock has no line for, or one of a wrong version.

    Args:
        text: of the lock.
        roots: what it is resolved from, as requirements.
        needs: what each package says that it needs.

    """
    lines = [_read(line) for line in LINE.findall(text)]
    found: dict[str, list[str]] = {}
    for each in _environments():
        for line in _missing(lines, roots, needs, environment=each):
            pythons = found.setdefault(line, [])
            if each["python_version"] not in pythons:
                pythons.append(each["python_version"])
    return [f"{line} (Python {', '.join(pythons)})" for line, pythons in sorted(found.items())]


@cache
def _read(line: str) -> Requirement:
    return Requirement(line)


def _environments() -> Iterator[dict[str, str]]:
    here = {name: str(value) for name, value in default_environment().items()}
    for python in _PYTHONS:
        version = {"python_version": python, "python_full_version": f"{python}.9"}
        for machine in _MACHINES:
            yield {**here, **version, "platform_machine": machine, "sys_platform": "linux"}


def _missing(
    lines: Sequence[Requirement],
    roots: Sequence[str],
    needs: Requires,
    *,
    environment: dict[str, str],
) -> Iterator[str]:
    locked = {
        canonicalize_name(each.name): each.specifier
        for each in lines
        if each.marker is None or each.marker.evaluate({**environment, "extra": ""})
    }
    asked = [("the project", _read(each)) for each in roots]
    asked += [("the lock", each) for each in lines if canonicalize_name(each.name) in locked]
    seen: set[tuple[str, str]] = set()
    while asked:
        by, wanted = asked.pop()
        name = canonicalize_name(wanted.name)
        if name not in locked:
            yield f"no line for {wanted.name}, which {by} needs"
            continue
        (pin,) = locked[name]
        if not wanted.specifier.contains(pin.version, prereleases=True):
            yield f"{name} {pin.version} does not fit `{wanted}`, which {by} needs"
        for extra in ("", *wanted.extras):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            for each in map(_read, needs(name) or ()):
                if each.marker is None or each.marker.evaluate({**environment, "extra": extra}):
                    asked.append((name, each))
