"""inferencesetNodeUnderPressure: nodes of model pods that report pressure."""

from dataclasses import replace

import pytest

from reporter.catalogue.resources import NODES
from reporter.stacks.kaito.reasons import MODEL_NODE_PRESSURE
from tests.unit.probes.building import DELETING, FORBIDDEN, SINCE_AT, condition, merged
from tests.unit.stacks.kaito.probes.kaito import (
    NS,
    SET,
    conditions,
    findings,
    node,
    only,
    stack,
    workspace,
)

TEXT = "2/2 ready; warning: worker node(s) under resource pressure: "


def pressed(*types):
    kinds = ("DiskPressure", "MemoryPressure", "PIDPressure")
    return conditions(*(condition(each, str(each in types)) for each in kinds))


def says(text, status="True"):
    return conditions(condition("NodesReady", status, "NodesReady", text))


def blind(snapshot):
    return replace(snapshot, states=dict(snapshot.states) | {NODES: FORBIDDEN})


def test_pressure_is_read_from_the_node():
    """It is the node's own statement, so no controller explains it."""
    finding = only(stack(node=pressed("DiskPressure", "MemoryPressure")), MODEL_NODE_PRESSURE)
    expected = f"InferenceSet {NS}/{SET}: node gpu-1 is under DiskPressure, MemoryPressure"
    assert finding.message == expected
    assert (finding.related.kind, finding.related.name) == ("Node", "gpu-1")
    assert finding.independent
    assert finding.transition == SINCE_AT


@pytest.mark.parametrize("changes", [{"pod": None}, {"workspace": {"status": {"workerNodes": []}}}])
def test_nodes_are_found_by_pods_and_by_workspaces(changes):
    """Either of them says where the model runs."""
    assert only(stack(node=pressed("PIDPressure"), **changes), MODEL_NODE_PRESSURE)


def test_the_text_counts_where_nodes_cannot_be_read():
    """Then KAITO's text is all there is, and its being down explains it."""
    text = f"{TEXT}gpu-1 (DiskPressure, MemoryPressure); gpu-2 (PIDPressure)"
    found = findings(blind(stack(workspace=says(text))), MODEL_NODE_PRESSURE)
    assert [each.related.name for each in found] == ["gpu-1", "gpu-2"]
    assert found[0].cause == "DiskPressure, MemoryPressure"
    assert not any(each.independent for each in found)
    assert all(each.transition is None for each in found)


def test_the_status_of_the_condition_does_not_matter():
    """Pressure is told in the text alone."""
    snapshot = blind(stack(workspace=says(f"{TEXT}gpu-1 (DiskPressure)", "False")))
    assert only(snapshot, MODEL_NODE_PRESSURE)


def test_the_text_counts_where_the_node_does_not_say():
    """A node without these conditions does not deny it."""
    silent = conditions(condition("Ready", "True"))
    finding = only(
        stack(node=silent, workspace=says(f"{TEXT}gpu-1 (DiskPressure)")), MODEL_NODE_PRESSURE
    )
    assert not finding.independent


@pytest.mark.parametrize("changes", [{}, {"node": None}])
def test_a_stale_text_does_not_count(changes):
    """KAITO does not watch nodes: one that is fine, or gone, is under no pressure."""
    snapshot = stack(workspace=says(f"{TEXT}gpu-1 (DiskPressure)"), **changes)
    assert findings(snapshot, MODEL_NODE_PRESSURE) == []


def test_the_node_is_believed_rather_than_the_text():
    """Where both speak, the node says which pressure it is."""
    snapshot = stack(node=pressed("PIDPressure"), workspace=says(f"{TEXT}gpu-1 (DiskPressure)"))
    assert only(snapshot, MODEL_NODE_PRESSURE).cause == "PIDPressure"


def test_a_text_that_names_no_node_is_told_of_the_workspace():
    """Free text may change; the marker alone is enough where nodes cannot be read."""
    snapshot = blind(stack(workspace=says(f"{TEXT}???")))
    assert only(snapshot, MODEL_NODE_PRESSURE).related.kind == "Workspace"
    assert findings(stack(workspace=says(f"{TEXT}???")), MODEL_NODE_PRESSURE) == []


def test_a_reconcile_error_beside_the_text_does_no_harm():
    """Any condition may gain one."""
    text = f"{TEXT}gpu-1 (DiskPressure) (last reconcile error: no {'x' * 50_000})"
    assert only(blind(stack(workspace=says(text))), MODEL_NODE_PRESSURE).cause == "DiskPressure"


@pytest.mark.parametrize("text", ["", "2/2 ready", "gpu-1 (DiskPressure)"])
def test_without_the_marker_there_is_no_pressure(text):
    """Only KAITO's marker makes it a statement about pressure."""
    assert findings(blind(stack(workspace=says(text))), MODEL_NODE_PRESSURE) == []


def test_all_nodes_under_pressure_are_told():
    """No node hides another."""
    more = [workspace("qwen-b", {"status": {"workerNodes": ["gpu-2"]}}), node("gpu-2")]
    more[1] = merged(more[1], pressed("DiskPressure"))
    found = findings(stack(*more, node=pressed("DiskPressure")), MODEL_NODE_PRESSURE)
    assert [each.related.name for each in found] == ["gpu-1", "gpu-2"]


def test_nodes_of_others_and_of_workspaces_that_go_do_not_matter():
    """Only nodes that run the set's pods or Workspaces count."""
    going = workspace("qwen-b", DELETING, {"status": {"workerNodes": ["gpu-2"]}})
    bad = [merged(node(name), pressed("DiskPressure")) for name in ("gpu-2", "gpu-3")]
    assert findings(stack(going, *bad)) == []
