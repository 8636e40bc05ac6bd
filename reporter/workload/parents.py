"""What the parents of a route or pool say of it, entry by entry of `status.parents`."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from reporter.model.objects import Condition, ParentReference, ParentStatus
from reporter.model.text import detail

_SEVERITY: Final = {"Accepted": 25, "ResolvedRefs": 20}
"""Conditions that must hold, with the severity of their being False; the worse comes first."""


@dataclass(frozen=True, slots=True, order=True)
class Parent:
    """A parent with the defaults of its reference filled in."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def is_gateway(self) -> bool:
        """Whether it is a Gateway; a mesh Service is not."""
        return self.kind == "Gateway"


@dataclass(frozen=True, slots=True)
class ParentFault:
    """Why a route or pool does not work with one parent."""

    cause: str
    text: str
    severity: int
    transition: datetime | None = None


def parent_of(reference: ParentReference, namespace: str) -> Parent:
    """Return the parent that an object in `namespace` refers to."""
    return Parent(reference.kind or "Gateway", reference.namespace or namespace, reference.name)


def judge_entries(parent: Parent, entries: Iterable[ParentStatus]) -> ParentFault | None:
    """Return the worst that the entries of one parent say, None if nothing is wrong.

    Several controllers may write an entry each. Only one of them runs the parent, so where one
    accepts, what the others say does not matter. Unknown conditions say nothing.
    """
    by_controller: dict[str, list[ParentStatus]] = defaultdict(list)
    for entry in entries:
        by_controller[entry.controller_name].append(entry)
    if any(all(map(serves, own)) for own in by_controller.values()):
        return None
    failing = [
        condition
        for controller in sorted(by_controller)
        for entry in by_controller[controller]
        for condition in _failing(entry)
    ]
    if not failing:
        return None
    worst = max(failing, key=_rank)
    return ParentFault(
        f"{worst.type} is False" + (f" ({worst.reason})" if worst.reason else ""),
        f"{worst.type} is False for {parent}, {detail(worst.reason, worst.message) or 'no reason'}",
        _SEVERITY[worst.type],
        worst.last_transition_time,
    )


def serves(entry: ParentStatus) -> bool:
    """Tell whether an entry says that requests come through."""
    return all(_is(entry.condition(name), "True") for name in _SEVERITY)


def _failing(entry: ParentStatus) -> list[Condition]:
    conditions = (entry.condition(name) for name in _SEVERITY)
    return [each for each in conditions if each is not None and _is(each, "False")]


def _is(condition: Condition | None, status: str) -> bool:
    return condition is not None and condition.status == status


def _rank(condition: Condition) -> tuple[int, str, str]:
    return _SEVERITY[condition.type], condition.reason or "", condition.message or ""
