"""The controllers of stacks: missed, judged or not looked at, as `--stacks` says."""

import pytest

from reporter.probes.cluster import evaluate_cluster
from reporter.setting_types import StackMode
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

CONTROLLERS = [
    each
    for each in components(FullEvaluationSettings(stacks=dict.fromkeys(Stack, "on")))
    if each.stack
]
EXPECTED = [each for each in CONTROLLERS if not each.optional]
OPTIONAL = [each for each in CONTROLLERS if each.optional]
LOOKED_AT = [StackMode.ON, StackMode.AUTO]


def ids(component):
    return component.reason


def look(component, mode, *docs, served=ALL_CRDS, **settings):
    """What is said of a cluster whose other components are healthy."""
    chosen = FullEvaluationSettings(stacks={component.stack: mode}, **settings)
    rest = healthy_cluster(component.deployment)
    return evaluate_cluster(scope(snapshot_of(*rest, *docs, served=served), chosen))


def told(component, evaluation):
    return [each for each in evaluation.findings if each.reason == component.reason]


def place(component, **state):
    home = component.namespaces[0]
    return namespace(home), deployment(home, component.deployment, **state)


def test_every_stack_has_a_controller():
    """Without it nothing suppresses what rests on a status that nobody writes."""
    assert {each.stack for each in EXPECTED} == set(Stack)
    assert all(each.governs for each in CONTROLLERS)
    assert OPTIONAL, "Knative's, which KServe's Standard mode does without"


@pytest.mark.parametrize("component", EXPECTED, ids=ids)
def test_missing_while_its_stack_is_on(component):
    """It is expected, so that nothing is ready without it."""
    evaluation = look(component, StackMode.ON)
    (finding,) = told(component, evaluation)
    assert (finding.cause, finding.governs) == ("missing", True)
    assert evaluation.ready == ()


@pytest.mark.parametrize("component", EXPECTED, ids=ids)
def test_not_missed_while_its_stack_is_auto(component):
    """A stack that is not there is no fault, and keeps nothing from being ready."""
    evaluation = look(component, StackMode.AUTO)
    assert evaluation.findings == ()
    assert evaluation.ready


@pytest.mark.parametrize("mode", LOOKED_AT)
@pytest.mark.parametrize("component", OPTIONAL, ids=ids)
def test_what_a_stack_can_do_without_is_never_missed(component, mode):
    own = [doc for each in EXPECTED if each.stack == component.stack for doc in place(each)]
    evaluation = look(component, mode, *own)
    assert evaluation.findings == ()
    assert evaluation.ready


@pytest.mark.parametrize("mode", LOOKED_AT)
@pytest.mark.parametrize("component", CONTROLLERS, ids=ids)
def test_down_is_told_where_it_is(component, mode):
    """It is there, so it should work."""
    evaluation = look(component, mode, *place(component, ready=0))
    (finding,) = told(component, evaluation)
    assert (finding.governs, finding.related.name) == (True, component.deployment)
    assert evaluation.ready == ()


@pytest.mark.parametrize("state", [{"ready": 0}, {"ready": 1, "wanted": 2}])
@pytest.mark.parametrize("component", CONTROLLERS, ids=ids)
def test_nothing_is_told_of_a_stack_that_is_off(component, state):
    evaluation = look(component, StackMode.OFF, *place(component, **state))
    assert evaluation.findings == ()
    assert evaluation.ready


@pytest.mark.parametrize("component", CONTROLLERS, ids=ids)
def test_an_empty_name_switches_it_off_in_any_mode(component):
    for mode in StackMode:
        evaluation = look(component, mode, *place(component, ready=0), **empty(component))
        assert told(component, evaluation) == []


def empty(component) -> dict[str, str]:
    """The setting that has the component's name, emptied."""
    fields = FullEvaluationSettings.model_fields
    (name,) = (key for key, each in fields.items() if each.default == component.deployment)
    return {name: ""}


@pytest.mark.parametrize("stack", Stack)
def test_crds_are_missed_only_while_the_stack_is_on(stack):
    """Those without which it has no subjects."""
    own = {each.stack: each for each in EXPECTED}[stack]
    kinds = {each.crd_name for each in subjects_of(stack)}
    for mode in StackMode:
        found = look(own, mode, *place(own), served=ALL_CRDS - kinds).findings
        missing = {each.related.name for each in found if each.reason == "clusterCRDMissing"}
        assert bool(missing) is (mode is StackMode.ON)
        assert missing <= kinds


@pytest.mark.parametrize("served", subjects_of(Stack.KTHENA), ids=str)
def test_a_kind_that_has_moved_is_not_missed_in_its_other_group(served):
    """Either group will do, for what is missing and for what is ready."""
    (own,) = (each for each in EXPECTED if each.stack == Stack.KTHENA)
    others = {each.crd_name for each in subjects_of(Stack.KTHENA)} - {served.crd_name}
    evaluation = look(own, StackMode.ON, *place(own), served=ALL_CRDS - others)
    assert evaluation.findings == ()
    assert evaluation.ready
