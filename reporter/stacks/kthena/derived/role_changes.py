"""Which role instances changed between two passes.

Since v0.4.0 Kthena's controller has Events for that (github.com/volcano-sh/kthena/pull/753). It
tells the state of every instance again after each restart of its own, and says nothing when a whole
ServingGroup is deleted. Here what is seen for the first time is no change, and an instance that
goes without having been seen Deleting is told as Deleting.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from reporter.model.finding import Derived, Document
from reporter.model.subject import ObjectRef
from reporter.stacks.kthena.derived.status import OMITTED, ROLE_STATUSES

CREATING: Final = "Creating"
RUNNING: Final = "Running"
DELETING: Final = "Deleting"

TOLD: Final = frozenset({CREATING, RUNNING, DELETING})
"""States that are told. NotFound is not one of them: it says that there is no instance."""

_ALIVE: Final = frozenset({CREATING, RUNNING})


@dataclass(frozen=True, slots=True, order=True)
class Instance:
    """One instance of a role: an entry of `roleStatuses`."""

    group: str
    role: str
    role_id: str


@dataclass(frozen=True, slots=True)
class RoleChange:
    """An instance of a ModelServing's role is in another state now."""

    object: ObjectRef
    instance: Instance
    state: str


@dataclass(frozen=True, slots=True)
class Roles:
    """The instances of one ModelServing.

    Attributes:
        source: the status that they were read from; the same one need not be read again.
        states: by instance.
        complete: whether none was left out.

    """

    source: Document = field(repr=False, compare=False)
    states: Mapping[Instance, str]
    complete: bool = True


Seen: TypeAlias = Mapping[str, Roles]
"""The roles of each ModelServing at the last pass, by uid."""


def roles_of(status: Document) -> Roles:
    """Read `roleStatuses` of a status in the shape of the API."""
    entries = status.get(ROLE_STATUSES)
    states: dict[Instance, str] = {}
    for entry in entries if isinstance(entries, list | tuple) else ():
        names = (entry[key] for key in ("servingGroupName", "roleName", "roleID"))
        states[Instance(*names)] = entry["status"]
    return Roles(status, states, complete=not status.get(OMITTED))


def role_changes(
    seen: Seen, derived: Iterable[Derived], *, trusted: bool = True
) -> tuple[Seen, tuple[RoleChange, ...]]:
    """Return what the next pass is given, and what changed since the last one.

    Args:
        seen: what the last pass returned; empty at first.
        derived: the statuses that all ModelServings have by this pass; one that is not among
            them is gone and forgotten.
        trusted: whether the statuses rest on confirmed data; nothing changes otherwise.

    """
    if not trusted:
        return seen, ()
    now: dict[str, Roles] = {}
    changes: list[RoleChange] = []
    for each in derived:
        before = seen.get(each.object.uid)
        if before is not None and before.source is each.status:
            now[each.object.uid] = before
            continue
        roles = now[each.object.uid] = roles_of(each.status)
        if before is not None and before.states != roles.states:
            changes += (
                RoleChange(each.object, instance, state)
                for instance, state in _changes(before, roles)
            )
    return now, tuple(changes)


def _changes(before: Roles, after: Roles) -> Iterable[tuple[Instance, str]]:
    """Yield instances with their new states: first those that go, then in the order of the list.

    Where instances were left out of a list, coming and going says nothing.
    """
    comparable = before.complete and after.complete
    if comparable:
        for instance, state in before.states.items():
            if state in _ALIVE and instance not in after.states:
                yield instance, DELETING
    for instance, state in after.states.items():
        last = before.states.get(instance)
        if last is None and not comparable:
            continue
        if state in TOLD and state != last:
            yield instance, state
        elif state not in TOLD and last in _ALIVE:
            yield instance, DELETING
