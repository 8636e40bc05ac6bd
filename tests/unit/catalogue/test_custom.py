"""The catalogue with what a user declares."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reporter.catalogue.custom import extended
from reporter.catalogue.custom.checks import SUPPRESSED_BYTES, circles_of_suppression, find_wrong
from reporter.catalogue.resources import DEPLOYMENTS, NODES
from reporter.model.catalogue import (
    CustomComponent,
    CustomCondition,
    CustomCrd,
    CustomWorkload,
    WorkloadKind,
)
from reporter.model.paths import conditioned
from reporter.model.subject import CLUSTER as SHARED
from reporter.model.subject import Layer
from reporter.stacks import BUILT_IN
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.resolution.building import Resolver, finding

CRD = CustomCrd(name="certificates.cert-manager.io")
CLUSTER = [each.name for each in BUILT_IN if each.layer is Layer.CLUSTER]
READY = {each.name for each in BUILT_IN if each.says_ready}
FAULTS = [
    each.name for each in BUILT_IN if each.layer is Layer.DEPLOYMENT and each.name not in READY
]


def declared(reason="clusterStoreNotReady", layer=Layer.CLUSTER, **fields):
    """A declaration; without anything that raises it, of a missing CRD."""
    kinds = {"workload", "crd", "condition"}
    return CustomComponent(
        reason=reason, layer=layer, **({} if kinds & fields.keys() else {"crd": CRD}) | fields
    )


def workload(kind=WorkloadKind.STATEFULSET, name="qdrant", namespaces=("vector-db",)):
    return CustomWorkload(kind=kind, name=name, namespaces=namespaces)


def condition(**fields):
    base = {
        "group": "cert-manager.io", "version": "v1", "plural": "certificates",
        "kind": "Certificate", "type": "Ready",
    }  # fmt: skip
    return CustomCondition(**base | fields)


def names(*components):
    assert find_wrong(components, BUILT_IN) == ()
    return [each.name for each in extended(BUILT_IN, components)]


PLACES = [
    ("the last one", [{"reason": "clusterA"}], "clusterStatusUnknown", ["clusterA"], "clusterReady"),
    ("just below", [{"reason": "clusterA", "after": "clusterBBRNotReady"}], "clusterBBRNotReady", ["clusterA"], "clusterKaitoControllerNotReady"),
    ("just above", [{"reason": "clusterA", "before": "clusterBBRNotReady"}], "clusterGatewayAuthNotReady", ["clusterA"], "clusterBBRNotReady"),
    (
        "above all",
        [{"reason": "inferencesetA", "layer": Layer.DEPLOYMENT, "before": "inferencesetScalingMisconfigured", "condition": condition()}],
        "modelharnessReady", ["inferencesetA"], "inferencesetScalingMisconfigured",
    ),
    (
        "one place, in the order of the file",
        [{"reason": f"cluster{each}", "after": "clusterBBRNotReady"} for each in "BA"],
        "clusterBBRNotReady", ["clusterB", "clusterA"], "clusterKaitoControllerNotReady",
    ),
    (
        "beside another one that comes later",
        [
            {"reason": "clusterA", "after": "clusterB"},
            {"reason": "clusterB", "after": "clusterBBRNotReady"},
            {"reason": "clusterC", "before": "clusterB"},
        ],
        "clusterBBRNotReady", ["clusterC", "clusterB", "clusterA"], "clusterKaitoControllerNotReady",
    ),
    (
        "of its own kind",
        [{"reason": "modelharnessA", "layer": Layer.HARNESS, "workload": workload(namespaces=())}],
        "modelharnessNetworkPolicyMisconfigured", ["modelharnessA"], "modelharnessReady",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("entries", "above", "own", "below"),
    [row[1:] for row in PLACES],
    ids=[row[0] for row in PLACES],
)
def test_places(entries, above, own, *, below):
    order = names(*(declared(**each) for each in entries))
    start = order.index(above)
    assert order[start : start + len(own) + 2] == [above, *own, below]


REASONS = st.text(string.ascii_letters + string.digits, max_size=12).map(
    lambda rest: f"clusterX{rest}NotReady"
)


@st.composite
def declarations(draw):
    """Valid lists: places rest on what is built in or on earlier ones, suppression on later ones."""
    found = draw(st.lists(REASONS, max_size=8, unique_by=str.lower))
    components = []
    for index, reason in enumerate(found):
        place = draw(st.sampled_from(["", "before", "after"]))
        anchor = draw(st.sampled_from([*sorted({*CLUSTER} - READY), *found[:index]]))
        later = st.sampled_from([*FAULTS[:5], *found[index + 1 :]])
        suppresses = tuple(draw(st.lists(later, max_size=3, unique=True)))
        components.append(
            declared(
                reason,
                **({place: anchor} if place else {}),
                suppresses=suppresses,
                why="it is so" if suppresses else "",
            )
        )
    return components


@given(declarations())
def test_the_built_in_reasons_stay_in_order(components):
    """Every name is there once; each stands in the chapter of its kind, where it asked to be."""
    order = names(*components)
    assert len(order) == len(set(order))
    assert [name for name in order if name in BUILT_IN] == [each.name for each in BUILT_IN]
    catalogue = extended(BUILT_IN, components)
    assert order.index("clusterReady") == len(CLUSTER) + len(components) - 1
    for each in components:
        assert not each.before or catalogue.rank(each.reason) < catalogue.rank(each.before)
        assert not each.after or catalogue.rank(each.reason) > catalogue.rank(each.after)
        own = [row for row in catalogue.suppression if row.upstream == each.reason]
        assert [row.downstream for row in own] == ([each.suppresses] if each.suppresses else [])
    assert catalogue.suppression[: len(BUILT_IN.suppression)] == BUILT_IN.suppression


def resources(*components):
    catalogue = extended(BUILT_IN, components)
    return [each.resource for each in catalogue.declared], catalogue.resources


def test_what_is_read():
    components = (
        declared("clusterA", workload=workload()),
        declared("clusterB", workload=workload(WorkloadKind.DEPLOYMENT)),
        declared("clusterC"),
        declared("clusterD", condition=condition(selector="a=b")),
    )
    catalogue = extended(BUILT_IN, components)
    store, deployments, none, certificates = (each.resource for each in catalogue.declared)
    assert (str(store), store.custom) == ("statefulsets.apps", False)
    assert deployments is DEPLOYMENTS
    assert none is None
    assert certificates.selection == "certificates.cert-manager.io[a=b]"
    assert (certificates.custom, certificates.type) == (True, conditioned("Certificate"))
    assert {*catalogue.resources} - {*BUILT_IN.resources} == {certificates}
    assert [catalogue[each.reason].reads for each in components] == [
        (store,), (deployments,), (), (certificates,),
    ]  # fmt: skip


def test_one_watch_for_one_kind_and_selector():
    read, _ = resources(
        declared("clusterA", condition=condition()),
        declared("clusterB", condition=condition(type="Issuing", status="False")),
        declared("clusterC", condition=condition(selector="a=b")),
        declared("clusterD", workload=workload(name="a")),
        declared("clusterE", workload=workload(name="b")),
    )
    assert read[0] is read[1]
    assert read[2] is not read[0]
    assert read[3] is read[4]


def test_what_is_read_in_any_case_is_not_read_twice():
    """What a stack reads is: the stack may be switched off."""
    node = {"group": "", "plural": "nodes", "kind": "Node", "namespaced": False}
    inferencesets = {"group": "kaito.sh", "version": "v1beta1", "plural": "inferencesets"}
    read, everything = resources(
        declared("clusterA", condition=condition(**node)),
        declared("clusterB", condition=condition(**node, selector="gpu")),
        declared("clusterC", condition=condition(**inferencesets, kind="InferenceSet")),
    )
    assert read[0] is NODES
    assert read[1] is not NODES
    assert (read[2].stack, str(read[2])) == ("", "inferencesets.kaito.sh")
    assert [each for each in everything if str(each) == "nodes"] == [NODES, read[1]]


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [({"workload": workload()}, ""), ({"crd": CRD}, "certificates.cert-manager.io")],
)
def test_what_it_suppresses(fields, wanted):
    """A missing CRD is matched by its name, as the finding about it names it."""
    name = "inferencesetRouteNotReady"
    catalogue = extended(BUILT_IN, [declared(suppresses=(name,), why="it is so", **fields)])
    row = catalogue.upstreams_of(name)[-1]
    assert (row.upstream, row.crd, row.why) == ("clusterStoreNotReady", wanted, "it is so")


def test_rows_that_are_there_close_a_circle_too():
    """Those of the catalogue that declarations stand beside."""
    one, other = (
        declared(name, suppresses=(beyond,), why="it is so")
        for name, beyond in (("clusterA", "clusterB"), ("clusterB", "clusterA"))
    )
    ((entry, problem),) = circles_of_suppression([other], extended(BUILT_IN, [one]))
    assert (entry, problem.why) == (1, "clusterB -> clusterA -> clusterB")
    assert list(circles_of_suppression([other], BUILT_IN)) == []


def test_the_longest_row_leaves_room_in_a_message():
    """As the rows that are built in do."""
    longest: tuple[str, ...] = ()
    for name in FAULTS:
        if len(", ".join((*longest, name))) <= SUPPRESSED_BYTES:
            longest += (name,)
    component = declared(suppresses=longest, why="it is so", workload=workload())
    assert find_wrong([component], BUILT_IN) == ()
    resolver = Resolver(custom_components=(component,))
    told = finding(component.reason, subject=SHARED, exempt=True, governs=True)
    resolver.look(0, told, *(finding(each, exempt=True) for each in longest))
    _, _, suffix = resolver[component.reason].message.partition(" (suppressing")
    assert SUPPRESSED_BYTES - 40 < len(suffix) <= 770
    assert len(resolver[component.reason].message.encode()) <= 1024


@pytest.mark.parametrize(
    "component",
    [
        declared(workload=workload(kind)) for kind in WorkloadKind
    ]
    + [
        declared("modelharnessA", Layer.HARNESS, workload=workload(namespaces=())),
        declared(),
        declared(condition=condition(status="False", selector="a in (b)")),
        declared(condition=condition(group="", plural="nodes", kind="Node", namespaced=False)),
    ],
    ids=str,
)  # fmt: skip
def test_words_of_its_own(component):
    """Where its author says nothing, the row says what is looked at and what to do."""
    row = extended(BUILT_IN, [component])[component.reason]
    thing = component.workload or component.crd or component.condition
    for text in (row.summary, row.trigger, row.action):
        assert (
            thing.kind in text or thing.kind.lower() in text
            if thing is not component.crd
            else thing.name in text
        )
    assert row.silent
    assert all("  " not in text for text in (row.summary, row.trigger, row.silent, row.action))


def test_words_that_are_given_are_kept():
    component = declared(summary="a", action="b", grace_seconds=0, blocks_ready=False)
    row = extended(BUILT_IN, [component])[component.reason]
    assert (row.summary, row.action, row.grace_seconds, row.blocks_ready) == ("a", "b", 0, False)
    assert FullEvaluationSettings(custom_components=(component,)).catalogue["clusterStoreNotReady"]
