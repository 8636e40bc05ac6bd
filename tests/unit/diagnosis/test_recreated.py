"""Pods that are made again and again, so that no restart count tells of the loop."""

from datetime import timedelta

import msgspec
import pytest

from reporter.model.evidence import Evidence, ForeignEvent
from reporter.model.objects import Pod
from reporter.model.subject import ObjectRef
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.pod import ENDED, STARTING, judge_pod

WORKER = {
    "metadata": {
        "name": "big-0-1",
        "namespace": "models",
        "labels": {"leaderworkerset.sigs.k8s.io/name": "big"},
        "ownerReferences": [{"kind": "StatefulSet", "name": "big-0", "controller": True}],
    },
    "spec": {"nodeName": "gpu-1", "containers": [{"name": "main"}]},
    "status": {
        "phase": "Running",
        "containerStatuses": [
            {"name": "main", "ready": False, "restartCount": 0, "state": {"running": {}}}
        ],
    },
}


def judged(kind="", name="", reason="", *, count=1):
    """A pod that starts, and an Event about one of its owners."""
    about = ObjectRef("", kind, "models", name)
    event = ForeignEvent(
        about=about, reason=reason, message="Worker pod big-0-1 failed", count=count
    )
    evidence = Evidence(events={("models", kind, name): (event,)} if kind else {})
    pod = msgspec.convert(WORKER, Pod)
    return judge_pod(pod, Snapshot(evidence=evidence), startup_budget=timedelta(minutes=30))


@pytest.mark.parametrize(
    ("kind", "name", "reason"),
    [
        ("LeaderWorkerSet", "big", "RecreateGroup"),
        ("StatefulSet", "big-0", "RecreatingFailedPod"),
    ],
)
def test_a_pod_that_is_made_again_does_not_merely_start(kind, name, reason):
    """It is told without the time that a start may take, with the controller that says so."""
    fault = judged(kind, name, reason, count=3)
    assert (fault.severity, fault.budget) == (ENDED, None)
    assert fault.detail.startswith(f"{kind} {name} makes its")
    assert "Worker pod big-0-1 failed" in fault.detail


def test_one_that_was_made_again_once_starts():
    """Once is no loop, and another Event says nothing of one."""
    assert judged("LeaderWorkerSet", "big", "RecreateGroup").severity == STARTING
    assert judged("LeaderWorkerSet", "big", "GroupsProgressing", count=9).severity == STARTING
    assert judged().severity == STARTING
