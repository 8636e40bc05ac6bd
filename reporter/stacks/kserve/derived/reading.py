"""What one look at a component tells without its history."""

from collections.abc import Iterator
from enum import Enum
from typing import Final

from reporter.stacks.kserve.derived.revisions import WHOLE, follows, total
from reporter.stacks.kserve.objects import ComponentStatus, TrafficEntry

PREV: Final = "prev"
"""Tag that KServe gives the traffic entry of the revision before."""


class Conclusion(Enum):
    """What one snapshot of a component tells; several may hold at once."""

    FULLY_ROLLED_OUT = "fully rolled out"
    CANARY = "canary in progress"
    ROLLED_BACK = "rolled back"
    HELD_AT_ZERO = "canary held at 0"
    NEWEST_NOT_READY = "newest revision not ready"
    ROLLOUT_NOT_FINISHED = "rollout not finished"
    FELL_BACK = "a rollback happened since the last promotion"
    NO_FALLBACK = "only one rollout so far: a rollback will have no effect"
    SPLIT_OVER_ONE = "split over one revision"


def read_component(
    status: ComponentStatus, canary_percent: int | None = None
) -> frozenset[Conclusion]:
    """Return all that holds of a component.

    Args:
        status: its stored or derived status; Knative mode.
        canary_percent: `canaryTrafficPercent` of its spec.

    """
    return frozenset(_conclusions(status, canary_percent))


def latest_entry(status: ComponentStatus) -> TrafficEntry | None:
    """Return the first entry that follows the latest ready revision, None if there is none."""
    ready = status.latest_ready_revision
    return next((each for each in status.traffic or () if follows(each, ready)), None)


def _conclusions(status: ComponentStatus, canary_percent: int | None) -> Iterator[Conclusion]:
    created, ready = status.latest_created_revision, status.latest_ready_revision
    rolled_out, previous = status.latest_rolledout_revision, status.previous_rolledout_revision
    entry = latest_entry(status)
    percent = entry.percent if entry else None
    if created and created != ready:
        yield Conclusion.NEWEST_NOT_READY
    if ready and rolled_out and ready != rolled_out and canary_percent is None:
        yield Conclusion.ROLLOUT_NOT_FINISHED
    if rolled_out and rolled_out == previous:
        yield Conclusion.FELL_BACK
    if rolled_out and not previous:
        yield Conclusion.NO_FALLBACK
    if percent is None:
        return
    if ready and rolled_out:
        yield from _of_ready(percent, status, newest=created == ready)
    if percent < WHOLE and {each.revision_name for each in status.traffic or ()} == {ready}:
        yield Conclusion.SPLIT_OVER_ONE


def _of_ready(percent: int, status: ComponentStatus, *, newest: bool) -> Iterator[Conclusion]:
    """Yield what the percent of the latest entry tells.

    A canary and a rollback go on while a newer revision starts or fails.
    """
    rolled_out, previous = status.latest_rolledout_revision, status.previous_rolledout_revision
    if rolled_out == status.latest_ready_revision:
        if percent == WHOLE and newest:
            yield Conclusion.FULLY_ROLLED_OUT
    elif 0 < percent < WHOLE:
        yield Conclusion.CANARY
    elif percent == 0 and rolled_out == previous:
        yield Conclusion.ROLLED_BACK
    elif percent == 0 and newest:
        yield Conclusion.HELD_AT_ZERO


def strays(status: ComponentStatus, canary_percent: int | None) -> tuple[tuple[str, int], ...]:
    """Return the revisions that get requests and that nobody asked for, with their percent.

    Those are all but the latest ready one and those that are asked for by name. Without a percent of
    a canary a rollout goes on, and an older revision may have its share.
    """
    asked = asked_traffic(canary_percent, status.latest_rolledout_revision)
    named = {each.revision_name for each in asked if each.revision_name}
    if not named:
        return ()
    wanted = named | {status.latest_ready_revision, ""}
    traffic = status.traffic or ()
    names = dict.fromkeys(each.revision_name for each in traffic if each.percent)
    return tuple((each, total(traffic, each)) for each in names if each not in wanted)


def asked_traffic(canary_percent: int | None, rolled_out: str) -> tuple[TrafficEntry, ...]:
    """Return the traffic that KServe asks Knative for.

    Without a revision that was rolled out the canary percent is ignored. The rule is in KServe's
    pkg/controller/v1beta1/inferenceservice/reconcilers/knative/ksvc_reconciler.go, v0.20.0.
    """
    if canary_percent is None or canary_percent >= WHOLE or not rolled_out:
        return (TrafficEntry(latest_revision=True, percent=WHOLE),)
    return (
        TrafficEntry(latest_revision=True, percent=canary_percent),
        TrafficEntry(
            revision_name=rolled_out,
            latest_revision=False,
            percent=WHOLE - canary_percent,
            tag=PREV,
        ),
    )
