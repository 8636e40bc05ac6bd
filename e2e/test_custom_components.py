"""Users' declarations on the real API server, with the permissions from the chart."""

import pytest
import yaml

from e2e.envtest.audit import granted, requests, unused
from e2e.envtest.release import REPORTER
from e2e.stack.sample import OPEN, definition
from e2e.stage import without_change
from tests.daemon.replica import Program, until

PLACE = "vectors"
STATEFULSETS, DAEMONSETS = "statefulsets.apps", "daemonsets.apps"
WIDGETS = "widgets.example.com"
CRASH = ("CrashLoopBackOff", "back-off 40s restarting failed container")

STORE = {
    "reason": "clusterVectorStoreNotReady",
    "layer": "cluster",
    "workload": {"kind": "StatefulSet", "name": "qdrant", "namespaces": ["elsewhere", PLACE]},
    "suppresses": ["inferencesetRouteNotReady"],
    "why": "routes are kept in the store",
}
AGENT = {
    "reason": "clusterAgentNotReady",
    "layer": "cluster",
    "workload": {"kind": "DaemonSet", "name": "agent", "namespaces": [PLACE]},
}
CRD = {"reason": "clusterWidgetCRDMissing", "layer": "cluster", "crd": {"name": WIDGETS}}
WIDGET = {
    "reason": "inferencesetWidgetNotReady",
    "layer": "modeldeployment",
    "condition": {
        "group": "example.com", "version": "v1", "plural": "widgets", "kind": "Widget",
        "type": "Ready", "subject-label": "example.com/model", "selector": "tier in (gold, silver)",
    },
}  # fmt: skip
COMPONENTS = [STORE, AGENT, CRD, WIDGET]
WIDGET_CRD = definition(WIDGETS, "Widget", ["v1"], OPEN)

TEMPLATE = {
    "metadata": {"labels": {"app": "own"}},
    "spec": {
        "nodeName": "system-0",
        "containers": [{"name": "main", "image": "registry.example/main:1"}],
    },
}


SELECTOR = {"matchLabels": {"app": "own"}}


def owner(kind: str, name: str, **spec) -> dict:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": PLACE},
        "spec": {"selector": SELECTOR, "template": TEMPLATE, **spec},
    }


async def agent_runs_on(stage, nodes: int) -> None:
    status = {
        "desiredNumberScheduled": 2, "currentNumberScheduled": 2, "updatedNumberScheduled": 2,
        "numberMisscheduled": 0, "numberReady": nodes, "numberAvailable": nodes,
        "numberUnavailable": 2 - nodes, "observedGeneration": 1,
    }  # fmt: skip
    await stage.api.status(DAEMONSETS, PLACE, "agent", status=status)


@pytest.fixture(name="installed")
async def _installed(stage):
    """The declared objects, all healthy."""
    await stage.namespace(PLACE)
    await stage.api.apply(owner("StatefulSet", "qdrant", replicas=2, serviceName="qdrant"))
    await stage.stack.settled(PLACE)
    await stage.api.apply(owner("DaemonSet", "agent"))
    await agent_runs_on(stage, 2)
    await stage.stack.serve([WIDGET_CRD])
    yield
    served = {each.name for each in await stage.api.resources(fresh=True)}
    if WIDGETS in served:
        await stage.stack.remove_crd(WIDGETS)


@pytest.fixture(name="watching")
async def _watching(installed, stage, another, replica):
    """A replica with the permissions of a chart with these declarations, once it is ready."""
    release, notes = await another("custom", REPORTER, {"customComponents": COMPONENTS})
    assert all(each["reason"] in notes for each in COMPONENTS)
    daemon = await replica(release=release)
    await stage.told("clusterReady", "cluster", state="over")
    assert await stage.firing() == set()
    return daemon, release


async def test_statefulset(stage, watching):
    """Degraded, then down, then recovered: one Event, and the cluster is ready again."""
    key = (STORE["reason"], "cluster")
    await stage.stack.pod_waiting(PLACE, "qdrant-1", CRASH, restarts=3)
    event = await stage.told(*key)
    degraded = "StatefulSet vectors/qdrant is degraded: CrashLoopBackOff (pod qdrant-1: "
    assert event["message"].startswith(degraded)
    assert (event["involvedObject"]["kind"], event["involvedObject"]["name"]) == (
        "Namespace",
        PLACE,
    )
    assert (event["related"]["kind"], event["related"]["apiVersion"]) == ("StatefulSet", "apps/v1")
    assert event["metadata"]["labels"]["status-reporter.io/layer"] == "cluster"

    patch = {"spec": {"replicas": 0}}
    await stage.api.patch(STATEFULSETS, "qdrant", patch, namespace=PLACE)
    await stage.stack.settled(PLACE)
    down = "StatefulSet vectors/qdrant is down: scaled to zero"

    async def says_down():
        return without_change((await stage.told(*key))["message"]) == down

    await until(says_down, "it is down")
    assert await stage.firing() == {key}
    await stage.api.patch(STATEFULSETS, "qdrant", {"spec": {"replicas": 2}}, namespace=PLACE)
    await stage.stack.settled(PLACE)
    over = await stage.told(*key, state="over")
    assert over["metadata"]["uid"] == event["metadata"]["uid"]


async def test_crd_that_is_missing_and_installed(stage, watching):
    """The Event is about the CRD, which does not exist."""
    key = (CRD["reason"], "cluster")
    await stage.stack.remove_crd(WIDGETS)
    event = await stage.told(*key)
    assert without_change(event["message"]) == (
        "CustomResourceDefinition widgets.example.com is not served: install or repair what "
        "provides it"
    )
    assert event["involvedObject"]["name"] == WIDGETS
    await stage.stack.serve([WIDGET_CRD])
    await stage.told(*key, state="over")


async def test_what_the_chart_grants_is_what_is_asked_for(plane, kubectl, watching):
    """Nothing is forbidden, and nothing is granted for a declaration that nobody needs."""
    daemon, release = watching
    await daemon.passes(2)
    seen = list(requests(plane.audit_log, await release.user()))
    assert [each for each in seen if not each.allowed] == []
    grants = {
        each
        for each in granted(kubectl, release.name)
        if each.resource in (STATEFULSETS, DAEMONSETS, WIDGETS)
    }
    assert {(each.verb, each.resource) for each in grants} == {
        (verb, resource)
        for verb in ("list", "watch")
        for resource in (STATEFULSETS, DAEMONSETS, WIDGETS)
    }
    assert unused(grants, seen) == set()


async def test_without_the_rights_it_says_which_are_missing(
    stage, installed, release, as_account, tmp_path
):
    """Where operators look; an unreadable resource is not a fault, and the cluster is not ready."""
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump({"custom-components": [STORE, WIDGET]}))
    account = (await release.container()).account
    kubeconfig = as_account(release.namespace, account)
    daemon = await Program(kubeconfig, "powerless", config=str(config)).start()
    try:
        await daemon.ready()
        event = await stage.told("clusterStatusUnknown", "cluster")
        assert event["message"].startswith("Permission: ")
        assert "widgets.example.com" in event["message"]
        rights = "kubectl create clusterrole status-reporter-reads --verb=list,watch"
        assert rights in event["message"]
        await daemon.passes(2)
        assert await daemon.dispositions() == {("clusterStatusUnknown", "cluster"): "firing"}
        assert not await stage.events(("clusterReady", "cluster"))
        unknown = {each["resource"]: each["cause"] for each in (await daemon.report())["unknown"]}
        assert unknown == {WIDGETS: "forbidden"}
    finally:
        await daemon.stop()
