"""As much of a Dockerfile as ours uses: stages, their instructions, and what they say."""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

DOCKERFILE: Final = Path("Dockerfile.status-reporter")

_FROM = re.compile(r"(?:--platform=(?P<platform>\S+) )?(?P<base>\S+)(?: AS (?P<name>\S+))?")


@dataclass(frozen=True)
class Run:
    """A RUN instruction.

    Attributes:
        flags: such as `--network=none`.
        command: for `/bin/sh -c`.
    """

    flags: tuple[str, ...]
    command: str

    @classmethod
    def parse(cls, rest: str) -> "Run":
        """Tell the flags from the command."""
        words = rest.split(" ")
        first = next(place for place, word in enumerate(words) if not word.startswith("--"))
        return cls(tuple(words[:first]), " ".join(words[first:]))


@dataclass
class Stage:
    """One stage: what it starts from, and its instructions in order, as (keyword, rest)."""

    name: str
    base: str
    platform: str | None
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def all(self, keyword: str) -> list[str]:
        """Return what follows each instruction of that name."""
        return [rest for name, rest in self.instructions if name == keyword]

    def last(self, keyword: str) -> str:
        """Return what the last instruction of that name says; earlier ones have no effect."""
        return self.all(keyword)[-1]

    def runs(self) -> list[Run]:
        """Return the RUN instructions."""
        return [Run.parse(rest) for rest in self.all("RUN")]

    def variables(self, keyword: str) -> dict[str, str]:
        """Return the pairs of ENV, LABEL or ARG; an ARG without a default has none."""
        return {name: value for rest in self.all(keyword) for name, value in pairs(rest)}

    def words(self, keyword: str) -> list[str]:
        """Return the exec form of ENTRYPOINT or CMD."""
        words: list[str] = json.loads(self.last(keyword))
        return words


@dataclass(frozen=True)
class Dockerfile:
    """The global ARGs, with their defaults, and the stages in order."""

    arguments: dict[str, str]
    stages: list[Stage]

    @classmethod
    def read(cls, path: Path = DOCKERFILE) -> "Dockerfile":
        """Read a file."""
        before = Stage("", "", None)
        stages = [before]
        for keyword, rest in _instructions(path.read_text(encoding="utf-8")):
            if keyword == "FROM" and (named := _FROM.fullmatch(rest)):
                stages.append(Stage(named["name"] or "", named["base"], named["platform"]))
            else:
                stages[-1].instructions.append((keyword, rest))
        return cls(before.variables("ARG"), stages[1:])

    def stage(self, name: str) -> Stage:
        """Return the stage of that name."""
        return next(stage for stage in self.stages if stage.name == name)

    @property
    def final(self) -> Stage:
        """The stage that becomes the image."""
        return self.stages[-1]


def pairs(rest: str) -> Iterator[tuple[str, str]]:
    """Yield the NAME=VALUE of an ENV, LABEL or ARG."""
    for word in shlex.split(rest):
        name, equals, value = word.partition("=")
        if equals:
            yield name, value


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            keyword, _, rest = line.partition(" ")
            yield keyword.upper(), " ".join(rest.split())
