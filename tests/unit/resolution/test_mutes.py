"""Which mutes there are, what is wrong with them, and when the next one ends."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from reporter.catalogue import resources as r
from reporter.model.instant import rfc3339
from reporter.model.objects import MUTE, MUTE_UNTIL, Annotations
from reporter.model.report import SkippedObject
from reporter.resolution.mutes import FAULTS, HINTS, Hints, asked, find_mutes
from reporter.snapshot.decode import decode_object
from reporter.snapshot.table import table_of
from reporter.stacks import BUILT_IN
from tests.unit.resolution.building import NOON, Resolver, finding, snapshot

KAITO = "clusterKaitoControllerNotReady"
EPP = "inferencesetEPPNotReady"
ROUTE = "inferencesetRouteNotReady"
LATER = rfc3339(NOON + timedelta(minutes=5))


def obj(resource, name, namespace="", **annotations):
    """An object with annotations, decoded from JSON."""
    metadata = {"name": name, "namespace": namespace, "annotations": annotations}
    return decode_object(resource, json.dumps({"metadata": metadata, "spec": {}}).encode())


def holding(*objects, base=None):
    """A snapshot with objects of resources."""
    tables = {}
    for resource, each in objects:
        tables.setdefault(resource, []).append(each)
    made = base or snapshot()
    return replace(made, tables={key: table_of(each) for key, each in tables.items()})


def muted(name="demo", reasons=EPP, until=None):
    """A Namespace with a mute."""
    end = {MUTE_UNTIL: until} if until else {}
    return (r.NAMESPACES, obj(r.NAMESPACES, name, **{MUTE: reasons, **end}))


@pytest.mark.parametrize(
    ("mute", "until", "reasons", "faults"),
    [
        (EPP, None, [EPP], []),
        (f" {ROUTE} ,{EPP},,{EPP}", None, [EPP, ROUTE], []),
        (EPP, LATER, [EPP], []),
        (EPP, f" {LATER} ", [EPP], []),
        (EPP, "2026-11-20T13:05:00.5+01:00", [EPP], []),
        ("", None, [], [f"{MUTE} names no reason, so it mutes nothing"]),
        (" , ,", None, [], [f"{MUTE} names no reason, so it mutes nothing"]),
        (None, LATER, [], [f"{MUTE_UNTIL} without {MUTE} mutes nothing"]),
        (EPP.lower(), None, [], [f'no reason is called "{EPP.lower()}"; did you mean {EPP}?']),
        (f"{EPP},x", None, [EPP], ['no reason is called "x"']),
        ("*", None, [], ['no reason is called "*"']),
        (
            f"inferencesetReady,{EPP}", None, [EPP],
            ["inferencesetReady is not a fault, so there is nothing to mute"],
        ),
        *(
            (
                f"{name},{EPP}", None, [EPP],
                [f"{name} has no object that could carry a mute; see --disable-reasons"],
            )
            for name in ("clusterStatusUnknown", "clusterCRDMissing")
        ),
        (
            EPP, rfc3339(NOON), [],
            ["the mute ended at 2026-11-20T12:00:00Z and mutes nothing any more"],
        ),
        *(
            (
                EPP, text, [],
                [f'{MUTE_UNTIL} "{text}" is not a time like 2026-11-20T12:00:00Z, so nothing is muted'],
            )
            for text in ("tomorrow", "2026-11-20", "2026-11-20T12:30:00", "1763640000", "")
        ),
    ],
)  # fmt: skip
def test_what_annotations_say(mute, until, reasons, *, faults):
    found = asked(Annotations(mute=mute, mute_until=until), NOON, BUILT_IN, hints=Hints(BUILT_IN))
    assert list(found.reasons) == reasons
    assert list(found.faults) == faults
    assert (found.until is not None) == bool(reasons and until)


def test_other_peoples_text_is_cleaned_and_bounded():
    text = ",".join(f"x{number}\n" for number in range(40_000)) + ",https://a.example/" + "y" * 500
    hints = Hints(BUILT_IN)
    found = asked(Annotations(mute=f"{EPP},{text}"), NOON, BUILT_IN, hints=hints)
    assert found.reasons == (EPP,)
    assert len(found.faults) == 7
    assert found.faults[-2].endswith(" more names are not reasons of faults")
    assert found.faults[-1] == f"{MUTE} is longer than 8192 characters; the rest is not read"
    link = Annotations(mute="https://a.example/\n" + "y" * 500)
    (fault,) = asked(link, NOON, BUILT_IN, hints=hints).faults
    assert "://" not in fault
    assert len(fault) < 150


def test_objects_without_ours_do_not_count():
    other = (r.NAMESPACES, obj(r.NAMESPACES, "demo", **{"example.com/mute": EPP}))
    found = find_mutes(holding(other), (), NOON, catalogue=BUILT_IN)
    assert (found.all, found.faults, found.next_in) == ((), (), None)


def test_the_version_of_an_object_does_not_matter():
    """A finding may name an object in another version than the one that is read."""
    place = (r.GATEWAYS, obj(r.GATEWAYS, "gw", "demo", **{MUTE: "modelharnessGatewayClassMissing"}))
    found = find_mutes(holding(place), (), NOON, catalogue=BUILT_IN)
    related = replace(r.GATEWAYS.ref(place[1]), api_version="gateway.networking.k8s.io/v1beta1")
    about = finding("modelharnessGatewayClassMissing", related=related)
    assert [str(each.object) for each in found.of(about)] == ["Gateway demo/gw"]
    other = replace(related, api_version="networking.istio.io/v1")
    assert found.of(finding("modelharnessGatewayClassMissing", related=other)) == ()


def test_an_event_is_not_where_a_mute_belongs():
    metadata = {"name": "e", "namespace": "kube-system", "annotations": {MUTE: EPP}}
    event = decode_object(r.EVENTS, json.dumps({"metadata": metadata}).encode())
    found = find_mutes(holding((r.EVENTS, event)), (), NOON, catalogue=BUILT_IN)
    assert found.all == ()
    assert [each.text for each in found.faults] == [
        "an Event cannot be muted; mute the object at fault, its subject or its namespace"
    ]


def test_faults_are_bounded():
    names = (f"n{number:04}" for number in range(FAULTS + 10))
    found = find_mutes(holding(*(muted(each, "x") for each in names)), (), NOON, catalogue=BUILT_IN)
    assert len(found.faults) == FAULTS


def test_hints_are_bounded_and_for_the_first():
    """To look for what may be meant takes long, and a tenant may annotate thousands of objects."""
    names = [f"n{number:04}" for number in range(HINTS + 50)]
    wrong = [muted(name, f"{EPP}{name[1:]}") for name in names]
    found = find_mutes(holding(*wrong), (), NOON, catalogue=BUILT_IN)
    hinted = [fault.object.name for fault in found.faults if "did you mean" in fault.text]
    assert (hinted, len(found.faults)) == (names[:HINTS], len(names))
    assert (
        find_mutes(holding(*reversed(wrong)), (), NOON, catalogue=BUILT_IN).faults == found.faults
    )
    same = find_mutes(
        holding(*(muted(name, EPP.lower()) for name in names)), (), NOON, catalogue=BUILT_IN
    )
    assert all("did you mean" in fault.text for fault in same.faults)


def test_reasons_that_are_right_count_beside_more_faults_than_are_listed():
    """The last object of thousands is muted like the first."""
    names = [f"n{number:04}" for number in range(FAULTS + 10)]
    found = find_mutes(
        holding(*(muted(each, f"{EPP},x") for each in names)), (), NOON, catalogue=BUILT_IN
    )
    assert [each.object.name for each in found.all] == names
    assert [each.object.name for each in found.faults] == names[:FAULTS]


def test_it_wakes_when_the_first_mute_ends():
    seen = holding(
        muted("a", until=LATER),
        muted("b", until=rfc3339(NOON + timedelta(minutes=3))),
        muted("c"),
        muted("d", until=rfc3339(NOON - timedelta(minutes=3))),
    )
    resolver = Resolver()
    resolver.look(0, seen=seen)
    assert resolver.wake_in == timedelta(minutes=3)
    resolver.look(180, seen=seen)
    assert resolver.wake_in == timedelta(minutes=2)
    assert [each.object.name for each in resolver.report.mutes] == ["a", "c"]
    assert [each.object.name for each in resolver.report.mute_faults] == ["b", "d"]
    resolver.look(300, seen=seen)
    assert resolver.wake_in is None


def test_a_mute_that_is_taken_away_ends_beside_a_malformed_object():
    skipped = (SkippedObject(str(r.NAMESPACES), "", "", "metadata.name is missing"),)
    resolver = Resolver()
    resolver.look(0, seen=replace(holding(muted("demo")), skipped=skipped))
    resolver.look(1, seen=replace(snapshot(), skipped=skipped))
    assert [each.object.name for each in resolver.report.mutes] == ["demo"]
    bare = (r.NAMESPACES, obj(r.NAMESPACES, "demo"))
    resolver.look(2, seen=replace(holding(bare), skipped=skipped))
    assert resolver.report.mutes == ()


def test_a_fault_of_a_pod_that_cannot_be_judged_stays_muted():
    """As it would go on firing."""
    pod = (r.PODS, obj(r.PODS, "x", "demo", **{MUTE: "inferencesetModelPodsNotReady"}))
    about = finding("inferencesetModelPodsNotReady", exempt=True)
    resolver = Resolver()
    assert resolver.look(0, about, seen=holding(pod)) == {about.reason: "muted"}
    going_on = replace(about, sustains=True, exempt=False)
    assert resolver.look(600, going_on, seen=holding(pod)) == {about.reason: "muted"}
    assert resolver.look(601, going_on) == {about.reason: "firing"}
    assert resolver[about.reason].since == NOON


def test_what_is_told_beside_a_muted_fault_does_not_go_back_to_the_former_episode():
    """The record of that one may still say that it fires: its end is on its way."""
    pod = (r.PODS, obj(r.PODS, "x", "demo", **{MUTE: "inferencesetModelPodsNotReady"}))
    first = finding("inferencesetModelPodsNotReady", "x", exempt=True)
    other = finding("inferencesetModelPodsNotReady", "y", exempt=True)
    resolver = Resolver()
    resolver.look(0, first)
    behind = resolver.events()
    resolver.look(1, first, seen=holding(pod, base=snapshot(events=behind)))
    assert resolver[first.reason].disposition == "muted"
    for seconds in (2, 3):
        seen = snapshot(events=behind)
        seen = replace(seen, tables={**seen.tables, **holding(pod).tables})
        resolver.look(seconds, first, other, seen=seen)
        assert resolver[first.reason].since == NOON + timedelta(seconds=2)
