"""Metrics, health and the report, as scrapers, kubelets and browsers meet them."""

import re
from types import SimpleNamespace

import pytest

from reporter.daemon import state as daemon_state
from reporter.daemon.state import DaemonState
from reporter.stacks.settings import FullDaemonSettings
from tests.daemon.replica import until
from tests.daemon.stage import KAITO
from tests.unit.docs.pages import code, page, table

STORE = {
    "reason": "clusterVectorStoreNotReady",
    "layer": "cluster",
    "workload": {"kind": "StatefulSet", "name": "qdrant", "namespaces": ["vectors"]},
}


@pytest.mark.quick
async def test_metrics_are_those_that_are_documented(stage, inside):
    replica = await (await inside().start()).ready()
    await stage.all_ready()
    _, text = await replica.get("metrics", "/metrics")
    exported = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))
    documented = {code(row[0])[0] for row in table(page("alerts.md"), "metric")}
    assert {each for each in exported if not each.endswith("_created")} == documented


@pytest.mark.quick
async def test_what_is_read_for_declarations_is_in_the_metrics(stage, inside):
    """Each watch once, under a name of its own."""
    kind = {
        "group": "kaito.sh", "version": "v1beta1", "plural": "workspaces", "kind": "Workspace",
        "type": "Audited",
    }  # fmt: skip
    rule = {"reason": "clusterWorkspaceNotAudited", "layer": "cluster", "condition": kind}
    replica = await (await inside(custom_components=[STORE, rule]).start()).ready()
    _, text = await replica.get("metrics", "/metrics")
    lines = [each for each in text.splitlines() if each.startswith("status_reporter_objects")]
    assert len(lines) == len({each.rpartition(" ")[0] for each in lines})
    for name in ("statefulsets.apps", "workspaces.kaito.sh", "workspaces.kaito.sh v1beta1"):
        assert len([each for each in lines if f'resource="{name}"' in each]) == 1


async def test_an_event_is_counted_with_its_delay_once(stage, inside):
    """When it is created, not when it is written again."""
    replica = await (await inside().start()).ready()
    await stage.all_ready()
    before = await replica.metric("event_delay_seconds_count")
    stage.scale_kaito(0)
    await stage.told(KAITO)

    async def counted() -> bool:
        return await replica.metric("event_delay_seconds_count") == before + 1

    await until(counted, "the delay is counted")
    stage.scale_kaito(1)
    await stage.told(KAITO, "over")
    assert await replica.metric("event_delay_seconds_count") == before + 1


async def test_metrics_tell_what_the_report_tells(stage, inside):
    """Findings by reason and disposition, leading, and what is ready."""
    replica = await (await inside().start()).ready()
    await stage.all_ready()
    await replica.passes(1)
    assert await replica.metric("subjects_ready") == 9
    stage.scale_kaito(0)
    await stage.told(KAITO)
    labels = {"reason": KAITO[0], "layer": "cluster"}
    assert await replica.metric("findings", disposition="firing", **labels) == 1
    assert await replica.metric("leader") == 1
    assert await replica.metric("resources_unknown") == 0
    assert await replica.metric("objects", resource="namespaces") == len(
        stage.sandbox.list("namespaces")
    )


@pytest.mark.quick
async def test_report_is_that_of_check_with_version_and_leading(stage, inside):
    """The page of scripts has the members that are documented, the page of people is text."""
    replica = await (await inside().start()).ready()
    stage.scale_kaito(0)
    await stage.told(KAITO)
    report = await replica.report()
    assert (report["apiVersion"], report["kind"]) == ("status-reporter/v1", "Report")
    assert report["leading"] is True
    assert report["version"]
    assert report["commit"]
    assert {"now", "findings", "ready", "unknown", "skipped", "derived", "events"} < set(report)
    status, text = await replica.get("report", "/")
    assert status == 200
    assert KAITO[0] in text
    for path in ("/api/v1/report", "/"):
        assert (await replica.get("report", path, headers={"Host": "attacker.example"}))[0] == 403


async def test_listeners_can_be_turned_off(stage, inside):
    off = {f"{each}_bind_address": "0" for each in ("metrics", "health_probe", "report")}
    replica = await inside(**off).start()
    await stage.all_ready()
    with pytest.raises(OSError, match="Connect call failed"):
        await replica.get("metrics", "/metrics")


class FakeCluster:
    clock_offset_seconds = 0.0
    listed = True

    def all_listed(self) -> bool:
        return self.listed

    def health(self):
        return ()


@pytest.fixture(name="seconds")
def _seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The boot clock that the state of a daemon asks, to be set by hand."""
    seconds = [1000.0]
    monkeypatch.setattr(daemon_state, "boot_seconds", lambda: seconds[0])
    return seconds


class FakePass:
    report = object()


def state_of(cluster, **settings):
    """Return the state of a daemon that leads, scrapes nothing and writes nothing."""
    return DaemonState(
        FullDaemonSettings(**settings),
        cluster,
        SimpleNamespace(),
        leading=lambda: True,
        judged=lambda _: None,
    )


@pytest.mark.parametrize(("resync", "longest"), [(1, 60.0), (20, 60.0), (60, 180.0)])
def test_health_fails_when_passes_stay_out(seconds, resync, longest):
    """No pass for max(60 s, 3 resyncs) makes the kubelet restart the process."""
    state = state_of(FakeCluster(), resync_seconds=resync)
    state.passed(FakePass())
    seconds[0] += longest
    assert state.unhealthy() is None
    seconds[0] += 1.0
    assert "no pass has ended for" in state.unhealthy()
    state.passed(FakePass())
    assert state.unhealthy() is None


def test_first_pass_has_five_minutes(seconds):
    """A large cluster takes a while to be listed; that is no reason to start over."""
    state = state_of(FakeCluster())
    seconds[0] += 300.0
    assert state.unhealthy() is None
    seconds[0] += 1.0
    assert state.unhealthy() == "no pass has ended since start"


def test_readiness_needs_lists_and_a_pass(seconds):
    cluster = FakeCluster()
    state = state_of(cluster)
    assert state.not_ready() == "no pass has ended yet"
    state.passed(FakePass())
    assert state.not_ready() is None
    cluster.listed = False
    assert state.not_ready() == "not every kind is listed yet"


async def test_health_is_well_while_the_api_server_is_away(stage, inside):
    replica = await (await inside().start()).ready()
    await stage.down()
    await replica.passes()
    assert (await replica.get("health-probe", "/healthz"))[0] == 200
    assert (await replica.get("health-probe", "/readyz"))[0] == 200
    await stage.up()
    await until(replica.leads, "it leads again")
