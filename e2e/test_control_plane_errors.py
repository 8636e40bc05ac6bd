"""What is wrong with the shared control plane, in the words that an operator acts on."""

import pytest

from e2e.stage import without_change
from tests.daemon.replica import until

DEPLOYMENTS = "deployments.apps"
CRASH = ("CrashLoopBackOff", "back-off 40s restarting failed container")
PRIMARY = "status-reporter.io/primary"


async def router_loses_one_of_two(stage):
    pods = await stage.api.items("pods", namespace="kaito-system")
    names = sorted(pod["metadata"]["name"] for pod in pods)
    router = next(name for name in names if name.startswith("body-based-router"))
    await stage.stack.pod_waiting("kaito-system", router, CRASH, restarts=3)


async def operator_crashes(stage):
    await stage.stack.pod_waiting("llm-gateway-auth", "apikey-operator", CRASH, restarts=3)


async def controller_has_no_image(stage):
    await stage.stack.image_pull("kaito-system", "kaito-workspace", fails=True)


async def scaler_is_gone(stage):
    await stage.api.delete(DEPLOYMENTS, "keda-kaito-scaler", namespace="keda")


FAULTS = (
    (router_loses_one_of_two, "clusterBBRNotReady",
     "Deployment kaito-system/body-based-router is degraded: CrashLoopBackOff (pod "),
    (operator_crashes, "clusterGatewayAuthNotReady",
     "Deployment llm-gateway-auth/apikey-operator is down: CrashLoopBackOff (pod "),
    (controller_has_no_image, "clusterKaitoControllerNotReady",
     "Deployment kaito-system/kaito-workspace is down: ImagePullBackOff (pod "),
    (scaler_is_gone, "clusterKedaKaitoScalerNotReady",
     "Deployment keda/keda-kaito-scaler is down: missing"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "reason", "says"), [pytest.param(*row, id=row[0].__name__) for row in FAULTS]
)
async def test_fault(stage, replica, fault, reason, says):
    """Down or degraded, how many are ready, and why; mended, the cluster is ready."""
    await fault(stage)
    await replica(components="keda-scaler=on")  # nothing here scales, so nothing shows that need
    event = await stage.told(reason, "cluster")
    assert event["message"].startswith(says)
    assert event["related"]["kind"] == "Deployment"
    assert event["involvedObject"]["name"] == event["related"]["namespace"]
    assert await stage.firing() == {(reason, "cluster")}
    await stage.mend()
    await stage.told(reason, "cluster", state="over")
    await stage.told("clusterReady", "cluster", state="over")


@pytest.fixture(name="full")
def _full(stage, kubectl):
    """A cluster with no node for another pod."""
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


async def test_several_causes_are_all_told_and_one_is_primary(stage, replica):
    """Each is a root cause; the label says which to look at first, and moves when that is over."""
    for namespace, name in (
        ("istio-system", "istiod"),
        ("kaito-system", "kaito-workspace"),
        ("keda", "keda-operator"),
        ("keda", "keda-operator-metrics-apiserver"),
    ):
        await stage.stack.scale(namespace, name, 0)
    await replica()

    async def primary() -> dict[str, str]:
        events = await stage.events(state="firing")
        return {event["reason"]: event["metadata"]["labels"][PRIMARY] for event in events}

    istio, kaito, keda = (
        "clusterIstioControlPlaneNotReady",
        "clusterKaitoControllerNotReady",
        "clusterKedaNotReady",
    )
    await stage.told(keda, "cluster")
    assert await primary() == {istio: "true", kaito: "false", keda: "false"}
    assert (await stage.told(keda, "cluster"))["message"].endswith(" (and 1 more)")

    await stage.stack.scale("istio-system", "istiod", 1)
    await stage.told(istio, "cluster", state="over")

    async def moved() -> bool:
        return await primary() == {kaito: "true", keda: "false"}

    await until(moved, "the next cause is primary")
    assert not await stage.events(("clusterReady", "cluster"))


async def test_scaled_object_that_keda_rejects(stage, workload, replica):
    """The scaler runs, and what it made is of no use."""
    no = ("Ready", "False", "ScaledObjectCheckFailed", "no such trigger")
    await stage.stack.condition("scaledobjects.keda.sh", workload, "llama-3-1-8b", says=no)
    await replica()
    event = await stage.told("clusterKedaKaitoScalerNotReady", "cluster")
    assert event["message"] == (
        f"ScaledObject {workload}/llama-3-1-8b was rejected by KEDA: "
        "ScaledObjectCheckFailed: no such trigger"
    )
    assert event["related"]["kind"] == "ScaledObject"
    await stage.mend(workload)
    await stage.told("clusterReady", "cluster", state="over")


async def test_provider_of_api_keys_that_policies_name_and_the_mesh_lacks(stage, workload, replica):
    """Current charts make no such policy, and then nobody misses it."""
    key = ("clusterGatewayAuthNotReady", "cluster")
    daemon = await replica()
    await stage.told("clusterReady", "cluster", state="over")
    policy = {
        "apiVersion": "security.istio.io/v1",
        "kind": "AuthorizationPolicy",
        "metadata": {"name": "ext-authz", "namespace": workload},
        "spec": {"action": "CUSTOM", "provider": {"name": "apikey-ext-authz"}, "rules": [{}]},
    }
    await stage.api.create(policy)
    message = (await stage.told(*key))["message"]
    assert "ConfigMap istio-system/istio does not define the extension provider" in message
    await daemon.passes(2)
    assert await stage.firing() == {key}, "the namespace is not blamed as well"


async def test_node_provisioner_is_watched_where_one_is_named(stage, replica):
    """It is no part of the defaults; missing it is told, and that it came."""
    stage.namespaces.append("karpenter")
    await stage.api.create(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karpenter"}}
    )
    key = ("clusterNodeProvisionerNotReady", "cluster")
    await replica(node_provisioner_name="karpenter", node_provisioner_namespace="karpenter")
    event = await stage.told(*key)
    assert event["message"] == "Deployment karpenter/karpenter is down: missing"
    labels = {"app": "karpenter"}
    pod = {"containers": [{"name": "controller", "image": "karpenter"}]}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "karpenter", "namespace": "karpenter"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    await stage.api.create(deployment)
    await stage.told(*key, state="over")
    await stage.told("clusterReady", "cluster", state="over")


async def test_crd_that_is_deleted_and_installed_again(stage, workload, replica):
    """Its Event is about the CRD itself, and hides what can no longer be judged."""
    daemon = await replica()
    model = f"inferenceset/{workload}/llama-3-1-8b"
    await stage.told("inferencesetReady", model, state="over")
    name = "httproutes.gateway.networking.k8s.io"
    await stage.stack.remove_crd(name)
    event = await stage.told("clusterCRDMissing", "cluster")
    assert " (removed at " in event["message"]
    assert without_change(event["message"]) == (
        f"CustomResourceDefinition {name} is not served any more, needed by Gateway "
        f"{workload}/{workload}-gw: install or repair the chart that owns it (Gateway API); where it "
        "is not wanted, set --components istio=off (suppressing downstream reasons: "
        "inferencesetRouteNotReady in 1 namespace(s))"
    )
    involved = event["involvedObject"]
    assert involved["apiVersion"] == "apiextensions.k8s.io/v1"
    assert (involved["kind"], involved["name"]) == ("CustomResourceDefinition", name)
    assert (await daemon.dispositions())[("inferencesetRouteNotReady", model)] == "suppressed"
    assert await stage.firing() == {("clusterCRDMissing", "cluster")}

    await stage.mend(workload)
    await stage.told("clusterCRDMissing", "cluster", state="over")
    await daemon.passes(2)
    assert await stage.firing() == set()
    ready = await stage.events(("clusterReady", "cluster"), ("inferencesetReady", model))
    assert [event["reason"] for event in ready].count("clusterReady") == 2
