"""A stack: its rows in the tables, and what they cannot hold: settings, probes, commands.

What is heavy is behind a function, so that to read a table loads no HTTP client and no validation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reporter.model.stack import StackRows

if TYPE_CHECKING:
    from reporter.probes.subjects import StackProbes
    from reporter.settings import EvaluationSettings
    from reporter.stacks.output import Output


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of the program that a stack adds.

    Attributes:
        main: carries it out, given its arguments, and returns the exit status.

    """

    name: str
    summary: str
    main: Callable[[Sequence[str]], int]


@dataclass(frozen=True, kw_only=True, eq=False)
class Stack(StackRows):
    """All that there is of a stack.

    Attributes: settings: classes with the settings that it adds; one below `DaemonSettings` is of
        `run` alone. probes: what is asked about its subjects, and about the cluster for it. output:
        what it writes to the objects of its users; None where it only reads.

    """

    settings: "Callable[[], tuple[type[EvaluationSettings], ...]]"
    probes: "Callable[[], StackProbes]"
    commands: tuple[Command, ...] = ()
    output: "Callable[[], Output] | None" = None


def stacks_of(settings: "EvaluationSettings") -> tuple[Stack, ...]:
    return tuple(each for each in settings.known_stacks if isinstance(each, Stack))


def outputs_of(settings: "EvaluationSettings") -> "dict[str, Output]":
    return {each.name: each.output() for each in stacks_of(settings) if each.output is not None}
