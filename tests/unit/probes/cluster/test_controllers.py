"""The controllers of stacks, which are missed, judged or not looked at, as `--stacks` says.

`--components` has the last word on each of them: `test_modes.py` holds that.
"""

from itertools import product

import pytest

from reporter.probes.cluster import evaluate_cluster
from reporter.setting_types import PartMode, StackMode
from reporter.stacks.settings import FullEvaluationSettings
from reporter.workload.components import components
from tests.tables import Stack, subjects_of
from tests.unit.probes.asking import scope
from tests.unit.probes.building import (
    ALL_CRDS,
    deployment,
    healthy_cluster,
    namespace,
    snapshot_of,
)

STACK_OF = {**{each.value: each for each in Stack}, "knative": Stack.KSERVE}
CONTROLLERS = [
    each
    for each in components(FullEvaluationSettings(stacks=dict.fromkeys(Stack, "on")))
    if each.part in STACK_OF
]
EXPECTED = [each for each in CONTROLLERS if each.mode is PartMode.ON]
OPTIONAL = [each for each in CONTROLLERS if each.mode is PartMode.AUTO]
LOOKED_AT = [StackMode.ON, StackMode.AUTO]


def look(component, mode, *docs, served=ALL_CRDS, **settings):
    """What is said of a cluster whose other components are healthy."""
    chosen = FullEvaluationSettings(stacks={STACK_OF[component.part]: mode}, **settings)
    rest = healthy_cluster(component.deployment)
    return evaluate_cluster(scope(snapshot_of(*rest, *docs, served=served), chosen))


def told(component, evaluation):
    return [each for each in evaluation.findings if each.reason == component.reason]


def place(component, **state):
    home = component.namespaces[0]
    return namespace(home), deployment(home, component.deployment, **state)


def test_every_stack_has_a_controller():
    """Without it nothing suppresses what rests on a status that nobody writes; plain workloads have none, and that of a
    dialect is named with what it claims."""
    assert {STACK_OF[each.part] for each in EXPECTED} == set(Stack) - {
        Stack.WORKLOADS,
        Stack.DIALECTS,
    }
    assert all(each.row.governs for each in CONTROLLERS)
    assert OPTIONAL, "Knative's, which KServe's Standard mode does without"


def test_missing_while_its_stack_is_on():
    """It is expected, so that nothing is ready without it."""
    found = {each.reason: look(each, StackMode.ON) for each in EXPECTED}
    assert {
        each.reason: [(one.cause, one.governs) for one in told(each, found[each.reason])]
        for each in EXPECTED
    } == {each.reason: [("missing", True)] for each in EXPECTED}
    assert [reason for reason, each in found.items() if each.ready] == []


def is_well(evaluation):
    """Whether nothing is told, and nothing keeps the cluster from being ready."""
    return evaluation.findings == () and evaluation.ready != ()


def test_not_missed_while_its_stack_is_auto():
    """A stack that is not there is no fault, and keeps nothing from being ready."""
    assert [each for each in EXPECTED if not is_well(look(each, StackMode.AUTO))] == []


def test_what_a_stack_can_do_without_is_never_missed():

    def beside(component):
        same = (each for each in EXPECTED if STACK_OF[each.part] is STACK_OF[component.part])
        return [doc for each in same for doc in place(each)]

    assert [
        (each.reason, mode)
        for each, mode in product(OPTIONAL, LOOKED_AT)
        if not is_well(look(each, mode, *beside(each)))
    ] == []


@pytest.mark.parametrize("mode", LOOKED_AT)
def test_down_is_told_where_it_is(mode):
    found = {each.reason: look(each, mode, *place(each, ready=0)) for each in CONTROLLERS}
    assert {
        each.reason: [(one.governs, one.related.name) for one in told(each, found[each.reason])]
        for each in CONTROLLERS
    } == {each.reason: [(True, each.deployment)] for each in CONTROLLERS}
    assert [reason for reason, each in found.items() if each.ready] == []


@pytest.mark.parametrize("state", [{"ready": 0}, {"ready": 1, "wanted": 2}])
def test_nothing_is_told_of_a_stack_that_is_off(state):
    assert [
        each
        for each in CONTROLLERS
        if not is_well(look(each, StackMode.OFF, *place(each, **state)))
    ] == []


def test_an_empty_name_switches_it_off_in_any_mode():
    """As it does for what is not of a stack."""
    assert [
        (each.reason, mode)
        for each, mode in product(CONTROLLERS, StackMode)
        if told(each, look(each, mode, *place(each, ready=0), **empty(each)))
    ] == []


def empty(component) -> dict[str, str]:
    """The setting that has the component's name, emptied."""
    fields = FullEvaluationSettings.model_fields
    (name,) = (key for key, each in fields.items() if each.default == component.deployment)
    return {name: ""}


def missed_crds(stack, mode):
    """Which CRDs are expected when none of those of the stack's subjects is served."""
    own = {STACK_OF[each.part]: each for each in EXPECTED}[stack]
    kinds = {each.crd_name for each in subjects_of(stack)}
    found = look(own, mode, *place(own), served=ALL_CRDS - kinds).findings
    missing = {each.related.name for each in found if each.reason == "clusterCRDMissing"}
    assert missing <= kinds
    return missing


def test_crds_are_missed_unless_the_stack_is_off():
    """Those without which it has no subjects, as its controller runs, or the scaler of its models."""
    with_kinds = set(Stack) - {Stack.WORKLOADS, Stack.DIALECTS}
    missed = {key for key in product(with_kinds, StackMode) if missed_crds(*key)}
    assert missed == set(product(with_kinds, LOOKED_AT))


@pytest.mark.parametrize("served", subjects_of(Stack.KTHENA), ids=str)
def test_a_kind_that_has_moved_is_not_missed_in_its_other_group(served):
    (own,) = (each for each in EXPECTED if each.part == Stack.KTHENA)
    others = {each.crd_name for each in subjects_of(Stack.KTHENA)} - {served.crd_name}
    evaluation = look(own, StackMode.ON, *place(own), served=ALL_CRDS - others)
    assert evaluation.findings == ()
    assert evaluation.ready
