"""Steps of a pass that are not taken again while what they are made of is the same.

Most passes follow a change that changes no answer, or one of thousands; to sort, to count and to compare
all subjects again costs more than all that is then said. So a pass remembers of a few steps what they were
given and what came out, and hands that to the next one. An evaluation whose parts are the same has the very
objects of the one before (`reporter.probes.reuse`), so that comparing is cheap. It is a matter of speed only:
a step follows from what it is given, and from nothing else.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar, cast

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class TakenStep:
    given: tuple[object, ...]
    value: object


class Steps:
    """Takes the steps of one pass, unless the pass before has taken the same."""

    def __init__(self, before: Mapping[str, TakenStep] = MappingProxyType({})) -> None:
        self._before = before
        self.taken: dict[str, TakenStep] = {}
        """Those of this pass, for the next one."""

    def take(
        self,
        name: str,
        given: tuple[object, ...],
        step: Callable[[], ValueT],
        *,
        lasts: Callable[[ValueT], bool] = lambda _: True,
    ) -> ValueT:
        """Return what a step comes to, which is made of what is `given`, and of nothing else.

        `lasts`: whether what came out stays the same while the time goes on.
        """
        known = self._before.get(name)
        if known is not None and known.given == given:
            # With what it is given now: the next pass may be given the very same, which is seen at once.
            self.taken[name] = TakenStep(given, known.value)
            return cast("ValueT", known.value)
        value = step()
        if lasts(value):
            self.taken[name] = TakenStep(given, value)
        return value
