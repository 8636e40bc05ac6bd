"""Which revisions of a component are rolled out, in Knative mode.

The problem: a rollback returns to `latestRolledoutRevision`, and KServe does not store how the
field got its value. It changes the field in the middle of a long Go function, depending on the
route of the Knative Service in that pass (`PropagateStatus` in github.com/kserve/kserve,
pkg/apis/serving/v1beta1/inference_service_status.go, v0.20.0). The branches are nested, and the
cases that they skip matter as much as those that they handle.

The choice: the two cases that change the record, asked of each entry of the route. C and R are the
latest created and the latest ready revision of the Knative Service; lr and pr are the recorded
latest and previous rolled-out revision. An L-entry is an entry of the route that is flagged as the
latest and names R; only L-entries change the record. The other entries only count in the sum of R's
percents.

    case       lr = R  C = R  percent    R has 100  pr is set  lr, pr become
    promotion  no      any    100        any        any        R, lr
    rollback   yes     yes    below 100  yes        yes        pr, pr

In any other case the record stays: in a canary, without a percent or a revision to fall back to,
while the split is incomplete or a newer revision is not ready, and in the steady state.

Easy mistakes:

* A promotion does not require R to be the newest revision. A rollback does: if a newer revision is
  not ready, the record stays and no traffic is sent back.
* Any percent below 100 on a rolled-out revision is a rollback, not only 0.
* A rollback leaves lr = pr. The history has one step, so a second rollback has no effect.
* An absent flag is not True, an absent percent is not 0, and a percent above 100 is neither full
  nor below; the schema sets no bounds.
* Knative's gradual rollout flags two entries, so the order of the list can decide.

lr and pr do not show what happened: a rollback and a canary on the promoted revision leave the same
fields. `read_component` returns what a single snapshot shows.
"""

from typing import Final, NamedTuple

from msgspec.structs import replace

from reporter.stacks.kserve import objects as api
from reporter.stacks.kserve.derived.conditions import TRUE, ConditionManager

WHOLE: Final = 100


class RevisionHistory(NamedTuple):
    """The recorded rolled-out revisions, empty if unset; the history has one step."""

    rolled_out: str = ""
    previous: str = ""


def _follows(entry: api.TrafficEntry, revision: str) -> bool:
    """True if an entry is an L-entry: flagged as the latest, and naming that revision."""
    return entry.revision_name == revision and entry.latest_revision is True


def total(traffic: tuple[api.TrafficEntry, ...], revision: str) -> int:
    """Return the sum of the percents of all entries that name a revision, flagged or not."""
    return sum(each.percent or 0 for each in traffic if each.revision_name == revision)


def walk(history: RevisionHistory, service: api.KnativeServiceStatus) -> RevisionHistory:
    """Return the history after one pass.

    The cases are applied to every L-entry in the order of the list, each time to the history that
    the previous one left. A second pass over the same Knative Service changes nothing.
    """
    ready, traffic = service.latest_ready_revision_name, service.traffic or ()
    may_fall_back = service.latest_created_revision_name == ready and total(traffic, ready) == WHOLE
    for entry in traffic:
        lr, pr = history
        if entry.percent is None or not _follows(entry, ready):
            continue
        if lr != ready and entry.percent == WHOLE:
            history = RevisionHistory(ready, lr)
        elif lr == ready and entry.percent < WHOLE and may_fall_back and pr:
            history = RevisionHistory(pr, pr)
    return history


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
    history = walk(before, service)
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


class Shown(NamedTuple):
    """What one snapshot of a component shows; several may hold at once."""

    canary: bool  # in progress
    rolled_back: bool
    newest_not_ready: bool
    rollout_not_finished: bool
    no_fallback: bool  # only one rollout so far: a rollback will have no effect
    split_over_one: bool  # all parts of the requests go to one revision


def read_component(status: api.ComponentStatus, canary_percent: int | None = None) -> Shown:
    """Return what a component shows, from its status and `canaryTrafficPercent`.

    A canary and a rollback go on while a newer revision starts or fails. Canary, rollback and a
    split over one revision need an entry that follows the latest ready revision, and its percent.
    """
    created, ready = status.latest_created_revision, status.latest_ready_revision
    rolled_out, previous = status.latest_rolledout_revision, status.previous_rolledout_revision
    entry = latest_entry(status)
    percent = WHOLE if entry is None or entry.percent is None else entry.percent
    moves = bool(ready and rolled_out) and ready != rolled_out
    return Shown(
        canary=moves and 0 < percent < WHOLE,
        rolled_back=moves and percent == 0 and rolled_out == previous,
        newest_not_ready=created not in ("", ready),
        rollout_not_finished=moves and canary_percent is None,
        no_fallback=bool(rolled_out) and not previous,
        split_over_one=percent < WHOLE
        and {e.revision_name for e in status.traffic or ()} == {ready},
    )


def latest_entry(status: api.ComponentStatus) -> api.TrafficEntry | None:
    """Return the first entry that follows the latest ready revision, None if there is none."""
    ready = status.latest_ready_revision
    return next((each for each in status.traffic or () if _follows(each, ready)), None)


def strays(status: api.ComponentStatus, canary_percent: int | None) -> tuple[tuple[str, int], ...]:
    """Return the revisions that get requests although the spec does not ask for that, with percent.

    The latest ready revision and the one that the spec means are not strays. Without a canary
    percent there are no strays: a rollout goes on, and an older revision may have its share.
    """
    rolled_out, traffic = status.latest_rolledout_revision, status.traffic or ()
    if asked_percent(canary_percent, rolled_out) == WHOLE:
        return ()
    others = status.serving(without=status.latest_ready_revision)
    return tuple((each, total(traffic, each)) for each in others if each != rolled_out)


def asked_percent(canary_percent: int | None, rolled_out: str) -> int:
    """Return the percent that KServe asks Knative to send to the latest ready revision.

    The rest goes to the revision rolled out before. Before any was, the canary percent is ignored.
    The rule is in KServe's
    pkg/controller/v1beta1/inferenceservice/reconcilers/knative/ksvc_reconciler.go, v0.20.0.
    """
    if canary_percent is None or canary_percent >= WHOLE or not rolled_out:
        return WHOLE
    return canary_percent
