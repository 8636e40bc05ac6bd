"""Workloads that users declare: down, degraded, missing, and where they are looked for."""

import pytest

from reporter.catalogue.custom import STATEFULSETS
from tests.unit.probes.building import FORBIDDEN, NOT_IN_DUMP, deployment, document, namespace
from tests.unit.probes.custom.declared import found

STORE = {
    "reason": "clusterVectorStoreNotReady",
    "layer": "cluster",
    "workload": {"kind": "StatefulSet", "name": "qdrant", "namespaces": ["vectors", "data"]},
}
CACHE = {
    "reason": "modelharnessCacheNotReady",
    "layer": "modelharness",
    "workload": {"kind": "DaemonSet", "name": "cache"},
}
SUPPRESSING = {"suppresses": ["modelharnessAPIKeyReconcileFailed"], "why": "keys are kept there"}


def statefulset(place: str, *patches: dict, ready: int = 2) -> dict:
    status = {
        "observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": ready,
        "availableReplicas": ready, "currentRevision": "r", "updateRevision": "r",
    }  # fmt: skip
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "qdrant"}}}
    base = {"metadata": {"generation": 1}, "spec": spec, "status": status}
    return document("StatefulSet", "qdrant", place, base, *patches)


def daemonset(place: str, ready: int = 2) -> dict:
    status = {
        "observedGeneration": 1, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2,
        "numberReady": ready, "numberAvailable": ready, "numberUnavailable": 2 - ready,
    }  # fmt: skip
    return document("DaemonSet", "cache", place, {"metadata": {"generation": 1}, "status": status})


PLACES = (namespace("data"), namespace("vectors"))


def test_one_that_is_down_is_told():
    """The subject is the cluster, the Event is about its namespace, the object is named."""
    (finding,) = found(STORE, *PLACES, statefulset("data", ready=0))
    assert str(finding.subject) == "cluster"
    assert (str(finding.involved), finding.involved.uid) == ("Namespace data", "uid-data")
    assert (str(finding.related), finding.related.uid) == (
        "StatefulSet data/qdrant", "uid-qdrant",
    )  # fmt: skip
    assert finding.message == "StatefulSet data/qdrant is down: no pods, 0/2 ready"
    assert not finding.governs


def test_one_that_is_degraded_is_told_and_suppresses_nothing():
    """Only down does: one replica still does the work that others wait for."""
    (finding,) = found(STORE | SUPPRESSING, *PLACES, statefulset("data", ready=1))
    assert finding.message == "StatefulSet data/qdrant is degraded: no pods, 1/2 ready"
    assert not finding.governs
    (finding,) = found(STORE | SUPPRESSING, *PLACES, statefulset("data", ready=0))
    assert finding.governs


def test_the_first_namespace_that_has_it_counts():
    assert found(STORE, *PLACES, statefulset("vectors"), statefulset("data", ready=0)) == []
    (finding,) = found(STORE, *PLACES, statefulset("vectors", ready=0), statefulset("data"))
    assert str(finding.related) == "StatefulSet vectors/qdrant"


@pytest.mark.parametrize(
    ("places", "home"), [(PLACES, "vectors"), (PLACES[:1], "data"), ((), "vectors")]
)
def test_one_that_is_nowhere_is_missing(places, home):
    """It belongs in the first of its namespaces that exists; all that were looked in are named."""
    (finding,) = found(STORE, *places)
    assert str(finding.involved) == f"Namespace {home}"
    assert finding.message == (
        f"StatefulSet {home}/qdrant is down: missing (looked in vectors, data)"
    )
    assert finding.cause == "missing"


@pytest.mark.parametrize(
    "options",
    [
        {"unknown": {STATEFULSETS: FORBIDDEN}},
        {"unknown": {STATEFULSETS: NOT_IN_DUMP}},
        {"covered": ["vectors"]},
    ],
)
def test_absence_needs_a_look(options):
    assert found(STORE, *PLACES, **options) == []


def test_a_kind_is_no_other_kind():
    (finding,) = found(STORE, *PLACES, deployment("vectors", "qdrant"))
    assert finding.cause == "missing"


def test_a_deployment_is_judged_like_a_built_in_one():
    """By its own rules: available replicas, rollouts, deadlines."""
    workload = {"kind": "Deployment", "name": "router", "namespaces": ["data"]}
    component = STORE | {"workload": workload}
    assert found(component, *PLACES, deployment("data", "router")) == []
    (finding,) = found(component, *PLACES, deployment("data", "router", wanted=0, ready=0))
    assert finding.message == "Deployment data/router is down: scaled to zero"


def test_each_workload_namespace_has_one():
    """Without namespaces each of the harness layer must have it; others need not."""
    docs = [namespace(each, managed=True) for each in ("blue", "green", "red")]
    findings = found(CACHE, *docs, *PLACES, daemonset("blue"), daemonset("green", ready=0))
    assert [(str(each.subject), each.message) for each in findings] == [
        ("namespace/green", "DaemonSet green/cache is down: no pods, 0/2 ready"),
        ("namespace/red", "DaemonSet red/cache is down: missing"),
    ]
    assert [str(each.involved) for each in findings] == ["Namespace green", "Namespace red"]


def test_named_workload_namespaces_have_one_each():
    docs = [namespace(each, managed=True) for each in ("blue", "green")]
    workload = {"kind": "DaemonSet", "name": "cache", "namespaces": ["green", "data"]}
    (finding,) = found(CACHE | {"workload": workload}, *docs, *PLACES)
    assert str(finding.subject) == "namespace/green"
