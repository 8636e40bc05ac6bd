"""`kubectl status-reporter`, run by kubectl, for a tenant of a real API server."""

import asyncio
import json
import os

import pytest

from e2e.envtest.audit import requests
from tests.daemon.replica import until
from tests.unit.cli.plugin import Plugin, install

CUSTOM = (
    "workspaces.kaito.sh",
    "inferencesets.kaito.sh",
    "apikeys.kaito.sh",
    "gateways.gateway.networking.k8s.io",
    "httproutes.gateway.networking.k8s.io",
    "inferencepools.inference.networking.k8s.io",
    "envoyfilters.networking.istio.io",
    "authorizationpolicies.security.istio.io",
    "ciliumnetworkpolicies.cilium.io",
    "scaledobjects.keda.sh",
)
GRANTED = (*CUSTOM, "namespaces", "pods", "services", "deployments.apps")
EPP = "llama-3-1-8b-inferencepool-epp"


@pytest.fixture(name="as_tenant")
def _as_tenant(plane, kubectl, workload, as_account, tmp_path, monkeypatch):
    """The plugin with an account that may view one namespace, by the ClusterRole `view` and a Role.

    ClusterRoles are not aggregated here, so it is bound to the parts of `view`.
    """
    monkeypatch.setenv("PATH", f"{plane.binaries.kubectl.parent}:{os.environ['PATH']}")
    install(tmp_path)
    place, account = ("-n", workload), f"--serviceaccount={workload}:tenant"
    views = "--clusterrole=system:aggregate-to-view"
    kubectl("create", "serviceaccount", "tenant", *place)
    kubectl("create", "role", "reads", *place, "--verb=list", f"--resource={','.join(CUSTOM)}")
    kubectl("create", "rolebinding", "reads", *place, "--role=reads", account)
    kubectl("create", "rolebinding", "views", *place, views, account)
    return Plugin(tmp_path, as_account(workload, "tenant"), tmp_path)


async def test_a_tenant_gets_an_answer(stage, workload, as_tenant, plane):
    """With permissions in one namespace: its fault, and no request anywhere else."""
    await stage.stack.scale(workload, EPP, 0)
    start = plane.audit_log.stat().st_size
    flags = ("-n", workload, "--startup-grace-seconds", "0")
    fault = ("inferencesetEPPNotReady", f"inferenceset/{workload}/llama-3-1-8b")

    async def fires() -> bool:
        # In a thread: the played controllers live in the loop of the test.
        done = await asyncio.to_thread(as_tenant, *flags, "-o", "json")
        assert (done.returncode, done.stderr) == (1, "")
        found = json.loads(done.stdout)["findings"]
        assert fault in [(each["reason"], each["subject"]) for each in found], found
        return True

    await until(fires, "the tenant sees the fault")
    asked = list(requests(plane.audit_log, f"system:serviceaccount:{workload}:tenant", since=start))
    refused = {each.resource for each in asked if not each.allowed}
    assert not {each for each in refused if each in GRANTED}
    assert {each.namespace for each in asked if each.resource} <= {workload}
    text = await asyncio.to_thread(as_tenant, *flags)
    assert text.returncode == 1
    assert "the cluster layer is unknown" in " ".join(text.stdout.split())
