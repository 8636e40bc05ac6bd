"""Commands on the real API server: `kubectl status-reporter`, run by kubectl, `check -n` and `dump`."""

import asyncio
import json
import os
import signal
import subprocess
import sys

import pytest

from e2e.envtest.audit import requests
from e2e.envtest.commands import kubectl as kubectl_of
from tests.daemon.replica import until
from tests.unit.cli.plugin import Plugin, install, read_until

BBR = ("clusterBBRNotReady", "cluster")
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


@pytest.fixture(name="plugin")
def _plugin(plane, kubeconfig, tmp_path, monkeypatch):
    """The plugin, next to the kubectl of these tests."""
    monkeypatch.setenv("PATH", f"{plane.binaries.kubectl.parent}:{os.environ['PATH']}")
    install(tmp_path)
    return Plugin(tmp_path, kubeconfig, tmp_path)


async def test_it_says_what_a_daemon_would(stage, workload, plugin):
    """The exit status follows; with -n, only that namespace is read."""
    # In threads: the played controllers live in the loop of the test.
    assert (await asyncio.to_thread(plugin, "-n", workload)).returncode == 0
    await stage.stack.scale("kaito-system", "body-based-router", 0)

    flags = ("--startup-grace-seconds", "0")

    async def fires() -> bool:
        return (await asyncio.to_thread(plugin, *flags)).returncode == 1

    await until(fires, "the plugin sees the fault")
    report = json.loads((await asyncio.to_thread(plugin, *flags, "-o", "json")).stdout)
    found = {(each["reason"], each["subject"]): each["disposition"] for each in report["findings"]}
    assert [key for key, disposition in found.items() if disposition == "firing"] == [BBR]
    assert (await asyncio.to_thread(plugin, *flags, "--fail-on", "none")).returncode == 0


async def test_it_watches(stage, plugin):
    """It reports a change without another command."""
    with plugin.running("--watch", output=subprocess.PIPE) as process:
        said = process.stdout.fileno()
        await asyncio.to_thread(read_until, said, "Nothing fires")
        await stage.stack.scale("kaito-system", "body-based-router", 0)
        await asyncio.to_thread(read_until, said, BBR[0])
        process.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(process.wait, 30) == 0


@pytest.fixture(name="as_nobody")
def _as_nobody(plane, kubectl, kubeconfig, plugin, tmp_path):
    """The plugin with an account that may read only discovery."""
    kubectl("create", "serviceaccount", "nobody", "-n", "default")
    token = kubectl("create", "token", "nobody", "-n", "default").strip()
    own = tmp_path / "nobody.yaml"
    own.write_text(kubectl("config", "view", "--raw", "--minify"))
    as_nobody = kubectl_of(plane.binaries.kubectl, own)
    context = as_nobody("config", "current-context").strip()
    as_nobody("config", "set-credentials", "nobody", f"--token={token}")
    as_nobody("config", "set-context", context, "--user=nobody")
    plugin.environment["KUBECONFIG"] = str(own)
    yield plugin
    kubectl("delete", "serviceaccount", "nobody", "-n", "default")


async def test_who_may_read_nothing_learns_what_is_missing(stage, as_nobody):
    """Not that all is well."""
    done = await asyncio.to_thread(as_nobody)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Permission: " in done.stderr
    assert "--verb=list,watch --resource=" in done.stderr
    assert "with rights in one namespace only: -n NAMESPACE" in done.stderr


@pytest.fixture(name="as_tenant")
def _as_tenant(as_nobody, kubectl, workload):
    """The plugin with an account that may view one namespace, by the ClusterRole `view` and a Role.

    ClusterRoles are not aggregated here, so it is bound to the parts of `view`.
    """
    place = ("-n", workload)
    kubectl("create", "role", "reads", *place, "--verb=list", f"--resource={','.join(CUSTOM)}")
    kubectl("create", "rolebinding", "reads", *place, "--role=reads",
            "--serviceaccount=default:nobody")  # fmt: skip
    kubectl("create", "rolebinding", "views", *place, "--clusterrole=system:aggregate-to-view",
            "--serviceaccount=default:nobody")  # fmt: skip
    return as_nobody


async def test_a_tenant_gets_an_answer(stage, workload, as_tenant, plane, tmp_path):
    """`check -n` with permissions in one namespace: its fault, and no request anywhere else."""
    await stage.stack.scale(workload, EPP, 0)
    start = plane.audit_log.stat().st_size
    check = ("check", "--kubeconfig", as_tenant.environment["KUBECONFIG"], "-n", workload)
    check += ("--startup-grace-seconds", "0")
    fault = ("inferencesetEPPNotReady", f"inferenceset/{workload}/llama-3-1-8b")

    async def fires() -> bool:
        done = await asyncio.to_thread(run, *check, "-o", "json")
        assert (done.returncode, done.stderr) == (1, "")
        found = json.loads(done.stdout)["findings"]
        assert fault in [(each["reason"], each["subject"]) for each in found], found
        return True

    await until(fires, "the tenant sees the fault")
    asked = list(requests(plane.audit_log, "system:serviceaccount:default:nobody", since=start))
    refused = {each.resource for each in asked if not each.allowed}
    assert not {each for each in refused if each in GRANTED}
    assert {each.namespace for each in asked if each.resource} <= {workload}
    text = await asyncio.to_thread(run, *check)
    assert text.returncode == 1
    assert "the cluster layer is unknown" in " ".join(text.stdout.split())


def run(*flags):
    return subprocess.run(
        [sys.executable, "-m", "reporter", *map(str, flags)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


async def test_the_dump_of_the_cluster_gives_its_report(stage, workload, kubeconfig, tmp_path):
    """Byte for byte except the time, with a fault, as JSON and as text; also for one namespace."""
    live = ("--kubeconfig", kubeconfig, "--startup-grace-seconds", "0")
    await stage.stack.scale("kaito-system", "body-based-router", 0)
    await stage.stack.settled("kaito-system")

    async def fires():
        return BBR[0] in (await asyncio.to_thread(run, "check", *live)).stdout

    await until(fires, "the fault is seen")
    for name, only, status in (("all", (), 1), ("one", ("-n", workload), 0)):
        path = tmp_path / f"{name}.tgz"
        dump = await asyncio.to_thread(run, "dump", "-o", path, *only, *live)
        assert (dump.returncode, dump.stderr) == (0, "")
        for output in ("json", "text"):
            flags = ("-o", output, "--now", "2030-01-01T00:00:00Z")
            of_cluster = await asyncio.to_thread(run, "check", *only, *live, *flags)
            of_dump = await asyncio.to_thread(
                run, "check", "--from", path, "--startup-grace-seconds", "0", *flags
            )
            assert of_dump.stdout == of_cluster.stdout
            assert of_dump.returncode == of_cluster.returncode == status
            assert (BBR[0] in of_dump.stdout) is (not only)
