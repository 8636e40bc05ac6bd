"""A fault that is known and lived with: no Event tells it, and the report shows it."""

from datetime import UTC, datetime, timedelta

from tests.daemon.replica import until

KAITO = ("clusterKaitoControllerNotReady", "cluster")
KAITO_SYSTEM = "kaito-system"
CONTROLLER = "kaito-workspace"
MODEL = "llama-3-1-8b"
SETS = "inferencesets.kaito.sh"
MUTE = "status-reporter.io/mute"
MUTE_UNTIL = "status-reporter.io/mute-until"


async def finding(daemon, key):
    """Return the finding of a reason and subject in the report that a replica serves."""
    found = (await daemon.report())["findings"]
    return next((each for each in found if (each["reason"], each["subject"]) == key), None)


async def becomes(daemon, key, wanted):
    """Wait until a finding has a disposition, and return it."""

    async def has():
        found = await finding(daemon, key)
        return found if found and found["disposition"] == wanted else None

    return await until(has, f"{key[0]} is {wanted}")


async def test_muted_and_told_again(stage, replica):
    """Its Event is over while it is muted; report, page and metrics go on showing it, and where."""
    daemon = await replica()
    await stage.stack.scale(KAITO_SYSTEM, CONTROLLER, 0)
    await stage.told(*KAITO)
    # Its words may follow the pods for a moment.
    await stage.stack.settled(KAITO_SYSTEM)
    await daemon.passes(2)
    event = await stage.told(*KAITO)
    place = ("-n", KAITO_SYSTEM, "deployment", CONTROLLER)
    stage.kubectl("annotate", *place, f"{MUTE}={KAITO[0]}")
    over = await stage.told(*KAITO, state="over")
    assert over["metadata"]["uid"] == event["metadata"]["uid"]
    assert over["count"] == event["count"]

    muted = await becomes(daemon, KAITO, "muted")
    (mute,) = muted["mutes"]
    assert (mute["object"]["kind"], mute["object"]["name"]) == ("Deployment", CONTROLLER)
    assert mute["until"] is None
    _, page = await daemon.get("report", "/")
    assert f"muted on Deployment {KAITO_SYSTEM}/{CONTROLLER}" in page
    labels = {"reason": KAITO[0], "layer": "cluster"}
    assert await daemon.metric("findings", **labels, disposition="muted") == 1
    assert await daemon.metric("findings", **labels, disposition="firing") == 0
    await daemon.passes(2)
    assert await stage.firing() == set()
    assert not await stage.events(("clusterReady", "cluster"), state="firing")

    stage.kubectl("annotate", *place, f"{MUTE}-")
    again = await stage.told(*KAITO)
    assert again["metadata"]["uid"] == event["metadata"]["uid"]


async def test_muted_by_namespace_until_a_time(stage, workload, replica):
    """Nothing is written before it ends, which it does by itself."""
    subject = f"inferenceset/{workload}/{MODEL}"
    ends = datetime.now(UTC) + timedelta(seconds=8)
    stage.kubectl(
        "annotate", "namespace", workload,
        f"{MUTE}=inferencesetEPPNotReady", f"{MUTE_UNTIL}={ends:%Y-%m-%dT%H:%M:%SZ}",
    )  # fmt: skip
    await stage.stack.scale(workload, f"{MODEL}-inferencepool-epp", 0)
    daemon = await replica()
    key = ("inferencesetEPPNotReady", subject)
    muted = await becomes(daemon, key, "muted")
    assert muted["mutes"][0]["object"]["kind"] == "Namespace"
    assert muted["mutes"][0]["until"] == f"{ends:%Y-%m-%dT%H:%M:%SZ}"
    assert await stage.events(key) == []

    event = await stage.told(*key)
    assert event["eventTime"] >= f"{ends:%Y-%m-%dT%H:%M:%S}"
    (fault,) = (await daemon.report())["muteFaults"]
    assert fault["object"]["name"] == workload
    assert "the mute ended at" in fault["text"]


async def test_muted_cause_explains_and_misspelt_names_are_said(stage, workload, replica):
    """Nobody is told of its symptoms; what a mute names wrongly is in the report."""
    stage.kubectl(
        "annotate", "namespace", "istio-system",
        f"{MUTE}=clusterIstioControlPlaneNotReady,clusterIstioControlPlaneNotRedy",
    )  # fmt: skip
    try:
        await stage.stack.scale("istio-system", "istiod", 0)
        gateway = ("gateways.gateway.networking.k8s.io", workload, f"{workload}-gw")
        await stage.stack.condition(*gateway, says=("Accepted", "False", "NoMatchingParent", "no"))
        daemon = await replica()
        await becomes(daemon, ("clusterIstioControlPlaneNotReady", "cluster"), "muted")
        symptom = ("modelharnessGatewayClassMissing", f"namespace/{workload}")
        await becomes(daemon, symptom, "suppressed")
        await daemon.passes(2)
        assert await stage.firing() == set()
        (fault,) = (await daemon.report())["muteFaults"]
        assert "did you mean clusterIstioControlPlaneNotReady?" in fault["text"]
    finally:
        stage.kubectl("annotate", "namespace", "istio-system", f"{MUTE}-")


async def test_mute_on_an_inferenceset_outlives_its_leader(stage, workload, replica):
    """It is in the cluster: whoever takes over finds it there."""
    subject = f"inferenceset/{workload}/{MODEL}"
    key = ("inferencesetEPPNotReady", subject)
    stage.kubectl("-n", workload, "annotate", SETS, MODEL, f"{MUTE}={key[0]}")
    await stage.stack.scale(workload, f"{MODEL}-inferencepool-epp", 0)
    first = await replica()
    before = await becomes(first, key, "muted")
    await first.stop()
    second = await replica()
    after = await becomes(second, key, "muted")
    assert after["mutes"] == before["mutes"]
    assert after["mutes"][0]["object"]["kind"] == "InferenceSet"
    await until(second.leads, "the second replica leads")
    await second.passes(2)
    assert await stage.events(key) == []
