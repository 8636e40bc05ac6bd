"""`status-reporter mcp` about a running daemon and about the cluster that it watches."""

from tests.daemon.stage import KAITO
from tests.unit.cli.test_mcp import ask, assistant


async def test_a_daemon_tells_report_and_history(stage, inside):
    """What fires, and what has ended: a fault that came and went is no cause, but an episode."""
    replica = await (await inside().start()).ready()
    await stage.all_ready()
    stage.scale_kaito(0)
    await stage.told(KAITO)
    url = f"http://127.0.0.1:{replica.ports['report']}"
    async with assistant("--url", url) as client:
        report = await ask(client, "report")
        going_on = await ask(client, "history")
        stage.scale_kaito(1)
        await stage.told(KAITO, "over")
        await replica.passes()
        over = await ask(client, "history", namespace="nowhere")
    assert report["about"] == f"the daemon at {url}"
    assert (report["findings"][0]["reason"], report["findings"][0]["subject"]) == KAITO
    (episode,) = [each for each in going_on["episodes"] if each["reason"] == KAITO[0]]
    assert (episode["ended"], episode["subject"]) == (None, "cluster")
    (episode,) = [each for each in over["episodes"] if each["reason"] == KAITO[0]]
    assert episode["ended"] >= episode["began"]
    assert {each["subject"] for each in over["episodes"]} == {"cluster"}
