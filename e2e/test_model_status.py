"""What is wrong with a model: told by one Event, taken back, and silent where there is nothing."""

import pytest

from tests.daemon.replica import until

SETS = "inferencesets.kaito.sh"
WORKSPACES = "workspaces.kaito.sh"
POOLS = "inferencepools.inference.networking.k8s.io"
ROUTES = "httproutes.gateway.networking.k8s.io"
DEPLOYMENTS = "deployments.apps"

MODEL = "llama-3-1-8b"
REPLICA = f"{MODEL}-9t7dl"
POD = f"{REPLICA}-0"
POOL = f"{MODEL}-inferencepool"
EPP = f"{POOL}-epp"
ROUTE = f"{MODEL}-route"
NODE = "gpu-0"
"""Where the pod runs."""


async def workspace(stage, namespace, *condition):
    await stage.stack.condition(WORKSPACES, namespace, REPLICA, says=condition)


async def node(stage, *condition):
    await stage.stack.condition("nodes", "", NODE, says=condition)


async def scaling_range_is_empty(stage, namespace):
    patch = {"metadata": {"annotations": {"scaledobject.kaito.sh/max-replicas": "0"}}}
    await stage.api.patch(SETS, MODEL, patch, namespace=namespace)


async def quota_is_used_up(stage, namespace):
    await workspace(
        stage, namespace, "NodeClaimReady", "False", "LaunchFailed", "quota exceeded in eastus"
    )


async def benchmark_failed(stage, namespace):
    await workspace(
        stage, namespace, "BenchmarkCompleted", "False", "BenchmarkFailed", "0 tokens a second"
    )


async def weights_have_no_storage(stage, namespace):
    reason = "ModelStreamingStorageClassNotFound"
    await workspace(stage, namespace, "InferenceReady", "False", reason, "no class fast-nfs")


async def image_is_not_there(stage, namespace):
    await stage.stack.image_pull(namespace, POD, fails=True)


async def container_crashes(stage, namespace):
    crash = ("CrashLoopBackOff", "back-off 2m40s restarting failed container")
    await stage.stack.pod_waiting(namespace, POD, crash, restarts=7)


async def nowhere_to_run(stage, namespace):
    await stage.stack.status(
        "pods", namespace, POD, status={"phase": "Pending", "containerStatuses": []}
    )
    await stage.stack.condition("pods", namespace, POD, says=("Ready", "False", "", ""))
    no = ("PodScheduled", "False", "Unschedulable", "0/7 nodes are available: insufficient gpu")
    await stage.stack.condition("pods", namespace, POD, says=no)


async def node_is_lost(stage, _namespace):
    await node(stage, "Ready", "Unknown", "NodeStatusUnknown", "kubelet stopped posting status")


async def node_is_full(stage, _namespace):
    await node(stage, "DiskPressure", "True", "KubeletHasDiskPressure", "kubelet has disk pressure")


async def route_is_refused(stage, namespace):
    no = ("Accepted", "False", "NoMatchingListenerHostname", "no hostname in common")
    await stage.stack.parent_condition(ROUTES, namespace, ROUTE, says=no)


async def route_is_gone(stage, namespace):
    await stage.api.delete(ROUTES, ROUTE, namespace=namespace)


async def pool_is_gone(stage, namespace):
    await stage.api.delete(POOLS, POOL, namespace=namespace)


async def pool_is_not_resolved(stage, namespace):
    no = ("ResolvedRefs", "False", "InvalidExtensionRef", "no such service")
    await stage.stack.parent_condition(POOLS, namespace, POOL, says=no)


async def pool_selects_nobody(stage, namespace):
    labels = {"inferenceset.kaito.sh/created-by": "nobody"}
    patch = {"spec": {"selector": {"matchLabels": labels}}}
    await stage.api.patch(POOLS, POOL, patch, namespace=namespace)


async def picker_is_scaled_to_zero(stage, namespace):
    await stage.stack.scale(namespace, EPP, 0)


async def picker_is_gone(stage, namespace):
    await stage.api.delete(DEPLOYMENTS, EPP, namespace=namespace)


SET, WORKSPACE, IN_POD = ("InferenceSet", MODEL), ("Workspace", REPLICA), ("Pod", POD)
IN_ROUTE, IN_POOL, PICKER = ("HTTPRoute", ROUTE), ("InferencePool", POOL), ("Deployment", EPP)
IN_NODE = ("Node", NODE)

FAULTS = (
    (scaling_range_is_empty, "ScalingMisconfigured", SET, "max-replicas 0 is not above 1"),
    (quota_is_used_up, "InfraProvisioningFailed", WORKSPACE,
     "NodeClaimReady is False, LaunchFailed: quota exceeded in eastus"),
    (benchmark_failed, "ModelPodsNotReady", WORKSPACE,
     "BenchmarkCompleted is False, BenchmarkFailed: 0 tokens a second"),
    (weights_have_no_storage, "ModelPodsNotReady", WORKSPACE,
     "InferenceReady is False, ModelStreamingStorageClassNotFound: no class fast-nfs"),
    (image_is_not_there, "ModelPodsNotReady", IN_POD,
     "container vllm waits in ImagePullBackOff: Back-off pulling image"),
    (container_crashes, "ModelPodsNotReady", IN_POD, "container vllm waits in CrashLoopBackOff"),
    (nowhere_to_run, "ModelPodsNotReady", IN_POD,
     "Unschedulable: 0/7 nodes are available: insufficient gpu"),
    (node_is_full, "NodeUnderPressure", IN_NODE, "node gpu-0 is under DiskPressure"),
    (route_is_refused, "RouteNotReady", IN_ROUTE,
     "Accepted is False for Gateway {0}/{0}-gw, NoMatchingListenerHostname"),
    (route_is_gone, "RouteNotReady", IN_ROUTE, f"HTTPRoute {ROUTE} is missing"),
    (pool_is_gone, "RouteNotReady", IN_POOL,
     f"InferencePool {POOL} is missing, the backend of its HTTPRoute"),
    (pool_is_not_resolved, "RouteNotReady", IN_POOL,
     "ResolvedRefs is False for Gateway {0}/{0}-gw, InvalidExtensionRef: no such service"),
    (pool_selects_nobody, "RouteNotReady", IN_POOL, f"InferencePool {POOL} selects no pod"),
    (picker_is_scaled_to_zero, "EPPNotReady", PICKER,
     "endpoint picker is down: scaled to zero"),
    (picker_is_gone, "EPPNotReady", PICKER, "endpoint picker is missing"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "reason", "related", "says"),
    [pytest.param(*row, id=row[0].__name__) for row in FAULTS],
)
async def test_fault(stage, workload, replica, fault, reason, related, says):
    """One Event names the object at fault; once that is mended it is over and the model ready."""
    subject = f"inferenceset/{workload}/{MODEL}"
    await fault(stage, workload)
    await replica()
    event = await stage.told(f"inferenceset{reason}", subject)
    assert event["message"].startswith(f"InferenceSet {workload}/{MODEL}: ")
    assert says.format(workload) in event["message"]
    assert (event["related"]["kind"], event["related"]["name"]) == related
    assert event["involvedObject"]["kind"] == "Namespace"
    assert event["involvedObject"]["name"] == workload
    assert await stage.firing() == {(f"inferenceset{reason}", subject)}

    await stage.mend(workload)
    over = await stage.told(f"inferenceset{reason}", subject, state="over")
    assert over["metadata"]["uid"] == event["metadata"]["uid"]
    await stage.told("inferencesetReady", subject, state="over")


async def test_a_lost_node_is_told_instead_of_what_is_on_it(stage, workload, replica):
    """One Event of the node; the model is ready again without an Event of its own before."""
    subject = f"inferenceset/{workload}/{MODEL}"
    await node_is_lost(stage, workload)
    await replica()
    event = await stage.told("clusterNodeNotReady", "cluster")
    assert event["message"].startswith(f"Node {NODE} is not answering")
    assert (event["involvedObject"]["kind"], event["involvedObject"]["name"]) == ("Node", NODE)
    assert await stage.firing() == {("clusterNodeNotReady", "cluster")}

    await stage.mend(workload)
    await stage.told("clusterNodeNotReady", "cluster", state="over")
    await stage.told("inferencesetReady", subject, state="over")
    assert await stage.events(("inferencesetModelPodsNotReady", subject)) == []


async def test_node_pressure_does_not_keep_a_model_from_being_ready(stage, workload, replica):
    """It is outside the chain: told in addition to what else is wrong, and to Ready."""
    subject = f"inferenceset/{workload}/{MODEL}"
    await node_is_full(stage, workload)
    await replica()
    await stage.told("inferencesetNodeUnderPressure", subject)
    await stage.told("inferencesetReady", subject, state="over")
    await picker_is_scaled_to_zero(stage, workload)
    event = await stage.told("inferencesetEPPNotReady", subject)
    assert "also:" not in event["message"]
    assert ("inferencesetNodeUnderPressure", subject) in await stage.firing()


async def test_what_is_deleted_is_forgotten_without_a_word(stage, workload, replica):
    """A model that goes, and then its namespace, end their Warnings; nobody is called ready."""
    model = ("inferencesetEPPNotReady", f"inferenceset/{workload}/{MODEL}")
    harness = ("modelharnessAPIKeyReconcileFailed", f"namespace/{workload}")
    await picker_is_scaled_to_zero(stage, workload)
    status = {"phase": "Expired", "conditions": []}
    await stage.stack.status("apikeys.kaito.sh", workload, "default", status=status)
    daemon = await replica()
    await stage.told(*model)
    await stage.told(*harness)

    await stage.api.delete(SETS, MODEL, namespace=workload)
    await stage.told(*model, state="over")
    assert await stage.firing() == {harness}
    await stage.stack.delete_namespace(workload)
    await stage.told(*harness, state="over")

    async def knows_nothing_of_it() -> bool:
        return not any(workload in subject for _, subject in await daemon.dispositions())

    await until(knows_nothing_of_it, "the namespace is forgotten")
    await daemon.passes(2)
    assert await stage.firing() == set()
    assert not await stage.events(
        ("inferencesetReady", model[1]), ("modelharnessReady", harness[1])
    )


async def test_model_without_wanted_replicas_is_ready_and_says_so(stage, replica):
    """Nothing is wanted, nothing is missing."""
    namespace = await stage.workload("model-without-replicas", like="search-models")
    await replica()
    event = await stage.told(
        "inferencesetReady", f"inferenceset/{namespace}/gemma-3-4b", state="over"
    )
    assert "0 replicas wanted" in event["message"]
    assert await stage.firing() == set()
