"""Faults of the shared control plane, in words that an operator can act on."""

import pytest

from e2e.stage import without_change
from tests.daemon.replica import until

DEPLOYMENTS = "deployments.apps"


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
