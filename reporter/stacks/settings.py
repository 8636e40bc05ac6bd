"""The settings with those of all stacks: what the command line, the daemon and tests make."""

from typing import Final, TypeVar

from pydantic import create_model

from reporter.settings import DaemonSettings, EvaluationSettings
from reporter.stacks import STACKS
from reporter.stacks.stack import Stack

SettingsT = TypeVar("SettingsT", bound=EvaluationSettings)


def with_stacks(base: type[SettingsT], stacks: tuple[Stack, ...] = STACKS) -> type[SettingsT]:
    """Return a class of settings with the fields that stacks add."""
    added: list[type[EvaluationSettings]] = [
        each
        for stack in stacks
        for each in stack.settings()
        if (issubclass(base, DaemonSettings) or not issubclass(each, DaemonSettings))
    ]
    bases: list[type[EvaluationSettings]] = (
        added if any(issubclass(each, base) for each in added) else [base, *added]
    )
    made = create_model(base.__name__, __base__=tuple(bases))
    if not issubclass(made, base):
        raise TypeError(f"{made.__name__} is no {base.__name__}")
    made.known_stacks = stacks
    return made


FullEvaluationSettings: Final = with_stacks(EvaluationSettings)
"""Settings of `check`."""

FullDaemonSettings: Final = with_stacks(DaemonSettings)
"""Settings of `run`."""
