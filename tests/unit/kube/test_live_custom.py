"""What is read of the live cluster for declarations of users."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from lab.sandbox import Sandbox
from reporter.catalogue.custom import DAEMONSETS
from reporter.evaluation import evaluate
from reporter.snapshot.snapshot import Served
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.kube.living import definition, living, obj, until

WIDGET = {"group": "example.com", "version": "v1", "plural": "widgets", "kind": "Widget"}
JOBS = {"group": "batch", "version": "v1beta9", "plural": "jobs", "kind": "Job"}
STORE = {"kind": "StatefulSet", "name": "qdrant", "namespaces": ["data"]}


def settings_of(**rules) -> FullEvaluationSettings:
    parts = [{"reason": reason, "layer": "cluster", **rule} for reason, rule in rules.items()]
    return FullEvaluationSettings(custom_components=parts)


def widgets(version: str = "v1"):
    return definition("widgets", "Widget", "example.com", version=version)


WIDGETS = settings_of(clusterWidgetNotReady={"condition": WIDGET | {"type": "Ready"}})


async def test_a_declared_kind_comes_and_goes(sandbox: Sandbox, tmp_path: Path):
    """It is watched while discovery lists it, like the built-in kinds."""
    resource = WIDGETS.catalogue.declared[0].resource
    sandbox.load([obj("Namespace", "n")])
    async with living(sandbox, tmp_path, WIDGETS) as cluster:
        state = cluster.snapshot().state(resource)
        assert (state.served, state.confirmed) == (Served.ABSENT, True)
        sandbox.create(widgets())
        await until(cluster, lambda found: found.state(resource).served is Served.SERVED)
        failing = {"conditions": [{"type": "Ready", "status": "False", "reason": "Down"}]}
        sandbox.load([obj("Widget", "w", "n", api="example.com/v1", status=failing)])
        snapshot = await until(cluster, lambda found: len(found[resource]) == 1)
        (finding,) = evaluate(snapshot, WIDGETS).findings[-1:]
        assert finding.message == "Widget n/w: Ready is False, Down"
        sandbox.delete("customresourcedefinitions.apiextensions.k8s.io", "widgets.example.com")
        await until(cluster, lambda found: found.state(resource).served is Served.ABSENT)


@pytest.mark.parametrize(
    ("rule", "cause"),
    [(WIDGET, "served in version v2, not in v1"), (JOBS, "served in version v1, not in v1beta9")],
    ids=["custom", "built in"],
)
async def test_a_wrong_version_is_said(sandbox: Sandbox, tmp_path: Path, rule, *, cause):
    sandbox.create(widgets("v2"))
    settings = settings_of(clusterWidgetNotReady={"condition": rule | {"type": "Ready"}})
    resource = settings.catalogue.declared[0].resource
    asked: set[str] = set()
    async with living(sandbox, tmp_path, settings, asked=asked) as cluster:
        snapshot = await until(cluster, lambda found: found.state(resource).cause == cause)
        assert snapshot.state(resource).served is Served.UNKNOWN
        told = [each for each in evaluate(snapshot, settings).findings if "Unknown" in each.reason]
        (message,) = (each.message for each in told)
        assert message.startswith(
            f"Version: {resource} cannot be read ({cause}), so what depends on it is unknown"
        )
        assert cluster.all_listed()
        assert resource.plural not in asked


def unserved_lines(lines) -> list[tuple[str, str]]:
    return [
        (each["log_level"], each["cause"])
        for each in lines
        if each["event"] == "declared_kind_not_served"
    ]


@pytest.mark.parametrize(
    ("plural", "told"),
    [
        ("widgts", ("warning", "is not served; did you mean widgets.example.com?")),
        ("gears", ("info", "is not served, so it reports nothing")),
    ],
    ids=["misspelt", "not installed"],
)
async def test_a_kind_that_is_not_served_is_in_the_log(sandbox, tmp_path, plural, *, told):
    """Once, however often discovery answers; and it is no fault."""
    sandbox.create(widgets())
    rule = WIDGET | {"plural": plural, "type": "Ready"}
    settings = settings_of(clusterWidgetNotReady={"condition": rule})
    with capture_logs() as lines:
        async with living(sandbox, tmp_path, settings) as cluster:
            sandbox.create(definition("others", "Other"))
            await until(cluster, lambda found: "others.kaito.sh" in found.discovery.served)
            evaluation = evaluate(cluster.snapshot(), settings)
    level, text = told
    assert unserved_lines(lines) == [(level, f"clusterWidgetNotReady: {plural}.example.com {text}")]
    assert not [each for each in evaluation.findings if "idget" in each.message]


async def test_a_kind_that_is_served_is_not_in_the_log(sandbox: Sandbox, tmp_path: Path):
    sandbox.create(widgets())
    with capture_logs() as lines:
        async with living(sandbox, tmp_path, WIDGETS):
            pass
    assert unserved_lines(lines) == []


async def test_only_what_is_declared_is_read(sandbox: Sandbox, tmp_path: Path):
    asked: set[str] = set()
    async with living(sandbox, tmp_path, asked=asked) as cluster:
        assert not cluster.snapshot().known(DAEMONSETS)
    assert "daemonsets" not in asked
    settings = settings_of(clusterStoreNotReady={"workload": STORE | {"kind": "DaemonSet"}})
    async with living(sandbox, tmp_path, settings, asked=asked) as cluster:
        assert cluster.snapshot().known(DAEMONSETS)
    assert "daemonsets" in asked
