"""Faults of the control plane, of a namespace's entrance and of a model: one Event each, over when
repaired; and no Event where there is no fault.
"""

import pytest

from e2e.stage import without_change
from tests.daemon.replica import until

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
    ("istio-system", "istiod", "clusterIstioControlPlaneNotReady"),
    ("kaito-system", "kaito-workspace", "clusterKaitoControllerNotReady"),
    ("kaito-system", "body-based-router", "clusterBBRNotReady"),
    ("keda", "keda-operator", "clusterKedaNotReady"),
    ("keda", "keda-kaito-scaler", "clusterKedaKaitoScalerNotReady"),
    ("llm-gateway-auth", "apikey-authz", "clusterGatewayAuthNotReady"),
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


@pytest.mark.parametrize(("namespace", "name", "reason"), SHARED)
async def test_component_without_replicas_is_told_and_taken_back(
    stage, replica, namespace, name, reason
):
    """Down: one Warning names the Deployment. Up again: it is over and the cluster is ready."""
    await replica()
    await stage.told("clusterReady", "cluster", state="over")
    await stage.stack.scale(namespace, name, 0)
    event = await stage.told(reason, "cluster")
    assert f"Deployment {namespace}/{name} is down: scaled to zero" in event["message"]
    assert event["related"]["name"] == name
    assert await stage.firing() == {(reason, "cluster")}
    await stage.stack.install_shared()
    over = await stage.told(reason, "cluster", state="over")
    assert over["metadata"]["uid"] == event["metadata"]["uid"]


@pytest.fixture(name="full")
def _full(stage, kubectl):
    """A cluster without a node for another pod."""
    nodes = ("system-0", "system-1")
    kubectl("cordon", *nodes)
    yield
    kubectl("uncordon", *nodes)


async def test_rollout_is_no_fault_until_its_deadline(stage, replica, kubectl, full):
    """Fewer are ready than wanted while pods are replaced; that ends by itself, or does not."""
    router, home = "body-based-router", {"namespace": "kaito-system"}
    names = sorted(pod["metadata"]["name"] for pod in await stage.api.items("pods", **home))
    kubectl("-n", "kaito-system", "set", "image", f"deployment/{router}", "*=router:next")
    await stage.api.delete("pods", next(name for name in names if name.startswith(router)), **home)

    async def lacks_one() -> bool:
        status = (await stage.api.get(DEPLOYMENTS, router, **home))["status"]
        return (status["readyReplicas"], status["updatedReplicas"]) == (1, 2)

    await until(lacks_one, "one of two is ready")
    daemon = await (await replica()).ready()
    await daemon.passes(2)
    assert await daemon.dispositions() == {}

    late = ("Progressing", "False", "ProgressDeadlineExceeded", "it took too long")
    await stage.stack.condition(DEPLOYMENTS, "kaito-system", router, says=late)
    message = (await stage.told("clusterBBRNotReady", "cluster"))["message"]
    assert "is degraded: rollout exceeded its deadline" in message


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


async def data_plane_crashes(stage, namespace):
    crash = ("CrashLoopBackOff", "back-off 40s restarting failed container")
    await stage.stack.pod_waiting(namespace, f"{namespace}-gw-istio", crash, restarts=3)


async def provider_gone(stage, namespace):
    policy = {
        "apiVersion": "security.istio.io/v1",
        "kind": "AuthorizationPolicy",
        "metadata": {"name": "ext-authz", "namespace": namespace},
        "spec": {"action": "CUSTOM", "provider": {"name": "otel"}, "rules": [{}]},
    }
    await stage.api.create(policy)
    mesh = {"data": {"mesh": "extensionProviders: []"}}
    await stage.api.patch("configmaps", "istio", mesh, namespace="istio-system")


async def policy_names_nobody(stage, namespace):
    key = "k8s:io.kubernetes.pod.namespace"
    sources = [{"matchLabels": {key: name}} for name in ("keda", "nowhere")]
    patch = {"spec": {"ingress": [{"fromEndpoints": sources}]}}
    await stage.api.patch(
        "ciliumnetworkpolicies.cilium.io", "inference-pods-ingress", patch, namespace=namespace
    )


async def image_is_not_there(stage, namespace):
    await stage.stack.image_pull(namespace, POD, fails=True)


async def route_is_gone(stage, namespace):
    await stage.api.delete(ROUTES, ROUTE, namespace=namespace)


async def pool_is_not_resolved(stage, namespace):
    no = ("ResolvedRefs", "False", "InvalidExtensionRef", "no such service")
    pools = "inferencepools.inference.networking.k8s.io"
    await stage.stack.parent_condition(pools, namespace, POOL, says=no)


async def picker_is_gone(stage, namespace):
    await stage.api.delete(DEPLOYMENTS, EPP, namespace=namespace)


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
    "provider gone": (
        provider_gone, HARNESS, "ExtAuthzProviderMissing", ("AuthorizationPolicy", "ext-authz"),
        "names the provider otel, which the mesh configuration does not define",
    ),
    "key refused": (
        says("apikeys.kaito.sh", "default", "Ready", "False", "SecretExists", "the Secret exists already"),
        HARNESS, "APIKeyReconcileFailed", ("APIKey", "default"),
        "was not reconciled: SecretExists: the Secret exists already",
    ),
    "network policy names nobody": (
        policy_names_nobody, HARNESS, "NetworkPolicyMisconfigured", ("CiliumNetworkPolicy", "inference-pods-ingress"),
        "names namespaces that do not exist: nowhere",
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
    "pool is not resolved": (
        pool_is_not_resolved, IN_MODEL, "RouteNotReady", ("InferencePool", POOL),
        "ResolvedRefs is False for Gateway {0}/{0}-gw, InvalidExtensionRef: no such service",
    ),
    "picker is gone": (picker_is_gone, IN_MODEL, "EPPNotReady", ("Deployment", EPP), "endpoint picker is missing"),
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
    else:
        assert event["message"].startswith(f"InferenceSet {workload}/{MODEL}: ")
    assert (event["related"]["kind"], event["related"]["name"]) == at_fault
    involved = event["involvedObject"]
    assert (involved["kind"], involved["name"]) == ("Namespace", workload)
    assert await stage.firing() == {key}

    await stage.mend(workload)
    over = await stage.told(*key, state="over")
    assert over["metadata"]["uid"] == event["metadata"]["uid"]
    await stage.told(f"{stack}Ready", subject, state="over")


async def test_a_lost_node_is_told_instead_of_what_is_on_it(stage, workload, replica):
    """One Event of the node; the model is ready again without an Event of its own before."""
    subject = f"inferenceset/{workload}/{MODEL}"
    lost = ("Ready", "Unknown", "NodeStatusUnknown", "kubelet stopped posting status")
    await stage.stack.condition("nodes", "", NODE, says=lost)
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
    await stage.stack.scale(workload, EPP, 0)
    status = {"phase": "Expired", "conditions": []}
    await stage.stack.status("apikeys.kaito.sh", workload, "default", status=status)
    daemon = await replica()
    await stage.told(*model)
    await stage.told(*harness)

    await stage.api.delete("inferencesets.kaito.sh", MODEL, namespace=workload)
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
