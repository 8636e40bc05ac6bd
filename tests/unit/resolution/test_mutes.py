"""What annotations mute, which faults that affects, and mutes on objects that become unreadable."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from reporter.catalogue import resources as r
from reporter.model.instant import rfc3339
from reporter.model.objects import MUTE, MUTE_UNTIL, Annotations
from reporter.model.report import Mute, SkippedObject
from reporter.model.subject import ObjectRef
from reporter.resolution.mutes import FAULTS, HINTS, IN_NAMESPACE, Hints, find_mutes, read_mute
from reporter.snapshot.decode import decode_object
from reporter.snapshot.snapshot import ResourceState, Served
from reporter.snapshot.table import table_of
from reporter.stacks import BUILT_IN
from reporter.stacks.kaito.reasons import INFERENCESETS
from reporter.stacks.otterscale.reasons import MADE_DEPLOYMENTS
from tests.tables import rows
from tests.unit.resolution.building import MODEL, NOON, Resolver, finding, snapshot

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
        (f"inferencesetReady,{EPP}", None, [EPP], ["inferencesetReady is not a fault, so there is nothing to mute"]),
        *(
            (
                f"{name},{EPP}", None, [EPP],
                [f"{name} has no object that could carry a mute; see --disable-reasons"],
            )
            for name in ("clusterStatusUnknown", "clusterCRDMissing")
        ),
        (EPP, rfc3339(NOON), [], ["the mute ended at 2026-11-20T12:00:00Z and mutes nothing any more"]),
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
    found = read_mute(
        Annotations(mute=mute, mute_until=until), NOON, BUILT_IN, hints=Hints(BUILT_IN)
    )
    assert list(found.reasons) == reasons
    assert list(found.faults) == faults
    assert (found.until is not None) == bool(reasons and until)


def test_other_peoples_text_is_cleaned_and_bounded():
    text = ",".join(f"x{number}\n" for number in range(40_000)) + ",https://a.example/" + "y" * 500
    hints = Hints(BUILT_IN)
    found = read_mute(Annotations(mute=f"{EPP},{text}"), NOON, BUILT_IN, hints=hints)
    assert found.reasons == (EPP,)
    assert len(found.faults) == 7
    assert found.faults[-2].endswith(" more names are not reasons of faults")
    assert found.faults[-1] == f"{MUTE} is longer than 8192 characters; the rest is not read"
    link = Annotations(mute="https://a.example/\n" + "y" * 500)
    (fault,) = read_mute(link, NOON, BUILT_IN, hints=hints).faults
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


def test_hints_are_bounded_and_for_the_first():
    """Searching for a similar name is slow, and a tenant can annotate thousands of objects."""
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


def _pod(number, mute, namespace="demo"):
    return (r.PODS, obj(r.PODS, f"p{number:04}", namespace, **{MUTE: mute}))


def test_what_is_read_of_a_namespace_is_bounded_and_the_rest_is_said_not_to_be_read():
    """A pass must not take a second because one tenant has thousands of long annotations."""
    texts = [f"{EPP},{number}".ljust(8192, ",") for number in range(20)]
    pods = [_pod(number, text) for number, text in enumerate(texts)]
    found = found_in(holding(*pods, _pod(99, EPP, "far"), muted("demo")))
    read = [each.object.name for each in found.all if each.object.namespace == "demo"]
    assert read == [f"p{number:04}" for number in range(IN_NAMESPACE // 8192)]
    refused = [each.object.name for each in found.faults if "not read" in each.text]
    assert refused == [f"p{number:04}" for number in range(len(read), len(texts))]
    others = [str(each.object) for each in found.all if each.object.namespace != "demo"]
    assert others == ["Namespace demo", "Pod far/p0099"]


def test_mutes_of_one_wording_are_read_once():
    text = EPP.ljust(8192, ",")
    found = found_in(holding(*(_pod(number, text) for number in range(50))))
    assert (len(found.all), found.faults) == (50, ())


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
    """It would still fire otherwise."""
    pod = (r.PODS, obj(r.PODS, "x", "demo", **{MUTE: "inferencesetModelPodsNotReady"}))
    about = finding("inferencesetModelPodsNotReady", exempt=True)
    resolver = Resolver()
    assert resolver.look(0, about, seen=holding(pod)) == {about.reason: "muted"}
    going_on = replace(about, sustains=True, exempt=False)
    assert resolver.look(600, going_on, seen=holding(pod)) == {about.reason: "muted"}
    assert resolver.look(601, going_on) == {about.reason: "firing"}
    assert resolver[about.reason].since == NOON


def test_what_is_told_beside_a_muted_fault_does_not_go_back_to_the_former_episode():
    """The former record may still fire: its end is on its way."""
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


SERVED, ABSENT, UNKNOWN = Served.SERVED, Served.ABSENT, Served.UNKNOWN


def found_in(seen, before=()):
    """The mutes of a snapshot at noon."""
    return find_mutes(seen, before, NOON, catalogue=BUILT_IN)


@rows(
    ("resource", "name", "reasons", "is_muted"),
    {
        "subject": (INFERENCESETS, "demo/qwen", EPP, True),
        "another-reason": (INFERENCESETS, "demo/qwen", KAITO, False),
        "another-name": (INFERENCESETS, "demo/other", EPP, False),
        "in-another-namespace": (INFERENCESETS, "far/qwen", EPP, False),
        "another-kind-of-the-same-name": (r.DEPLOYMENTS, "demo/qwen", EPP, False),
        "at-fault": (r.NODES, "/node", EPP, True),
        "namespace-of-the-subject": (r.NAMESPACES, "/demo", EPP, True),
        "another-reason-of-the-namespace": (r.NAMESPACES, "/demo", KAITO, False),
        "another-namespace": (r.NAMESPACES, "/qwen", EPP, False),
    },
)
def test_what_mutes_a_fault_of_a_node_for_a_model(resource, name, reasons, *, is_muted):
    namespace, _, own = name.partition("/")
    carrier = obj(resource, own, namespace, **{MUTE: reasons})
    about = finding(EPP, subject=MODEL, related=r.NODES.ref_named("", "node"))
    mutes = found_in(holding((resource, carrier))).of(about)
    assert [each.object for each in mutes] == [resource.ref(carrier)] * is_muted


@pytest.mark.parametrize(("name", "is_muted"), [("demo", True), ("far", False)])
def test_the_namespace_of_the_subject_counts_before_that_of_the_object(name, *, is_muted):
    about = finding(EPP, subject=MODEL, related=r.DEPLOYMENTS.ref_named("far", "epp"))
    assert bool(found_in(holding(muted(name))).of(about)) is is_muted


def test_mutes_stand_in_the_order_of_their_objects():
    pod = (r.PODS, obj(r.PODS, "x", "demo", **{MUTE: EPP}))
    before = [Mute(r.NAMESPACES.ref_named("", name), (EPP,)) for name in ("b", "a")]
    found = found_in(holding(pod, base=snapshot(unknown=[r.NAMESPACES])), before)
    assert [str(each.object) for each in found.all] == ["Namespace a", "Namespace b", "Pod demo/x"]


def test_faults_stand_in_the_order_of_their_objects():
    names = [f"n{number:02}" for number in range(20)]
    pods = [(r.PODS, obj(r.PODS, name, "demo", **{MUTE: ""})) for name in names]
    found = found_in(holding(*pods, *(muted(name, "y,x") for name in reversed(names))))
    assert [(each.object.kind, each.object.name) for each in found.faults] == [
        *(("Namespace", name) for name in names for _ in "xy"),
        *(("Pod", name) for name in names),
    ]
    assert [each.text for each in found.faults[:2]] == [
        'no reason is called "x"',
        'no reason is called "y"',
    ]


def test_the_first_objects_have_hints_whatever_is_read_first():
    pods = [
        (r.PODS, obj(r.PODS, f"p{each}", "demo", **{MUTE: f"{EPP}{each}"})) for each in range(120)
    ]
    found = found_in(holding(*pods, muted("demo", f"{EPP}s")))
    (fault,) = [each for each in found.faults if each.object.kind == "Namespace"]
    assert fault.text == f'no reason is called "{EPP}s"; did you mean {EPP}?'


def test_what_is_listed_once_counts_once():
    """Long names with the same beginning look alike; others have room next to them."""
    alike = ",".join(f"{'y' * 80}{number}" for number in range(5))
    names = [f"n{number:04}" for number in range(300)]
    found = found_in(holding(*(muted(name, alike) for name in names)))
    assert [each.object.name for each in found.faults] == names


def test_a_mute_of_a_kind_that_is_not_read_any_more_ends():
    """For example, one of a component that is no longer declared."""
    before = Mute(ObjectRef("example.com/v1", "Cache", "demo", "x"), (EPP,))
    assert found_in(snapshot(), [before]).all == ()


@pytest.mark.parametrize(
    ("plain", "of_stack", "goes_on"),
    [
        (UNKNOWN, ABSENT, True),
        (UNKNOWN, SERVED, True),
        (ABSENT, UNKNOWN, True),
        (UNKNOWN, UNKNOWN, True),
        (SERVED, SERVED, False),
        (SERVED, ABSENT, False),
        (ABSENT, SERVED, False),
    ],
)
def test_a_mute_of_a_kind_that_is_read_twice_goes_on_while_one_is_unknown(
    plain, of_stack, *, goes_on
):
    """A resource of a stack has some of the objects only, or none without that stack."""
    states = {r.DEPLOYMENTS: ResourceState(plain), MADE_DEPLOYMENTS: ResourceState(of_stack)}
    seen = snapshot()
    before = Mute(r.DEPLOYMENTS.ref_named("kaito", "up"), (KAITO,))
    found = found_in(replace(seen, states={**seen.states, **states}), [before])
    assert found.all == ((before,) if goes_on else ())


@pytest.mark.parametrize(
    ("unknown", "goes_on"), [(r.NODES, False), (r.DEPLOYMENTS, True)], ids=["other", "own"]
)
def test_only_its_own_kind_tells_of_the_object_of_a_mute(unknown, *, goes_on):
    """Neither an object of the same name of another kind nor another unknown kind matters."""
    twin = (r.PODS, obj(r.PODS, "up", "kaito"))
    seen = holding(twin, base=snapshot(unknown=[unknown]))
    before = Mute(r.DEPLOYMENTS.ref_named("kaito", "up"), (KAITO,))
    assert found_in(seen, [before]).all == ((before,) if goes_on else ())


def test_a_mute_that_is_taken_from_an_object_that_is_read_ends():
    bare = (r.DEPLOYMENTS, obj(r.DEPLOYMENTS, "up", "kaito"))
    before = Mute(r.DEPLOYMENTS.ref_named("kaito", "up"), (KAITO,))
    seen = holding(bare, base=snapshot(unknown=[MADE_DEPLOYMENTS]))
    assert found_in(seen, [before]).all == ()


ENDED = "the mute ended at 2026-11-20T12:00:00Z and mutes nothing any more"


def said(mute, until=None, hints=None):
    """The result for these annotations at noon."""
    annotations = Annotations(mute=mute, mute_until=until)
    return read_mute(annotations, NOON, BUILT_IN, hints=hints or Hints(BUILT_IN))


@rows(
    ("name", "hint"),
    {
        "near": ("inferencesetEPPReady", f"; did you mean {EPP}?"),
        "in-capitals": (KAITO.upper(), f"; did you mean {KAITO}?"),
        "the-nearest-of-two": ("kaitoControllerNotReady", f"; did you mean {KAITO}?"),
        "two-thirds-alike": ("KaitoController", ""),
        "less-alike": ("GatewayMissing", ""),
        "near-to-what-no-object-carries": ("clusterStatusUnknwn", ""),
        "near-to-a-missing-definition": ("clusterCRDMising", ""),
    },
)
def test_which_reason_may_be_meant(name, hint):
    """Only a reason that can be muted, and only if most of the name is the same."""
    assert said(name).faults == (f'no reason is called "{name}"{hint}',)


@pytest.mark.parametrize(
    ("length", "shown"), [(80, "y" * 80), (81, "y" * 77 + "...")], ids=["whole", "cut"]
)
def test_a_name_is_shown_in_at_most_80_bytes(length, shown):
    assert said("y" * length).faults == (f'no reason is called "{shown}"',)


@pytest.mark.parametrize(
    ("wrong", "last"),
    [
        (5, 'no reason is called "x4"'),
        (6, "1 more name is not the reason of a fault"),
        (7, "2 more names are not reasons of faults"),
        (12, "7 more names are not reasons of faults"),
    ],
)
def test_five_names_are_objected_to_one_by_one(wrong, last):
    faults = said(",".join(f"x{number}" for number in range(wrong))).faults
    assert faults[:5] == tuple(f'no reason is called "x{number}"' for number in range(5))
    assert faults[4:][-1] == last
    assert len(faults) == min(wrong, 6)


@pytest.mark.parametrize(
    ("text", "reasons", "is_longer"),
    [
        (EPP.ljust(8192, ","), (EPP,), False),
        (EPP.ljust(8193, ","), (EPP,), True),
        (f"{EPP.ljust(8192, ',')}{ROUTE},", (EPP,), True),
        (f"{EPP.ljust(8190, ',')}{ROUTE},", (EPP,), True),
        (f"{EPP.ljust(8000, ',')}{ROUTE},{'x' * 500}", (EPP, ROUTE), True),
    ],
    ids=["as-long-as-allowed", "too-long", "behind-the-end", "across-the-end", "before-the-end"],
)
def test_the_first_8192_characters_are_read(text, reasons, is_longer):
    """A name that is cut off at the end does not count."""
    found = said(text)
    assert found.reasons == reasons
    fault = f"{MUTE} is longer than 8192 characters; the rest is not read"
    assert found.faults == ((fault,) if is_longer else ())


@pytest.mark.parametrize(
    ("until", "fault"),
    [
        ("2026-11-20T12:00:00Z", ENDED),
        ("soon", f'{MUTE_UNTIL} "soon" is not a time like 2026-11-20T12:00:00Z, so nothing is muted'),
    ],
    ids=["ended", "no-time"],
)  # fmt: skip
def test_a_wrong_name_is_told_beside_a_wrong_end(until, fault):
    found = said(f"{EPP},x", until)
    assert found.reasons == ()
    assert found.faults == ('no reason is called "x"', fault)


def test_names_of_one_beginning_are_one_name_to_look_for():
    hints = Hints(BUILT_IN)
    for number in range(150):
        assert said(f"{'y' * 80}{number}", hints=hints).reasons == ()
    (fault,) = said(EPP.lower(), hints=hints).faults
    assert fault == f'no reason is called "{EPP.lower()}"; did you mean {EPP}?'
