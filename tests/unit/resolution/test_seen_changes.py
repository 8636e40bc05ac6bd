"""The changes that a process saw itself: what is compared, reported, and remembered."""

from dataclasses import replace

import pytest

from reporter.catalogue.resources import COMPONENT, DEPLOYMENTS, EVENTS, NODES, PODS
from reporter.model.instant import rfc3339
from reporter.model.objects import Deployment, ManagerEntry, Metadata
from reporter.model.objects.pods import DeploymentSpec
from reporter.model.report import SkippedObject, SpecChange
from reporter.model.subject import ObjectRef
from reporter.resolution.seen_changes import (
    SeenChange,
    SeenChanges,
    look_for_changes,
    newest_write,
)
from reporter.snapshot.snapshot import Discovery, ResourceState, Served, Snapshot
from reporter.snapshot.table import Table, table_of
from tests.tables import rows
from tests.unit.resolution.building import NOON, START, crd, seconds
from tests.unit.resolution.changing import at

WEB = DEPLOYMENTS.ref_named("demo", "web")
READ = ResourceState(Served.SERVED)


def entry(second, manager="kubectl", **fields):
    """An entry of `managedFields`."""
    return ManagerEntry(manager=manager, operation="Update", time=rfc3339(at(second)), **fields)


def web(replicas, *written, name="web", namespace="demo"):
    """A Deployment with so many replicas."""
    return Deployment(
        metadata=Metadata(name=name, namespace=namespace, managed_fields=written or None),
        spec=DeploymentSpec(replicas=replicas),
    )


def cluster(*objects, resource=DEPLOYMENTS, state=READ, discovery=None):
    """A snapshot of these objects."""
    return Snapshot(
        tables={resource: table_of(objects)},
        states={resource: state},
        discovery=discovery or Discovery(),
    )


def serving(*names, **fields):
    """A snapshot without objects in which these resources are served."""
    return Snapshot(discovery=Discovery(frozenset(names), **fields))


def passes(*snapshots):
    """The memory after a pass over each snapshot, a minute apart."""
    seen = SeenChanges()
    for number, snapshot in enumerate(snapshots):
        seen = look_for_changes(seen, snapshot, START.after(60 * number))
    return seen


def told(*snapshots):
    """The objects that changed, with their changes."""
    return [(each.change.object, each.change.what) for each in passes(*snapshots).changes]


def test_a_malformed_object_is_not_told_as_removed():
    """It is left out of what is read, but exists."""
    left_out = SkippedObject(str(DEPLOYMENTS), "demo", "web", "spec is not a map")
    assert told(cluster(web(1)), replace(cluster(), skipped=(left_out,))) == []
    assert told(cluster(web(1)), cluster()) == [(WEB, "removed")]


def scaled(before, after, **fields):
    """That the Deployment was scaled."""
    return SpecChange(
        object=WEB, field="spec.replicas", before=str(before), after=str(after), **fields
    )


@pytest.mark.parametrize(
    ("ref", "place"),
    [
        (ObjectRef("apps/v1", "Deployment", "demo", "web"), ("apps", "Deployment", "demo", "web")),
        (ObjectRef("v1", "Pod", "demo", "web"), ("", "Pod", "demo", "web")),
        (ObjectRef("v1", "Node", "", "node-0"), ("", "Node", "", "node-0")),
    ],
    ids=["of a group", "of the core group", "of no namespace"],
)
def test_the_place_of_an_object_leaves_out_the_version(ref, place):
    assert ref.place == place


@pytest.mark.parametrize(
    ("by", "earliest"), [("kubectl", 30), ("", 10)], ids=["signed", "unsigned"]
)
def test_what_is_signed_was_made_when_it_says(by, earliest):
    """Other changes may have been made right after the object was seen without them."""
    assert SeenChange(scaled(1, 2, at=at(30), by=by), at(10)).earliest == at(earliest)


@pytest.mark.parametrize(
    ("before", "by"), [((), ""), ((entry(5),), "node-controller")], ids=["both", "the other"]
)
def test_of_several_writers_since_the_pass_before_none_is_named(before, by):
    """kubectl cordons, and a taint follows in the same pass: either manager may own a field."""
    writers = entry(5), entry(40, "node-controller")
    (seen,) = passes(cluster(web(1, *before)), cluster(web(2, *writers))).changes
    assert seen.change == scaled(1, 2, at=at(40), by=by)


def test_a_change_says_from_what_to_what_and_between_which_passes():
    """Nobody signed it, so it was made since the last pass."""
    (seen,) = passes(cluster(web(1)), cluster(web(2))).changes
    assert seen == SeenChange(scaled(1, 2, at=at(60)), at(0))


def test_a_change_that_somebody_signed_is_of_the_time_that_they_signed():
    before, after = web(1, entry(5, "helm")), web(2, entry(5, "helm"), entry(40))
    (seen,) = passes(cluster(before), cluster(after)).changes
    assert seen == SeenChange(scaled(1, 2, at=at(40), by="kubectl"), at(0))


@pytest.mark.parametrize(
    ("before", "after"), [((5,), (5,)), ((), ()), ((5,), ())], ids=["old", "none", "gone"]
)
def test_a_signature_that_is_not_new_signs_no_change(before, after):
    snapshots = (
        cluster(web(replicas, *map(entry, written)))
        for replicas, written in ((1, before), (2, after))
    )
    (seen,) = passes(*snapshots).changes
    assert seen.change == scaled(1, 2, at=at(60))


def test_an_object_that_is_gone_was_removed():
    (seen,) = passes(cluster(web(1)), cluster(web(1, name="new"))).changes
    removed = SpecChange(object=WEB, at=at(60), field="object", after="removed")
    assert seen == SeenChange(removed, at(0))


def test_what_is_written_and_stays_the_same_is_no_change():
    assert told(cluster(web(1, entry(5))), cluster(web(1, entry(40)))) == []


def test_each_kind_is_compared_whatever_became_of_the_one_before():
    same, node = table_of([web(1)]), table_of([])
    states = dict.fromkeys((NODES, PODS, DEPLOYMENTS), READ)
    other = replace(DEPLOYMENTS, label_selector="other")
    states[other] = READ
    first = {DEPLOYMENTS: same, other: table_of([web(1, name="a")])}
    second = {NODES: node, DEPLOYMENTS: same, other: table_of([web(2, name="a")])}
    found = told(*(Snapshot(tables=each, states=states) for each in (first, second)))
    assert found == [(DEPLOYMENTS.ref_named("demo", "a"), "spec.replicas 1 to 2")]


def test_what_two_stacks_read_of_one_object_is_told_once():
    """They may select the same objects of a kind."""
    other = replace(DEPLOYMENTS, label_selector="other")
    states = dict.fromkeys((DEPLOYMENTS, other), READ)
    both = (
        Snapshot(tables=dict.fromkeys(states, table_of([web(replicas)])), states=states)
        for replicas in (1, 2)
    )
    assert told(*both) == [(WEB, "spec.replicas 1 to 2")]


def test_what_is_read_for_the_first_time_is_compared_with_nothing():
    """Its table follows another one, which may have been incomplete."""
    first = table_of([web(1)])
    assert list(first) == [web(1)]
    second = Table({("demo", "web"): web(2)}, first, frozenset({("demo", "web")}))
    assert list(second) == [web(2)]
    unsure = Snapshot(
        tables={DEPLOYMENTS: first},
        states={DEPLOYMENTS: ResourceState(Served.SERVED, confirmed=False)},
    )
    assert told(unsure, Snapshot(tables={DEPLOYMENTS: second}, states={DEPLOYMENTS: READ})) == []


class Counting(Table):
    """A table that counts how often it is compared."""

    compared = 0

    def changes(self, before):
        """Count."""
        type(self).compared += 1
        return super().changes(before)


def test_a_table_is_not_compared_with_itself():
    Counting.compared = 0
    table = Counting(table_of([web(1)]).objects)
    snapshot = Snapshot(tables={DEPLOYMENTS: table}, states={DEPLOYMENTS: READ})
    assert passes(snapshot, snapshot, snapshot).changes == ()
    assert Counting.compared == 0


@pytest.mark.parametrize("resource", [PODS, EVENTS], ids=str)
def test_what_comes_and_goes_all_the_time_is_not_compared(resource):
    """The desired state of a pod does not change, and we write Events ourselves."""
    assert told(cluster(web(1), resource=resource), cluster(resource=resource)) == []


@pytest.mark.parametrize(
    "state",
    [
        ResourceState(Served.SERVED, confirmed=False),
        ResourceState(Served.ABSENT),
        ResourceState(Served.UNKNOWN),
        ResourceState(Served.UNKNOWN, confirmed=False),
    ],
    ids=["not confirmed", "absent", "unknown", "lost"],
)
def test_nothing_is_removed_where_nobody_can_read_it(state):
    """Once it is readable again, it is compared with the last state that was read."""
    unread = cluster(state=state)
    assert told(cluster(web(1)), unread) == []
    assert told(cluster(web(1)), unread, cluster(web(2))) == [(WEB, "spec.replicas 1 to 2")]


def test_the_oldest_come_first():
    other = replace(DEPLOYMENTS, label_selector="other")
    states = dict.fromkeys((DEPLOYMENTS, other), READ)

    def at_once(replicas, *, late=(), early=()):
        tables = {
            DEPLOYMENTS: table_of([web(replicas, *late, name="late")]),
            other: table_of([web(replicas, *early, name="early")]),
        }
        return Snapshot(tables=tables, states=states)

    found = told(at_once(1), at_once(2, late=[entry(50)], early=[entry(40)]))
    assert [ref.name for ref, _ in found] == ["early", "late"]


def test_a_definition_that_is_not_served_any_more_was_removed():
    gone = passes(serving("pods", "a.example.com", "b.example.com"), serving("b.example.com"))
    removed = SpecChange(object=crd("a.example.com"), at=at(60), field="object", after="removed")
    assert gone.changes == (SeenChange(removed, at(0)),)


def test_definitions_that_went_together_are_in_the_order_of_their_names():
    names = [f"{letter}.example.com" for letter in "abcdefghijklmnop"]
    assert [ref.name for ref, _ in told(serving("pods", *names), serving("pods"))] == names


@pytest.mark.parametrize(
    "silent",
    [
        serving("pods", confirmed=False),
        serving("pods", unknown_groups=frozenset({"example.com"})),
        serving("pods", known_groups=frozenset({""})),
        Snapshot(),
        serving(),
    ],
    ids=["not confirmed", "a group is stale", "of one group only", "no answer", "nothing"],
)
def test_no_definition_is_removed_where_discovery_does_not_tell_of_all(silent):
    """Then it is compared with the last complete answer."""
    whole = serving("pods", "a.example.com")
    assert told(whole, silent) == []
    assert told(whole, silent, serving("pods")) == [(crd("a.example.com"), "removed")]


def test_a_first_answer_of_discovery_is_compared_with_nothing():
    assert told(Snapshot(), serving("pods", "a.example.com"), serving("pods")) == [
        (crd("a.example.com"), "removed")
    ]


@rows(
    ("entries", "by"),
    {
        "nobody": ([], None),
        "one": ([entry(5)], "kubectl"),
        "the newer one": ([entry(5), entry(9, "helm")], "helm"),
        "in any order": ([entry(9, "helm"), entry(5)], "helm"),
        "not we": ([entry(5), entry(9, COMPONENT)], "kubectl"),
        "of a subresource": ([entry(5, subresource="scale")], "kubectl (scale)"),
        "not the status": ([entry(5), entry(9, subresource="status")], "kubectl"),
        "after a time that is none": ([ManagerEntry(manager="x", time="0"), entry(5)], "kubectl"),
        "at no time": ([ManagerEntry(manager="x", time="soon")], None),
        "with a long name": ([entry(5, "m" * 200)], "m" * 77 + "..."),
    },
)
def test_who_wrote_last(entries, by):
    """The time of the entry decides; a name takes at most 80 bytes."""
    found = newest_write(web(1, *entries))
    assert (found and found.by) == by


def after(*snapshots, step=60):
    """The memory after a pass over each snapshot, `step` seconds apart."""
    seen, now = SeenChanges(), START
    for snapshot in snapshots:
        seen = look_for_changes(seen, snapshot, now)
        now = now.after(step)
    return seen


def kept(*changes):
    """The seen changes that are kept."""
    before = SeenChanges(tuple(SeenChange(each, NOON) for each in changes), at=NOON)
    seen = look_for_changes(before, Snapshot(), START)
    return tuple(each.change for each in seen.changes)


def change(number=0, at=NOON, **texts):
    """A change with these texts only."""
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


def test_namespaces_share_what_is_remembered():
    """A tenant who changes many objects displaces no other's change."""
    quiet = change(0, namespace="quiet")
    loud = [change(number, namespace="loud") for number in range(1, 1006)]
    long = [change(number, namespace="loud", by="x" * 1024) for number in range(1, 301)]
    for others in (loud, long):
        of_quiet = [each for each in kept(quiet, *others) if each.object.namespace == "quiet"]
        assert of_quiet == [quiet]


def test_what_is_older_than_what_does_not_fit_goes_with_it():
    small, large = change(0, by="x"), change(1, by="x" * (256 * 1024))
    assert kept(small, large, change(2, by="x")) == (change(2, by="x"),)


@pytest.mark.parametrize(("second", "is_kept"), [(-2400, True), (-2401, False)])
def test_a_change_is_kept_for_the_window_and_ten_minutes(second, is_kept):
    """A fault may be seen as late as that after it began."""
    assert bool(kept(change(second))) is is_kept


def test_the_changes_of_an_object_are_found_by_its_place():
    one, other, again = (change(number, name=name) for number, name in enumerate("aba"))
    seen = SeenChanges(tuple(SeenChange(each, NOON) for each in (one, other, again)))
    found = {
        place[3]: [each.change for each in changes] for place, changes in seen.by_place.items()
    }
    assert found == {"a": [one, again], "b": [other]}
