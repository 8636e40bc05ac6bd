"""The status of a ServingGroup: table 5.5 of the Kthena sheet, row by row."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from reporter.stacks.kthena.derived.observed import GroupStatus
from reporter.stacks.kthena.derived.parts import GroupParts


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFacts:
    """What table 5.5 asks about a group.

    Attributes:
        pods: it has pods.
        all_terminating: it has pods, and all of them are being deleted.
        leaving: it has no pods, and what is left of it is being deleted.
        pod_groups: PodGroups are in use.
        pod_group: it has a PodGroup that stays.
        several: more than one instance has pods.
        to_replace: it is surplus, or the update or the recovery policy replaces it as a whole.
        wants_pods: there is a role of which instances are wanted.
        complete: of each role that it should have there are as many instances as wanted, all of
            them Running.
        miscounted: of some role there are more or fewer.
        serving: some instance is Running.

    """

    pods: bool = False
    all_terminating: bool = False
    leaving: bool = False
    pod_groups: bool = False
    pod_group: bool = False
    several: bool = False
    to_replace: bool = False
    wants_pods: bool = True
    complete: bool = False
    miscounted: bool = False
    serving: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table."""

    name: str
    holds: Callable[[GroupFacts], bool]
    status: GroupStatus


ROWS: Final = (
    Row("S2", lambda f: f.leaving, GroupStatus.DELETING),
    Row(
        "S3", lambda f: f.all_terminating and f.pod_groups and not f.pod_group, GroupStatus.DELETING
    ),
    Row("S4", lambda f: f.all_terminating and f.pod_groups, GroupStatus.CREATING),
    Row("S5a", lambda f: f.all_terminating and f.several, GroupStatus.DELETING),
    Row("S5b", lambda f: f.all_terminating and f.to_replace, GroupStatus.DELETING),
    Row("S5b", lambda f: f.all_terminating, GroupStatus.CREATING),
    Row("S6", lambda f: not f.pods and f.pod_group and f.wants_pods, GroupStatus.CREATING),
    Row("S7", lambda f: f.complete, GroupStatus.RUNNING),
    Row("S8", lambda f: f.miscounted and f.serving, GroupStatus.SCALING),
    Row("S9", lambda _: True, GroupStatus.CREATING),
)
"""The first row that holds decides.

Under S1 there is no group. S10 says what does not matter: whether it is surplus, or has roles that
were removed. S11 is in the choice of the roles that a group is judged by (`judging`).
"""


def decide(facts: GroupFacts) -> Row:
    """Return the row of table 5.5 that a group falls under."""
    return next(row for row in ROWS if row.holds(facts))


def is_leaving(parts: GroupParts) -> bool:
    """Tell whether a group without pods is being deleted.

    The PodGroup is the first thing that goes with a group (sheet 2.5), so one that stays means
    that only an instance is being replaced, and one that goes means the whole group.
    """
    if parts.pods:
        return False
    if parts.pod_groups:
        return all(each.deleting for each in parts.pod_groups)
    return bool(parts.services) and all(each.deleting for each in parts.services)
