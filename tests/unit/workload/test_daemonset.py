"""Judging DaemonSets by the fields of their status."""

from datetime import UTC, datetime, timedelta

import pytest

from reporter.catalogue.custom import DAEMONSETS
from reporter.workload.deployment import is_daemonset_available, judge_daemonset
from reporter.workload.standing import WorkloadFault
from tests.unit.probes.building import (
    SINCE_AT,
    condition,
    document,
    merged,
    pod,
    snapshot_of,
    waiting,
)


def daemonset(*patches: dict, ready: int = 3, wanted: int = 3) -> dict:
    """One whose last rollout is complete."""
    return document(
        "DaemonSet", "d", "n",
        {
            "metadata": {"generation": 2},
            "spec": {
                "selector": {"matchLabels": {"app": "d"}},
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            },
            "status": {
                "observedGeneration": 2, "desiredNumberScheduled": wanted,
                "currentNumberScheduled": wanted, "updatedNumberScheduled": wanted,
                "numberReady": ready, "numberAvailable": ready, "numberMisscheduled": 0,
                "numberUnavailable": wanted - ready,
            },
        },
        *patches,
    )  # fmt: skip


def status(**fields) -> dict:
    return {"status": fields}


def judge(doc: dict, *docs: dict, **options) -> WorkloadFault | None:
    snapshot = snapshot_of(doc, *docs, declared=[DAEMONSETS], **options)
    (judged,) = snapshot[DAEMONSETS]
    return judge_daemonset(judged, snapshot)


ROLLING = status(updatedNumberScheduled=1)
ON_DELETE = {"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}}}
OLD = {"metadata": {"generation": 3}}
STARTING = pod("n", "d-2", "d", {"metadata": {"creationTimestamp": "2026-11-20T11:55:00Z"}}, ready=False)  # fmt: skip

SILENT = {
    "ready on all nodes": daemonset(),
    "a node selector that matches no node": daemonset(ready=0, wanted=0),
    "nobody looked at it yet": daemonset({"status": None}),
    "old pods wait for somebody to delete them": daemonset(ON_DELETE, ROLLING),
    "a rollout was asked for, and its controller has not seen it": daemonset(OLD),
    "a status of an older spec": daemonset(OLD, ready=2),
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(name):
    """What runs where it should has no fault; wanted on no node, it need not run."""
    assert judge(SILENT[name], STARTING) is None


DOWN = {
    "ready nowhere": (daemonset(ready=0), "0/3 ready"),
    "ready but not available yet": (
        daemonset(status(numberAvailable=None, numberUnavailable=3)),
        "3/3 ready",
    ),
    "a rollout that leaves none": (daemonset(ROLLING, ready=0), "0/3 ready"),
}


@pytest.mark.parametrize("name", DOWN)
def test_down(name):
    """Available on no node that should run it: it is down, whatever is rolled out."""
    doc, text = DOWN[name]
    fault = judge(doc)
    assert fault is not None
    assert (fault.standing, fault.cause, fault.budget) == ("down", "no pods", None)
    assert text in fault.detail


DEGRADED = {
    "a node without it": daemonset(ready=2),
    "old revisions, and nobody rolls out": daemonset(ON_DELETE, ROLLING, ready=2),
}


@pytest.mark.parametrize("name", DEGRADED)
def test_degraded(name):
    """Ready on fewer nodes than wanted, and no rollout that explains it."""
    fault = judge(DEGRADED[name], pod("n", "d-1", "d", waiting("ErrImagePull"), ready=False))
    assert fault is not None
    assert (fault.standing, fault.budget, fault.transition) == ("degraded", None, SINCE_AT)
    assert fault.detail.startswith("ErrImagePull (pod d-1: ")


IN_A_ROLLOUT = {
    "node by node": (daemonset(ROLLING, ready=2), "2/3 ready"),
    "with a surge, the old pods stay": (daemonset(ROLLING), "3/3 ready"),
}


@pytest.mark.parametrize("name", IN_A_ROLLOUT)
def test_a_step_of_a_rollout_has_its_time(name):
    doc, text = IN_A_ROLLOUT[name]
    fault = judge(doc, pod("n", "d-0", "d"), STARTING)
    assert fault is not None
    assert (fault.standing, fault.budget) == ("degraded", timedelta(seconds=600))
    assert fault.transition == datetime(2026, 11, 20, 11, 55, tzinfo=UTC)
    assert fault.detail.startswith("rollout is stuck, not Ready yet (pod d-2: ")
    assert fault.detail.endswith(text)


ENDING = pod("n", "d-1", "d", {"metadata": {"deletionTimestamp": "2026-11-20T11:58:30Z"}})


@pytest.mark.parametrize(
    ("updated", "docs", "since"),
    [
        (0, [pod("n", "d-0", "d")], None),
        (0, [pod("n", "d-0", "d"), ENDING], datetime(2026, 11, 20, 11, 58, tzinfo=UTC)),
        (1, [STARTING, ENDING], datetime(2026, 11, 20, 11, 58, tzinfo=UTC)),
    ],
    ids=["nothing was done yet", "the first old pod ends", "the next old pod ends"],
)
def test_pods_of_the_rollout_before_are_no_step(updated, docs, since):
    """A rollout that has just begun would else count as one that stood still for weeks."""
    fault = judge(daemonset(status(updatedNumberScheduled=updated)), *docs)
    assert (fault.budget, fault.transition) == (timedelta(seconds=600), since)
    if STARTING not in docs:
        assert fault.detail.startswith("rollout is stuck, old pods are not replaced, ")


def test_a_node_without_a_pod_is_no_rollout():
    """Its pod is not made yet; the grace counts from when it is seen."""
    joins = daemonset(status(desiredNumberScheduled=4, numberUnavailable=1))
    fault = judge(joins, pod("n", "d-0", "d"))
    assert (fault.standing, fault.budget, fault.transition) == ("degraded", None, None)
    assert fault.detail == "the existing pods are ready, others are missing, 3/4 ready"


def test_a_pod_that_ends_has_its_time():
    fault = judge(daemonset(ready=2), pod("n", "d-0", "d"), ENDING)
    assert (fault.standing, fault.budget) == ("degraded", timedelta(seconds=600))
    assert fault.transition == datetime(2026, 11, 20, 11, 58, tzinfo=UTC)
    assert fault.detail == "pod d-1 is terminating, 2/3 ready"


def test_one_that_ends_is_no_excuse_where_none_is_available():
    fault = judge(daemonset(ready=0, wanted=1), ENDING)
    assert (fault.standing, fault.budget) == ("down", None)
    assert fault.detail == "pod d-1 is terminating, 0/1 ready"


def node(created: str, ready: str = "True") -> dict:
    return document(
        "Node", "new", "",
        {"metadata": {"creationTimestamp": created}, "status": {"conditions": [condition("Ready", ready)]}},
    )  # fmt: skip


ON_NODE = merged(STARTING, {"spec": {"nodeName": "new"}})


@pytest.mark.parametrize("ready", ["True", "False"])
@pytest.mark.parametrize(("wanted", "standing"), [(3, "degraded"), (1, "down")])
def test_a_node_that_comes_gives_time(wanted, standing, ready):
    """A device plugin starts on each node that an autoscaler makes, also on the first one."""
    doc = daemonset(ready=wanted - 1, wanted=wanted)
    fault = judge(doc, ON_NODE, node("2026-11-20T11:54:00Z", ready))
    assert (fault.standing, fault.budget) == (standing, timedelta(seconds=600))
    assert fault.transition == datetime(2026, 11, 20, 11, 55, tzinfo=UTC)


@pytest.mark.parametrize(
    "docs",
    [
        [ON_NODE, node("2026-11-20T11:45:00Z")],
        [ON_NODE],
        [STARTING, node("2026-11-20T11:54:00Z")],
        [merged(ON_NODE, waiting("CrashLoopBackOff")), node("2026-11-20T11:54:00Z")],
    ],
    ids=["a node that was there", "a node that is not known", "no node yet", "a pod that fails"],
)
def test_what_is_down_elsewhere_has_no_time(docs):
    """Nothing is available, and no new node says why."""
    fault = judge(daemonset(ready=0, wanted=1), *docs)
    assert (fault.standing, fault.budget) == ("down", None)


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        (daemonset(ready=1), True),
        (daemonset(ready=0), False),
        (daemonset(ready=0, wanted=0), True),
        (daemonset({"status": None}), False),
        (daemonset(status(numberAvailable=None, numberUnavailable=None)), True),
    ],
)
def test_is_available(doc, expected):
    """It runs on a node; or on none that is wanted, as soon as its controller has counted."""
    (found,) = snapshot_of(doc, declared=[DAEMONSETS])[DAEMONSETS]
    assert is_daemonset_available(found) is expected


def test_a_pod_on_a_node_that_is_back_starts_from_then():
    """It was made long ago, and nothing could start while its node was lost."""
    old = pod("n", "d-2", "d", {"metadata": {"creationTimestamp": "2026-11-20T10:00:00Z"}}, ready=False)  # fmt: skip
    back = condition("Ready", "True", since="2026-11-20T11:59:00Z")
    node = document("Node", "gpu-1", "", {"status": {"conditions": [back]}})
    fault = judge(daemonset(ready=2), merged(old, {"spec": {"nodeName": "gpu-1"}}), node)
    assert fault is not None
    assert (fault.transition, fault.budget) == (
        datetime(2026, 11, 20, 11, 59, tzinfo=UTC),
        timedelta(seconds=600),
    )
