"""The reporter's diagnosis of nodes and pods matches the messages of a real kube-scheduler."""

import os
from contextlib import closing

import pytest

from e2e.envtest.binaries import binaries
from e2e.envtest.control_plane import ControlPlane
from e2e.scheduling import FLAGS, RandomClusters, scheduler

CLUSTERS = int(os.environ.get("SCHEDULING_CLUSTERS", "40"))


@pytest.mark.xdist_group("scheduling")
@pytest.mark.timeout(60 + 6 * CLUSTERS)
def test_the_scheduler_refuses_the_same_nodes_for_the_same_reasons(tmp_path):
    """Random clusters; more: `SCHEDULING_CLUSTERS=500 make e2e ARGS='-k scheduler_refuses -s'`."""
    plane = ControlPlane(binaries(), tmp_path, FLAGS)
    plane.start()
    try:
        with scheduler(plane):
            random = RandomClusters(plane, seed=int(os.environ.get("SCHEDULING_SEED", "1")))
            with closing(random.client):
                wrong = [
                    f"cluster {n}: {each}" for n in range(CLUSTERS) for each in random.differences()
                ]
    finally:
        plane.stop()
    print(f"{CLUSTERS} clusters, {random.pods.total()} pods: {dict(random.pods.most_common())}")
    assert not wrong, "\n".join(wrong)
    assert random.pods["placed"]
    assert len(random.pods) > 5
