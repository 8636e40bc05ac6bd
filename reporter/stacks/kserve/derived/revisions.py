"""Which revisions of a component are rolled out, in Knative mode.

The problem: `latestRolledoutRevision` is where a rollback goes, and KServe does not store why it is
what it is. It moves the field in the middle of a long Go function, by what the route of the Knative
Service looks like in that pass (`PropagateStatus` in github.com/kserve/kserve,
pkg/apis/serving/v1beta1/inference_service_status.go, v0.20.0). The branches are nested, and what
they leave out is as important as what they do.

The choice: a truth table in which exactly one row matches any situation, and a walk that puts each
entry of the route through it. C and R are the latest created and the latest ready revision of the
Knative Service; lr and pr are the latest and the previous rolled-out revision on record. An L-entry
is an entry of the route that is flagged as the latest and names R; only L-entries move anything.
The other entries count where the percents of R are summed up.

What is easy to get wrong:

* A promotion does not ask whether R is the newest revision (row a). A rollback does (row d): with a
  newer revision that is not ready the record stays, and no traffic is sent back (row g).
* Any percent below 100 on a revision that is rolled out is a rollback, not only 0 (row d).
* A rollback leaves lr = pr. The history has one step, so a second rollback has no effect.
* A flag that is absent is not True, a percent that is absent is not 0, and a percent above 100 is
  neither full nor below.
* A gradual rollout of Knative flags two entries, so that the order of the list can decide.

To work backwards from lr and pr to what happened fails: a rollback and a canary on the promoted
revision leave the same fields. `reading` says what one look does tell.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from msgspec.structs import replace

from reporter.stacks.kserve.derived.conditions import ConditionManager
from reporter.stacks.kserve.derived.raw import Component
from reporter.stacks.kserve.objects import ComponentStatus, KnativeServiceStatus, TrafficEntry

WHOLE: Final = 100


@dataclass(frozen=True, slots=True)
class RevisionHistory:
    """The revisions rolled out on record; empty where there is none. One step is remembered."""

    rolled_out: str = ""
    previous: str = ""


class Share(Enum):
    """The percent of an entry, as far as the table tells it apart."""

    ABSENT = "absent"
    BELOW = "below 100"
    FULL = "100"
    ABOVE = "above 100"


class Outcome(Enum):
    """What a row does to the history."""

    KEEP = "keep"
    PROMOTE = "promote"
    FALL_BACK = "fall back"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What the table asks of one L-entry.

    Attributes:
        rolled_out: lr = R.
        newest_ready: C = R.
        share: the entry's percent.
        whole: the percents of all entries that name R sum up to 100.
        has_previous: pr is set.

    """

    rolled_out: bool
    newest_ready: bool
    share: Share
    whole: bool
    has_previous: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutRow:
    """A row of the truth table; None means any."""

    letter: str
    name: str
    rolled_out: bool | None = None
    newest_ready: bool | None = None
    shares: frozenset[Share] = frozenset()
    whole: bool | None = None
    has_previous: bool | None = None
    outcome: Outcome = Outcome.KEEP

    def matches(self, situation: Situation) -> bool:
        """Tell whether the row is about that situation."""
        asked = (
            (self.rolled_out, situation.rolled_out),
            (self.newest_ready, situation.newest_ready),
            (self.whole, situation.whole),
            (self.has_previous, situation.has_previous),
        )
        return situation.share in self.shares and all(
            want is None or want is have for want, have in asked
        )


_FULL: Final = frozenset({Share.FULL})
_BELOW: Final = frozenset({Share.BELOW})
_NEITHER: Final = frozenset({Share.ABSENT, Share.ABOVE})

TABLE: Final[tuple[RolloutRow, ...]] = (
    RolloutRow(
        letter="a", name="promotion", outcome=Outcome.PROMOTE,
        rolled_out=False, shares=_FULL,
    ),
    RolloutRow(
        letter="b", name="canary in progress, or rolled back and staying so",
        rolled_out=False, shares=_BELOW,
    ),
    RolloutRow(letter="c", name="no percent", rolled_out=False, shares=_NEITHER),
    RolloutRow(
        letter="d", name="rollback", outcome=Outcome.FALL_BACK,
        rolled_out=True, newest_ready=True, shares=_BELOW, whole=True, has_previous=True,
    ),
    RolloutRow(
        letter="e", name="nothing to fall back to",
        rolled_out=True, newest_ready=True, shares=_BELOW, whole=True, has_previous=False,
    ),
    RolloutRow(
        letter="f", name="incomplete split",
        rolled_out=True, newest_ready=True, shares=_BELOW, whole=False,
    ),
    RolloutRow(
        letter="g", name="blocked by a newer revision that is not ready",
        rolled_out=True, newest_ready=False, shares=_BELOW,
    ),
    RolloutRow(letter="h", name="steady state", rolled_out=True, shares=_FULL),
    RolloutRow(letter="i", name="no percent", rolled_out=True, shares=_NEITHER),
)  # fmt: skip
"""Exactly one row matches any situation. A percent above 100 is neither 100 nor below it."""

NO_ENTRY: Final = RolloutRow(letter="j", name="no entry follows the ready revision")
"""The row where there is no L-entry."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The history after a pass, and the rows that applied, in order."""

    history: RevisionHistory
    rows: tuple[RolloutRow, ...]


def share_of(percent: int | None) -> Share:
    """Return the percent as the table tells it apart; the schema sets no bounds."""
    if percent is None:
        return Share.ABSENT
    if percent == WHOLE:
        return Share.FULL
    return Share.BELOW if percent < WHOLE else Share.ABOVE


def follows(entry: TrafficEntry, revision: str) -> bool:
    """Tell whether an entry is an L-entry: flagged as the latest, and naming that revision."""
    return entry.revision_name == revision and entry.latest_revision is True


def total(traffic: tuple[TrafficEntry, ...], revision: str) -> int:
    """Return the sum of the percents of all entries that name a revision, flagged or not."""
    return sum(each.percent or 0 for each in traffic if each.revision_name == revision)


def walk(history: RevisionHistory, service: KnativeServiceStatus) -> Walk:
    """Return what one pass makes of a history.

    Every L-entry is put through the table in the order of the list, with the history that the one
    before it left. With the same Knative Service a second pass changes nothing more.
    """
    ready = service.latest_ready_revision_name
    traffic = service.traffic or ()
    whole = total(traffic, ready) == WHOLE
    rows: list[RolloutRow] = []
    for entry in traffic:
        if not follows(entry, ready):
            continue
        row = _row(
            Situation(
                rolled_out=history.rolled_out == ready,
                newest_ready=service.latest_created_revision_name == ready,
                share=share_of(entry.percent),
                whole=whole,
                has_previous=bool(history.previous),
            )
        )
        history = _after(row, history, ready)
        rows.append(row)
    return Walk(history, tuple(rows) or (NO_ENTRY,))


def _row(situation: Situation) -> RolloutRow:
    return next(row for row in TABLE if row.matches(situation))


def _after(row: RolloutRow, history: RevisionHistory, ready: str) -> RevisionHistory:
    match row.outcome:
        case Outcome.PROMOTE:
            return RevisionHistory(ready, history.rolled_out)
        case Outcome.FALL_BACK:
            return RevisionHistory(history.previous, history.previous)
        case Outcome.KEEP:
            return history


@dataclass(frozen=True, slots=True)
class Propagated:
    """The status of a component after a pass, and the rows that led to its revisions."""

    status: ComponentStatus
    rows: tuple[RolloutRow, ...]


def propagate(
    component: Component,
    stored: ComponentStatus,
    service: KnativeServiceStatus,
    *,
    conditions: ConditionManager,
) -> Propagated:
    """Take a Knative Service over into a component's status and conditions.

    URL and address are only ever overwritten, so a component that is not ready keeps its old ones.
    A condition that the Knative Service does not have stays as it was.
    """
    walked = walk(
        RevisionHistory(stored.latest_rolledout_revision, stored.previous_rolledout_revision),
        service,
    )
    ready = service.condition("Ready")
    is_ready = ready is not None and ready.status == "True"
    conditions.take_over(component.ready, ready)
    conditions.take_over(component.route_ready, service.condition("RoutesReady"))
    conditions.take_over(component.configuration_ready, service.condition("ConfigurationsReady"))
    status = replace(
        stored,
        latest_created_revision=service.latest_created_revision_name,
        latest_ready_revision=service.latest_ready_revision_name,
        latest_rolledout_revision=walked.history.rolled_out,
        previous_rolledout_revision=walked.history.previous,
        traffic=service.traffic,
        url=(service.url if is_ready else "") or stored.url,
        address=(service.address if is_ready else None) or stored.address,
    )
    return Propagated(status, walked.rows)
