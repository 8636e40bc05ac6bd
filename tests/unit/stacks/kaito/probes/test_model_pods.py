"""inferencesetModelPodsNotReady: model pods that fail, start for long, or are missing."""

from dataclasses import replace
from datetime import timedelta

import pytest

from reporter.catalogue.resources import NODES, PODS
from reporter.model.instant import parse_rfc3339
from reporter.stacks.kaito.reasons import MODEL_PODS, WORKSPACES
from tests.unit.probes.building import DELETING, FORBIDDEN, SINCE_AT, condition, merged
from tests.unit.stacks.kaito.probes.kaito import (
    NS,
    READY_SINCE,
    SET,
    conditions,
    findings,
    inferenceset,
    model_pod,
    not_ready,
    only,
    stack,
    waits,
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


def without(snapshot, *resources):
    states = dict(snapshot.states) | dict.fromkeys(resources, FORBIDDEN)
    return replace(snapshot, states=states)


@pytest.mark.parametrize(
    ("reason", "exempt"),
    [("CrashLoopBackOff", True), ("ImagePullBackOff", False), ("CreateContainerError", False)],
)
def test_a_container_fault_is_told_of_the_pod(reason, exempt):
    """The pod is the object at fault; what heals by itself has a grace."""
    finding = only(stack(pod=waits(reason)), MODEL_PODS)
    assert finding.exempt is exempt
    assert finding.message.startswith(f"InferenceSet {NS}/{SET}: pod qwen-a-0: container vllm ")
    assert reason in finding.message
    assert finding.related == PODS.ref_named(NS, "qwen-a-0")
    assert not finding.independent


def test_a_pod_that_had_been_ready_is_independent_of_the_controller():
    """Its failure is not explained by KAITO being down."""
    finding = only(stack(pod=not_ready(since=LATE)), MODEL_PODS)
    assert finding.independent
    assert finding.budget is None
    assert finding.transition == parse_rfc3339(LATE)


@pytest.mark.parametrize(
    "patch",
    [
        not_ready(),
        not_ready(since=LATE),
        waits("CrashLoopBackOff"),
        waits("ContainerCreating"),
        waits("Whatever"),
        not_ready({"terminated": {"reason": "Completed", "exitCode": 0}}),
        not_ready({}),
        conditions(),
    ],
)
def test_every_pod_that_is_not_ready_has_a_finding(patch):
    """So a container's fault clears only when the pod is Ready or gone."""
    found = findings(stack(pod=patch), MODEL_PODS)
    assert [each.related.name for each in found] == ["qwen-a-0"]


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        (waits("CrashLoopBackOff"), True),
        (waits("ImagePullBackOff"), True),
        (not_ready({"terminated": {"reason": "Error", "exitCode": 1}}), True),
        (not_ready(), True),
        (not_ready(since=LATE), True),
        (DELETING, False),
        (conditions(condition("PodScheduled", "False", "Unschedulable")), False),
    ],
    ids=["crash loop", "image", "ended", "runs again", "no longer ready", "deleting", "unsched"],
)
def test_faults_of_containers_linger(patch, expected):
    """A crashed container that runs again has not recovered; a pod that found a node has."""
    told = [each for each in findings(stack(pod=patch)) if each.related.kind == "Pod"]
    assert [each.lingers for each in told] == [expected]


def test_a_pod_on_a_node_that_is_gone_names_it():
    """A pod that still says Ready is no replica without its node."""
    finding = only(stack(node=None), MODEL_PODS)
    assert "on node gpu-1, which is gone" in finding.message
    assert finding.independent


def test_nodes_that_cannot_be_read_are_not_gone():
    """Unknown is no fault."""
    assert findings(without(stack(node=None), NODES), MODEL_PODS) == []


def test_pods_of_a_workspace_that_goes_are_no_replicas():
    """Scaling down raises nothing, whatever state the pods are in."""
    snapshot = stack(
        workspace("qwen-b", DELETING),
        model_pod("qwen-b-0", waits("CrashLoopBackOff"), workspace="qwen-b"),
        model_pod("qwen-c-0", waits("CrashLoopBackOff"), workspace="qwen-c"),
    )
    assert findings(snapshot) == []


def test_pods_are_judged_where_workspaces_cannot_be_read():
    """What is seen is told even if something else is unknown."""
    snapshot = without(stack(pod=waits("CrashLoopBackOff")), WORKSPACES)
    assert only(snapshot, MODEL_PODS).related.name == "qwen-a-0"


def test_a_terminating_pod_counts_as_not_there():
    """It has a minute after its grace, and its replica is missing meanwhile."""
    pod, replica = findings(stack(pod=DELETING), MODEL_PODS)
    assert (pod.related.kind, pod.budget) == ("Pod", timedelta(seconds=90))
    assert (replica.related.kind, replica.budget) == ("Workspace", STARTUP)
    assert replica.transition == pod.transition + timedelta(seconds=30)


POD_REASONS = [
    "SASTokenFetchFailed",
    "ContainerOOMKilled",
    "ImagePullError",
    "ContainerStartError",
    "ContainerCrashLoopBackOff",
    "NodeDiskPressure",
    "NodeMemoryPressure",
    "PodEvicted",
    "Unschedulable",
]


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


def test_a_past_oom_does_not_fire_while_the_model_is_loaded_again():
    """OOM sticks in the condition for the whole reload; the start-up budget decides."""
    last = {"terminated": {"reason": "OOMKilled", "exitCode": 137}}
    snapshot = stack(pod=not_ready(lastState=last), workspace=inference("ContainerOOMKilled"))
    finding = only(snapshot, MODEL_PODS)
    assert (finding.exempt, finding.budget) == (False, STARTUP)
    assert "container vllm is killed for memory: OOMKilled" in finding.message


@pytest.mark.parametrize(
    "reason",
    [
        "ModelStreamingStorageClassNotFound",
        "ModelStreamingInvalidStorageClass",
        "ModelStreamingServiceAccountInvalid",
        "ModelStreamingInvalidAnnotations",
        "ModelMirrorCreateFailed",
    ],
)
def test_streaming_configuration_fires_at_once(reason):
    """It is checked before any pod exists, and only a change mends it."""
    finding = only(stack(pod=None, workspace=inference(reason)), MODEL_PODS)
    assert finding.exempt
    assert finding.cause == reason


def test_an_unknown_reason_of_the_condition_is_a_failure():
    """A classified reason that comes later is told with the grace."""
    finding = only(stack(workspace=inference("SomethingNew")), MODEL_PODS)
    assert (finding.exempt, finding.budget) == (False, None)


@pytest.mark.parametrize("name", ["BenchmarkCompleted", "WorkspaceSucceeded"])
def test_a_failed_benchmark_fires_at_once(name):
    """It is terminal, whichever of the two conditions says so."""
    patch = conditions(*READY_NODES, condition(name, "False", "BenchmarkFailed", "too slow"))
    assert only(stack(workspace=patch), MODEL_PODS).exempt


@pytest.mark.parametrize(
    ("reason", "exempt", "budget"),
    [
        ("JobCreateFailed", False, None),
        ("DownloadFailed", False, None),
        ("DownloadOOMKilled", False, None),
        ("DownloadEvicted", False, None),
        ("InvalidSpec", True, None),
        ("ModelMirrorPending", False, STARTUP),
    ],
)
def test_mirrors_of_weights(reason, exempt, budget):
    """Failures have a grace, an invalid spec has none, a download has the start-up budget."""
    mirror = condition("ModelMirrorReady", "False", reason)
    finding = only(stack(pod=None, workspace=conditions(*READY_NODES, mirror)), MODEL_PODS)
    assert (finding.exempt, finding.budget) == (exempt, budget)


def test_a_mirror_that_only_the_resources_wait_for_has_the_budget():
    """ModelMirrorNotReady never times out upstream."""
    waiting = condition("ResourceReady", "False", "ModelMirrorNotReady")
    finding = only(stack(pod=None, workspace=conditions(*READY_NODES, waiting)), MODEL_PODS)
    assert (finding.budget, finding.transition) == (STARTUP, SINCE_AT)


def test_a_replica_without_a_pod_is_missing_after_the_budget():
    """Replicas are judged, not only pods (12): a refused pod leaves none that could be at fault."""
    patch = inference("WorkspaceInferenceStatusPending")
    finding = only(stack(pod=None, workspace=patch), MODEL_PODS)
    assert (finding.cause, finding.budget) == ("no pod", STARTUP)
    assert finding.transition == SINCE_AT


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


def test_a_replica_that_lost_its_pod_just_now_is_not_overdue():
    """While the Workspace still counts as serving, its old times say nothing."""
    assert only(stack(pod=None), MODEL_PODS).transition is None


def test_the_leftover_of_an_eviction_explains_a_missing_replica():
    """A Failed pod is no replica; the message says why it ended."""
    evicted = {"status": {"phase": "Failed", "reason": "Evicted", "message": "low on disk"}}
    finding = only(stack(pod=evicted), MODEL_PODS)
    assert finding.related.kind == "Workspace"
    assert finding.message.endswith("pod qwen-a-0 ended: Evicted: low on disk")


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


@pytest.mark.parametrize("name", ["NodeClaimReady", "NodesReady"])
def test_a_replica_without_nodes_is_told_by_another_reason(name):
    """KAITO makes pods only once there are nodes."""
    patch = conditions(condition(name, "False", "NodeNotReady"))
    assert findings(stack(pod=None, workspace=patch), MODEL_PODS) == []


def test_no_pod_is_missed_where_pods_cannot_be_read():
    """Absence needs a look."""
    assert findings(without(stack(pod=None), PODS), MODEL_PODS) == []


def test_pending_inference_is_no_fault_by_itself():
    """WorkspaceInferenceStatusPending says nothing that the pod does not."""
    snapshot = stack(pod=not_ready(), workspace=inference("WorkspaceInferenceStatusPending"))
    assert [each.related.kind for each in findings(snapshot, MODEL_PODS)] == ["Pod"]


def test_ready_pods_of_a_workspace_that_stays_pending_are_told_after_the_budget():
    """A set that stays not ready is not silent for ever."""
    snapshot = stack(workspace=inference("WorkspaceInferenceStatusPending"))
    finding = only(snapshot, MODEL_PODS)
    assert (finding.budget, finding.transition) == (STARTUP, SINCE_AT)


def test_fewer_workspaces_than_wanted_are_missing_replicas():
    """All replicas are counted, also those that KAITO never made."""
    waiting = conditions(condition("InferenceSetReady", "False", "inferencesetNotReady"))
    asked = {"metadata": {"generation": 1}, "spec": {"replicas": 3}}
    finding = only(stack(set=merged(waiting, asked)), MODEL_PODS)
    assert finding.message == f"InferenceSet {NS}/{SET}: 1/3 wanted replicas have a Workspace"
    assert finding.related.kind == "InferenceSet"
    assert (finding.budget, finding.transition) == (STARTUP, SINCE_AT)


def test_a_replica_that_was_asked_for_later_has_no_time_of_the_condition():
    """It was False for another replica: the one that was just asked for is not hours late."""
    waiting = conditions(condition("InferenceSetReady", "False", "inferencesetNotReady"))
    asked = {"metadata": {"generation": 2}, "spec": {"replicas": 3}}
    assert only(stack(set=merged(waiting, asked)), MODEL_PODS).transition is None


def test_no_replica_is_missed_where_none_is_wanted():
    """A set scaled to zero needs neither Workspaces nor pods."""
    assert findings(stack(set={"spec": {"replicas": 0}}, workspace=None, pod=None)) == []


def test_no_workspace_is_missed_where_they_cannot_be_read():
    """Absence needs a look."""
    assert findings(without(stack(set={"spec": {"replicas": 3}}), WORKSPACES), MODEL_PODS) == []


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
