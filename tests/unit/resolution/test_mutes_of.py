"""What an object mutes, and whether a mute outlives the sight of its object."""

from dataclasses import replace

import pytest

from reporter.catalogue import resources as r
from reporter.model.objects import MUTE
from reporter.model.report import Mute
from reporter.model.subject import ObjectRef
from reporter.resolution.mutes import find_mutes
from reporter.snapshot.snapshot import ResourceState, Served
from reporter.stacks import BUILT_IN
from reporter.stacks.kaito.reasons import INFERENCESETS
from reporter.stacks.otterscale.reasons import MADE_DEPLOYMENTS
from tests.tables import rows
from tests.unit.resolution.building import MODEL, NOON, finding, snapshot
from tests.unit.resolution.test_mutes import holding, muted, obj

EPP = "inferencesetEPPNotReady"
KAITO = "clusterKaitoControllerNotReady"
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
    """Long names of one beginning are shown alike; others have room beside them."""
    alike = ",".join(f"{'y' * 80}{number}" for number in range(5))
    names = [f"n{number:04}" for number in range(300)]
    found = found_in(holding(*(muted(name, alike) for name in names)))
    assert [each.object.name for each in found.faults] == names


def test_a_mute_of_a_kind_that_is_not_read_any_more_ends():
    """As of a component that is declared no more."""
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
    """What is read for a stack has some of the objects only, and none where there is no such stack."""
    states = {r.DEPLOYMENTS: ResourceState(plain), MADE_DEPLOYMENTS: ResourceState(of_stack)}
    seen = snapshot()
    before = Mute(r.DEPLOYMENTS.ref_named("kaito", "up"), (KAITO,))
    found = found_in(replace(seen, states={**seen.states, **states}), [before])
    assert found.all == ((before,) if goes_on else ())


@pytest.mark.parametrize(
    ("unknown", "goes_on"), [(r.NODES, False), (r.DEPLOYMENTS, True)], ids=["other", "own"]
)
def test_only_its_own_kind_tells_of_the_object_of_a_mute(unknown, *, goes_on):
    """Not one of the same name of another kind, nor that another kind is unknown."""
    twin = (r.PODS, obj(r.PODS, "up", "kaito"))
    seen = holding(twin, base=snapshot(unknown=[unknown]))
    before = Mute(r.DEPLOYMENTS.ref_named("kaito", "up"), (KAITO,))
    assert found_in(seen, [before]).all == ((before,) if goes_on else ())


def test_a_mute_that_is_taken_from_an_object_that_is_read_ends():
    bare = (r.DEPLOYMENTS, obj(r.DEPLOYMENTS, "up", "kaito"))
    before = Mute(r.DEPLOYMENTS.ref_named("kaito", "up"), (KAITO,))
    seen = holding(bare, base=snapshot(unknown=[MADE_DEPLOYMENTS]))
    assert found_in(seen, [before]).all == ()
