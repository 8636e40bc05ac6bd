"""Which revisions of a component are rolled out, in Knative mode.

The problem: a rollback returns to `latestRolledoutRevision`, and KServe does not store how the
field got its value. It changes the field in the middle of a long Go function, depending on the
route of the Knative Service in that pass (`PropagateStatus` in github.com/kserve/kserve,
pkg/apis/serving/v1beta1/inference_service_status.go, v0.20.0). The branches are nested, and the
cases that they skip matter as much as those that they handle.

The choice: a truth table in which exactly one row matches any situation, and a walk that applies it
to each entry of the route. C and R are the latest created and the latest ready revision of the
Knative Service; lr and pr are the recorded latest and previous rolled-out revision. An L-entry is
an entry of the route that is flagged as the latest and names R; only L-entries change the record.
The other entries only count in the sum of R's percents.

Easy mistakes:

* A promotion does not require R to be the newest revision (row a). A rollback does (row d): if a
  newer revision is not ready, the record stays and no traffic is sent back (row g).
* Any percent below 100 on a rolled-out revision is a rollback, not only 0 (row d).
* A rollback leaves lr = pr. The history has one step, so a second rollback has no effect.
* An absent flag is not True, an absent percent is not 0, and a percent above 100 is neither full
  nor below.
* Knative's gradual rollout flags two entries, so the order of the list can decide.

lr and pr do not show what happened: a rollback and a canary on the promoted revision leave the same
fields. `read_component` returns what a single snapshot shows.
"""

from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from msgspec.structs import replace

from reporter.stacks.kserve import objects as api
from reporter.stacks.kserve.derived.conditions import TRUE, ConditionManager

WHOLE: Final = 100


class RevisionHistory(NamedTuple):
    """The recorded rolled-out revisions, empty if unset; the history has one step."""

    rolled_out: str = ""
    previous: str = ""


class Share(Enum):
    """The percent of an entry, as the table distinguishes it; the schema sets no bounds."""

    BELOW = "below 100"
    FULL = "100"
    NEITHER = "absent, or above 100"


Situation: TypeAlias = tuple[bool, bool, Share, bool, bool]
"""The table's inputs for one L-entry, in the order of its columns."""


class RolloutRow(NamedTuple):
    """A row of the truth table: its conditions (None matches any), and the new lr and pr."""

    letter: str
    name: str
    when: tuple[bool | Share | None, ...]
    becomes: tuple[str, str] = ("lr", "pr")

    def matches(self, situation: Situation) -> bool:
        asked = zip(self.when, situation, strict=True)
        return all(want is None or want is have for want, have in asked)


_B, _F, _N = Share
_ANY: Final = None

TABLE: Final = (
    #                                            lr=R   C=R    percent     pr     lr   pr
    #                                                              R has   is set become
    #                                                              100
    RolloutRow("a", "promotion",                (False, _ANY,  _F, _ANY,  _ANY),  ("R", "lr")),
    RolloutRow("b", "canary, or rolled back",   (False, _ANY,  _B, _ANY,  _ANY)),
    RolloutRow("c", "no percent",               (False, _ANY,  _N, _ANY,  _ANY)),
    RolloutRow("d", "rollback",                 (True,  True,  _B, True,  True),  ("pr", "pr")),
    RolloutRow("e", "nothing to fall back to",  (True,  True,  _B, True,  False)),
    RolloutRow("f", "incomplete split",         (True,  True,  _B, False, _ANY)),
    RolloutRow("g", "a newer one is not ready", (True,  False, _B, _ANY,  _ANY)),
    RolloutRow("h", "steady state",             (True,  _ANY,  _F, _ANY,  _ANY)),
    RolloutRow("i", "no percent",               (True,  _ANY,  _N, _ANY,  _ANY)),
)  # fmt: skip
"""Exactly one row matches any situation."""

NO_ENTRY: Final = RolloutRow("j", "no entry follows the ready revision", ())
"""The row for a route without an L-entry."""


def _follows(entry: api.TrafficEntry, revision: str) -> bool:
    """True if an entry is an L-entry: flagged as the latest, and naming that revision."""
    return entry.revision_name == revision and entry.latest_revision is True


def total(traffic: tuple[api.TrafficEntry, ...], revision: str) -> int:
    """Return the sum of the percents of all entries that name a revision, flagged or not."""
    return sum(each.percent or 0 for each in traffic if each.revision_name == revision)


def walk(
    history: RevisionHistory, service: api.KnativeServiceStatus
) -> tuple[RevisionHistory, tuple[RolloutRow, ...]]:
    """Return the history after one pass, and the rows that applied.

    The table is applied to every L-entry in the order of the list, each time to the history that
    the previous one left. A second pass over the same Knative Service changes nothing.
    """
    ready, traffic = service.latest_ready_revision_name, service.traffic or ()
    rows: list[RolloutRow] = []
    for entry in traffic:
        if not _follows(entry, ready):
            continue
        percent = WHOLE + 1 if entry.percent is None else entry.percent
        situation = (
            history.rolled_out == ready,
            service.latest_created_revision_name == ready,
            Share.BELOW if percent < WHOLE else Share.FULL if percent == WHOLE else Share.NEITHER,
            total(traffic, ready) == WHOLE,
            bool(history.previous),
        )
        rows.append(next(row for row in TABLE if row.matches(situation)))
        names = {"R": ready, "lr": history.rolled_out, "pr": history.previous}
        history = RevisionHistory(*(names[each] for each in rows[-1].becomes))
    return history, tuple(rows) or (NO_ENTRY,)


def propagate(
    component: api.Component,
    stored: api.ComponentStatus,
    service: api.KnativeServiceStatus,
    *,
    conditions: ConditionManager,
) -> api.ComponentStatus:
    """Copy a Knative Service into a component's status and conditions.

    URL and address are never cleared, so a component that is not ready keeps its old ones. A
    condition that the Knative Service lacks is left unchanged.
    """
    before = RevisionHistory(stored.latest_rolledout_revision, stored.previous_rolledout_revision)
    history, _ = walk(before, service)
    ready = service.condition("Ready")
    is_ready = ready is not None and ready.status == TRUE
    conditions.take_over(component.ready, ready)
    conditions.take_over(component.route_ready, service.condition("RoutesReady"))
    conditions.take_over(component.configuration_ready, service.condition("ConfigurationsReady"))
    return replace(
        stored,
        latest_created_revision=service.latest_created_revision_name,
        latest_ready_revision=service.latest_ready_revision_name,
        latest_rolledout_revision=history.rolled_out,
        previous_rolledout_revision=history.previous,
        traffic=service.traffic or None,
        url=(service.url if is_ready else "") or stored.url,
        address=(service.address if is_ready else None) or stored.address,
    )


class Conclusion(Enum):
    """What one snapshot of a component shows; several may apply at once."""

    CANARY = "canary in progress"
    ROLLED_BACK = "rolled back"
    NEWEST_NOT_READY = "newest revision not ready"
    ROLLOUT_NOT_FINISHED = "rollout not finished"
    NO_FALLBACK = "only one rollout so far: a rollback will have no effect"
    SPLIT_OVER_ONE = "split over one revision"


def read_component(
    status: api.ComponentStatus, canary_percent: int | None = None
) -> frozenset[Conclusion]:
    """Return all conclusions about a component, from its status and `canaryTrafficPercent`.

    A canary and a rollback go on while a newer revision starts or fails. Canary, rollback and a
    split over one revision need an entry that follows the latest ready revision, and its percent.
    """
    created, ready = status.latest_created_revision, status.latest_ready_revision
    rolled_out, previous = status.latest_rolledout_revision, status.previous_rolledout_revision
    entry = latest_entry(status)
    percent = WHOLE if entry is None or entry.percent is None else entry.percent
    moves = bool(ready and rolled_out) and ready != rolled_out
    targets = {each.revision_name for each in status.traffic or ()}
    found = {
        Conclusion.NEWEST_NOT_READY: created not in ("", ready),
        Conclusion.ROLLOUT_NOT_FINISHED: moves and canary_percent is None,
        Conclusion.NO_FALLBACK: bool(rolled_out) and not previous,
        Conclusion.CANARY: moves and 0 < percent < WHOLE,
        Conclusion.ROLLED_BACK: moves and percent == 0 and rolled_out == previous,
        Conclusion.SPLIT_OVER_ONE: percent < WHOLE and targets == {ready},
    }
    return frozenset(each for each, holds in found.items() if holds)


def latest_entry(status: api.ComponentStatus) -> api.TrafficEntry | None:
    """Return the first entry that follows the latest ready revision, None if there is none."""
    ready = status.latest_ready_revision
    return next((each for each in status.traffic or () if _follows(each, ready)), None)


def strays(status: api.ComponentStatus, canary_percent: int | None) -> tuple[tuple[str, int], ...]:
    """Return the revisions that get requests although the spec does not ask for that, with percent.

    The latest ready revision and revisions that the spec names are not strays. Without a canary
    percent there are no strays: a rollout goes on, and an older revision may have its share.
    """
    asked = asked_traffic(canary_percent, status.latest_rolledout_revision)
    named = {each.revision_name for each in asked if each.revision_name}
    if not named:
        return ()
    wanted = named | {status.latest_ready_revision, ""}
    traffic = status.traffic or ()
    names = dict.fromkeys(each.revision_name for each in traffic if each.percent)
    return tuple((each, total(traffic, each)) for each in names if each not in wanted)


def asked_traffic(canary_percent: int | None, rolled_out: str) -> tuple[api.TrafficEntry, ...]:
    """Return the traffic that KServe asks Knative for.

    Before any revision was rolled out, the canary percent is ignored. The rule is in KServe's
    pkg/controller/v1beta1/inferenceservice/reconcilers/knative/ksvc_reconciler.go, v0.20.0.
    """
    if canary_percent is None or canary_percent >= WHOLE or not rolled_out:
        return (api.TrafficEntry(latest_revision=True, percent=WHOLE),)
    return (
        api.TrafficEntry(latest_revision=True, percent=canary_percent),
        api.TrafficEntry(
            revision_name=rolled_out,
            latest_revision=False,
            percent=WHOLE - canary_percent,
            tag="prev",
        ),
    )
