"""The charts on the real API server: accepted, installed, and right for their daemon."""

import json
import re
import shlex

import pytest

from e2e.envtest.commands import kubectl as kubectl_of
from e2e.envtest.release import REPORTER, UMBRELLA
from e2e.stack.sample import OPEN, definition
from tests.helm.charts import load

COMBINATIONS = [pytest.param(row, id=row["name"]) for row in load("combinations.yaml")]
BBR = ("clusterBBRNotReady", "cluster")
MONITORING = {"ServiceMonitor": "servicemonitors", "PrometheusRule": "prometheusrules"}


@pytest.fixture(name="monitoring", scope="module", autouse=True)
def _monitoring(kubectl):
    """The kinds of the Prometheus operator, which the charts create on request."""
    for kind, plural in MONITORING.items():
        name = f"{plural}.monitoring.coreos.com"
        kubectl("apply", "-f", "-", stdin=json.dumps(definition(name, kind, ["v1"], OPEN)))
        kubectl("wait", "--for=condition=Established", f"crd/{name}")


@pytest.mark.parametrize("row", COMBINATIONS)
def test_api_server_accepts_what_is_rendered(helm, kubectl, row):
    """In a dry run, with strict decoding: no field is misspelled, and no rule is broken."""
    values = [
        f"--set-json={key}={json.dumps(value)}" for key, value in row.get("values", {}).items()
    ]
    objects = helm("template", "dry", str(REPORTER), "--namespace", "kube-system", *values)
    said = kubectl(
        "apply", "--dry-run=server", "--validate=strict", "-f", "-", "-o", "name", stdin=objects
    )
    assert len(said.splitlines()) == objects.count("\nkind: ")


async def test_daemon_works_with_what_the_umbrella_installs(stage, another, replica, kubectl):
    """Installed as a subchart, with its own account and permissions; the commands of NOTES work."""
    umbrella, notes = await another("stack", UMBRELLA)
    daemon = await replica("umbrella-a", release=umbrella)
    await stage.stack.scale("kaito-system", "body-based-router", 0)
    event = await stage.told(*BBR)
    assert event["reportingInstance"] == "umbrella-a"
    assert await daemon.leads()

    said = {
        command: kubectl(*shlex.split(command))
        for command in re.findall(r"^ +kubectl (.* get .*)$", notes, re.MULTILINE)
    }
    assert len(said) == 3
    assert sum("clusterBBRNotReady" in text for text in said.values()) == 2
    assert sum("umbrella-a" in text for text in said.values()) == 1


async def test_upgrade_keeps_the_release_and_uninstall_leaves_nothing(another, kubectl):
    """Objects in the release's namespace, in kube-system and cluster-scoped."""
    kinds = (
        "deployments,serviceaccounts,services,poddisruptionbudgets,networkpolicies,"
        "roles,rolebindings,clusterroles,clusterrolebindings"
    )

    def left() -> list[str]:
        selector = "app.kubernetes.io/instance=passing"
        return kubectl("get", kinds, "-A", "-l", selector, "-o", "name").split()

    passing, _ = await another("passing", REPORTER)
    before = left()
    assert len(before) >= 9
    served = {"reportService": {"enabled": True}, "reportBindAddress": ":8082"}
    await passing.install(REPORTER, {"resyncSeconds": 30, **served})
    assert set(left()) > set(before)
    assert "--resync-seconds=30" in (await passing.container()).args
    await passing.uninstall()
    assert left() == []
    await passing.install(REPORTER)


async def test_two_releases_stand_side_by_side_and_one_leads(stage, another, replica):
    """They share the Lease, so that a cluster has one reporter."""
    first, _ = await another("one", REPORTER)
    second, _ = await another("two", REPORTER)
    leader = await replica("one-a", release=first)
    await leader.ready()
    standby = await replica("two-a", release=second)
    await standby.ready()
    await stage.stack.scale("kaito-system", "body-based-router", 0)
    assert (await stage.told(*BBR))["reportingInstance"] == "one-a"
    assert [await leader.leads(), await standby.leads()] == [True, False]


async def test_viewer_may_read_the_events_and_nothing_else(another, kubectl, plane, as_account):
    """The Role for those who may see the reporter's Events."""
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": "viewers"}
    await another("viewers", REPORTER, {"viewer": {"subjects": [subject]}})
    kubectl("-n", "viewers", "create", "serviceaccount", "default")
    theirs = kubectl_of(plane.binaries.kubectl, as_account("viewers", "default"))
    theirs("-n", "kube-system", "get", "events")
    for forbidden in ("pods", "configmaps", "leases"):
        assert "Forbidden" in theirs.run("-n", "kube-system", "get", forbidden).stderr
    assert theirs.run("-n", "default", "get", "events").returncode
