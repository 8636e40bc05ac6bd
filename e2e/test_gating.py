"""A cause is told before its symptoms, and instead of them."""

from e2e.stage import without_change
from tests.daemon.replica import until

WORKSPACES = "workspaces.kaito.sh"
KAITO = ("clusterKaitoControllerNotReady", "cluster")
INFRA = "inferencesetInfraProvisioningFailed"
PODS = "inferencesetModelPodsNotReady"
EPP = "inferencesetEPPNotReady"
MODEL = "llama-3-1-8b"


async def quota(stage, namespace, *, exceeded=True):
    """Let the cloud refuse the nodes of a model."""
    status, reason = ("False", "LaunchFailed") if exceeded else ("True", "NodeClaimsReady")
    await stage.stack.condition(
        WORKSPACES, namespace, MODEL, says=("NodeClaimReady", status, reason, "quota in eastus")
    )


async def kaito(stage, replicas):
    await stage.stack.scale("kaito-system", "kaito-workspace", replicas)


async def test_cause_that_is_pending_holds_its_symptoms(stage, workload, replica):
    """The symptom could be told but waits; when the cause turns out to be none, it is told."""
    symptom = (INFRA, f"inferenceset/{workload}/{MODEL}")
    await quota(stage, workload)
    await kaito(stage, 0)
    daemon = await (await replica(grace=f"{KAITO[0]}=300")).ready()
    await daemon.passes(3)
    assert await daemon.dispositions() == {KAITO: "pending", symptom: "held"}
    assert await stage.firing() == set()

    await stage.mend()
    await stage.told(*symptom)
    assert not await stage.events(KAITO)


async def test_cause_suppresses_its_symptoms_and_names_them(stage, workload, replica):
    """One Event for two broken namespaces; over, the cluster is ready and then they are told."""
    other = await stage.workload(f"{workload}-other")
    symptoms = {(INFRA, f"inferenceset/{each}/{MODEL}") for each in (workload, other)}
    for namespace in (workload, other):
        await quota(stage, namespace)
    await kaito(stage, 0)
    daemon = await replica()
    event = await stage.told(*KAITO)
    assert without_change(event["message"]) == (
        "Deployment kaito-system/kaito-workspace is down: scaled to zero "
        f"(suppressing downstream reasons: {INFRA}, {PODS} in 2 namespace(s))"
    )
    await daemon.passes(2)
    dispositions = await daemon.dispositions()
    assert {dispositions[symptom] for symptom in symptoms} == {"suppressed"}
    assert await stage.firing() == {KAITO}
    assert not await stage.events(*symptoms)

    await kaito(stage, 1)

    async def told() -> bool:
        return await stage.firing() == symptoms

    await until(told, "both models are told")
    (ready,) = await stage.events(("clusterReady", "cluster"))
    assert all(each["eventTime"] > ready["eventTime"] for each in await stage.events(*symptoms))


async def test_symptom_that_was_told_is_over_when_its_cause_is_told(stage, workload, replica):
    """And what the cause does not explain goes on."""
    subject = f"inferenceset/{workload}/{MODEL}"
    await quota(stage, workload)
    await stage.stack.scale(workload, "phi-4-mini-inferencepool-epp", 0)
    await replica()
    await stage.told(INFRA, subject)
    await kaito(stage, 0)
    assert "in 1 namespace(s)" in (await stage.told(*KAITO))["message"]
    await stage.told(INFRA, subject, state="over")
    assert await stage.firing() == {KAITO, (EPP, f"inferenceset/{workload}/phi-4-mini")}


async def test_degraded_controller_suppresses_nothing(stage, workload, replica):
    """One of two replicas still writes the status, so that it can be believed."""
    await stage.stack.scale("kaito-system", "kaito-workspace", 2)
    await stage.stack.settled("kaito-system")
    pods = await stage.api.items("pods", namespace="kaito-system")
    names = sorted(pod["metadata"]["name"] for pod in pods)
    one = next(name for name in names if name.startswith("kaito-workspace"))
    await stage.stack.pod_waiting("kaito-system", one, ("CrashLoopBackOff", ""), restarts=3)
    await quota(stage, workload)
    await replica()
    message = (await stage.told(*KAITO))["message"]
    assert " is degraded: CrashLoopBackOff (pod " in message
    assert "1/2 ready" in message
    assert "suppressing" not in message
    await stage.told(INFRA, f"inferenceset/{workload}/{MODEL}")


async def test_one_cause_for_each_model(stage, workload, replica):
    """The highest of the chain is told and names the others; mended, the next one is told."""
    subject = f"inferenceset/{workload}/{MODEL}"
    await quota(stage, workload)
    await stage.stack.pod_waiting(workload, MODEL, ("CrashLoopBackOff", ""), restarts=3)
    await stage.stack.scale(workload, f"{MODEL}-inferencepool-epp", 0)
    daemon = await replica()
    event = await stage.told(INFRA, subject)
    assert event["message"].endswith(
        f" (and 1 more) (also: {EPP}: scaled to zero, {PODS}: CrashLoopBackOff)"
    )
    assert event["metadata"]["labels"]["status-reporter.io/primary"] == "true"
    assert await daemon.dispositions() == {
        (INFRA, subject): "firing",
        (PODS, subject): "secondary",
        (EPP, subject): "secondary",
    }
    await quota(stage, workload, exceeded=False)
    event = await stage.told(PODS, subject)
    assert event["message"].endswith(f" (and 1 more) (also: {EPP}: scaled to zero)")
    await stage.told(INFRA, subject, state="over")
    assert await stage.firing() == {(PODS, subject)}
