"""Faults of the control plane, of a namespace's entrance and of a model: one Event each, over when
repaired; and no Event where there is no fault.
"""

import pytest

from e2e.stage import without_change

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

SHARED = (
    ("istio-system", "istiod", "IstioControlPlaneNotReady"),
    ("kaito-system", "kaito-workspace", "KaitoControllerNotReady"),
    ("kaito-system", "body-based-router", "BBRNotReady"),
    ("keda", "keda-operator", "KedaNotReady"),
    ("keda", "keda-kaito-scaler", "KedaKaitoScalerNotReady"),
    ("llm-gateway-auth", "apikey-authz", "GatewayAuthNotReady"),
)


async def test_healthy_stack_is_ready_and_nothing_warns(stage, workload, replica):
    """Cluster, namespace and both models are reported ready, each once."""
    await replica()
    await stage.told("clusterReady", "cluster", state="over")
    await stage.told("modelharnessReady", f"namespace/{workload}", state="over")
    for model in ("llama-3-1-8b", "phi-4-mini"):
        await stage.told("inferencesetReady", f"inferenceset/{workload}/{model}", state="over")
    events = await stage.events()
    assert {event["type"] for event in events} == {"Normal"}
    assert len(events) == 4


async def test_crd_that_is_deleted_and_installed_again(stage, workload, replica):
    """Its Event is about the CRD itself, and hides what can no longer be judged."""
    daemon = await replica()
    model = f"inferenceset/{workload}/llama-3-1-8b"
    await stage.told("inferencesetReady", model, state="over")
    await stage.stack.remove_crd(ROUTES)
    event = await stage.told("clusterCRDMissing", "cluster")
    assert " (removed at " in event["message"]
    assert without_change(event["message"]) == (
        f"CustomResourceDefinition {ROUTES} is not served any more, needed by Gateway "
        f"{workload}/{workload}-gw: install or repair the chart that owns it (Gateway API); where it "
        "is not wanted, set --components istio=off (suppressing downstream reasons: "
        "inferencesetRouteNotReady in 1 namespace(s))"
    )
    involved = event["involvedObject"]
    assert involved["apiVersion"] == "apiextensions.k8s.io/v1"
    assert (involved["kind"], involved["name"]) == ("CustomResourceDefinition", ROUTES)
    assert (await daemon.dispositions())[("inferencesetRouteNotReady", model)] == "suppressed"
    assert await stage.firing() == {("clusterCRDMissing", "cluster")}

    await stage.mend(workload)
    await stage.told("clusterCRDMissing", "cluster", state="over")
    await daemon.passes(2)
    assert await stage.firing() == set()
    ready = await stage.events(("clusterReady", "cluster"), ("inferencesetReady", model))
    assert [event["reason"] for event in ready].count("clusterReady") == 2


def says(resource, name, *condition):
    """Return a fault: an object, or several whose names begin like this, have a condition."""

    async def fault(stage, namespace):
        await stage.stack.condition(resource, namespace, name.format(namespace), says=condition)

    return fault


def scaled_to_zero(home, name):
    async def fault(stage, namespace):
        await stage.stack.scale(home, name, 0)

    return fault


async def data_plane_crashes(stage, namespace):
    crash = ("CrashLoopBackOff", "back-off 40s restarting failed container")
    await stage.stack.pod_waiting(namespace, f"{namespace}-gw-istio", crash, restarts=3)


async def image_is_not_there(stage, namespace):
    await stage.stack.image_pull(namespace, POD, fails=True)


async def route_is_gone(stage, namespace):
    await stage.api.delete(ROUTES, ROUTE, namespace=namespace)


CLUSTER = ("cluster", "cluster")
HARNESS = ("namespace/{0}", "modelharness")
IN_MODEL = (f"inferenceset/{{0}}/{MODEL}", "inferenceset")
"""A subject, and what its reasons begin with."""

FAULTS = {
    "class refused": (
        says("gatewayclasses.gateway.networking.k8s.io", "istio", "Accepted", "False", "InvalidParameters", "the parameters do not exist"),
        HARNESS, "GatewayClassMissing", ("Gateway", "{0}-gw"),
        "which is not accepted: InvalidParameters: the parameters do not exist",
    ),
    "not programmed": (
        says("gateways.gateway.networking.k8s.io", "{0}-gw", "Programmed", "False", "AddressNotUsable", "the Service of the Gateway has no port 80"),
        HARNESS, "GatewayProgrammingFailed", ("Gateway", "{0}-gw"),
        "could not be programmed: AddressNotUsable: the Service of the Gateway has no port 80",
    ),
    "data plane crashes": (
        data_plane_crashes, HARNESS, "GatewayDataPlaneNotReady", ("Deployment", "{0}-gw-istio"),
        "has no ready pod: CrashLoopBackOff",
    ),
    "key refused": (
        says("apikeys.kaito.sh", "default", "Ready", "False", "SecretExists", "the Secret exists already"),
        HARNESS, "APIKeyReconcileFailed", ("APIKey", "default"),
        "was not reconciled: SecretExists: the Secret exists already",
    ),
    "quota is used up": (
        says("workspaces.kaito.sh", REPLICA, "NodeClaimReady", "False", "LaunchFailed", "quota exceeded in eastus"),
        IN_MODEL, "InfraProvisioningFailed", ("Workspace", REPLICA),
        "NodeClaimReady is False, LaunchFailed: quota exceeded in eastus",
    ),
    "image is not there": (
        image_is_not_there, IN_MODEL, "ModelPodsNotReady", ("Pod", POD),
        "container vllm waits in ImagePullBackOff: Back-off pulling image",
    ),
    "node is full": (
        says("nodes", NODE, "DiskPressure", "True", "KubeletHasDiskPressure", "kubelet has disk pressure"),
        IN_MODEL, "NodeUnderPressure", ("Node", NODE), "node gpu-0 is under DiskPressure",
    ),
    "route is gone": (route_is_gone, IN_MODEL, "RouteNotReady", ("HTTPRoute", ROUTE), f"HTTPRoute {ROUTE} is missing"),
}  # fmt: skip
FAULTS |= {
    name: (
        scaled_to_zero(home, name), CLUSTER, reason, ("Deployment", name),
        f"Deployment {home}/{name} is down: scaled to zero",
    )
    for home, name, reason in SHARED
}  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "where", "reason", "related", "text"), FAULTS.values(), ids=FAULTS
)
async def test_fault(stage, workload, replica, fault, where, reason, related, text):
    """One Event names the object at fault; once that is repaired, it is over and all is ready."""
    subject, stack = where[0].format(workload), where[1]
    key, at_fault = (stack + reason, subject), (related[0], related[1].format(workload))
    await fault(stage, workload)
    await replica()
    event = await stage.told(*key)
    assert text.format(workload) in event["message"]
    if where is HARNESS:
        assert f"{at_fault[0]} {workload}/{at_fault[1]}" in event["message"]
    if where is IN_MODEL:
        assert event["message"].startswith(f"InferenceSet {workload}/{MODEL}: ")
    assert (event["related"]["kind"], event["related"]["name"]) == at_fault
    if where is not CLUSTER:
        involved = event["involvedObject"]
        assert (involved["kind"], involved["name"]) == ("Namespace", workload)
    assert await stage.firing() == {key}

    await stage.mend(workload)
    over = await stage.told(*key, state="over")
    assert over["metadata"]["uid"] == event["metadata"]["uid"]
    await stage.told(f"{stack}Ready", subject, state="over")
