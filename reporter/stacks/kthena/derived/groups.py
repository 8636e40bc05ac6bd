"""The status of a ServingGroup, as a table: the first row that holds decides.

The problem: Kthena's controller keeps the status of a group in its memory
(github.com/volcano-sh/kthena, pkg/model-serving-controller/datastore/store.go, v1.0.0) and
publishes only sums of it. From outside there are pods, Services and PodGroups, and several
histories leave the same objects. A group whose pods all terminate may be going as a whole, or it
may be losing its only instance and stay.

The choice: one ordered table of what can be seen. Each row is a fact about the objects, so that a
status can be explained with `kubectl get`, and tests break one row at a time. The rows are those of
the table of groups in docs/modelserving.md, "States".

What decides the hard rows is the order in which the controller deletes. With a group its PodGroup
goes first; with an instance the PodGroup stays. So where PodGroups are in use, a PodGroup that
stays means that only an instance is replaced (rows S3 and S4). Without PodGroups the same pods are
ambiguous: several instances at once mean the group (S5a), and a single one counts as the group only
if something replaces whole groups: too many groups, the update, or the recovery policy (S5b).

What fails: ordinals say nothing, because a scale-down may take any group; the phase of the pods
says nothing, because a terminating pod can be Running and Ready; and remembering earlier passes
would give a dump, a restarted reporter and a standby different answers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from reporter.stacks.kthena.derived.observed import GroupStatus
from reporter.stacks.kthena.derived.parts import GroupParts


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFacts:
    """What the table asks about a group.

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
class GroupRow:
    """A row of the table."""

    name: str
    holds: Callable[[GroupFacts], bool]
    status: GroupStatus


ROWS: Final = (
    GroupRow("S2", lambda f: f.leaving, GroupStatus.DELETING),
    GroupRow(
        "S3", lambda f: f.all_terminating and f.pod_groups and not f.pod_group, GroupStatus.DELETING
    ),
    GroupRow("S4", lambda f: f.all_terminating and f.pod_groups, GroupStatus.CREATING),
    GroupRow("S5a", lambda f: f.all_terminating and f.several, GroupStatus.DELETING),
    GroupRow("S5b", lambda f: f.all_terminating and f.to_replace, GroupStatus.DELETING),
    GroupRow("S5b", lambda f: f.all_terminating, GroupStatus.CREATING),
    GroupRow("S6", lambda f: not f.pods and f.pod_group and f.wants_pods, GroupStatus.CREATING),
    GroupRow("S7", lambda f: f.complete, GroupStatus.RUNNING),
    GroupRow("S8", lambda f: f.miscounted and f.serving, GroupStatus.SCALING),
    GroupRow("S9", lambda _: True, GroupStatus.CREATING),
)
"""The first row that holds decides.

Row S1 is that there is no group. It does not matter whether a group is surplus, or has roles that
were removed from the spec. By which roles an outdated group is judged is decided in `states`.
"""


def decide(facts: GroupFacts) -> GroupRow:
    """Return the first row that holds for a group."""
    return next(row for row in ROWS if row.holds(facts))


def is_leaving(parts: GroupParts) -> bool:
    """Tell whether a group without pods is being deleted.

    The controller deletes the PodGroup of a group first, so a PodGroup that stays means that only
    an instance is being replaced, and one that goes means the whole group.
    """
    if parts.pods:
        return False
    if parts.pod_groups:
        return all(each.deleting for each in parts.pod_groups)
    return bool(parts.services) and all(each.deleting for each in parts.services)
