"""A known fault that is muted: it has no Event, and the report shows it."""

from tests.daemon.replica import until

KAITO = ("clusterKaitoControllerNotReady", "cluster")
KAITO_SYSTEM = "kaito-system"
CONTROLLER = "kaito-workspace"
MODEL = "llama-3-1-8b"
MUTE = "status-reporter.io/mute"
MUTE_UNTIL = "status-reporter.io/mute-until"


async def finding(daemon, key):
    """Return the finding of a reason and subject in the report of a replica."""
    found = (await daemon.report())["findings"]
    return next((each for each in found if (each["reason"], each["subject"]) == key), None)


async def becomes(daemon, key, wanted):
    """Wait until a finding has a disposition, and return it."""

    async def has():
        found = await finding(daemon, key)
        return found if found and found["disposition"] == wanted else None

    return await until(has, f"{key[0]} is {wanted}")


async def test_muted_and_told_again(stage, replica):
    """Its Event is over while it is muted; report, page and metrics still show it and its mute."""
    daemon = await replica()
    await stage.stack.scale(KAITO_SYSTEM, CONTROLLER, 0)
    event = await stage.told(*KAITO)
    place = ("-n", KAITO_SYSTEM, "deployment", CONTROLLER)
    stage.kubectl("annotate", *place, f"{MUTE}={KAITO[0]}")
    over = await stage.told(*KAITO, state="over")
    assert over["metadata"]["uid"] == event["metadata"]["uid"]

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
