"""Reports about the control plane: one Event for each cause, on the real API server."""

import pytest

HEALTHY = {"clusterReady", "modelharnessReady", "inferencesetReady"}

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
