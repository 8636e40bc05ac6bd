"""`status-reporter dump` of a real API server: its report is that of the cluster."""

import asyncio
import subprocess
import sys

from tests.daemon.replica import until

BBR = "clusterBBRNotReady"


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
        return BBR in (await asyncio.to_thread(run, "check", *live)).stdout

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
            assert (BBR in of_dump.stdout) is (not only)
