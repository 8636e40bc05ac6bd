"""The program, started as the chart starts it, and the chart's own test of it."""

import asyncio
import sys

import pytest

from tests.daemon.replica import Program, until
from tests.daemon.stage import Stage
from tests.helm.charts import render


@pytest.fixture(name="stage")
async def _stage(tmp_path):
    stage = Stage(tmp_path / "kubeconfig.yaml")
    await stage.up()
    yield stage
    await stage.close()


@pytest.fixture(name="replica")
async def _replica(stage):
    """A daemon with the chart's command line; only where it listens is a test's own."""
    replica = Program(stage.kubeconfig, "prod-status-reporter-0")
    addresses = [f"--{name}-bind-address=127.0.0.1:{port}" for name, port in replica.ports.items()]
    await replica.start_with(*render().flags, f"--kubeconfig={stage.kubeconfig}", *addresses)
    yield replica
    await replica.stop()


async def helm_test(service: str, port: int) -> tuple[int, str]:
    """Run the test pod's command; return its exit status and what it said."""
    (container,) = render().one("Pod")["spec"]["containers"]
    python, *code = container["command"]
    assert python == "python3"
    _, _, late = container["args"]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *code,
        service,
        str(port),
        late,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    return await process.wait(), said.decode()


@pytest.mark.long
async def test_the_daemon_that_the_chart_starts_passes_the_charts_own_test(replica):
    """The command line is accepted, and `helm test` proves that the daemon answers and leads."""
    await replica.ready()
    await until(replica.leads, "it leads")
    assert await helm_test("127.0.0.1", replica.ports["metrics"]) == (
        0,
        "Every replica evaluates the cluster, and one leads.\n",
    )
