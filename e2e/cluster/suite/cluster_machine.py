"""The machine that the cluster runs on."""

import pytest

from e2e.cluster.cluster import take_lock
from e2e.envtest.errors import EnvtestError


def test_one_cluster_at_a_time(cluster):
    """A second cluster is refused: it would have the address, cgroup and folder of the first."""
    with pytest.raises(EnvtestError, match="a cluster runs already"):
        take_lock(cluster.folder)
