"""Judging Deployments."""

from datetime import UTC, datetime

import pytest

from reporter.catalogue.resources import DEPLOYMENTS, PODS
from reporter.workload.deployment import is_available, judge_deployment
from reporter.workload.standing import WorkloadFault
from tests.unit.probes.building import (
    CREATED_AT,
    DELETING,
    FORBIDDEN,
    SINCE_AT,
    condition,
    deployment,
    document,
    merged,
    pod,
    snapshot_of,
    waiting,
)

AVAILABLE = condition("Available", "True", "MinimumReplicasAvailable")
UNAVAILABLE = condition("Available", "False", "MinimumReplicasUnavailable")
MOVING = condition("Progressing", "True", "ReplicaSetUpdated")
COMPLETE = condition("Progressing", "True", "NewReplicaSetAvailable")
EXCEEDED = condition(
    "Progressing", "False", "ProgressDeadlineExceeded", since="2026-11-20T11:55:00Z"
)
REFUSED = condition(
    "ReplicaFailure", "True", "FailedCreate", "exceeded quota: pods", since="2026-11-20T11:52:00Z"
)


def status(**fields) -> dict:
    return {"status": fields}


def judge(doc: dict, *docs: dict, **options) -> WorkloadFault | None:
    snapshot = snapshot_of(doc, *docs, **options)
    (judged,) = snapshot[DEPLOYMENTS]
    return judge_deployment(judged, snapshot)


SILENT = {
    "all replicas ready": deployment("n", "d", ready=2, wanted=2),
    "replicas not set, one ready": deployment("n", "d", {"spec": {"replicas": None}}),
    "a spec that was not observed yet": deployment(
        "n", "d", {"metadata": {"generation": 4}}, ready=1, wanted=2
    ),
    "new pods are still to be made": deployment(
        "n", "d", status(updatedReplicas=1, conditions=[AVAILABLE, MOVING]), ready=2, wanted=3
    ),
    "the first moment, nothing updated": deployment(
        "n", "d", status(updatedReplicas=None, conditions=[AVAILABLE, MOVING]), ready=1, wanted=2
    ),
    "surge: old pods are still there": deployment(
        "n", "d", status(replicas=3, conditions=[AVAILABLE, MOVING]), ready=1, wanted=2
    ),
    "surge before the controller said so": deployment(
        "n", "d", status(replicas=3, conditions=[AVAILABLE, COMPLETE]), ready=1, wanted=2
    ),
    "a rollout without a deadline": deployment(
        "n", "d", status(updatedReplicas=1, conditions=[AVAILABLE]), ready=1, wanted=2
    ),
    "a surge pod refused while all wanted are ready": deployment(
        "n", "d", status(conditions=[AVAILABLE, MOVING, REFUSED]), ready=2, wanted=2
    ),
    "a status that leaves availableReplicas out": deployment(
        "n", "d", status(availableReplicas=None)
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(name):
    """A Deployment that serves all replicas, or is being rolled out in time, has no fault."""
    assert judge(SILENT[name]) is None


DOWN = {
    "scaled to zero": (deployment("n", "d", ready=0, wanted=0), "scaled to zero", None),
    "no available replica": (deployment("n", "d", ready=0), "no pods", SINCE_AT),
    "no status at all": (deployment("n", "d", {"status": None}, ready=0), "no pods", None),
    "a rollout without any available replica": (
        deployment(
            "n", "d", status(updatedReplicas=1, conditions=[UNAVAILABLE, MOVING]), ready=0, wanted=2
        ),
        "no pods",
        SINCE_AT,
    ),
    "ready but not available yet": (
        deployment("n", "d", status(availableReplicas=0, conditions=[UNAVAILABLE, COMPLETE])),
        "no pods",
        SINCE_AT,
    ),
    "Available=True since none has to be available": (
        deployment("n", "d", status(conditions=[AVAILABLE, COMPLETE]), ready=0),
        "no pods",
        None,
    ),
}


@pytest.mark.parametrize("name", DOWN)
def test_down(name):
    """A Deployment without an available replica is down, since its Available became False."""
    doc, cause, transition = DOWN[name]
    fault = judge(doc)
    assert fault is not None
    assert (fault.standing, fault.cause, fault.transition) == ("down", cause, transition)


DEGRADED = {
    "fewer pods than wanted, all of them ready": deployment("n", "d", ready=1, wanted=2),
    "a quota refuses pods after a scale-up": deployment(
        "n", "d", status(replicas=1, updatedReplicas=1, conditions=[AVAILABLE, COMPLETE, REFUSED]),
        ready=1, wanted=3,
    ),
    "a scale-up that the controller keeps no deadline for": deployment(
        "n", "d", status(replicas=2, updatedReplicas=2, conditions=[AVAILABLE, COMPLETE]),
        ready=1, wanted=3,
    ),
    "a paused rollout": deployment(
        "n", "d", {"spec": {"paused": True}},
        status(
            updatedReplicas=1,
            conditions=[AVAILABLE, condition("Progressing", "Unknown", "DeploymentPaused")],
        ),
        ready=1, wanted=2,
    ),
    "a rollout past its deadline": deployment(
        "n", "d", status(updatedReplicas=1, conditions=[AVAILABLE, EXCEEDED]), ready=1, wanted=2
    ),
    "a rollout past its deadline while old pods serve": deployment(
        "n", "d", status(replicas=3, updatedReplicas=1, conditions=[AVAILABLE, EXCEEDED]),
        ready=2, wanted=2,
    ),
    "no new ReplicaSet could be made": deployment(
        "n",
        "d",
        status(
            updatedReplicas=0,
            conditions=[AVAILABLE, condition("Progressing", "False", "ReplicaSetCreateError")],
        ),
        ready=1,
        wanted=2,
    ),
    "a status of ready and wanted replicas alone": deployment(
        "n", "d", status(updatedReplicas=None, conditions=[AVAILABLE]), ready=1, wanted=2
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DEGRADED)
def test_degraded(name):
    """Fewer ready than wanted without a rollout that explains it, or one that is stuck."""
    fault = judge(DEGRADED[name])
    assert fault is not None
    assert not fault.down


def test_scaled_to_zero_is_down_even_while_pods_are_left():
    """What is wanted decides, not what a status of before still counts."""
    doc = deployment("n", "d", {"spec": {"replicas": 0}, "metadata": {"generation": 4}}, ready=1)
    assert judge(doc).cause == "scaled to zero"


def test_a_deadline_of_the_previous_rollout_is_forgotten():
    """A new spec starts a new rollout, although the condition still tells of the last one."""
    doc = deployment(
        "n", "d", {"metadata": {"generation": 4}},
        status(conditions=[AVAILABLE, EXCEEDED]), ready=1, wanted=2,
    )  # fmt: skip
    assert judge(doc) is None


def test_the_refusal_of_pods_is_the_cause():
    doc = deployment("n", "d", status(replicas=0, updatedReplicas=0, conditions=[REFUSED]), ready=0)
    fault = judge(doc)
    assert fault.cause == "FailedCreate"
    assert fault.detail == "pods cannot be created: FailedCreate: exceeded quota: pods, 0/1 ready"
    assert fault.transition == datetime(2026, 11, 20, 11, 52, tzinfo=UTC)


def test_the_worst_pod_is_the_cause_whatever_the_order():
    pods = [
        pod("n", "d-1", "d", ready=True),
        pod("n", "d-2", "d", waiting("ImagePullBackOff"), ready=False),
        pod("n", "d-4", "d", waiting("CrashLoopBackOff"), ready=False),
        pod("n", "d-3", "d", waiting("CrashLoopBackOff"), ready=False),
    ]
    doc = deployment("n", "d", ready=1, wanted=4)
    fault = judge(doc, *pods)
    assert fault.cause == "CrashLoopBackOff"
    assert fault.detail.startswith("CrashLoopBackOff (pod d-3: ")
    assert judge(doc, *reversed(pods)) == fault


def test_pods_that_are_no_replicas_are_not_the_cause():
    """Terminating pods, leftovers of evictions, and pods of others say nothing."""
    crashed = waiting("CrashLoopBackOff")
    fault = judge(
        deployment("n", "d", ready=0),
        pod("n", "d-1", "d", crashed, DELETING, ready=False),
        pod("n", "d-2", "d", crashed, {"status": {"phase": "Failed"}}, ready=False),
        pod("n", "e-1", "e", crashed, ready=False),
        pod("m", "d-1", "d", crashed, ready=False),
    )
    assert fault.cause == "no pods"


ON_NODE = {"spec": {"nodeName": "gpu-1"}}
RECREATE = {"spec": {"strategy": {"type": "Recreate"}}}


@pytest.mark.parametrize(
    ("node", "lost", "said"),
    [
        ("gpu-1", "", "pod d-1 is terminating on node gpu-1"),
        ("away", "gpu-1", "node gone (pod d-1: terminating on node gpu-1, which is gone)"),
    ],
)
def test_a_pod_that_has_to_end_before_the_next_one_is_named_with_its_node(node, lost, *, said):
    """With the strategy Recreate nothing is made before it is gone, so it is what to look at."""
    doc = deployment("n", "d", RECREATE, ready=0)
    ending = pod("n", "d-1", "d", ON_NODE, DELETING)
    fault = judge(doc, ending, document("Node", node))
    assert fault.detail == f"{said}, 0/1 ready"
    assert fault.lost_node == lost


def test_a_replacement_that_only_waits_is_explained_by_the_lost_node():
    """Both are named; a replacement with a fault of its own speaks for itself."""
    docs = [deployment("n", "d", ready=0), pod("n", "d-1", "d", ON_NODE, DELETING)]
    unschedulable = merged(
        {"status": {"conditions": [condition("PodScheduled", "False", "Unschedulable", "no node")]}}
    )
    fault = judge(*docs, document("Node", "away"), pod("n", "d-2", "d", unschedulable, ready=False))
    assert fault.cause == "node gone"
    assert "pod d-1: terminating on node gpu-1" in fault.detail
    assert "(pod d-2: Unschedulable: no node)" in fault.detail
    pulling = pod("n", "d-2", "d", waiting("ImagePullBackOff"), ready=False)
    assert judge(*docs, document("Node", "away"), pulling).cause == "ImagePullBackOff"


def test_unknown_pods_are_not_taken_for_none():
    fault = judge(deployment("n", "d", ready=0), unknown={PODS: FORBIDDEN})
    assert fault.down
    assert fault.cause == "not ready"


def test_degraded_begins_with_the_first_pod_that_is_not_ready():
    """The earliest transition counts, not the first pod in list order."""

    def since(time: str) -> dict:
        return {"status": {"conditions": [condition("Ready", "False", since=time)]}}

    fault = judge(
        deployment("n", "d", ready=1, wanted=4),
        pod("n", "d-1", "d", since("2026-11-20T11:58:00Z"), ready=False),
        pod("n", "d-2", "d", since("2026-11-20T11:51:00Z"), ready=False),
        pod("n", "d-3", "d", since("2026-11-20T11:59:00Z"), ready=False),
        pod("n", "d-4", "d", {"status": {"conditions": [condition("Ready", "True", since="2026-11-20T09:00:00Z")]}}),
    )  # fmt: skip
    assert fault.transition == datetime(2026, 11, 20, 11, 51, tzinfo=UTC)


def test_a_pod_that_waits_for_a_node_counts_from_there():
    """A Pending pod has no Ready condition; else its creation counts."""
    pending = {"status": {"phase": "Pending", "containerStatuses": None}}
    unscheduled = condition("PodScheduled", "False", "Unschedulable", "0/3 nodes are available")
    doc = deployment("n", "d", ready=1, wanted=2)
    fault = judge(
        doc, pod("n", "d-1", "d", pending, {"status": {"conditions": [unscheduled]}}, ready=False)
    )
    assert (fault.cause, fault.transition) == ("Unschedulable", SINCE_AT)
    fault = judge(doc, pod("n", "d-1", "d", pending, {"status": {"conditions": None}}, ready=False))
    assert fault.transition == CREATED_AT


def test_a_stuck_rollout_says_so_and_names_the_pod():
    """The message has the count, that the deadline passed, and the new pod's trouble."""
    doc = deployment(
        "n", "d", status(replicas=2, conditions=[AVAILABLE, EXCEEDED]), ready=1, wanted=1
    )
    fault = judge(doc, pod("n", "d-2", "d", waiting("ImagePullBackOff"), ready=False))
    assert fault.detail.startswith("rollout exceeded its deadline, ImagePullBackOff")
    assert fault.transition == datetime(2026, 11, 20, 11, 55, tzinfo=UTC)


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        (deployment("n", "d", ready=1, wanted=2), True),
        (deployment("n", "d", ready=0), False),
        (deployment("n", "d", ready=0, wanted=0), False),
        (merged(deployment("n", "d"), {"spec": {"replicas": 0}}), False),
    ],
)
def test_is_available(doc, expected):
    (found,) = snapshot_of(doc)[DEPLOYMENTS]
    assert is_available(found) is expected
