"""Whether an engine started again between two looks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reporter.metrics.looks.look import Counter, EngineLook, Look

_TELLING: Final = (Counter.GENERATED_TOKENS, Counter.PROMPT_TOKENS)


@dataclass(frozen=True, slots=True)
class Renewal:
    """What started again since the page before.

    Attributes:
        restarts: how often, as far as it can be told.
        engines: which ones.

    """

    restarts: int = 0
    engines: frozenset[str] = frozenset()


def renewal(before: Look, after: Look) -> Renewal:
    """Return what started again between two pages of vLLM, from the strongest evidence.

    A process that is the same as before outweighs the containers: another one of the pod, such as
    a mesh proxy, may have restarted.
    """
    same_process = None
    if before.process_started is not None and after.process_started is not None:
        same_process = before.process_started == after.process_started
    if same_process is False or (
        same_process is None and before.target.containers != after.target.containers
    ):
        count = _container_restarts(after) - _container_restarts(before)
        return Renewal(max(1, count), frozenset(after.engines))
    engines = frozenset(
        name for name, each in after.engines.items() if _reset(before.engines.get(name), each)
    )
    return Renewal(int(bool(engines)), engines)


def restarts(looks: Sequence[Look]) -> int:
    """Count how often the engines of a pod started again after the first look."""
    return sum(look.restarts for look in looks[1:])


def since_restart(pages: Sequence[Look], engine: str | None = None) -> tuple[Look, ...]:
    """Return the pages since an engine started again for the last time; any engine if none is named."""
    for n in range(len(pages) - 1, 0, -1):
        renewed = pages[n].renewed
        if renewed if engine is None else engine in renewed:
            return tuple(pages[n:])
    return tuple(pages)


def _container_restarts(look: Look) -> int:
    return sum(each.restarts for each in look.target.containers)


def _reset(before: EngineLook | None, after: EngineLook) -> bool:
    if before is None:
        return False
    for counter in _TELLING:
        old, new = before.counters.get(counter), after.counters.get(counter)
        if old and new and (new.value < old.value or new.created != old.created):
            return True
    return False
