"""What several models suffer from at one object, such as a node, is told once, at that object."""

from dataclasses import replace

import msgspec
import pytest

from reporter.catalogue.resources import NODES, PODS, SERVICES
from reporter.model.finding import Diagnosis, Evaluation, Finding
from reporter.model.objects import Node, Pod, Service
from reporter.model.subject import ObjectRef, Subject, SubjectKind
from reporter.probes.cluster.shared_causes import probe_nodes, probe_shared, with_shared_causes
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
    nodes = list(probe_nodes(snapshot, part.findings))
    assert all(each.sole_place == "models" for each in nodes)  # they may be one tenant's forgery
    said = [each.message for each in nodes]
    return [each.lost_node for each in part.findings], said


def test_two_models_with_one_cause_rest_on_the_node():
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
    found = told(finding("a"), finding("b"), snapshot=seen(unschedulable=True))
    assert found == (["", ""], [])


HOOK = ObjectRef("v1", "Service", "policy", "hook")
REFUSED = Diagnosis(
    code="webhook-down", cause="webhook w refuses every pod", brief="w", object=HOOK, shared=True
)


def behind(*, ready, service=True, known=True):
    """A cluster with the Service of a webhook and a pod behind it."""
    pod = {
        "metadata": {"name": "hook-0", "namespace": "policy", "labels": {"app": "hook"}},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }
    doc = {
        "metadata": {"name": "hook", "namespace": "policy"},
        "spec": {"selector": {"app": "hook"}},
    }
    tables = {
        PODS: table_of([msgspec.convert(pod, Pod)]),
        SERVICES: table_of([msgspec.convert(doc, Service)] if service else []),
    }
    state = ResourceState(Served.SERVED if known else Served.UNKNOWN)
    return Snapshot(tables=tables, states=dict.fromkeys(tables, state))


@pytest.mark.parametrize(
    ("snapshot", "missing", "shared"),
    [
        (behind(ready="False"), False, True),
        (behind(ready="True"), False, False),
        (behind(ready="False", service=False), True, True),
        (behind(ready="False", service=False), False, False),
        (behind(ready="False", service=False, known=False), True, False),
    ],
    ids=["none-ready", "one-ready", "no-service", "said-to-be-there", "unknown"],
)
def test_a_webhook_is_a_cause_of_all_where_nothing_is_behind_it(snapshot, *, missing, shared):
    """What is said of it where one model is refused may be forged: its Service tells."""
    found = finding("a", replace(REFUSED, missing=missing))
    (part,) = with_shared_causes([Evaluation((found,), (), ())], snapshot)
    said = [(each.related, each.sole_place) for each in probe_shared(snapshot, part.findings)]
    assert said == ([(HOOK, "")] if shared else [])


def test_what_two_models_of_one_namespace_need_is_a_matter_of_that_namespace():
    fast = ObjectRef("storage.k8s.io/v1", "StorageClass", "", "fast")
    why = Diagnosis(
        code="class-missing", cause="no class", brief="no class", object=fast, shared=True
    )
    elsewhere = replace(finding("c", why), subject=Subject(SubjectKind("inferenceset"), "web", "c"))

    def place(*findings):
        (part,) = with_shared_causes([Evaluation(findings, (), ())], seen())
        (told,) = probe_shared(seen(), part.findings)
        return told.involved, told.sole_place

    assert place(finding("a", why), finding("b", why)) == (fast, "models")
    assert place(finding("a", why), elsewhere) == (fast, "")
