"""What several models suffer from on one node is told once, at the node."""

from dataclasses import replace

import msgspec

from reporter.catalogue.resources import NODES
from reporter.model.finding import Diagnosis, Evaluation, Finding
from reporter.model.objects import Node
from reporter.model.subject import ObjectRef, Subject, SubjectKind
from reporter.probes.cluster.shared_causes import probe_nodes, with_shared_causes
from reporter.snapshot.snapshot import ResourceState, Served, Snapshot
from reporter.snapshot.table import table_of

GPU_1 = ObjectRef("v1", "Node", "", "gpu-1")
WHY = Diagnosis(
    code="network", cause="the CNI on node gpu-1 fails", brief="CNI", object=GPU_1, shared=True
)


def finding(name, why=WHY):
    """A pod of a model that fails for a cause of its node."""
    involved = ObjectRef("v1", "Namespace", "", "models")
    return Finding(
        reason="podsNotReady",
        subject=Subject(SubjectKind("inferenceset"), "models", name),
        involved=involved,
        related=ObjectRef("v1", "Pod", "models", f"{name}-0"),
        message=name,
        cause=name,
        diagnosis=why,
    )


def seen(**spec):
    """A cluster with one node that is Ready."""
    conditions = [{"type": "Ready", "status": "True"}]
    doc = {"metadata": {"name": "gpu-1"}, "spec": spec, "status": {"conditions": conditions}}
    tables = {NODES: table_of([msgspec.convert(doc, Node)])}
    return Snapshot(tables=tables, states={NODES: ResourceState(Served.SERVED)})


def told(*findings, snapshot=None):
    """The nodes that the findings rest on, and what is told of nodes."""
    snapshot = seen() if snapshot is None else snapshot
    (part,) = with_shared_causes([Evaluation(findings, (), ())], snapshot)
    said = [each.message for each in probe_nodes(snapshot, part.findings)]
    return [each.lost_node for each in part.findings], said


def test_two_models_with_one_cause_rest_on_the_node():
    """It is told of the node."""
    assert told(finding("a"), finding("b")) == (
        ["gpu-1", "gpu-1"], ["Node gpu-1: the CNI on node gpu-1 fails"],
    )  # fmt: skip


def test_one_model_alone_tells_it_itself():
    """Two pods of one model, two causes, or what is no matter of a node: nothing is told of it."""
    other = replace(WHY, code="gpu-driver")
    assert told(finding("a"), finding("a")) == (["", ""], [])
    assert told(finding("a"), finding("b", other)) == (["", ""], [])
    assert told(finding("a"), finding("b", replace(WHY, object=None))) == (["", ""], [])


def test_a_node_with_a_fault_of_its_own_does_not_take_theirs():
    """A cordon does not explain a network that fails."""
    found = told(finding("a"), finding("b"), snapshot=seen(unschedulable=True))
    assert found == (["", ""], [])
