"""Why a container waits, and the texts that say so."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from reporter.catalogue.resources import PODS
from reporter.diagnosis.case import REFUSALS, refusal, why_it_fails
from reporter.diagnosis.scheduling import why_unscheduled
from reporter.diagnosis.storage import why_not_attached
from reporter.diagnosis.texts import IMAGES, MOUNTS, NODE_REFUSALS, STARTS, Context, end_of, meaning
from tests.unit.diagnosis.building import cluster, event, node, placed, waiting
from tests.unit.probes.building import NOW, condition, document, merged

NO_GPU = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: x"
KARPENTER = {"component": "karpenter", "type_": "Warning"}


def pool(name, used, limit, *conditions):
    status = {"resources": {"nvidia.com/gpu": used}, "conditions": list(conditions)}
    return document(
        "NodePool", name, "", {"spec": {"limits": {"nvidia.com/gpu": limit}}, "status": status}
    )


def claim_of(name, *conditions, **status):
    return document("NodeClaim", name, "", {"status": {"conditions": list(conditions), **status}})


def refused(text):
    return event("Pod m", "FailedScheduling", f"Failed to schedule pod, {text}", **KARPENTER)


NOMINATED = event(
    "Pod m", "Nominated", "Pod should schedule on: nodeclaim/gpu-1", component="karpenter"
)

AUTOSCALERS = {
    "limits of a NodePool, with their numbers": (
        [pool("gpu", "8", "8")],
        [refused('all available instance types exceed limits for nodepool: "gpu"')],
        ("nodepool-limits", "NodePool gpu may make no more nodes: 8 of 8 nvidia.com/gpu of its limits are used"),
    ),
    "limits that the smallest type would exceed": (
        [pool("gpu", "4", "8")],
        [refused('all available instance types exceed limits for nodepool: "gpu"')],
        ("nodepool-limits", "the limits of NodePool gpu are used up"),
    ),
    "limits without Karpenter's words": ([pool("gpu", "8", "8")], [], ("nodepool-limits", "8 of 8 nvidia.com/gpu")),
    "no instance type is large enough": (
        [pool("gpu", "0", "80")],
        [refused('incompatible with nodepool "gpu", no instance type satisfied resources {} and requirements x (no instance type has enough resources)')],
        ("instance-size", "no instance type that NodePool gpu allows has 1 nvidia.com/gpu"),
    ),
    "the nearest of several pools' reasons": (
        [],
        [refused('incompatible with nodepool "cpu", did not tolerate taint a=b:NoSchedule; incompatible with nodepool "gpu", no instance type which met the scheduling requirements and the required offering')],
        ("capacity", "no instance type that NodePool gpu allows is available"),
    ),
    "a pool that is not ready": (
        [pool("gpu", "0", "8", condition("NodeClassReady", "False", "NotFound", "no EC2NodeClass"))], [],
        ("nodepool-unusable", "NodePool gpu makes no nodes: NodeClassReady is False (NotFound: no EC2NodeClass)"),
    ),
    "the cloud refuses the machine": (
        [claim_of("gpu-1", condition("Launched", "Unknown", "SubscriptionQuotaReached", "exceeding quota"))],
        [NOMINATED], ("capacity", "the cloud refuses the machine of NodeClaim gpu-1: SubscriptionQuotaReached"),
    ),
    "the kubelet does not join": (
        [claim_of("gpu-1", condition("Launched", "True"), condition("Registered", "Unknown", "NodeNotFound"))],
        [NOMINATED], ("node-not-joining", "its kubelet does not join"),
    ),
    "the plugin is not on the new node": (
        [claim_of("gpu-1", condition("Initialized", "Unknown", "ResourceNotRegistered",
                                     'Resource "nvidia.com/gpu" was requested but not registered'), nodeName="n9")],
        [NOMINATED], ("device-missing", "node n9 is there, and nothing offers its devices"),
    ),
    "a NodeClaim that the cloud refused before": (
        [claim_of("gpu-1", condition("Launched", "True"), condition("Registered", "Unknown", "NodeNotFound"))],
        [NOMINATED, event("NodeClaim gpu-1", "InsufficientCapacityError", "InsufficientInstanceCapacity: no p5", **KARPENTER)],
        ("node-not-joining", "its kubelet does not join"),
    ),
    "a NodeClaim that is gone": (
        [], [NOMINATED, event("NodeClaim gpu-1", "InsufficientCapacityError", "InsufficientInstanceCapacity: no p5", **KARPENTER)],
        ("capacity", "no node comes, the cloud has no capacity for it: InsufficientInstanceCapacity: no p5"),
    ),
    "the largest size of a group": (
        [], [event("Pod m", "NotTriggerScaleUp", "pod didn't trigger scale-up: 1 max node group size reached")],
        ("group-maximum", "the matching node group is at its maximum size"),
    ),
    "groups that lack devices": (
        [], [event("Pod m", "NotTriggerScaleUp", "pod didn't trigger scale-up: 1 Insufficient nvidia.com/gpu")],
        ("device-absent", "no node offers any; the cluster autoscaler adds no node, as no node group would do: too little nvidia.com/gpu (1)"),
    ),
    "groups of several kinds, the nearest first": (
        [], [event("Pod m", "NotTriggerScaleUp", "pod didn't trigger scale-up (it wouldn't fit if a new node is added): "
                   "8 node(s) had taint {a: b}, that the pod didn't tolerate, 3 node(s) didn't match Pod's node affinity/selector")],
        ("device-absent", "would do: other labels than it asks for (3) and taints that it does not tolerate {a: b} (8)"),
    ),
    "groups of which one fails for what nobody here knows": (
        [], [event("Pod m", "NotTriggerScaleUp", "pod didn't trigger scale-up: "
                   "3 Insufficient nvidia.com/gpu, 1 node(s) didn't match pod anti-affinity rules")],
        ("device-absent", "it asks for 1 nvidia.com/gpu, no node offers any"),
    ),
    "groups that fail for what nobody here knows": (
        [], [event("Pod m", "NotTriggerScaleUp", "pod didn't trigger scale-up: 2 all-or-nothing")],
        ("device-absent", "it asks for 1 nvidia.com/gpu, no node offers any"),
    ),
    "GKE has no capacity": (
        [], [event("Pod m", "FailedScaleUp", "Node scale up in zones us-central1-a associated with this pod failed: GCE out of resources. Pod is at risk of not being scheduled.")],
        ("capacity", "no node comes, the zone has no capacity"),
    ),
    "a node is on its way": (
        [], [event("Pod m", "TriggeredScaleUp", "pod triggered scale-up: [{gpu-pool 1->2 (max: 3)}]")],
        ("node-coming", "the cluster autoscaler adds a node for it in node group gpu-pool (1 to 2)"),
    ),
    "a node that did not come": (
        [], [replace(event("Pod m", "TriggeredScaleUp", "pod triggered scale-up: [{gpu-pool 1->2 (max: 3)}]"),
                     last=NOW - timedelta(minutes=16))],
        ("node-late", "(1 to 2), and none came in 15 min"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("docs", "events", "wanted"), AUTOSCALERS.values(), ids=AUTOSCALERS)
def test_why_no_node_comes(docs, events, wanted):
    snapshot = cluster(waiting(NO_GPU, 1), node("a"), *docs, events=events)
    found = why_unscheduled(snapshot[PODS].get("ns", "m"), snapshot, now=NOW)
    code, words = wanted
    assert found.code == code, found.cause
    assert words in found.cause


def test_what_to_do_about_a_node_that_would_fit_is_not_replaced():
    """Autoscaled groups for other pods, beside machines with GPUs that are there all the time."""
    message = (
        "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) were unschedulable."
    )
    said = "pod didn't trigger scale-up: 1 Insufficient nvidia.com/gpu"
    docs = [waiting(message, 1), node("a"), node("g", 8, cordoned=True)]
    snapshot = cluster(*docs, events=[event("Pod m", "NotTriggerScaleUp", said)])
    found = why_unscheduled(snapshot[PODS].get("ns", "m"), snapshot, now=NOW)
    assert "no node group would do: too little nvidia.com/gpu (1)" in found.cause
    assert "ncordon" in found.action


GROUP = {"metadata": {"annotations": {"scheduling.k8s.io/group-name": "g"}}}
GATED = {"spec": {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]},
         "metadata": {"labels": {"kueue.x-k8s.io/queue-name": "lq", "kueue.x-k8s.io/pod-group-name": "w"}}}  # fmt: skip
LOCAL = document("LocalQueue", "lq", "ns", {"spec": {"clusterQueue": "cq"}})


def workload(*conditions, check=None):
    status = {"conditions": list(conditions), "admissionChecks": [check] if check else []}
    return document("Workload", "w", "ns", {"spec": {"queueName": "lq"}, "status": status})


NO_NODES = {"name": "dws", "state": "Retry", "message": "Max nodepool size reached"}
NO_QUOTA = "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor a100, 2 more needed"


def volcano(queue, **asks):
    return [
        document("PodGroup", "g", "ns", {
            "spec": {"queue": "q", "minResources": asks},
            "status": {"phase": "Pending", "conditions": [condition("Unschedulable", "True", "NotEnoughResources", "2/4 tasks in gang unschedulable")]},
        }),
        document("Queue", "q", "", queue),
    ]  # fmt: skip


QUEUES = {
    "quota that is used": (
        GATED, [LOCAL, workload(condition("QuotaReserved", "False", "Pending", "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor a100, 2 more needed"))], [],
        "queue lq lacks 2 nvidia.com/gpu of unused quota (flavor a100)",
    ),
    "more than the queue can ever give": (
        GATED, [LOCAL, workload(condition("QuotaReserved", "False", "Pending", "insufficient quota for nvidia.com/gpu in flavor a, request > maximum capacity (8)"))], [],
        "queue lq can never admit it",
    ),
    "no LocalQueue is named": (
        {**GATED, "metadata": {"uid": "of-m"}},
        [document("Workload", "pod-m", "ns", {
            "metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "m", "uid": "of-m"}]},
            "status": {"conditions": [condition("QuotaReserved", "False", "Inadmissible", "LocalQueue  doesn't exist")]},
        })], [],
        "it names no LocalQueue, and the namespace has no default one",
    ),
    "no LocalQueue": (GATED, [], [], "its LocalQueue lq does not exist in ns"),
    "a check that makes it wait": (
        GATED, [LOCAL, workload(condition("Evicted", "True", "AdmissionCheck", "At least one admission check is false"), check=NO_NODES)], [],
        "Kueue's admission check dws keeps it in queue lq (Retry): Max nodepool size reached",
    ),
    "a check that has not answered": (
        GATED, [LOCAL, workload(condition("QuotaReserved", "True"), check=NO_NODES | {"state": "Pending"})], [],
        "Kueue's admission check dws keeps it in queue lq (Pending)",
    ),
    "a check of an attempt before": (
        GATED, [LOCAL, workload(condition("QuotaReserved", "False", "Pending", NO_QUOTA), check=NO_NODES)], [],
        "queue lq lacks 2 nvidia.com/gpu of unused quota (flavor a100)",
    ),
    "an inactive ClusterQueue": (
        GATED, [LOCAL, document("ClusterQueue", "cq", "", {"status": {"conditions": [condition("Active", "False", "FlavorNotFound", "references missing ResourceFlavor(s): a100")]}})], [],
        "ClusterQueue cq admits nothing: references missing ResourceFlavor(s): a100",
    ),
    "Volcano's queue is full": (
        GROUP, volcano({"spec": {"capability": {"nvidia.com/gpu": "8"}}, "status": {"state": "Open", "allocated": {"nvidia.com/gpu": "8"}}}, **{"nvidia.com/gpu": "4"}), [],
        "queue q: 8 of 8 nvidia.com/gpu are used, and the group asks for 4",
    ),
    "Volcano's queue is closed": (GROUP, volcano({"status": {"state": "Closed"}}), [], "queue q of Volcano is closed"),
    "what the queue does not name": (
        GROUP, volcano({"spec": {"capability": {"cpu": "5"}}, "status": {"state": "Open"}}, memory="16Gi"),
        [event("PodGroup g", "Unschedulable", "queue resource quota insufficient")],
        "its capability does not name memory, which may count as none of it there",
    ),
    "another pod of the gang is the cause": (
        GROUP, [*volcano({"status": {"state": "Open"}}),
                {**waiting("0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", 8, name="w1"),
                 "metadata": {"name": "w1", "namespace": "ns", **GROUP["metadata"]}}], [],
        "it waits for w1 of its group, for which there is no node",
    ),
}  # fmt: skip


QUOTA_OF_KAI = "NonPreemptibleOverQuota: Non-preemptible workload is over quota. Workload requested 2 GPUs, but team-a quota is 1 GPUs, while 1 GPUs are already allocated for non-preemptible pods. Use a preemptible workload to go over quota."
LIMIT_OF_KAI = "OverLimit: team-a quota has reached the allowable limit of GPUs. Limit is 8 GPUs, currently 6 GPUs allocated and workload requested 4 GPUs"
NO_ROOM = "no nodes with enough resources were found: 1 node(s) didn't have enough resources: GPUs."
KAI = {
    "its quota": (QUOTA_OF_KAI, ("queue-quota", "queue team-a: its quota is 1 GPUs, non-preemptible pods have 1 GPUs of it, and it asks for 2 GPUs")),
    "its limit": (LIMIT_OF_KAI, ("queue-quota", "queue team-a: its limit is 8 GPUs, 6 GPUs are used, and it asks for 4 GPUs")),
    "the quota on a node": (f"no nodes with enough resources were found: 1 node does not have enough capacity. Reason: {QUOTA_OF_KAI.replace(': ', ', Details: ', 1)}. ", ("queue-quota", "queue team-a: its quota is 1 GPUs")),
    "a gang": (
        f"PodSchedulingErrors: Resources were found for 1 pods while 2 are required for gang scheduling. Additional pods cannot be scheduled due to: {NO_ROOM}.",
        ("gang", "its gang needs 2 pods at once, and finds room for 1 in all: no nodes with"),
    ),
    "a part of a gang": (
        f"PodSchedulingErrors: Resources were found for 2 pods from all sub-groups while sub-group decode requires 4 pods for gang scheduling. Additional pods cannot be scheduled in this sub-group due to: {NO_ROOM}.",
        ("gang", "its gang needs 4 pods of decode at once, and finds room for 2 in all"),
    ),
    "no room for any": (NO_ROOM, ("node-full", "a could take it, but 0 of 8 nvidia.com/gpu are free (pods ns/h)")),
    "labels": ("no nodes with enough resources were found: 1 node(s) didn't match Pod's node affinity/selector.", ("node-full", "(scheduler: no nodes with enough")),
    "nothing that is known": ("Unable to schedule pod", ("node-full", "0 of 8 nvidia.com/gpu are free")),
}  # fmt: skip


@pytest.mark.parametrize(("said", "wanted"), KAI.values(), ids=KAI)
def test_why_kai_places_it_nowhere(said, wanted):
    snapshot = cluster(waiting(said, 1), node("a", 8), placed("h", "a", 8))
    found = why_unscheduled(snapshot[PODS].get("ns", "m"), snapshot, now=NOW)
    assert (found.code, wanted[1] in found.cause) == (wanted[0], True), found.cause


@pytest.mark.parametrize(
    "extra", ["1 " * 20_000, "but " * 20_000, ": " * 20_000, "9 node(s) " * 9_000]
)
def test_what_kai_says_is_read_in_linear_time(extra):
    for start in (QUOTA_OF_KAI[:60], "no nodes with enough resources were found: ", ""):
        snapshot = cluster(waiting(start + extra, 1), node("a", 8))
        why_unscheduled(snapshot[PODS].get("ns", "m"), snapshot, now=NOW)


LACKING = "Job is not ready for scheduling. Waiting for 1 pods for SubGroup decode, currently 0 exist, 0 are gated"
FULL = "Resources were found for 1 pods while 2 are required for gang scheduling"


@pytest.mark.parametrize(
    ("named", "reason", "said", "words"),
    [
        ("g", "NotReady", LACKING, "its gang is not complete: Job is not ready for scheduling. Waiting for 1 pods for SubGroup decode"),
        ("g", "Unschedulable", FULL, None),
        ("other", "NotReady", LACKING, None),
    ],
)  # fmt: skip
def test_what_kai_tells_of_the_group_alone(named, reason, said, words):
    unseen = waiting("", 1)
    unseen["status"].pop("conditions")
    unseen["metadata"]["annotations"] = {"pod-group-name": "g"}
    events = [event(f"PodGroup {named}", reason, said, component="kai-scheduler")]
    snapshot = cluster(unseen, node("a", 8), events=events)
    found = why_unscheduled(snapshot[PODS].get("ns", "m"), snapshot)
    assert (found.cause[: len(words)] if found and words else found) == words


@pytest.mark.parametrize(("patch", "docs", "events", "words"), QUEUES.values(), ids=QUEUES)
def test_why_a_queue_lets_it_wait(patch, docs, events, words):
    assert words in told_of_queue(patch, docs, events).cause


@pytest.mark.parametrize(
    ("named", "mend"),
    [
        ("quota that is used", "LocalQueue ns/lq"),
        ("an inactive ClusterQueue", "ClusterQueue cq"),
        ("Volcano's queue is full", "Queue q"),
        ("more than the queue can ever give", None),
    ],
)
def test_pods_that_wait_for_one_queue_share_their_cause(named, mend):
    patch, docs, events, _ = QUEUES[named]
    found = told_of_queue(patch, docs, events)
    assert (str(found.object) if found.shared else None) == mend


@pytest.mark.parametrize(
    ("named", "does"),
    [("a check that makes it wait", "Fix"), ("a check that has not answered", "Wait")],
)
def test_a_check_that_has_not_answered_is_not_at_fault(named, does):
    patch, docs, events, _ = QUEUES[named]
    assert told_of_queue(patch, docs, events).action.startswith(does)


def told_of_queue(patch, docs, events):
    pod = waiting("pod group is not ready, 1 Pending")
    pod["metadata"].update(patch["metadata"])
    pod["spec"].update(patch.get("spec", {}))
    snapshot = cluster(pod, node("a"), *docs, events=events)
    return why_unscheduled(snapshot[PODS].get("ns", "m"), snapshot, now=NOW)


def pvc(name, phase="Pending", *, volume="", of="fast", modes=("ReadWriteOnce",)):
    return document("PersistentVolumeClaim", name, "ns", {
        "spec": {"volumeName": volume, "storageClassName": of, "accessModes": list(modes)}, "status": {"phase": phase},
    })  # fmt: skip


def storage_class(mode="Immediate"):
    return document("StorageClass", "fast", "", {"provisioner": "csi.example.com", "volumeBindingMode": mode})  # fmt: skip


def volume(zone):
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}]
    return document("PersistentVolume", "pv-1", "", {
        "spec": {"csi": {"driver": "csi.example.com"}, "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}},
    })  # fmt: skip


UNBOUND = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: x"
CLAIMS = {
    "no such class": (UNBOUND, [pvc("c")], [], "its claim c names the storage class fast, which does not exist"),
    "no default class": (
        UNBOUND, [pvc("c", of=None)], [event("PersistentVolumeClaim c", "FailedBinding", "no persistent volumes available for this claim and no storage class is set")],
        "its claim c names no storage class, and the cluster has no default one",
    ),
    "the cloud refuses": (
        UNBOUND, [pvc("c"), storage_class()],
        [event("PersistentVolumeClaim c", "ProvisioningFailed", 'failed to provision volume with StorageClass "fast": rpc error: code = ResourceExhausted desc = quota exceeded')],
        "the volume for its claim c cannot be made: code = ResourceExhausted desc = quota exceeded",
    ),
    "many may not write": (
        UNBOUND, [pvc("c", modes=["ReadWriteMany"]), storage_class()],
        [event("PersistentVolumeClaim c", "ProvisioningFailed", "rpc error: code = InvalidArgument desc = Volume capabilities MULTI_NODE_MULTI_WRITER not supported")],
        "cannot be made: its class fast makes none with ReadWriteMany",
    ),
    "a refusal that repeats what was asked": (
        UNBOUND, [pvc("c", modes=["ReadWriteMany"]), storage_class()],
        [event("PersistentVolumeClaim c", "ProvisioningFailed", "rpc error: code = ResourceExhausted desc = access_mode:<mode:MULTI_NODE_MULTI_WRITER>: quota exceeded")],
        "for its claim c cannot be made: code = ResourceExhausted",
    ),
    "a refusal that is not about its access mode": (
        UNBOUND, [pvc("c", modes=["ReadWriteMany"]), storage_class()],
        [event("PersistentVolumeClaim c", "ProvisioningFailed", "rpc error: code = ResourceExhausted desc = quota exceeded")],
        "cannot be made: code = ResourceExhausted",
    ),
    "no provisioner": (
        UNBOUND, [pvc("c"), storage_class()], [event("PersistentVolumeClaim c", "ExternalProvisioning", "Waiting for a volume to be created")],
        "its provisioner (csi.example.com) does not answer",
    ),
    "a lost volume": (UNBOUND, [pvc("c", "Lost", volume="pv-1")], [], "the volume of its claim c was deleted"),
    "a volume in another zone": (
        "0/1 nodes are available: 1 node(s) had volume node affinity conflict. preemption: x",
        [pvc("c", "Bound", volume="pv-1"), volume("b")], [],
        "a cannot reach its volume pv-1 (claim c): zone=b",
    ),
    "a claim that was bound since the scheduler looked is no cause": (UNBOUND, [pvc("c", "Bound", volume="pv-1"), volume("a")], [], None),
    "a claim that waits for the pod is no cause": (
        "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. preemption: x",
        [pvc("c"), storage_class("WaitForFirstConsumer")],
        [event("PersistentVolumeClaim c", "WaitForFirstConsumer", "waiting for first consumer")], None,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("said", "docs", "events", "words"), CLAIMS.values(), ids=CLAIMS)
def test_why_a_claim_has_no_volume(said, docs, events, words):
    snapshot = cluster(
        waiting(said, claims=["c"]), node("a", labels={"zone": "a"}), *docs, events=events
    )
    found = why_unscheduled(snapshot[PODS].get("ns", "m"), snapshot)
    assert words in found.cause if words else found is None


@pytest.mark.parametrize(("named", "missing"), [("no such class", True), ("no provisioner", False)])
def test_claims_of_one_class_share_their_cause(named, missing):
    said, docs, events, _ = CLAIMS[named]
    snapshot = cluster(waiting(said, claims=["c"]), node("a"), *docs, events=events)
    found = why_unscheduled(snapshot[PODS].get("ns", "m"), snapshot)
    assert (str(found.object), found.shared, found.missing) == ("StorageClass fast", True, missing)


def attachment(node_name, *, attached=True, error=""):
    status = {"attached": attached} | ({"attachError": {"message": error}} if error else {})
    return document("VolumeAttachment", f"va-{node_name}", "", {
        "spec": {"attacher": "csi.example.com", "nodeName": node_name, "source": {"persistentVolumeName": "pv-1"}},
        "status": status,
    })  # fmt: skip


def owned(pod):
    """A pod of the ReplicaSet that all of them have."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "m-1", "uid": "m-1"}
    return merged(pod, {"metadata": {"ownerReferences": [owner]}})


MULTI = event(
    "Pod m",
    "FailedAttachVolume",
    'Multi-Attach error for volume "pv-1" Volume is already used by pod(s) other',
    type_="Warning",
)
BOUND = pvc("c", "Bound", volume="pv-1")
ATTACHED = {
    "by a pod on another node": (
        [placed("other", "n1", claims=["c"]), attachment("n1"), node("n1")], [MULTI],
        ("certain", "its volume pv-1 (claim c) is attached to n1 by pod other, and only one node may have it"),
    ),
    "by a node that is dead": (
        [attachment("n1"), node("n1", ready="Unknown")], [MULTI], ("certain", "is attached to n1 by pod other, which does not answer"),
    ),
    "as the Event alone says": ([], [MULTI], ("certain", "is attached to another node by pod other")),
    "by a replica of the same revision": (
        [owned(placed("other", "n1", claims=["c"])), attachment("n1"), node("n1")], [MULTI],
        ("certain", "is attached to n1 by pod other, which is another replica, and ReadWriteOnce lets only one node have it"),
    ),
    "without an Event": (
        [placed("other", "n1", claims=["c"]), attachment("n1"), node("n1")], [], ("likely", "is attached to n1 by pod other"),
    ),
    "no driver, by the Event": (
        [], [event("Pod m", "FailedAttachVolume", 'AttachVolume.Attach failed for volume "pv-1" : CSINode n2 does not contain driver csi.example.com')],
        ("certain", "the storage driver csi.example.com does not run on n2"),
    ),
    "no driver, by the CSINode": (
        [volume("a"), document("CSINode", "n2", "", {"spec": {"drivers": [{"name": "other"}]}})], [],
        ("certain", "the storage driver csi.example.com does not run on n2"),
    ),
    "what the driver says": (
        [attachment("n2", attached=False, error="rpc error: disk is gone")],
        [event("Pod m", "FailedAttachVolume", 'AttachVolume.Attach failed for volume "pv-1" : timed out waiting for external-attacher of csi.example.com')],
        ("certain", "its volume cannot be attached to n2: rpc error: disk is gone"),
    ),
    "nothing is wrong": ([attachment("n2")], [], None),
}  # fmt: skip


@pytest.mark.parametrize(("docs", "events", "wanted"), ATTACHED.values(), ids=ATTACHED)
def test_why_a_volume_is_not_there(docs, events, wanted):
    pod = owned(placed("m", "n2", ready=False, claims=["c"], phase="Pending"))
    snapshot = cluster(pod, BOUND, node("n2"), *docs, events=events)
    found = why_not_attached(snapshot[PODS].get("ns", "m"), snapshot)
    assert (found is None) is (wanted is None)
    if wanted:
        assert (found.sureness.value, wanted[1] in found.cause) == (wanted[0], True), found.cause


PLACE = Context(
    namespace="models", image="registry/vllm:v9", node="gpu-1", container="vllm", limit="16Gi"
)
OCI = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: "
TEXTS = yaml.safe_load(Path(__file__).with_name("texts.yaml").read_text("utf-8"))
TABLES = {
    "images": IMAGES, "starts": STARTS, "mounts": MOUNTS, "node-refusals": NODE_REFUSALS,
}  # fmt: skip
CALL = 'Internal error occurred: failed calling webhook "pods.example.com": failed to call webhook: Post "https://hook.tools.svc:443/mutate?timeout=10s": '


@pytest.mark.parametrize(
    ("table", "code", "text"),
    [(name, *each) for name in TABLES for each in TEXTS[name]],
    ids=lambda each: each[-40:],
)
def test_a_text_is_understood(table, code, text):
    """It means one cause, with nothing left open in its sentences."""
    found = meaning(TABLES[table], text, PLACE)
    assert found is not None
    assert found.code == code
    assert "{" not in found.cause + found.action
    assert found.action


@pytest.mark.parametrize(("code", "cause", "text"), TEXTS["refusals"])
def test_a_refusal_is_understood(code, cause, text):
    found = refusal(text, "models", cluster())
    assert found is not None
    assert found.code == code
    assert cause in found.cause


@pytest.mark.parametrize(
    ("user", "processor", "words"),
    [
        (None, "", "image vllm:v1 has no program python3"),
        (0, "", "image vllm:v1 has no program python3"),
        (1000, "", "image vllm:v1 has no program python3 that its user 1000 can reach"),
    ],
)
def test_a_program_may_lie_where_the_user_may_not_go(user, processor, words):
    place = replace(PLACE, user=user, processor=processor, image="vllm:v1")
    assert meaning(STARTS, f'{OCI}exec: "python3": executable file not found', place).cause == words


def test_the_processor_of_the_node_is_told_where_it_is_known():
    place = replace(PLACE, processor="arm64")
    assert meaning(STARTS, "exec format error", place).cause.endswith("node gpu-1 (arm64)")


def test_how_many_files_were_done_is_told():
    said = "Setting volume ownership for u/volumes, processed 7 files."
    assert meaning(MOUNTS, said, PLACE).cause.endswith("fsGroup (7 so far)")


def test_a_node_is_the_object_where_it_is_to_be_mended():
    node = meaning(STARTS, "unresolvable CDI devices nvidia.com/gpu=0", PLACE)
    assert str(node.object) == "Node gpu-1"
    secret = meaning(STARTS, 'secret "hf-token" not found', PLACE)
    assert str(secret.object) == "Secret models/hf-token"
    service = refusal(f'{CALL}no endpoints available for service "hook"', "models", cluster())
    assert str(service.object) == "Service tools/hook"


def test_a_text_is_quoted_from_its_end():
    """Each layer puts its own words in front."""
    assert end_of(f"{OCI}the thing that went wrong: unknown", 60) == (
        "unable to start container process: the thing that went wrong"
    )
    assert len(end_of("x" * 5_000)) <= 160


@pytest.mark.parametrize(
    ("rows", "text", "does"),
    [
        (MOUNTS, 'volume "cert" : secret "webhook-server-cert" not found', "check why cert-manager does not"),
        (MOUNTS, 'volume "t" : secret "hf-token" not found', "Create Secret models/hf-token."),
        (MOUNTS, 'volume "t" : secret "concert-hall" not found', "Create Secret models/concert-hall."),
        (REFUSALS, 'violates PodSecurity "baseline:latest": x (container "istio-init" must', "Istio's CNI plugin"),
        (REFUSALS, 'violates PodSecurity "baseline:latest": x (container "vllm" must', "Set securityContext"),
        (REFUSALS, f"{CALL}x509: unknown authority", "The API server does not trust"),
        (REFUSALS, f"{CALL}x509: certificate has expired or is not yet valid", "Renew the certificate of Service tools/hook"),
    ],
)  # fmt: skip
def test_what_to_do_fits_what_is_refused(rows, text, does):
    assert does in meaning(rows, text, PLACE, service="Service tools/hook").action


@pytest.mark.parametrize(
    ("text", "code", "cause"),
    [
        ('no matches for kind "InferencePool" in version "inference.networking.x-k8s.io/v1alpha2"',
         "kind-missing", "the cluster does not serve InferencePool of inference.networking.x-k8s.io/v1alpha2"),
        ('pools is forbidden: User "system:serviceaccount:a:b" cannot create resource "pools" in API group "x"',
         "rights-missing", "system:serviceaccount:a:b may not create pools"),
        (f"{CALL}x509: unknown authority", "webhook-down", "webhook pods.example.com cannot be asked: Service tools/hook fails"),
    ],
)  # fmt: skip
def test_why_a_controller_fails(text, code, cause):
    """What the API server refuses it need not be a pod, so that it keeps nobody else's from being made."""
    found = why_it_fails(text, "models", cluster())
    assert (found.code, found.shared) == (code, False)
    assert cause in found.cause
    assert why_it_fails("the server is on fire", "models", cluster()) is None


def test_a_text_that_nobody_knows_means_nothing():
    assert meaning(STARTS, "something else entirely", PLACE) is None
    assert refusal(None, "models", cluster()) is None


def test_a_long_text_takes_no_long_time():
    """What anybody writes is bounded: both ends are looked at."""
    text = "failed to resolve reference " + "a: " * 100_000 + "exec format error"
    assert meaning(STARTS, text, PLACE).code == "architecture"
