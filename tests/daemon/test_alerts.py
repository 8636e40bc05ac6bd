"""What a real Alertmanager receives, and whom it notifies."""

import asyncio
import signal
import subprocess

import aiohttp
import pytest
import yaml
from aiohttp import web
from yarl import URL

from reporter.kube.errors import KubeError
from reporter.sinks import alerts as writer
from reporter.sinks.alerts import Address, AlertApi
from reporter.stacks.settings import FullDaemonSettings
from tests.daemon.alertmanager import Alertmanager
from tests.daemon.replica import SHORT_LEASE, free_port, until
from tests.daemon.stage import KAITO
from tests.daemon.test_process import certificate
from tests.helm.charts import REPORTER
from tests.rules.recipes import ALERTMANAGER as RECIPE
from tests.rules.tool import NoPromtoolError, alertmanager, amtool

TEMPLATE = REPORTER / "files" / "alertmanager" / "status-reporter.tmpl"

KAITO_LABELS = {
    "alertname": "clusterKaitoControllerNotReady", "cluster": "west", "layer": "cluster",
    "reason": "clusterKaitoControllerNotReady", "source": "status-reporter", "subject": "cluster",
    "subject_kind": "cluster",
}  # fmt: skip


@pytest.fixture(name="pair")
async def _pair(tmp_path):
    try:
        program = alertmanager()
    except NoPromtoolError as error:
        pytest.skip(str(error))
    rules = yaml.safe_load(RECIPE.read_text())["inhibit_rules"]
    pair = [
        Alertmanager(program, tmp_path / name, inhibit_rules=rules) for name in ("am-a", "am-b")
    ]
    for each in pair:
        await each.start()
    yield pair
    for each in pair:
        await each.close()


def told_by(*alertmanagers):
    return {
        "alertmanager_url": ",".join(each.url for each in alertmanagers),
        "alert_fields": "cluster=west,docs=https://docs.example/",
    }


async def fires(alertmanager, key):
    """Wait for an alert; there must be only one."""

    async def found():
        return await alertmanager.alerts(key[0])

    (alert,) = await until(found, f"{key[0]} is an alert")
    return alert


async def over(alertmanager, key):
    """Wait until no such alert fires."""

    async def none():
        return not await alertmanager.alerts(key[0])

    await until(none, f"{key[0]} is over")


async def test_a_cause_is_an_alert_in_its_own_words_until_it_is_over(stage, inside, pair, tmp_path):
    one, _ = pair
    await (await inside(**told_by(one)).start()).ready()
    await stage.all_ready()
    assert await one.alerts() == []
    stage.scale_kaito(0)
    event = await stage.told(KAITO)
    alert = await fires(one, KAITO)
    assert KAITO_LABELS.items() <= alert["labels"].items()
    said = alert["annotations"]
    assert event["message"].startswith(said["message"][:60])
    assert said["runbook_url"] == "https://docs.example/reasons.md#clusterkaitocontrollernotready"
    assert "kaito-workspace" in said["commands"]
    await until(lambda: one.told(KAITO[0], "firing"), "somebody is told")
    stage.scale_kaito(1)
    await over(one, KAITO)
    (end,) = await until(lambda: one.told(KAITO[0], "resolved"), "somebody is told that it is over")
    assert end["fingerprint"] == alert["fingerprint"]
    assert len(one.told(KAITO[0], "firing")) == 1
    firing, over_again = ("\n".join(rendered(one.payloads[each], tmp_path)) for each in (0, -1))
    assert firing.startswith("clusterKaitoControllerNotReady cluster in west\n")
    for line in (
        "Deployment kaito-system/kaito-workspace is down: scaled to zero",
        "*Impact:* no models affected so far",
        "*Changed:* spec.replicas 1 to 0 by kubectl (scale) at ",
        "`kubectl -n kaito-system describe deployment kaito-workspace`",
        "<https://docs.example/reasons.md#clusterkaitocontrollernotready|What to do>",
        "<p><b>Impact:</b> no models affected so far</p>",
        "$ kubectl -n kaito-system describe deployment kaito-workspace",
    ):
        assert f"\n{line}" in firing
    assert over_again.startswith("Over: clusterKaitoControllerNotReady cluster in west\nOver: ")


def rendered(payload, folder):
    """Return the title and texts that the chart's templates render for people."""
    data = folder / "payload.json"
    data.write_bytes(payload)
    for name in ("title", "slack.text", "text", "email.html"):
        kind = "html" if name.endswith("html") else "text"
        command = [
            amtool(), "template", "render", f"--template.glob={TEMPLATE}", f"--template.type={kind}",
            f"--template.data={data}", f'--template.text={{{{ template "status-reporter.{name}" . }}}}',
        ]  # fmt: skip
        yield subprocess.run(command, check=True, capture_output=True, text=True).stdout


async def test_inhibition_and_silences_of_alertmanager_hold_for_them(
    stage, inside, pair, monkeypatch
):
    """The shipped rules apply; a silence survives a restart, after which firing alerts are sent again."""
    monkeypatch.setattr(writer, "RESEND_SECONDS", 1.0)
    monkeypatch.setattr(writer, "_TOGETHER_SECONDS", 1.0)
    one, _ = pair
    await (await inside(**told_by(one)).start()).ready()
    stage.scale_kaito(0)
    ours = await fires(one, KAITO)
    common = {"cluster": "west", "reason": KAITO[0], "subject": "cluster"}
    by_metric = {
        "labels": {"alertname": "StatusReporterClusterCause", "severity": "warning", **common}
    }
    another = {"labels": {**by_metric["labels"], "reason": "clusterKedaNotReady"}}
    await one.ask("POST", "alerts", json=[by_metric, another])
    states = {
        each["labels"]["reason"]: each["status"]["inhibitedBy"]
        for each in await one.alerts("StatusReporterClusterCause")
    }
    assert states == {KAITO[0]: [ours["fingerprint"]], "clusterKedaNotReady": []}
    matcher = {"name": "reason", "value": KAITO[0], "isRegex": False, "isEqual": True}
    times = {"startsAt": ours["startsAt"], "endsAt": "2099-01-01T00:00:00Z"}
    silence = {"matchers": [matcher], **times, "createdBy": "me", "comment": "known"}
    await one.ask("POST", "silences", json=silence)
    await one.stop()
    await one.start()
    again = await fires(one, KAITO)
    assert (again["fingerprint"], again["startsAt"]) == (ours["fingerprint"], ours["startsAt"])
    assert again["status"]["state"] == "suppressed"


async def test_a_failover_neither_ends_nor_doubles_an_alert(stage, program, pair):
    one, other = pair
    both = [program(name, **SHORT_LEASE, **told_by(*pair)) for name in ("replica-a", "replica-b")]
    await asyncio.gather(*(replica.start() for replica in both))
    await asyncio.gather(*(replica.ready() for replica in both))
    await stage.all_ready()
    stage.scale_kaito(0)
    first = [await fires(each, KAITO) for each in pair]
    leader, *_ = [each for each in both if await each.leads()]
    standby = next(each for each in both if each is not leader)
    leader.send(signal.SIGKILL)
    await leader.ended()
    await until(standby.leads, "the other one leads")

    async def is_sent_again():
        again = [await fires(each, KAITO) for each in pair]
        return all(a["updatedAt"] != b["updatedAt"] for a, b in zip(first, again, strict=True))

    await until(is_sent_again, "the other one tells both Alertmanagers")
    again = [await fires(each, KAITO) for each in pair]
    for key in ("fingerprint", "labels", "startsAt"):
        assert [each[key] for each in again] == [each[key] for each in first]
    assert not one.told(KAITO[0], "resolved")
    assert len(one.told(KAITO[0], "firing")) == len(other.told(KAITO[0], "firing")) == 1


async def test_a_certificate_and_a_token_from_files(tmp_path):
    """The host name is resolved; the token is read again each time and never shown."""

    async def answer(request):
        right = request.headers.get("Authorization") == "Bearer second"
        return web.Response(status=200 if right else 401, text=f"go away, {request.host}")

    runner, port = web.AppRunner(web.Application()), free_port()
    runner.app.router.add_post("/prefix/api/v2/alerts", answer)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=certificate(tmp_path)).start()
    token, credentials = tmp_path / "token", {"alertmanager_credentials": tmp_path}
    token.write_text("gone\n")
    (tmp_path / "ca.pem").rename(tmp_path / "ca.crt")
    named = Address(URL(f"https://127.0.0.1:{port}/prefix/api/v2/alerts"), "localhost")
    try:
        async with aiohttp.ClientSession() as session:
            trusting = AlertApi(FullDaemonSettings(**credentials))
            token.unlink()
            with pytest.raises(KubeError, match="No such file"):
                await trusting.post(session, named, b"[]")
            token.write_text("first\n")
            with pytest.raises(KubeError, match="answered 401: go away") as refused:
                await trusting.post(session, named, b"[]")
            assert "first" not in str(refused.value)
            token.write_text("second\n")
            await trusting.post(session, named, b"[]")
            with pytest.raises(KubeError, match="CERTIFICATE_VERIFY_FAILED"):
                await trusting.post(session, named._replace(name=None), b"[]")
            with pytest.raises(KubeError, match="CERTIFICATE_VERIFY_FAILED"):
                await AlertApi(FullDaemonSettings()).post(session, named, b"[]")
    finally:
        await runner.cleanup()


async def test_credentials_that_are_not_there_end_the_program(program, tmp_path):
    wrong = {"alertmanager_url": "http://am:9093", "alertmanager_credentials": tmp_path / "none"}
    replica = await program(**wrong).start()
    assert await replica.ended() == 2
    assert "--alertmanager-credentials" in replica.output
    assert "Traceback" not in replica.output
