"""Faults of a model: one Event, closed after the repair; and no Event if there is none."""

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
"""The node of the pod."""


async def workspace(stage, namespace, *condition):
    await stage.stack.condition(WORKSPACES, namespace, REPLICA, says=condition)


async def node(stage, *condition):
    await stage.stack.condition("nodes", "", NODE, says=condition)


async def quota_is_used_up(stage, namespace):
    await workspace(
        stage, namespace, "NodeClaimReady", "False", "LaunchFailed", "quota exceeded in eastus"
    )


async def image_is_not_there(stage, namespace):
    await stage.stack.image_pull(namespace, POD, fails=True)


async def node_is_lost(stage, _namespace):
    await node(stage, "Ready", "Unknown", "NodeStatusUnknown", "kubelet stopped posting status")


async def node_is_full(stage, _namespace):
    await node(stage, "DiskPressure", "True", "KubeletHasDiskPressure", "kubelet has disk pressure")


async def route_is_gone(stage, namespace):
    await stage.api.delete(ROUTES, ROUTE, namespace=namespace)


async def pool_is_not_resolved(stage, namespace):
    no = ("ResolvedRefs", "False", "InvalidExtensionRef", "no such service")
    await stage.stack.parent_condition(POOLS, namespace, POOL, says=no)


async def picker_is_scaled_to_zero(stage, namespace):
    await stage.stack.scale(namespace, EPP, 0)


async def picker_is_gone(stage, namespace):
    await stage.api.delete(DEPLOYMENTS, EPP, namespace=namespace)


SET, WORKSPACE, IN_POD = ("InferenceSet", MODEL), ("Workspace", REPLICA), ("Pod", POD)
IN_ROUTE, IN_POOL, PICKER = ("HTTPRoute", ROUTE), ("InferencePool", POOL), ("Deployment", EPP)
IN_NODE = ("Node", NODE)

FAULTS = (
    (quota_is_used_up, "InfraProvisioningFailed", WORKSPACE,
     "NodeClaimReady is False, LaunchFailed: quota exceeded in eastus"),
    (image_is_not_there, "ModelPodsNotReady", IN_POD,
     "container vllm waits in ImagePullBackOff: Back-off pulling image"),
    (node_is_full, "NodeUnderPressure", IN_NODE, "node gpu-0 is under DiskPressure"),
    (route_is_gone, "RouteNotReady", IN_ROUTE, f"HTTPRoute {ROUTE} is missing"),
    (pool_is_not_resolved, "RouteNotReady", IN_POOL,
     "ResolvedRefs is False for Gateway {0}/{0}-gw, InvalidExtensionRef: no such service"),
    (picker_is_gone, "EPPNotReady", PICKER, "endpoint picker is missing"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "reason", "related", "says"),
    [pytest.param(*row, id=row[0].__name__) for row in FAULTS],
)
async def test_fault(stage, workload, replica, fault, reason, related, says):
    """One Event names the object at fault; after the repair, it is over and the model ready."""
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


async def test_what_is_deleted_is_forgotten_without_a_word(stage, workload, replica):
    """A deleted model, and then its namespace, end their Warnings; nothing is reported ready."""
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
