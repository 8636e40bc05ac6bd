"""Whether a Deployment, a StatefulSet or a DaemonSet stands, by its status and its pods.

A row: the object, its surroundings, and the expected fault; `detail` is a part of its text.
"""

from datetime import UTC, datetime, timedelta

import pytest

from reporter.catalogue.custom import DAEMONSETS, STATEFULSETS
from reporter.catalogue.resources import DEPLOYMENTS, PODS
from reporter.workload import deployment as judging
from tests.tables import rows
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
    says,
    snapshot_of,
    waiting,
)

KINDS = {each.kind: each for each in (DEPLOYMENTS, STATEFULSETS, DAEMONSETS)}
A_STEP = timedelta(seconds=600)


def status(**fields) -> dict:
    return {"status": fields}


def deployed(*patches: dict, ready: int = 1, wanted: int = 1) -> dict:
    return deployment("n", "w", *patches, ready=ready, wanted=wanted)


def rolled_out(kind: str, spec: dict, **counted) -> dict:
    """A set whose last rollout is complete."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {}}
    selects = {"selector": {"matchLabels": {"app": "w"}}, "updateStrategy": strategy}
    return document(
        kind, "w", "n",
        {"metadata": {"generation": 2}, "spec": selects | spec, "status": {"observedGeneration": 2, **counted}},
    )  # fmt: skip


def statefulset(*patches: dict, ready: int = 3, wanted: int = 3) -> dict:
    doc = rolled_out(
        "StatefulSet", {"replicas": wanted}, replicas=wanted, updatedReplicas=wanted,
        readyReplicas=ready, availableReplicas=ready, currentRevision="s-1", updateRevision="s-1",
    )  # fmt: skip
    return merged(doc, *patches)


def daemonset(*patches: dict, ready: int = 3, wanted: int = 3) -> dict:
    doc = rolled_out(
        "DaemonSet", {}, desiredNumberScheduled=wanted, currentNumberScheduled=wanted,
        updatedNumberScheduled=wanted, numberReady=ready, numberAvailable=ready,
        numberMisscheduled=0, numberUnavailable=wanted - ready,
    )  # fmt: skip
    return merged(doc, *patches)


def judge(doc: dict, *docs: dict, **options):
    snapshot = snapshot_of(doc, *docs, declared=[STATEFULSETS, DAEMONSETS], **options)
    (judged,) = snapshot[KINDS[doc["kind"]]]
    return getattr(judging, f"judge_{doc['kind'].lower()}")(judged, snapshot)


def at(time: str) -> datetime:
    return datetime.fromisoformat(f"2026-11-20T{time}:00+00:00").astimezone(UTC)


def of_w(name: str, *patches: dict, ready: bool = False) -> dict:
    """A pod of the object."""
    return pod("n", name, "w", *patches, ready=ready)


def made(time: str) -> dict:
    return {"metadata": {"creationTimestamp": f"2026-11-20T{time}:00Z"}}


def not_ready_since(time: str) -> dict:
    return status(conditions=[condition("Ready", "False", since=f"2026-11-20T{time}:00Z")])


def partition(number: int) -> dict:
    return {"spec": {"updateStrategy": {"rollingUpdate": {"partition": number}}}}


UP = [of_w(name, ready=True) for name in ("w-0", "w-3")]
STARTING = of_w("w-2", made("11:55"))
ENDING = of_w("w-1", {"metadata": {"deletionTimestamp": "2026-11-20T11:58:30Z"}})
CRASHED, PULLING = waiting("CrashLoopBackOff"), waiting("ImagePullBackOff")
ROLLING = status(updateRevision="s-2", updatedReplicas=1)
NODE_BY_NODE = status(updatedNumberScheduled=1)
ON_DELETE = {"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}}}
OLD, OLD_DEPLOYMENT = ({"metadata": {"generation": number}} for number in (3, 4))
RECREATE = {"spec": {"strategy": {"type": "Recreate"}}}
ON_GPU = {"spec": {"nodeName": "gpu-1"}}
UNSCHEDULED = condition("PodScheduled", "False", "Unschedulable", "no node")
PENDING = {"status": {"phase": "Pending", "containerStatuses": None}}

AVAILABLE = condition("Available", "True", "MinimumReplicasAvailable")
UNAVAILABLE = condition("Available", "False", "MinimumReplicasUnavailable")
MOVING = condition("Progressing", "True", "ReplicaSetUpdated")
COMPLETE = condition("Progressing", "True", "NewReplicaSetAvailable")
PAUSED = condition("Progressing", "Unknown", "DeploymentPaused")
NO_SET = condition("Progressing", "False", "ReplicaSetCreateError")
EXCEEDED = condition("Progressing", "False", "ProgressDeadlineExceeded", since="2026-11-20T11:55:00Z")  # fmt: skip
REFUSED = condition("ReplicaFailure", "True", "FailedCreate", "exceeded quota: pods", since="2026-11-20T11:52:00Z")  # fmt: skip


def said(*conditions, **fields) -> dict:
    """The status of a Deployment with these conditions."""
    return status(conditions=list(conditions), **fields)


CANARY_DONE = statefulset(partition(2), ROLLING, ready=2)
FEWER = {
    "one replica less": statefulset(ready=2),
    "a quota refuses pods after a scale-up": statefulset(status(replicas=2), ready=2),
    "old revisions, and nobody rolls out": statefulset(ON_DELETE, ROLLING, ready=2),
    "the canary is done, and a pod below the partition fails": CANARY_DONE,
}
STEPS = {
    "pods are replaced one by one": statefulset(ROLLING, ready=2),
    "the last pod has been replaced and starts": statefulset(ROLLING, status(updatedReplicas=3), ready=2),
    "the canary is being made": statefulset(partition(1), ROLLING, ready=2),
}  # fmt: skip


@rows(
    ("doc", "docs"),
    {
        "all replicas ready": (deployed(ready=2, wanted=2), []),
        "replicas not set, one ready": (deployed({"spec": {"replicas": None}}), []),
        "a spec that was not observed yet": (deployed(OLD_DEPLOYMENT, wanted=2), []),
        "a deadline of the previous rollout": (deployed(OLD_DEPLOYMENT, said(AVAILABLE, EXCEEDED), wanted=2), []),
        "new pods are still to be made": (deployed(said(AVAILABLE, MOVING, updatedReplicas=1), ready=2, wanted=3), []),
        "the first moment, nothing updated": (deployed(said(AVAILABLE, MOVING, updatedReplicas=None), wanted=2), []),
        "surge: old pods are still there": (deployed(said(AVAILABLE, MOVING, replicas=3), wanted=2), []),
        "surge before the controller said so": (deployed(said(AVAILABLE, COMPLETE, replicas=3), wanted=2), []),
        "a rollout without a deadline": (deployed(said(AVAILABLE, updatedReplicas=1), wanted=2), []),
        "a surge pod refused while all wanted are ready": (deployed(said(AVAILABLE, MOVING, REFUSED), ready=2, wanted=2), []),
        "a status that leaves availableReplicas out": (deployed(status(availableReplicas=None)), []),
        "all of a set ready": (statefulset(), []),
        "replicas of a set not set, one ready": (statefulset({"spec": {"replicas": None}}, ready=1, wanted=1), []),
        "more ready than wanted while it is scaled down": (statefulset(ready=4), []),
        "old pods wait for somebody to delete them": (statefulset(ON_DELETE, ROLLING), []),
        "a canary above its partition": (statefulset(partition(2), ROLLING), []),
        "scaled up a moment ago, and its controller has not seen it": (statefulset(OLD, {"spec": {"replicas": 4}}), []),
        "a status of an older spec": (statefulset(OLD, ready=2), []),
        "ready on all nodes": (daemonset(), [STARTING]),
        "a node selector that matches no node": (daemonset(ready=0, wanted=0), [STARTING]),
        "nobody looked at it yet": (daemonset({"status": None}), [STARTING]),
        "old pods on nodes wait for somebody to delete them": (daemonset(ON_DELETE, NODE_BY_NODE), [STARTING]),
        "a rollout over nodes that its controller has not seen": (daemonset(OLD), [STARTING]),
        "a status of nodes of an older spec": (daemonset(OLD, ready=2), [STARTING]),
    },
)  # fmt: skip
def test_silent(doc, docs):
    """Runs everything that is wanted, or rolls out in time."""
    assert judge(doc, *docs) is None


@rows(
    ("doc", "docs", "cause", "since", "detail"),
    {
        "scaled to zero": (deployed(ready=0, wanted=0), [], "scaled to zero", None, ""),
        "scaled to zero while pods are left": (deployed({"spec": {"replicas": 0}}, OLD_DEPLOYMENT), [], "scaled to zero", None, ""),
        "no available replica": (deployed(ready=0), [], "no pods", SINCE_AT, ""),
        "no status at all": (deployed({"status": None}, ready=0), [], "no pods", None, ""),
        "a rollout without an available replica": (
            deployed(said(UNAVAILABLE, MOVING, updatedReplicas=1), ready=0, wanted=2), [], "no pods", SINCE_AT, "",
        ),
        "ready but not available yet": (deployed(said(UNAVAILABLE, COMPLETE, availableReplicas=0)), [], "no pods", SINCE_AT, ""),
        "Available=True since none has to be available": (deployed(said(AVAILABLE, COMPLETE), ready=0), [], "no pods", None, ""),
        "pods are refused": (
            deployed(said(REFUSED, replicas=0, updatedReplicas=0), ready=0), [], "FailedCreate", at("11:52"),
            "pods cannot be created: FailedCreate: exceeded quota: pods, 0/1 ready",
        ),
        "pods that are no replicas: one that goes, one that was evicted, two of others": (
            deployed(ready=0),
            [
                of_w("w-1", CRASHED, DELETING), of_w("w-2", CRASHED, status(phase="Failed")),
                pod("n", "e-1", "e", CRASHED, ready=False), pod("m", "w-1", "w", CRASHED, ready=False),
            ],
            "no pods", SINCE_AT, "",
        ),
        "with Recreate a pod has to end first": (
            deployed(RECREATE, ready=0), [of_w("w-1", ON_GPU, DELETING), document("Node", "gpu-1")], "terminating", SINCE_AT,
            "pod w-1 is terminating on node gpu-1, 0/1 ready",
        ),
        "with Recreate a pod has to end first, on a node that is gone": (
            deployed(RECREATE, ready=0), [of_w("w-1", ON_GPU, DELETING), document("Node", "away")], "node gone", SINCE_AT,
            "node gone (pod w-1: terminating on node gpu-1, which is gone), 0/1 ready",
        ),
        "a replacement that only waits": (
            deployed(ready=0), [of_w("w-1", ON_GPU, DELETING), document("Node", "away"), of_w("w-2", status(conditions=[UNSCHEDULED]))], "node gone",
            SINCE_AT, "...(pod w-2: Unschedulable: no node)...",
        ),
        "a replacement with a fault of its own": (
            deployed(ready=0), [of_w("w-1", ON_GPU, DELETING), document("Node", "away"), of_w("w-2", PULLING)], "ImagePullBackOff", SINCE_AT, "",
        ),
        "a set scaled to zero": (statefulset(ready=0, wanted=0), [], "scaled to zero", None, "scaled to zero"),
        "no replica of a set ready": (statefulset(ready=0), [], "no pods", None, "0/3 ready"),
        "a set without a status": (statefulset({"status": None}), [], "no pods", None, "0/3 ready"),
        "a set ready but not available yet": (statefulset(status(availableReplicas=0)), [], "no pods", None, "3/3 ready"),
        "a set rolled out without an available replica": (statefulset(ROLLING, ready=0), [], "no pods", None, "0/3 ready"),
        "a spec of a set that was not observed yet": (statefulset(OLD, ready=0), [], "no pods", None, "0/3 ready"),
        "a start that leaves nothing": (statefulset(ready=0), [STARTING], "not Ready yet", SINCE_AT, "not Ready yet (pod w-2: ..."),
        "the only one ends": (statefulset(ready=0, wanted=1), [ENDING], "terminating", None, "pod w-1 is terminating, 0/1 ready"),
        "all on a lost node": (
            statefulset(ready=0), [merged(ENDING, ON_GPU)], "node gone", None,
            "node gone (pod w-1: terminating on node gpu-1, which is gone), 0/3 ready",
        ),
        "minReadySeconds": (
            statefulset(status(availableReplicas=0), ready=2, wanted=2), UP, "not available", None, "its pods are ready, but not available yet, 2/2 ready",
        ),
        "ready nowhere": (daemonset(ready=0), [], "no pods", None, "0/3 ready"),
        "on nodes, ready but not available yet": (daemonset(status(numberAvailable=None, numberUnavailable=3)), [], "no pods", None, "3/3 ready"),
        "a rollout over nodes that leaves none": (daemonset(NODE_BY_NODE, ready=0), [], "no pods", None, "0/3 ready"),
        "the only one on a node ends": (daemonset(ready=0, wanted=1), [ENDING], "terminating", None, "pod w-1 is terminating, 0/1 ready"),
    },
)  # fmt: skip
def test_down(doc, docs, cause, since, *, detail):
    """Without an available pod it is down, whatever the rollout, and has no budget."""
    fault = judge(doc, *docs)
    assert (fault.state, fault.cause, fault.budget, fault.transition) == (
        "down",
        cause,
        None,
        since,
    )
    assert says(fault.detail, detail)
    assert fault.lost_node == ("gpu-1" if cause == "node gone" else "")


FIRST_READY = of_w("w-4", status(conditions=[condition("Ready", "True", since="2026-11-20T09:00:00Z")]))  # fmt: skip
RESTARTED = status(containerStatuses=[{"name": "main", "restartCount": 1}])
WAS_READY = status(
    conditions=[condition("Initialized", "True"), *not_ready_since("11:56")["status"]["conditions"]]
)
OTHER = of_w("w-1")
BEGUN, BEGUN_ON_NODES = merged(ROLLING, status(updatedReplicas=0)), status(updatedNumberScheduled=0)
MISSING = "the existing pods are ready, others are missing"
STUCK = "rollout is stuck, old pods are not replaced, ..."


@rows(
    ("doc", "docs", "budget", "since", "detail"),
    {
        "fewer pods than wanted, all of them ready": (deployed(wanted=2), [], None, None, "1/2 ready"),
        "a quota refuses pods": (
            deployed(said(AVAILABLE, COMPLETE, REFUSED, replicas=1, updatedReplicas=1), wanted=3), [], None, at("11:52"), "...FailedCreate...",
        ),
        "a scale-up that the controller keeps no deadline for": (
            deployed(said(AVAILABLE, COMPLETE, replicas=2, updatedReplicas=2), wanted=3), [], None, None, "1/3 ready",
        ),
        "a paused rollout": (deployed({"spec": {"paused": True}}, said(AVAILABLE, PAUSED, updatedReplicas=1), wanted=2), [], None, None, "1/2 ready"),
        "a rollout past its deadline": (
            deployed(said(AVAILABLE, EXCEEDED, updatedReplicas=1), wanted=2), [], None, at("11:55"), "rollout exceeded its deadline...",
        ),
        "a rollout past its deadline while old pods serve": (
            deployed(said(AVAILABLE, EXCEEDED, replicas=3, updatedReplicas=1), ready=2, wanted=2), [], None, at("11:55"),
            "rollout exceeded its deadline...",
        ),
        "a stuck rollout, with the new pod's trouble": (
            deployed(said(AVAILABLE, EXCEEDED, replicas=2)), [of_w("w-2", PULLING)], None, at("11:55"),
            "rollout exceeded its deadline, ImagePullBackOff...",
        ),
        "no new ReplicaSet could be made": (deployed(said(AVAILABLE, NO_SET, updatedReplicas=0), wanted=2), [], None, None, "1/2 ready"),
        "a status of ready and wanted replicas alone": (deployed(said(AVAILABLE, updatedReplicas=None), wanted=2), [], None, None, "1/2 ready"),
        "since the first pod that is not ready": (
            deployed(wanted=4), [*(of_w(f"w-{n}", not_ready_since(since)) for n, since in enumerate(("11:58", "11:51", "11:59"))), FIRST_READY], None,
            at("11:51"), "",
        ),
        "a pod that waits for a node counts from there": (
            deployed(wanted=2), [of_w("w-1", PENDING, status(conditions=[UNSCHEDULED]))], None, SINCE_AT, "Unschedulable...",
        ),
        "a pod of which nothing is said counts from its creation": (
            deployed(wanted=2), [of_w("w-1", PENDING, status(conditions=None))], None, CREATED_AT, "",
        ),
        **{
            f"{name}; a pod fails": (doc, [merged(STARTING, waiting("ErrImagePull"))], None, SINCE_AT, "ErrImagePull (pod w-2: ...")
            for name, doc in FEWER.items()
        },
        **{f"{name}; a pod starts": (doc, [UP[0], STARTING], A_STEP, at("11:55"), "not Ready yet (pod w-2: ...") for name, doc in FEWER.items()},
        **{name: (doc, [UP[0], STARTING], A_STEP, at("11:55"), "rollout is stuck, not Ready yet (pod w-2: ...") for name, doc in STEPS.items()},
        "a pod that was restarted does not start": (statefulset(ready=1), [merged(STARTING, RESTARTED), OTHER], None, SINCE_AT, ""),
        "a pod that was Ready before does not start": (statefulset(ready=1), [merged(STARTING, WAS_READY), OTHER], None, SINCE_AT, ""),
        "the pod that starts longest counts": (statefulset(ready=1), [STARTING, of_w("w-1", made("11:40"))], A_STEP, at("11:40"), ""),
        "a pod ends": (statefulset(ready=2), [*UP, ENDING], A_STEP, at("11:58"), "pod w-1 is terminating, 2/3 ready"),
        "a pod on a lost node never ends": (
            statefulset(ready=2), [*UP, merged(ENDING, ON_GPU)], None, None,
            "node gone (pod w-1: terminating on node gpu-1, which is gone), 2/3 ready",
        ),
        "a quota refuses one": (statefulset(ready=2), UP, None, None, f"{MISSING}, 2/3 ready"),
        "a rollout that has just begun": (statefulset(BEGUN, ready=2), UP[:1], A_STEP, None, STUCK),
        "the first old pod ends": (statefulset(BEGUN, ready=2), [UP[0], ENDING], A_STEP, at("11:58"), STUCK),
        "the next old pod ends": (statefulset(ROLLING, ready=2), [STARTING, ENDING], A_STEP, at("11:58"), ""),
        "a pod that is ready by turns is no step": (
            statefulset(ROLLING, ready=2), [merged(STARTING, not_ready_since("11:59"))], A_STEP, at("11:55"), "",
        ),
        "the worst pod is the cause": (
            statefulset(ready=2), [UP[0], of_w("w-1", CRASHED)], None, SINCE_AT, "CrashLoopBackOff (pod w-1: container main waits in...",
        ),
        "a node without it": (daemonset(ready=2), [of_w("w-1", waiting("ErrImagePull"))], None, SINCE_AT, "ErrImagePull (pod w-1: ..."),
        "old revisions on nodes, and nobody rolls out": (
            daemonset(ON_DELETE, NODE_BY_NODE, ready=2), [of_w("w-1", waiting("ErrImagePull"))], None, SINCE_AT, "ErrImagePull (pod w-1: ...",
        ),
        "node by node": (daemonset(NODE_BY_NODE, ready=2), [UP[0], STARTING], A_STEP, at("11:55"), "rollout is stuck, not Ready yet (pod w-2: ..."),
        "with a surge, the old pods stay": (daemonset(NODE_BY_NODE), [UP[0], STARTING], A_STEP, at("11:55"), "3/3 ready"),
        "a rollout over nodes that has just begun": (daemonset(BEGUN_ON_NODES), UP[:1], A_STEP, None, STUCK),
        "the first old pod of a node ends": (daemonset(BEGUN_ON_NODES), [UP[0], ENDING], A_STEP, at("11:58"), STUCK),
        "the old pod of the next node ends": (daemonset(NODE_BY_NODE), [STARTING, ENDING], A_STEP, at("11:58"), ""),
        "a node joins, its pod is not made yet": (
            daemonset(status(desiredNumberScheduled=4, numberUnavailable=1)), UP[:1], None, None, f"{MISSING}, 3/4 ready",
        ),
        "the pod of a node ends": (daemonset(ready=2), [UP[0], ENDING], A_STEP, at("11:58"), "pod w-1 is terminating, 2/3 ready"),
    },
)  # fmt: skip
def test_degraded(doc, docs, budget, since, *, detail):
    """Fewer ready than wanted, or a stalled rollout; a step of a rollout has a budget.

    The budget starts with the newest pod, so a rollout that proceeds is never reported, and a new
    one does not count as stalled for weeks.
    """
    fault = judge(doc, *docs)
    assert (fault.state, fault.budget, fault.transition) == ("degraded", budget, since)
    assert says(fault.detail, detail)


def test_the_worst_pod_is_the_cause_whatever_the_order():
    faults = ((1, {}), (2, PULLING), (4, CRASHED), (3, CRASHED))
    pods = [of_w(f"w-{number}", patch, ready=not patch) for number, patch in faults]
    fault = judge(deployed(wanted=4), *pods)
    assert fault.cause == "CrashLoopBackOff"
    assert fault.detail.startswith("CrashLoopBackOff (pod w-3: ")
    assert judge(deployed(wanted=4), *reversed(pods)) == fault


def test_pods_that_cannot_be_read_are_not_taken_for_none():
    fault = judge(deployed(ready=0), unknown={PODS: FORBIDDEN})
    assert (fault.down, fault.cause) == (True, "not ready")
    assert [judge(doc, unknown={PODS: FORBIDDEN}) for doc in STEPS.values()] == [None] * len(STEPS)


def node(created: str = "11:54", ready: str = "True", since: str = "11:50") -> dict:
    turned = condition("Ready", ready, since=f"2026-11-20T{since}:00Z")
    return document("Node", "gpu-1", "", made(created), status(conditions=[turned]))


ON_NODE = merged(STARTING, ON_GPU)
LONG_MADE = merged(ON_NODE, made("10:00"))


@rows(
    ("ready", "wanted", "docs", "since"),
    {
        "a node is made": (2, 3, [ON_NODE, node()], at("11:55")),
        "a node is made, and is not Ready": (2, 3, [ON_NODE, node(ready="False")], at("11:55")),
        "the first node is made": (0, 1, [ON_NODE, node()], at("11:55")),
        "the first node is made, and is not Ready": (0, 1, [ON_NODE, node(ready="False")], at("11:55")),
        "a node is back, on which nothing could start": (2, 3, [LONG_MADE, node("10:00", since="11:59")], at("11:59")),
        "a node that was there": (0, 1, [ON_NODE, node("11:45")], None),
        "a node that is not known": (0, 1, [ON_NODE], None),
        "no node yet": (0, 1, [STARTING, node()], None),
        "a pod that fails": (0, 1, [merged(ON_NODE, CRASHED), node()], None),
    },
)  # fmt: skip
def test_a_node_that_comes_gives_time(ready, wanted, docs, since):
    """A device plugin starts on each node that an autoscaler creates, even the first one."""
    fault = judge(daemonset(ready=ready, wanted=wanted), *docs)
    assert (fault.state, fault.budget) == ("degraded" if ready else "down", since and A_STEP)
    assert since in {None, fault.transition}


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        (deployed(wanted=2), True),
        (deployed(ready=0), False),
        (deployed(ready=0, wanted=0), False),
        (deployed({"spec": {"replicas": 0}}), False),
        (statefulset(ready=1), True),
        (statefulset(ready=0), False),
        (statefulset(ready=0, wanted=0), False),
        (statefulset(status(availableReplicas=0)), False),
        (statefulset(status(availableReplicas=None)), True),
        (statefulset(status(availableReplicas=None), ready=0), False),
        (daemonset(ready=1), True),
        (daemonset(ready=0), False),
        (daemonset(ready=0, wanted=0), True),
        (daemonset({"status": None}), False),
        (daemonset(status(numberAvailable=None, numberUnavailable=None)), True),
    ],
)
def test_is_available(doc, expected):
    """At least one wanted replica is available; old servers only count ready ones.

    A DaemonSet that is wanted on no node is available too, once its controller has observed it.
    """
    (found,) = snapshot_of(doc, declared=[STATEFULSETS, DAEMONSETS])[KINDS[doc["kind"]]]
    names = {"Deployment": "is_available"}
    asked = names.get(doc["kind"], f"is_{doc['kind'].lower()}_available")
    assert getattr(judging, asked)(found) is expected
