"""Why a pod has no node, worked out from the nodes and held against what the scheduler counts."""

from datetime import timedelta

import pytest

from reporter.catalogue.resources import PODS
from reporter.diagnosis.scheduling import why_unscheduled
from reporter.snapshot.trace import Cell, How, Trace, traced
from tests.unit.diagnosis.building import GPU, cluster, event, node, placed, waiting
from tests.unit.probes.building import CREATED_AT, condition, document

AFFINITY = "node(s) didn't match Pod's node affinity/selector"
TAINTS = "node(s) had untolerated taint(s)"
GPU_POOL = {"agentpool": "gpu"}
CPU_POOL = {"agentpool": "cpu"}
SELECTS = {"nodeSelector": GPU_POOL}


def said(nodes, *counts):
    return f"0/{nodes} nodes are available: {', '.join(counts)}. preemption: 0/{nodes} nodes are available: x."


def unready(name, said):
    """A node that is not Ready, and why, in its kubelet's words."""
    found = node(name, ready="False", taints=["node.kubernetes.io/not-ready:NoSchedule"])
    found["status"]["conditions"] = [condition("Ready", "False", "KubeletNotReady", said)]
    return found


def labelled(pod, **labels):
    return pod | {"metadata": pod["metadata"] | {"labels": labels}}


def with_spec(pod, **spec):
    return pod | {"spec": pod["spec"] | spec}


def keeps_away(*namespaces, **labels):
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    term |= {"namespaces": list(namespaces)} if namespaces else {}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def why(pod, *docs, events=(), now=None, covered=None):
    snapshot = cluster(pod, *docs, events=events, covered=covered)
    return why_unscheduled(snapshot[PODS].get("ns", "m"), snapshot, now=now)


CASES = {
    "asks for more than any node has": (
        waiting(said(2, "2 Insufficient nvidia.com/gpu"), 4),
        [node("a", 2), node("b", 2)],
        ("resource-size", "certain", "it asks for 4 nvidia.com/gpu, no node has more than 2"),
    ),
    "asks for more than any node has, behind a selector": (
        waiting(said(5, "1 Insufficient nvidia.com/gpu", f"4 {AFFINITY}"), 4, **SELECTS),
        [node("g", 2, labels=GPU_POOL), *(node(f"n{i}", labels=CPU_POOL) for i in range(4))],
        ("resource-size", "certain", "it asks for 4 nvidia.com/gpu, no node has more than 2"),
    ),
    "more memory than any node has": (
        waiting(said(1, "1 Insufficient memory"),
                containers=[{"name": "c", "resources": {"requests": {"memory": "200Gi"}}}]),
        [node("a", 1)],
        ("resource-size", "certain", "it asks for 200Gi memory, no node has more than 64Gi"),
    ),
    "a plugin that finds nothing": (
        waiting(said(1, "1 Insufficient nvidia.com/gpu"), 1),
        [node("a"), placed("nvidia-device-plugin-x", "a", labels={"name": "nvidia-device-plugin-ds"})],
        ("device-absent", "certain", "no node offers any; device plugin ns/nvidia-device-plugin-x on a runs and finds no device"),
    ),
    "a plugin that found others": (
        waiting(said(1, "1 Insufficient nvidia.com/gpu"), 1),
        [node("a", **{"nvidia.com/mig-1g.10gb": "7"}), placed("nvidia-device-plugin-x", "a", labels={"name": "nvidia-device-plugin-ds"})],
        ("device-absent", "certain", "no node offers any (there are nvidia.com/mig-1g.10gb)"),
    ),
    "a node that has no network yet": (
        waiting(said(1, f"1 {TAINTS}"), 1),
        [unready("a", "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized"),
         placed("aws-node-x", "a", ready=False, labels={"k8s-app": "aws-node"}, namespace="kube-system")],
        ("device-absent", "certain", "cni plugin not initialized; pod kube-system/aws-node-x of its network plugin is not Ready)"),
    ),
    "no devices anywhere": (
        waiting(said(2, "2 Insufficient nvidia.com/gpu"), 1),
        [node("a"), node("b")],
        ("device-absent", "certain", "it asks for 1 nvidia.com/gpu, no node offers any"),
    ),
    "devices under another name": (
        waiting(said(1, "1 Insufficient nvidia.com/gpu"), 1),
        [node("a", **{"nvidia.com/mig-1g.10gb": "7"})],
        ("device-absent", "certain", "no node offers any (there are nvidia.com/mig-1g.10gb)"),
    ),
    "a label that no node has": (
        waiting(said(2, f"2 {AFFINITY}"), **SELECTS),
        [node("a", labels=CPU_POOL), node("b", labels={"agentpool": "system"})],
        ("node-label", "certain",
         "it needs a node with agentpool=gpu, and no node has that (there are agentpool=cpu and system)"),
    ),
    "a taint of all nodes": (
        waiting(said(2, f"2 {TAINTS}"), 1),
        [node("a", 8, taints=["sku=gpu:NoSchedule"]), node("b", 8, taints=["sku=gpu:NoSchedule"])],
        ("node-taint", "certain", "it tolerates no node: they have the taint sku=gpu:NoSchedule"),
    ),
    "the nodes with devices are tainted": (
        waiting(said(3, "1 Insufficient nvidia.com/gpu", f"2 {TAINTS}"), 1),
        [node("g1", 8, taints=["sku=gpu:NoSchedule"]), node("g2", 8, taints=["sku=gpu:NoSchedule"]), node("c")],
        ("node-taint", "certain",
         "no node with 1 nvidia.com/gpu takes it: g1 and g2 have the taint sku=gpu:NoSchedule, which it does not tolerate"),
    ),
    "demands exclude each other": (
        waiting(said(2, "1 Insufficient nvidia.com/gpu", f"1 {AFFINITY}"), 1, **SELECTS),
        [node("n1", labels=GPU_POOL), node("n2", 8, labels=CPU_POOL)],
        ("node-label", "certain",
         "no node with 1 nvidia.com/gpu takes it: n2 has agentpool=cpu, and it asks for agentpool=gpu; n1 offers no nvidia.com/gpu"),
    ),
    "one device is unhealthy": (
        waiting(said(3, "1 Insufficient nvidia.com/gpu", f"2 {AFFINITY}"), 8, **SELECTS),
        [node("gpu-3", 7, 8, labels=GPU_POOL), node("a", labels=CPU_POOL), node("b", 7, 8, labels=CPU_POOL)],
        ("device-unhealthy", "certain",
         "gpu-3, the only node that fits, offers 7 of its 8 nvidia.com/gpu: 1 is unhealthy"),
    ),
    "the plugin's pod does not work": (
        waiting(said(2, "1 Insufficient nvidia.com/gpu", f"1 {AFFINITY}"), 1, **SELECTS),
        [node("gpu-1", labels=GPU_POOL), node("a", labels=CPU_POOL),
         placed("dp-x", "gpu-1", ready=False, labels={"name": "nvidia-device-plugin-ds"}, namespace="kube-system")],
        ("device-missing", "certain",
         "gpu-1, the only node that fits, offers no nvidia.com/gpu: the device plugin there (kube-system/dp-x) is not Ready"),
    ),
    "no plugin in the cluster, and a label of devices": (
        waiting(said(2, "2 Insufficient nvidia.com/gpu"), 1),
        [node("gpu-1", labels={"nvidia.com/gpu.present": "true"}), node("a")],
        ("device-missing", "likely",
         "gpu-1, the only node that fits, offers no nvidia.com/gpu: no device plugin runs in the cluster"),
    ),
    "cordoned": (
        waiting(said(2, "1 node(s) were unschedulable", "1 Insufficient nvidia.com/gpu"), 1),
        [node("g", 8, cordoned=True), node("a")],
        ("node-cordoned", "certain", "g, the only node that fits, is cordoned"),
    ),
    "in the words of Kubernetes 1.20": (
        waiting("0/2 nodes are available: 1 node(s) didn't match node selector, "
                "1 node(s) had taint {sku: gpu}, that the pod didn't tolerate.", 1, **SELECTS),
        [node("g", 8, labels=GPU_POOL, taints=["sku=gpu:NoSchedule"]), node("a", 8)],
        ("node-label", "certain", "g has the taint sku=gpu:NoSchedule, which it does not tolerate"),
    ),
    "NotReady": (
        waiting(said(2, f"1 {TAINTS}", "1 Insufficient nvidia.com/gpu"), 1),
        [node("g", 8, ready="Unknown", taints=["node.kubernetes.io/unreachable:NoSchedule"]), node("a")],
        ("node-state", "certain", "g, the only node that fits, does not answer"),
    ),
    "full": (
        waiting(said(2, "2 Insufficient nvidia.com/gpu"), 2),
        [node("a", 8), node("b", 8), placed("x", "a", 8), placed("y", "b", 8)],
        ("node-full", "certain",
         "a and b could take it, but 0 of 8 nvidia.com/gpu are free on each (pods ns/x and ns/y)"),
    ),
    "fragmented": (
        waiting(said(2, "2 Insufficient nvidia.com/gpu"), 4),
        [node("a", 8), node("b", 8), placed("x", "a", 6), placed("y", "b", 6)],
        ("node-full", "certain", "it asks for 4 nvidia.com/gpu on one node; free are 2 + 2 on a and b"),
    ),
    "ended pods hold nothing": (
        waiting(said(1, "1 Insufficient nvidia.com/gpu"), 1),
        [node("a", 1), placed("x", "a", 1, phase="Succeeded", ready=False)],
        ("node-full", "certain", "a could take it, but nvidia.com/gpu is used up there"),
    ),
    "no processors are free": (
        waiting(said(1, "1 Insufficient cpu"),
                containers=[{"name": "c", "resources": {"requests": {"cpu": "8"}}}]),
        [node("a", 1)],
        ("node-full", "certain", "a could take it, but cpu is used up there"),
    ),
    "spread": (
        waiting(said(1, "1 node(s) didn't match pod topology spread constraints")),
        [node("a", 1)],
        ("topology-spread", "certain", "its topology spread constraints leave no node"),
    ),
    "pods that it keeps away from": (
        waiting(said(1, "1 node(s) didn't match pod anti-affinity rules"), affinity=keeps_away(app="x")),
        [node("a", 1), placed("x-0", "a", labels={"app": "x"}), placed("x-1", "a", labels={"app": "x"}, namespace="other"),
         placed("y-0", "a", labels={"app": "y"}), placed("x-2", "a", labels={"app": "x"}, phase="Failed")],
        ("pod-affinity", "certain", "each node that fits has a pod that its anti-affinity excludes (ns/x-0) (scheduler: 0/1"),
    ),
    "pods of other namespaces that it keeps away from": (
        waiting(said(1, "1 node(s) didn't match pod anti-affinity rules"), affinity=keeps_away("other", app="x")),
        [node("a", 1), placed("x-0", "a", labels={"app": "x"}), placed("x-1", "a", labels={"app": "x"}, namespace="other")],
        ("pod-affinity", "certain", "its anti-affinity excludes (other/x-1) (scheduler:"),
    ),
    "pods that keep it away": (
        labelled(waiting(said(1, "1 node(s) didn't satisfy existing pods anti-affinity rules")), part="p"),
        [node("a", 1), with_spec(placed("g-0", "a"), affinity=keeps_away(part="p")), with_spec(placed("h-0", "a"), affinity=keeps_away(part="q"))],
        ("pod-affinity", "certain", "exclude it by anti-affinity (ns/g-0: podAntiAffinity to part=p) (scheduler:"),
    ),
    "pods that it wants beside it": (
        waiting(said(1, "1 node(s) didn't match pod affinity rules"),
                affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                    {"labelSelector": {"matchLabels": {"role": "leader"}}, "topologyKey": "nvidia.com/gpu.clique"}]}}),
        [node("a", 1)],
        ("pod-affinity", "certain", "asks for (role=leader by nvidia.com/gpu.clique, a label that no node has) (scheduler:"),
    ),
    "pods that it wants beside it, where it does not fit": (
        waiting(said(2, "1 node(s) didn't match pod affinity rules", "1 Insufficient nvidia.com/gpu"), 1,
                affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                    {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}]}}),
        [node("g", 1), node("c"), placed("x-0", "c", labels={"app": "x"})],
        ("pod-affinity", "certain",
         "no node that fits has the pods that its affinity asks for (app=x by kubernetes.io/hostname: ns/x-0 on c) (scheduler:"),
    ),
    "huge pages that no node has": (
        waiting(said(1, "1 Insufficient hugepages-2Mi"),
                containers=[{"name": "c", "resources": {"requests": {"hugepages-2Mi": "5Gi"}}}]),
        [node("a", 1)],
        ("device-absent", "certain", "it asks for 5Gi hugepages-2Mi, no node offers any"),
    ),
    "no such class of devices": (
        waiting("0/1 nodes are available: request gpu: device class gpu.example.com does not exist. no new claims to deallocate, preemption: x"),
        [node("a", 1)],
        ("device-class-missing", "certain", "asks for DeviceClass gpu.example.com, which does not exist"),
    ),
    "counts of other nodes": (
        waiting(said(3, "3 Insufficient nvidia.com/gpu"), 4),
        [node("a", 2), node("b", 2)],
        ("resource-size", "likely", "it asks for 4 nvidia.com/gpu, no node has more than 2"),
    ),
    "the claim is gone": (
        waiting('persistentvolumeclaim "weights" not found', claims=["weights"]),
        [node("a", 1)],
        ("claim-missing", "certain", "its claim weights does not exist"),
    ),
    "a gate": (
        waiting("Scheduling is blocked", reason="SchedulingGated", schedulingGates=[{"name": "x.io/g"}]),
        [node("a", 1)],
        ("gate", "certain", "it waits for the scheduling gate x.io/g"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("pod", "docs", "wanted"), CASES.values(), ids=CASES)
def test_the_cause_is_worked_out(pod, docs, wanted):
    """As certain as the scheduler's own counts, where they are those of the nodes."""
    code, sureness, words = wanted
    found = why(pod, *docs)
    assert found is not None
    assert (found.code, found.sureness.value) == (code, sureness), found.cause
    assert words in found.cause


def test_a_new_node_of_a_kind_without_devices_is_not_to_be_mended_for_them():
    """Each node has no network when it joins; one of its machine type says what it will offer."""
    kind = {"node.kubernetes.io/instance-type": "m5.large"}
    joins = unready("b", "NetworkPluginNotReady message:cni plugin not initialized")
    joins["metadata"]["labels"] |= kind
    pod = waiting(said(2, f"1 {TAINTS}", "1 Insufficient nvidia.com/gpu"), 1)
    found = why(pod, node("a", labels=kind), joins)
    assert "not Ready" not in found.cause
    assert "b" not in found.action.split()


def test_a_pod_that_ended_is_no_network_plugin():
    """A DaemonSet replaces a pod that was evicted, and the old one stays."""
    joins = unready("a", "NetworkPluginNotReady message:cni plugin not initialized")
    old = placed("cilium-x", "a", ready=False, labels={"k8s-app": "cilium"}, phase="Failed")
    found = why(waiting(said(1, f"1 {TAINTS}"), 1), joins, old)
    assert "a is not Ready" in found.cause
    assert "cilium-x" not in found.cause


def revision(pod, name):
    """A pod of a ReplicaSet."""
    pod["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": name,
            "uid": name,
            "controller": True,
        }
    ]
    return pod


@pytest.mark.parametrize(
    ("older", "holds", "expected"),
    [
        ("qwen-7c4b", 2, True),
        ("qwen-5d8f", 2, False),
        ("llama-7c4b", 2, False),
        ("qwen-7c4b", 1, False),
    ],
    ids=["older revision", "same revision", "other Deployment", "holds too little"],
)
def test_a_rolling_update_that_waits_for_itself(older, holds, expected):
    """The new pod waits for the devices of the one that is to end once the new one is ready."""
    new = revision(waiting(said(1, "1 Insufficient nvidia.com/gpu"), 2), "qwen-5d8f")
    others = [placed("other", "a", 2 - holds)] if holds < 2 else []
    old = made(revision(placed("old", "a", holds), older), "2026-01-01T00:00:00Z")
    found = why(made(new, "2026-01-02T00:00:00Z"), node("a", 2), old, *others)
    assert ("old is of an older revision" in found.cause) is expected
    assert ("strategy Recreate" in found.action) is expected


def made(pod, time):
    pod["metadata"]["creationTimestamp"] = time
    return pod


@pytest.mark.parametrize(
    "more",
    [
        {"creationTimestamp": "2026-01-03T00:00:00Z"},
        {"creationTimestamp": None},
        {"deletionTimestamp": "2026-01-02T00:00:00Z"},
    ],
    ids=["newer", "of unknown age", "ending"],
)
def test_a_pod_that_is_not_older_or_ends_already_holds_up_no_update(more):
    new = revision(waiting(said(1, "1 Insufficient nvidia.com/gpu"), 2), "qwen-5d8f")
    other = made(revision(placed("old", "a", 2), "qwen-7c4b"), "2026-01-01T00:00:00Z")
    other["metadata"] |= more
    found = why(made(new, "2026-01-02T00:00:00Z"), node("a", 2), other)
    assert "older revision" not in found.cause


def test_the_node_at_fault_is_named():
    pod, docs, _ = CASES["one device is unhealthy"]
    found = why(pod, *docs)
    assert (found.object.kind, found.object.name, found.shared) == ("Node", "gpu-3", True)


def test_counts_that_are_not_ours_keep_the_scheduler_s_words():
    """Nodes have changed since: what is worked out is said with what the scheduler says."""
    pod = waiting(said(2, f"2 {AFFINITY}"), 1)
    found = why(pod, node("g", 8, cordoned=True), node("a"))
    assert found.sureness == "likely"
    assert f"(scheduler: 0/2 nodes are available: 2 {AFFINITY})" in found.cause


def test_what_the_scheduler_does_not_miss_is_not_missing():
    """Devices that are allocated dynamically show on no node (Kubernetes, extended resources by DRA)."""
    pod = waiting(said(1, "1 cannot allocate all claims"), 1)
    assert "offers any" not in why(pod, node("a")).cause


def test_what_no_node_has_and_the_scheduler_does_not_miss_is_counted_by_another():
    """HAMi counts memory of GPUs; no node offers it, and that says nothing (HAMi, ignoredByScheduler)."""
    asked = {"requests": {GPU: "1", "nvidia.com/gpumem": "30000"}}
    pod = waiting(said(1, "1 node unfit pod"), containers=[{"name": "c", "resources": asked}])
    assert why(pod, node("gpu-1", 10)) is None
    event_of = {"component": "hami-scheduler", "type_": "Warning"}
    refused = event("Pod m", "FilteringFailed", "1 nodes CardInsufficientMemory(gpu-1)", **event_of)
    found = why(pod, node("gpu-1", 10), events=[refused])
    assert "no card has as much memory left as it asks for on gpu-1" in found.cause
    since = waiting(said(1, "1 node(s) didn't match pod topology spread constraints"), 1)
    assert why(since, node("gpu-1", 10), events=[refused]).code == "topology-spread"


def test_a_share_that_only_another_scheduler_counts():
    """Where the webhook of HAMi did not see the pod, its name for memory of GPUs means nothing."""
    asked = {"requests": {GPU: "1", "nvidia.com/gpumem": "3000"}}
    pod = waiting(
        said(1, "1 Insufficient nvidia.com/gpumem"), containers=[{"name": "c", "resources": asked}]
    )
    found = why(pod, node("gpu-1", 10))
    assert found.cause == (
        "it asks for 3000 nvidia.com/gpumem, which only the scheduler of HAMi counts, and "
        "default-scheduler is to place it"
    )


def test_a_node_that_would_do_is_no_reason_to_blame_another():
    """Without the scheduler's words nothing is said of a pod that some node could take."""
    assert why(waiting("", 1), node("a", 8), node("b", 8, cordoned=True)) is None


def test_nodes_that_are_not_here_are_not_judged():
    """A dump of some nodes: the scheduler's words stand beside what these have."""
    found = why(waiting(said(9, "9 Insufficient nvidia.com/gpu"), 4), node("a", 2))
    assert (found.sureness, "(scheduler: 0/9" in found.cause) == ("likely", True)


def test_nobody_runs_the_scheduler():
    pod = waiting(None, schedulerName="volcano")
    assert why(pod, now=CREATED_AT + timedelta(seconds=29)) is None
    found = why(pod, now=CREATED_AT + timedelta(seconds=31))
    assert found.cause.startswith("no scheduler volcano has seen it")


@pytest.mark.parametrize(("count", "is_checked"), [(100, True), (101, False)])
def test_a_pod_with_more_demands_than_anyone_means_is_not_checked_on_each_node(
    count, *, is_checked
):
    selector = {f"label-{number}": "x" for number in range(count)}
    pod = waiting(said(1, f"1 {AFFINITY}"), nodeSelector=selector)
    assert (why(pod, node("a")) is not None) == is_checked


def test_without_nodes_nothing_is_worked_out():
    """A dump of a namespace has none: that none is there says nothing."""
    assert why(waiting(said(5, "5 Insufficient nvidia.com/gpu"), 4)) is None


def test_a_pod_that_has_a_node_is_none_of_it():
    assert why({**placed("m", "a"), "status": {"phase": "Pending"}}, node("a")) is None


def asks(**spec):
    return document("Pod", "m", "ns", {"spec": spec})


def request(name="c", **rest):
    return {"name": name, "resources": {"requests": rest.pop("asks")}, **rest}


DEMANDS = {
    "containers add up": (asks(containers=[request(asks={GPU: "1"}), request("d", asks={GPU: "1"})]), {GPU: 2}),
    "an init container counts where it is larger": (
        asks(containers=[request(asks={"cpu": "1"})], initContainers=[request("i", asks={"cpu": "4"})]), {"cpu": 4}),
    "a sidecar adds to what comes after it": (
        asks(containers=[request(asks={"cpu": "1"})],
             initContainers=[request("s", asks={"cpu": "2"}, restartPolicy="Always"), request("i", asks={"cpu": "2"})]),
        {"cpu": 4}),
    "a sidecar adds to the containers": (
        asks(containers=[request(asks={"cpu": "3"})],
             initContainers=[request("s", asks={"cpu": "2"}, restartPolicy="Always")]), {"cpu": 5}),
    "overhead": (asks(containers=[request(asks={"memory": "1Gi"})], overhead={"memory": "1Gi"}), {"memory": 2 * 2**30}),
    "the pod as a whole, never devices": (
        asks(containers=[request(asks={"cpu": "1", GPU: "1"})], resources={"requests": {"cpu": "500m", GPU: "9"}}),
        {"cpu": 0.5, GPU: 1}),
    "limits stand for requests that are not set": (asks(containers=[{"name": "c", "resources": {"limits": {GPU: 2}}}]), {GPU: 2}),
}  # fmt: skip


@pytest.mark.parametrize(("pod", "wanted"), DEMANDS.values(), ids=DEMANDS)
def test_what_a_pod_asks_for(pod, wanted):
    """As kube-scheduler counts it."""
    found = cluster(pod)[PODS].get("ns", "m")
    assert found.spec.demand == wanted
    assert found.spec.devices == (((GPU, wanted[GPU]),) if GPU in wanted else ())


def test_a_pod_that_waits_does_not_rest_on_each_pod_of_the_cluster():
    """Else each change of any pod would be one more look at all nodes, for each that waits."""
    resting = set()
    for name, (pod, docs, _) in CASES.items():
        trace = Trace()
        snapshot = traced(cluster(pod, *docs), trace)
        waits = snapshot[PODS].get("ns", "m")
        _, cells = trace.of(lambda: why_unscheduled(waits, snapshot))  # noqa: B023  # asked at once
        if Cell(PODS, How.ALL) in cells:
            resting.add(name)
    assert resting == set()
