"""inferencesetModelPodsNotReady: model pods that fail, start for long, or are missing."""

from datetime import timedelta

import pytest

from reporter.catalogue.resources import NODES, PODS
from reporter.model.instant import parse_rfc3339
from reporter.stacks.kaito.reasons import MODEL_PODS, WORKSPACES
from tests.tables import rows
from tests.unit.probes.building import DELETING, SINCE_AT, condition, merged
from tests.unit.stacks.kaito.probes.kaito import (
    NS,
    READY_SINCE,
    conditions,
    findings,
    inferenceset,
    model_pod,
    not_ready,
    only,
    stack,
    tells,
    waits,
    without,
    workspace,
)

STARTUP = timedelta(minutes=30)
LATE = "2026-11-20T11:55:00Z"
READY_NODES = (
    condition("NodeClaimReady", "True", "NodeClaimsReady"),
    condition("NodesReady", "True", "NodesReady"),
)


def inference(reason, message="because", status="False"):
    return conditions(*READY_NODES, condition("InferenceReady", status, reason, message))


OOM = {"terminated": {"reason": "OOMKilled", "exitCode": 137}}
EVICTED = {"status": {"phase": "Failed", "reason": "Evicted", "message": "low on disk"}}
PENDING = inference("WorkspaceInferenceStatusPending")
CRASHES = waits("CrashLoopBackOff")
WAITING = conditions(condition("InferenceSetReady", "False", "inferencesetNotReady"))


def of_mirror(reason, type_="ModelMirrorReady"):
    return conditions(*READY_NODES, condition(type_, "False", reason))


def failed_benchmark(name):
    return conditions(*READY_NODES, condition(name, "False", "BenchmarkFailed", "too slow"))


def asked(generation):
    return merged(WAITING, {"metadata": {"generation": generation}, "spec": {"replicas": 3}})


STREAMING = (
    "ModelStreamingStorageClassNotFound", "ModelStreamingInvalidStorageClass", "ModelStreamingServiceAccountInvalid",
    "ModelStreamingInvalidAnnotations", "ModelMirrorCreateFailed",
)  # fmt: skip
MIRROR_FAILED = ("JobCreateFailed", "DownloadFailed", "DownloadOOMKilled", "DownloadEvicted")
AT_ONCE, IN_GRACE, STARTS = (
    {"exempt": at_once, "budget": budget} for at_once, budget in ((True, None), (False, None), (False, STARTUP))
)  # fmt: skip


@rows(
    ("snapshot", "expected"),
    {
        "a crash, of the pod": (
            stack(pod=CRASHES), AT_ONCE | {"about": "Pod qwen-a-0", "ends": "...pod qwen-a-0: container vllm ...", "independent": False},
        ),
        "an image": (stack(pod=waits("ImagePullBackOff")), IN_GRACE | {"ends": "...ImagePullBackOff..."}),
        "a container that cannot be made": (stack(pod=waits("CreateContainerError")), IN_GRACE | {"ends": "...CreateContainerError..."}),
        "a pod that had been Ready: KAITO being down does not explain it": (
            stack(pod=not_ready(since=LATE)), IN_GRACE | {"independent": True, "transition": parse_rfc3339(LATE)},
        ),
        "a pod on a node that is gone, whatever it says": (stack(node=None), {"ends": "...on node gpu-1, which is gone...", "independent": True}),
        "pods are judged where Workspaces cannot be read": (without(stack(pod=CRASHES), WORKSPACES), {"about": "Pod qwen-a-0"}),
        "memory sticks in the condition while the model is loaded again": (
            stack(pod=not_ready(lastState=OOM), workspace=inference("ContainerOOMKilled")), STARTS | {"ends": "...container vllm is killed for memory: OOMKilled..."},
        ),
        **{
            f"before any pod exists, and only a change mends it: {each}": (stack(pod=None, workspace=inference(each)), AT_ONCE | {"cause": each})
            for each in STREAMING
        },
        "a reason that comes later": (stack(workspace=inference("SomethingNew")), IN_GRACE),
        "a benchmark that failed is terminal": (stack(workspace=failed_benchmark("BenchmarkCompleted")), AT_ONCE),
        "whichever condition says so": (stack(workspace=failed_benchmark("WorkspaceSucceeded")), AT_ONCE),
        **{f"a mirror of weights: {each}": (stack(pod=None, workspace=of_mirror(each)), IN_GRACE) for each in MIRROR_FAILED},
        "a mirror with an invalid spec": (stack(pod=None, workspace=of_mirror("InvalidSpec")), AT_ONCE),
        "a mirror that downloads": (stack(pod=None, workspace=of_mirror("ModelMirrorPending")), STARTS),
        "a mirror that only the resources wait for: it never times out upstream": (
            stack(pod=None, workspace=of_mirror("ModelMirrorNotReady", "ResourceReady")), STARTS | {"transition": SINCE_AT},
        ),
        "a replica without a pod": (stack(pod=None, workspace=PENDING), STARTS | {"cause": "no pod", "transition": SINCE_AT}),
        "one that lost its pod just now is not overdue": (stack(pod=None), {"transition": None}),
        "the leftover of an eviction explains it": (
            stack(pod=EVICTED), {"about": "Workspace qwen-a", "ends": "pod qwen-a-0 ended: Evicted: low on disk"},
        ),
        "Ready pods of a Workspace that stays pending: not silent for ever": (stack(workspace=PENDING), STARTS | {"transition": SINCE_AT}),
        "fewer Workspaces than wanted": (
            stack(set=asked(1)), STARTS | {"about": "InferenceSet qwen", "ends": ": 1/3 wanted replicas have a Workspace", "transition": SINCE_AT},
        ),
        "a replica that was asked for later is not as late as the condition": (stack(set=asked(2)), {"transition": None}),
    },
)  # fmt: skip
def test_told(snapshot, expected):
    """What heals by itself has a grace, a start its budget; what only a change mends is told at once."""
    tells(snapshot, MODEL_PODS, **expected)


@rows(
    "snapshot",
    {
        "nodes that cannot be read are not gone": without(stack(node=None), NODES),
        "pods of a Workspace that goes are no replicas": stack(
            workspace("qwen-b", DELETING),
            model_pod("qwen-b-0", CRASHES, workspace="qwen-b"),
            model_pod("qwen-c-0", CRASHES, workspace="qwen-c"),
        ),
        "no node claims: KAITO makes pods only once there are nodes": stack(pod=None, workspace=conditions(condition("NodeClaimReady", "False", "NodeNotReady"))),
        "no nodes": stack(pod=None, workspace=conditions(condition("NodesReady", "False", "NodeNotReady"))),
        "pods cannot be read": without(stack(pod=None), PODS),
        "none is wanted": stack(set={"spec": {"replicas": 0}}, workspace=None, pod=None),
        "Workspaces cannot be read": without(stack(set={"spec": {"replicas": 3}}), WORKSPACES),
    },
)  # fmt: skip
def test_silent(snapshot):
    assert findings(snapshot, MODEL_PODS) == []


def test_pending_inference_is_no_fault_by_itself():
    """WorkspaceInferenceStatusPending says nothing that the pod does not."""
    snapshot = stack(pod=not_ready(), workspace=PENDING)
    assert [each.related.kind for each in findings(snapshot, MODEL_PODS)] == ["Pod"]


def test_a_terminating_pod_counts_as_not_there():
    """It has a minute after its grace, and its replica is missing meanwhile."""
    pod, replica = findings(stack(pod=DELETING), MODEL_PODS)
    assert (pod.related.kind, pod.budget) == ("Pod", timedelta(seconds=90))
    assert (replica.related.kind, replica.budget) == ("Workspace", STARTUP)
    assert replica.transition == pod.transition + timedelta(seconds=30)


POD_REASONS = [
    "SASTokenFetchFailed", "ContainerOOMKilled", "ImagePullError", "ContainerStartError",
    "ContainerCrashLoopBackOff", "NodeDiskPressure", "NodeMemoryPressure", "PodEvicted",
    "Unschedulable",
]  # fmt: skip


@pytest.mark.parametrize("reason", POD_REASONS)
def test_a_workspace_speaks_for_pods_that_cannot_be_read(reason):
    """Without pods the classified reason is all there is; its time is not that of the reason."""
    snapshot = without(stack(pod=None, workspace=inference(reason)), PODS)
    finding = only(snapshot, MODEL_PODS)
    assert finding.related == WORKSPACES.ref_named(NS, "qwen-a")
    assert finding.exempt is (reason == "ContainerCrashLoopBackOff")
    assert (finding.transition, finding.budget) == (None, None)
    assert f"InferenceReady is False, {reason}: because" in finding.message


@pytest.mark.parametrize("reason", POD_REASONS)
def test_pods_that_can_be_read_know_better(reason):
    """One fault is told once, of the pod; a stale or sticky condition is not told."""
    broken = stack(pod=waits("CrashLoopBackOff"), workspace=inference(reason))
    assert [each.related.kind for each in findings(broken, MODEL_PODS)] == ["Pod"]
    assert findings(stack(workspace=inference(reason)), MODEL_PODS) == []


WEBHOOK = 'admission webhook "pods.policy.example" denied the request: label team is missing'
CONFLICT = 'failed calling webhook "pods.policy.example": context deadline exceeded'


@pytest.mark.parametrize(
    ("error", "cause", "budget", "said"),
    [
        (WEBHOOK, "refused by the API server", None, "refuses what KAITO makes for it: admission"),
        ('statefulsets.apps "a" is forbidden: exceeded quota', "refused by the API server", None, ""),
        (CONFLICT, "no pod", STARTUP, "has no pod, KAITO's last reconcile error: failed calling"),
    ],
)  # fmt: skip
def test_what_kaito_failed_at_is_told_of_a_replica_without_a_pod(error, cause, *, budget, said):
    """A refusal does not go by waiting, so it has no budget; what may heal keeps it."""
    text = f"Inference workload is not ready (last reconcile error: {error})"
    pending = condition("InferenceReady", "False", "WorkspaceInferenceStatusPending", text)
    finding = only(stack(pod=None, workspace=conditions(*READY_NODES, pending)), MODEL_PODS)
    assert (finding.cause, finding.budget) == (cause, budget)
    assert said in finding.message
    assert error in finding.message
    assert (finding.transition is None) == (budget is None)


OF_SET = {"metadata": {"labels": {"statefulset.kubernetes.io/pod-name": "qwen-a-0"}}}
TWO_NODES = {"status": {"targetNodeCount": 2}}


@pytest.mark.parametrize(
    ("patch", "told"),
    [(OF_SET, [None]), (merged(not_ready(), OF_SET), [STARTUP, STARTUP]), ({}, [])],
)
def test_a_replica_of_several_nodes_that_lacks_a_pod(patch, told):
    """One pod for each node; a template's Deployment is none of that, and a start may take its time."""
    found = findings(stack(pod=patch, workspace=TWO_NODES), MODEL_PODS)
    assert [each.budget for each in found] == told
    texts = [each.message for each in found if "has 1 of 2 pods" in each.message]
    assert len(texts) == (1 if told else 0)


def test_the_order_of_objects_changes_nothing():
    """Messages do not flap with the order of a list."""
    first = waits("ErrImagePull", READY_SINCE)
    more = [workspace("qwen-b"), model_pod("qwen-b-0", first, workspace="qwen-b"), inferenceset()]
    there = findings(stack(*more, pod=first))
    back = findings(stack(*reversed(more), pod=first))
    assert there == back


def of(kind, name):
    return {"metadata": {"ownerReferences": [{"kind": kind, "name": name, "controller": True}]}}


REPLICA = of("ReplicaSet", "qwen-5d9c")
ON_LOST = {"spec": {"nodeName": "lost"}}


@pytest.mark.parametrize(
    ("leaving", "others", "told"),
    [
        ((REPLICA, DELETING), [(REPLICA,)], []),
        ((REPLICA, DELETING), [(of("ReplicaSet", "qwen-77ab"),)], []),  # of the next rollout
        ((REPLICA, DELETING), [(REPLICA,), (REPLICA, not_ready())], ["qwen-a-0", "other-1"]),
        ((REPLICA, DELETING), [], ["qwen-a-0"]),
        ((REPLICA, DELETING), [(of("ReplicaSet", "router-5d9c"),)], ["qwen-a-0"]),
        ((REPLICA,), [(REPLICA,)], ["qwen-a-0"]),
        ((of("StatefulSet", "qwen-a"), DELETING), [(of("StatefulSet", "qwen-a"),)], ["qwen-a-0"]),
    ],
)
def test_a_pod_that_does_not_end_on_a_lost_node_is_told_while_nothing_stands_for_it(
    leaving, others, told
):
    """Its ReplicaSet has made another; a StatefulSet waits until it is gone."""
    pods = [model_pod(f"other-{number}", *patches) for number, patches in enumerate(others)]
    found = findings(stack(*pods, pod=merged(ON_LOST, *leaving)), MODEL_PODS)
    assert sorted(each.related.name for each in found if each.related.kind == "Pod") == sorted(told)
