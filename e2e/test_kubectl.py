"""`kubectl status-reporter` on the real API server, run by kubectl: what it says, and with which rights."""

import asyncio
import json
import os
import signal
import subprocess

import pytest

from e2e.envtest.commands import kubectl as kubectl_of
from tests.daemon.replica import until
from tests.unit.cli.plugin import Plugin, install, read_until

BBR = ("clusterBBRNotReady", "cluster")


@pytest.fixture(name="plugin")
def _plugin(plane, kubeconfig, tmp_path, monkeypatch):
    """The plugin, next to the kubectl of these tests."""
    monkeypatch.setenv("PATH", f"{plane.binaries.kubectl.parent}:{os.environ['PATH']}")
    install(tmp_path)
    return Plugin(tmp_path, kubeconfig, tmp_path)


async def test_it_says_what_a_daemon_would(stage, workload, plugin):
    """The exit status follows, and the namespace is the one that was asked for."""
    # In threads: those who play the controllers live in the loop of the test.
    assert (await asyncio.to_thread(plugin, "-n", workload)).returncode == 0
    await stage.stack.scale("kaito-system", "body-based-router", 0)

    flags = ("-n", workload, "--startup-grace-seconds", "0")

    async def fires() -> bool:
        return (await asyncio.to_thread(plugin, *flags)).returncode == 1

    await until(fires, "the plugin sees the fault")
    report = json.loads((await asyncio.to_thread(plugin, *flags, "-o", "json")).stdout)
    found = {(each["reason"], each["subject"]): each["disposition"] for each in report["findings"]}
    assert [key for key, disposition in found.items() if disposition == "firing"] == [BBR]
    assert {subject.split("/")[1] for _, subject in found if subject != "cluster"} <= {workload}
    assert (await asyncio.to_thread(plugin, *flags, "--fail-on", "none")).returncode == 0


async def test_it_watches(stage, plugin):
    """A change is told without being asked for again."""
    with plugin.running("--watch", output=subprocess.PIPE) as process:
        said = process.stdout.fileno()
        await asyncio.to_thread(read_until, said, "Nothing fires")
        await stage.stack.scale("kaito-system", "body-based-router", 0)
        await asyncio.to_thread(read_until, said, BBR[0])
        process.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(process.wait, 30) == 0


@pytest.fixture(name="as_nobody")
def _as_nobody(plane, kubectl, kubeconfig, plugin, tmp_path):
    """The plugin with an account that may read nothing but what discovery shows to everybody."""
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
    assert "pods: list, watch on pods" in done.stderr
