"""What a process remembers of changes is bounded."""

from datetime import timedelta

import pytest

from reporter.catalogue.resources import DEPLOYMENTS
from reporter.model.objects import Deployment, Metadata
from reporter.model.objects.pods import DeploymentSpec
from reporter.model.report import SpecChange
from reporter.model.subject import ObjectRef
from reporter.resolution.seen_changes import (
    MOST_BYTES,
    MOST_CHANGES,
    SeenChange,
    SeenChanges,
    look_for_changes,
)
from reporter.snapshot.snapshot import ResourceState, Served, Snapshot
from reporter.snapshot.table import table_of
from tests.unit.resolution.building import NOON, START, seconds

WINDOW = timedelta(minutes=30)


def cluster(replicas, *, count, name="d"):
    objects = [
        Deployment(
            metadata=Metadata(name=f"{name}-{number:04}", namespace="n"),
            spec=DeploymentSpec(replicas=replicas),
        )
        for number in range(count)
    ]
    return Snapshot(
        tables={DEPLOYMENTS: table_of(objects)},
        states={DEPLOYMENTS: ResourceState(Served.SERVED)},
    )


def after(*snapshots, step=60):
    """What is remembered after a pass over each snapshot, `step` seconds apart."""
    seen, now = SeenChanges(), START
    for snapshot in snapshots:
        seen = look_for_changes(seen, snapshot, now, window=WINDOW)
        now = now.after(step)
    return seen


def test_the_oldest_are_given_up_first():
    """Of more changes than are remembered the newest stay."""
    count = MOST_CHANGES // 2 + 10
    seen = after(*(cluster(replicas, count=count) for replicas in (1, 2, 3)))
    assert len(seen.changes) == MOST_CHANGES
    assert [each.change.after for each in seen.changes].count("3") == count


def test_bytes_are_bounded():
    """Long names take the place of other changes."""
    name = "d" * 240
    seen = after(*(cluster(replicas, count=900, name=name) for replicas in (1, 2, 3)))
    size = sum(len(each.change.object.name) for each in seen.changes)
    assert 0 < len(seen.changes) < MOST_CHANGES
    assert size <= MOST_BYTES


def test_what_is_too_old_for_any_fault_is_forgotten():
    """A change that no fault can have come shortly after takes no memory."""
    same = cluster(2, count=3)
    assert after(cluster(1, count=3), *[same] * 39).changes
    assert not after(cluster(1, count=3), *[same] * 43).changes


def test_what_did_not_change_costs_nothing():
    """The same tables are not compared again, and nothing new is remembered of them."""
    same = cluster(1, count=3)
    assert after(same, same).changes == ()


def kept(*changes):
    """What is kept of changes that were seen before."""
    before = SeenChanges(tuple(SeenChange(each, NOON) for each in changes), at=NOON)
    seen = look_for_changes(before, Snapshot(), START, window=WINDOW)
    return tuple(each.change for each in seen.changes)


def change(number=0, at=NOON, **texts):
    """A change without any texts but these."""
    names = {name: texts.pop(name, "") for name in ("kind", "namespace", "name")}
    return SpecChange(object=ObjectRef("v1", **names), at=at + seconds(number), **texts)


def test_a_thousand_changes_are_kept():
    changes = [change(number) for number in range(-1005, 1)]
    assert kept(*changes) == tuple(changes[6:])


@pytest.mark.parametrize("text", ["kind", "namespace", "name", "field", "before", "after", "by"])
def test_every_text_of_a_change_counts(text):
    half = 128 * 1024
    older, newer = (change(number, **{text: "x" * half}) for number in (0, 1))
    assert kept(older, newer) == (older, newer)
    larger = change(1, **{text: "x" * (half + 1)})
    assert kept(older, larger) == (larger,)


def test_what_is_older_than_what_does_not_fit_goes_with_it():
    small, large = change(0, by="x"), change(1, by="x" * (256 * 1024))
    assert kept(small, large, change(2, by="x")) == (change(2, by="x"),)


@pytest.mark.parametrize(("second", "is_kept"), [(-2400, True), (-2401, False)])
def test_a_change_is_kept_for_the_window_and_ten_minutes(second, is_kept):
    """A fault may be seen so long after it began."""
    assert bool(kept(change(second))) is is_kept


def test_the_changes_of_an_object_are_found_by_its_place():
    one, other, again = (change(number, name=name) for number, name in enumerate("aba"))
    seen = SeenChanges(tuple(SeenChange(each, NOON) for each in (one, other, again)))
    found = {
        place[3]: [each.change for each in changes] for place, changes in seen.by_place.items()
    }
    assert found == {"a": [one, again], "b": [other]}
