"""Clusters with one stack, all, or none: without a flag, only needed parts are missing."""

import asyncio
import json

import pytest

from e2e.envtest.binaries import binaries
from e2e.envtest.control_plane import ControlPlane
from e2e.stack.api import Api
from e2e.stack.still import StillCluster
from reporter.cli.main import main
from tests.clusters.live import LIVE_CLUSTERS

pytestmark = pytest.mark.xdist_group("clusters")  # their control plane is started once


@pytest.fixture(name="bare", scope="module")
def _bare(tmp_path_factory):
    """A control plane that serves no custom kind, and runs no workload."""
    plane = ControlPlane(binaries(), tmp_path_factory.mktemp("bare"))
    plane.start()
    yield plane
    plane.stop()


@pytest.fixture(name="look")
def _look(bare, tmp_path, capsys):
    """Return a function for the exit status of `check` and what fires."""
    kubeconfig = bare.admin.write_kubeconfig(tmp_path / "admin.yaml")

    async def look():
        argv = ["check", "--kubeconfig", str(kubeconfig), "-o", "json"]
        status = await asyncio.to_thread(main, argv)
        out, err = capsys.readouterr()
        assert err == ""
        report = json.loads(out)
        assert report["unknown"] == []
        firing = [each for each in report["findings"] if each["disposition"] == "firing"]
        return status, {each["reason"]: each["message"] for each in firing}

    return look


@pytest.mark.parametrize("name", LIVE_CLUSTERS)
async def test_only_what_a_cluster_needs_is_missed(bare, look, name):
    """Healthy: nothing. After removing each needed Deployment, then a kind: only its cause."""
    removed = LIVE_CLUSTERS[name].removed
    deployments = [each for each in removed if " " in each]
    kinds = [each for each in removed if " " not in each]
    async with Api(bare.admin) as api, StillCluster(api, LIVE_CLUSTERS[name].objects) as cluster:
        await cluster.install()
        assert await look() == (0, {})
        for what in (*deployments, *kinds[:1]):
            await cluster.take(what)
            status, found = await look()
            assert (status, found.keys()) == (1, {removed[what]}), what
            assert what.rpartition(" ")[2] in found[removed[what]]
            if what in deployments:
                await cluster.put_back(what)
