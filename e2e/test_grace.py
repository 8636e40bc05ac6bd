"""When a fault is told: after its grace or budget, at once, or never."""

from datetime import datetime

from tests.daemon.replica import until

WORKSPACES = "workspaces.kaito.sh"
GATEWAYS = "gateways.gateway.networking.k8s.io"
BBR = ("clusterBBRNotReady", "cluster")
KAITO = ("clusterKaitoControllerNotReady", "cluster")
READY = ("clusterReady", "cluster")
SINCE = "status-reporter.io/since"
MODEL = "llama-3-1-8b"
OTHER = "phi-4-mini"


def told_after(event):
    """Seconds from the beginning of the fault to the Event."""
    since, told = event["metadata"]["annotations"][SINCE], event["eventTime"]
    return (datetime.fromisoformat(told) - datetime.fromisoformat(since)).total_seconds()


async def becomes(daemon, wanted):
    """Wait until these are the dispositions."""

    async def are_wanted() -> bool:
        return await daemon.dispositions() == wanted

    await until(are_wanted, f"the dispositions are {wanted}")


async def test_fault_is_told_once_it_has_lasted_its_grace(stage, replica):
    """Pending until then, and silent; a short blip is never told."""
    daemon = await replica(startup_grace_seconds=6)
    await stage.told(*READY, state="over")
    await stage.stack.scale("kaito-system", "body-based-router", 0)
    await becomes(daemon, {BBR: "pending"})
    await stage.stack.scale("kaito-system", "body-based-router", 1)
    await becomes(daemon, {})

    await stage.stack.scale("kaito-system", "kaito-workspace", 0)
    await becomes(daemon, {KAITO: "pending"})
    event = await stage.told(*KAITO)
    assert told_after(event) >= 6
    assert not await stage.events(BBR), "its grace would have ended before that of the other"
    assert len(await stage.events(READY)) == 1, "nothing was told that could be over"


async def test_age_of_a_fault_counts_from_its_condition(stage, replica):
    """What is older than its grace when the reporter starts is not pending again."""
    await stage.stack.image_pull("kaito-system", "kaito-workspace", fails=True)
    place = {"namespace": "kaito-system"}

    async def transition() -> str:
        deployment = await stage.api.get("deployments.apps", "kaito-workspace", **place)
        conditions = {each["type"]: each for each in deployment["status"]["conditions"]}
        available = conditions["Available"]
        return available["lastTransitionTime"] if available["status"] == "False" else ""

    began = datetime.fromisoformat(await until(transition, "the Deployment is unavailable"))
    await until(lambda: (datetime.now(began.tzinfo) - began).total_seconds() > 5, "it is 5 s old")
    await replica(startup_grace_seconds=5)
    event = await stage.told(*KAITO)
    assert datetime.fromisoformat(event["metadata"]["annotations"][SINCE]) == began


async def test_grace_of_one_reason(stage, replica):
    """`--grace` holds for the reason that it names, whatever the global grace is."""
    for name in ("body-based-router", "kaito-workspace"):
        await stage.stack.scale("kaito-system", name, 0)
    daemon = await replica(grace=f"{KAITO[0]}=300")
    await stage.told(*BBR)
    await daemon.passes(2)
    assert await daemon.dispositions() == {BBR: "firing", KAITO: "pending"}
    assert await stage.firing() == {BBR}


async def test_what_cannot_heal_is_told_at_once(stage, workload, replica):
    """A crash loop and settings that never work; an image that is not there may come yet."""
    crash = ("CrashLoopBackOff", "back-off 40s restarting failed container")
    await stage.stack.pod_waiting(workload, MODEL, crash, restarts=3)
    await stage.stack.image_pull(workload, OTHER, fails=True)
    patch = {"metadata": {"annotations": {"scaledobject.kaito.sh/max-replicas": "0"}}}
    await stage.api.patch("inferencesets.kaito.sh", OTHER, patch, namespace=workload)
    daemon = await replica(startup_grace_seconds=300)
    crashing = ("inferencesetModelPodsNotReady", f"inferenceset/{workload}/{MODEL}")
    pulling = ("inferencesetModelPodsNotReady", f"inferenceset/{workload}/{OTHER}")
    scaling = ("inferencesetScalingMisconfigured", f"inferenceset/{workload}/{OTHER}")
    await stage.told(*crashing)
    await stage.told(*scaling)
    await daemon.passes(2)
    assert await daemon.dispositions() == {
        crashing: "firing",
        scaling: "firing",
        pulling: "pending",
    }
    assert await stage.firing() == {crashing, scaling}


async def test_budgets_stay_without_grace(stage, workload, replica):
    """A node may boot and a load balancer be built for as long as their budgets say."""
    booting = ("NodeClaimReady", "False", "NodeClaimNotReady", "waiting for the node")
    await stage.stack.condition(WORKSPACES, workload, MODEL, says=booting)
    waiting = ("Programmed", "False", "AddressNotAssigned", "address pending for the Service")
    await stage.stack.condition(GATEWAYS, workload, f"{workload}-gw", says=waiting)
    infra = ("inferencesetInfraProvisioningFailed", f"inferenceset/{workload}/{MODEL}")
    gateway = ("modelharnessGatewayProgrammingFailed", f"namespace/{workload}")
    daemon = await replica(load_balancer_budget_seconds=5, node_boot_budget_seconds=300)
    event = await stage.told(*gateway)
    assert told_after(event) >= 5
    assert await daemon.dispositions() == {gateway: "firing", infra: "pending"}
    assert await stage.firing() == {gateway}
