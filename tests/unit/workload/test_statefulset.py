"""Judging StatefulSets by the fields of their status."""

from datetime import UTC, datetime, timedelta

import pytest

from reporter.catalogue.custom import STATEFULSETS
from reporter.catalogue.resources import PODS
from reporter.workload.deployment import is_statefulset_available, judge_statefulset
from reporter.workload.standing import WorkloadFault
from tests.unit.probes.building import (
    FORBIDDEN,
    SINCE_AT,
    condition,
    document,
    merged,
    pod,
    snapshot_of,
    waiting,
)


def statefulset(*patches: dict, ready: int = 3, wanted: int = 3) -> dict:
    """One whose last rollout is complete."""
    return document(
        "StatefulSet", "s", "n",
        {
            "metadata": {"generation": 2},
            "spec": {
                "replicas": wanted,
                "selector": {"matchLabels": {"app": "s"}},
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            },
            "status": {
                "observedGeneration": 2, "replicas": wanted, "updatedReplicas": wanted,
                "readyReplicas": ready, "availableReplicas": ready,
                "currentRevision": "s-1", "updateRevision": "s-1",
            },
        },
        *patches,
    )  # fmt: skip


def status(**fields) -> dict:
    return {"status": fields}


def partition(number: int) -> dict:
    return {"spec": {"updateStrategy": {"rollingUpdate": {"partition": number}}}}


def judge(doc: dict, *docs: dict, **options) -> WorkloadFault | None:
    snapshot = snapshot_of(doc, *docs, declared=[STATEFULSETS], **options)
    (judged,) = snapshot[STATEFULSETS]
    return judge_statefulset(judged, snapshot)


ROLLING = status(updateRevision="s-2", updatedReplicas=1)
ON_DELETE = {"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}}}
OLD = {"metadata": {"generation": 3}}
STARTING = pod("n", "s-2", "s", {"metadata": {"creationTimestamp": "2026-11-20T11:55:00Z"}}, ready=False)  # fmt: skip

SILENT = {
    "all replicas ready": statefulset(),
    "replicas not set, one ready": statefulset({"spec": {"replicas": None}}, ready=1, wanted=1),
    "more ready than wanted while it is scaled down": statefulset(ready=4),
    "old pods wait for somebody to delete them": statefulset(ON_DELETE, ROLLING),
    "a canary above its partition": statefulset(partition(2), ROLLING),
    "scaled up a moment ago, and its controller has not seen it": statefulset(
        OLD, {"spec": {"replicas": 4}}
    ),
    "a status of an older spec": statefulset(OLD, ready=2),
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(name):
    assert judge(SILENT[name]) is None


DOWN = {
    "scaled to zero": (statefulset(ready=0, wanted=0), "scaled to zero", "scaled to zero"),
    "no replica ready": (statefulset(ready=0), "no pods", "0/3 ready"),
    "no status at all": (statefulset({"status": None}), "no pods", "0/3 ready"),
    "ready but not available yet": (statefulset(status(availableReplicas=0)), "no pods", "3/3"),
    "a rollout without an available replica": (statefulset(ROLLING, ready=0), "no pods", "0/3"),
    "a spec that was not observed yet": (statefulset(OLD, ready=0), "no pods", "0/3 ready"),
}


@pytest.mark.parametrize("name", DOWN)
def test_down(name):
    """Without an available replica it is down; a rollout is no excuse, and there is no budget."""
    doc, cause, text = DOWN[name]
    fault = judge(doc)
    assert fault is not None
    assert (fault.standing, fault.cause, fault.budget) == ("down", cause, None)
    assert text in fault.detail


DEGRADED = {
    "one replica less": statefulset(ready=2),
    "a quota refuses pods after a scale-up": statefulset(status(replicas=2), ready=2),
    "old revisions, and nobody rolls out": statefulset(ON_DELETE, ROLLING, ready=2),
    "the canary is done, and a pod below the partition fails": statefulset(
        partition(2), ROLLING, ready=2
    ),
}


@pytest.mark.parametrize("name", DEGRADED)
def test_degraded(name):
    """Fewer ready than wanted, and no rollout that explains it."""
    fault = judge(DEGRADED[name], merged(STARTING, waiting("ErrImagePull")))
    assert fault is not None
    assert (fault.standing, fault.budget) == ("degraded", None)
    assert fault.detail.startswith("ErrImagePull (pod s-2: ")


@pytest.mark.parametrize("name", DEGRADED)
def test_a_pod_that_starts_has_its_time(name):
    """One that was moved from a drained node, was added, or is the last of a canary."""
    fault = judge(DEGRADED[name], pod("n", "s-0", "s"), STARTING)
    assert fault is not None
    assert (fault.standing, fault.budget) == ("degraded", timedelta(seconds=600))
    assert fault.transition == datetime(2026, 11, 20, 11, 55, tzinfo=UTC)
    assert fault.detail.startswith("not Ready yet (pod s-2: ")


RESTARTED = {"status": {"containerStatuses": [{"name": "main", "restartCount": 1}]}}
WAS_READY = {
    "status": {
        "conditions": [
            condition("Initialized", "True", since="2026-11-20T11:50:00Z"),
            condition("Ready", "False", since="2026-11-20T11:56:00Z"),
        ]
    }
}


@pytest.mark.parametrize("patch", [RESTARTED, WAS_READY])
def test_a_pod_that_started_already_has_none(patch):
    """It failed, or was Ready before; another that starts beside it changes nothing."""
    other = pod("n", "s-1", "s", ready=False)
    fault = judge(statefulset(ready=1), merged(STARTING, patch), other)
    assert (fault.standing, fault.budget) == ("degraded", None)


def test_the_pod_that_starts_longest_counts():
    """Else one after the other would hide one that never becomes Ready."""
    early = pod("n", "s-1", "s", {"metadata": {"creationTimestamp": "2026-11-20T11:40:00Z"}}, ready=False)  # fmt: skip
    fault = judge(statefulset(ready=1), STARTING, early)
    assert fault.transition == datetime(2026, 11, 20, 11, 40, tzinfo=UTC)


def test_no_pod_is_excused_while_none_is_available():
    """A start that leaves nothing is down, as with Deployments."""
    fault = judge(statefulset(ready=0), STARTING)
    assert (fault.standing, fault.budget) == ("down", None)


ENDING = pod("n", "s-1", "s", {"metadata": {"deletionTimestamp": "2026-11-20T11:58:30Z"}}, ready=False)  # fmt: skip


GOING = merged(ENDING, {"spec": {"nodeName": "away"}})
READY_PODS = [pod("n", name, "s") for name in ("s-0", "s-2")]


def test_a_pod_that_ends_has_its_time():
    """Its replacement is made once it has: a drain with a long grace period is no fault."""
    fault = judge(statefulset(ready=2), *READY_PODS, ENDING)
    assert (fault.standing, fault.budget) == ("degraded", timedelta(seconds=600))
    assert fault.transition == datetime(2026, 11, 20, 11, 58, tzinfo=UTC)
    assert fault.detail == "pod s-1 is terminating, 2/3 ready"


@pytest.mark.parametrize("ready", [2, 0])
def test_a_pod_on_a_lost_node_never_ends(ready):
    """So no replica is made in its place, and somebody must know why."""
    fault = judge(statefulset(ready=ready), *READY_PODS[:ready], GOING)
    assert (fault.cause, fault.budget) == ("node gone", None)
    assert fault.detail == (
        f"node gone (pod s-1: terminating on node away, which is gone), {ready}/3 ready"
    )


@pytest.mark.parametrize(
    ("doc", "docs", "text"),
    [
        (
            statefulset(ready=2),
            READY_PODS,
            "the existing pods are ready, others are missing, 2/3 ready",
        ),
        (
            statefulset(status(availableReplicas=0), ready=2, wanted=2),
            READY_PODS,
            "its pods are ready, but not available yet, 2/2 ready",
        ),
        (statefulset(ready=0, wanted=1), [ENDING], "pod s-1 is terminating, 0/1 ready"),
    ],
    ids=["a quota refuses one", "minReadySeconds", "the only one ends"],
)
def test_pods_that_are_ready_are_not_called_otherwise(doc, docs, text):
    assert judge(doc, *docs).detail == text


@pytest.mark.parametrize(
    ("updated", "docs", "since"),
    [
        (0, [pod("n", "s-0", "s")], None),
        (0, [pod("n", "s-0", "s"), ENDING], datetime(2026, 11, 20, 11, 58, tzinfo=UTC)),
        (1, [STARTING, ENDING], datetime(2026, 11, 20, 11, 58, tzinfo=UTC)),
    ],
    ids=["nothing was done yet", "the first old pod ends", "the next old pod ends"],
)
def test_pods_of_the_rollout_before_are_no_step(updated, docs, since):
    """A rollout that has just begun would else count as one that stood still for weeks."""
    fault = judge(statefulset(ROLLING, status(updatedReplicas=updated), ready=2), *docs)
    assert (fault.budget, fault.transition) == (timedelta(seconds=600), since)
    if STARTING not in docs:
        assert fault.detail.startswith("rollout is stuck, old pods are not replaced, ")


IN_A_ROLLOUT = {
    "pods are replaced one by one": statefulset(ROLLING, ready=2),
    "the last pod has been replaced and starts": statefulset(
        ROLLING, status(updatedReplicas=3), ready=2
    ),
    "the canary is being made": statefulset(
        partition(1), ROLLING, status(updatedReplicas=1), ready=2
    ),
}


@pytest.mark.parametrize("name", IN_A_ROLLOUT)
def test_a_step_of_a_rollout_has_its_time(name):
    """It counts from the newest pod, so that a rollout that moves on is never told."""
    fault = judge(IN_A_ROLLOUT[name], pod("n", "s-0", "s"), STARTING)
    assert fault is not None
    assert fault.budget == timedelta(seconds=600)
    assert fault.transition == datetime(2026, 11, 20, 11, 55, tzinfo=UTC)
    assert fault.detail.startswith("rollout is stuck, not Ready yet (pod s-2: ")


@pytest.mark.parametrize("name", IN_A_ROLLOUT)
def test_a_rollout_whose_pods_cannot_be_seen_is_not_told(name):
    assert judge(IN_A_ROLLOUT[name], unknown={PODS: FORBIDDEN}) is None


def test_a_pod_that_is_ready_by_turns_is_no_step():
    """A crash loop of the new revision would else keep its rollout from ever being told."""
    turned = {"status": {"conditions": [condition("Ready", "False", since="2026-11-20T11:59:00Z")]}}
    fault = judge(statefulset(ROLLING, ready=2), merged(STARTING, turned))
    assert fault.transition == datetime(2026, 11, 20, 11, 55, tzinfo=UTC)


def test_the_worst_pod_is_the_cause():
    crashing = pod("n", "s-1", "s", waiting("CrashLoopBackOff"), ready=False)
    fault = judge(statefulset(ready=2), pod("n", "s-0", "s"), crashing)
    assert fault.cause == "CrashLoopBackOff"
    assert fault.detail.startswith("CrashLoopBackOff (pod s-1: container main waits in")
    assert fault.transition == SINCE_AT


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        (statefulset(ready=1), True),
        (statefulset(ready=0), False),
        (statefulset(ready=0, wanted=0), False),
        (statefulset(status(availableReplicas=0)), False),
        (statefulset(status(availableReplicas=None)), True),
        (statefulset(status(availableReplicas=None), ready=0), False),
    ],
)
def test_is_available(doc, expected):
    """One available replica of at least one that is wanted; old servers count ready ones only."""
    (found,) = snapshot_of(doc, declared=[STATEFULSETS])[STATEFULSETS]
    assert is_statefulset_available(found) is expected
