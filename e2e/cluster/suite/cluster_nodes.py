"""A node that fails and comes back."""

import pytest
import yaml

from e2e.cluster.images import small_images
from e2e.cluster.machine import NODE
from e2e.cluster.suite.conftest import IN_NAMESPACE, QUICK
from e2e.cluster.suite.faults import MODEL, PODS
from e2e.cluster.suite.runnable import AGENT, STORE, container
from e2e.cluster.suite.story import all_is_well, fires, told_once
from e2e.envtest.release import REPORTER

NODE_NOT_READY = ("clusterNodeNotReady", "cluster")
PODS_OF_MODEL = f"inferenceset.kaito.sh/created-by={MODEL}"


def one_cause(stage, observer, words):
    """Everything is told as the fault of the node, but for what users declared."""
    return told_once(
        stage, observer, NODE_NOT_READY, words, ready="clusterReady", but=(STORE, AGENT)
    )


async def test_cordoned(installed, stage, kubectl, models, observer):
    """The node is the one cause, by name, of what waits for it."""
    async with one_cause(stage, observer, f"{NODE}.*cordoned"):
        kubectl("cordon", NODE)
        kubectl("-n", models, "delete", "pod", "-l", PODS_OF_MODEL)
        try:
            await fires(stage, NODE_NOT_READY)
        finally:
            kubectl("uncordon", NODE)


def restart_kubelet(cluster, **changes) -> str:
    """Restart the kubelet with other settings, and return the former ones."""
    path = cluster.folder / "kubelet.yaml"
    before = path.read_text()
    path.write_text(yaml.safe_dump(yaml.safe_load(before) | changes))
    cluster.servers["kubelet"].stop()
    cluster.servers["kubelet"].start()
    return before


@pytest.fixture(name="usual_grace")
def _usual_grace(installed, helm):
    """The chart's own grace: an eviction takes longer than the grace of the other tests."""

    def upgrade(seconds):
        value = f"--set=startupGraceSeconds={seconds}"
        helm("upgrade", "status", str(REPORTER), *IN_NAMESPACE, "--reuse-values", value, "--wait")

    upgrade(60)
    yield
    upgrade(QUICK["startupGraceSeconds"])


async def test_evictions(usual_grace, cluster, stage, kubectl, models, observer):
    """A node without disk space is the one cause of what it evicts, one pod after another."""
    try:
        async with one_cause(stage, observer, f"{NODE} is (under DiskPressure|NotReady)"):
            before = restart_kubelet(cluster, evictionHard={"nodefs.available": "99%"})
            try:
                await fires(stage, NODE_NOT_READY)
            finally:
                restart_kubelet(cluster, **yaml.safe_load(before))
                # It has removed the images that no pod uses.
                for archive in small_images(cluster.folder):
                    cluster.load(archive)
    finally:
        kubectl("delete", "pods", "-A", "--field-selector=status.phase=Failed")


async def test_namespace_is_deleted_while_a_fault_fires(installed, stage, observer):
    """Its Events are closed, and nothing is reported about what is being deleted."""
    namespace = "deleted"
    await stage.workload(namespace)
    await all_is_well(stage)
    key = (PODS[0], PODS[1].format(namespace=namespace))
    broken = {"spec": {"template": {"spec": {"containers": [container(image="Not An Image")]}}}}
    await stage.api.patch("statefulsets.apps", "phi-4-mini-dbr9r", broken, namespace=namespace)
    await fires(stage, key)
    first = len(observer.versions)
    await stage.stack.delete_namespace(namespace)
    await all_is_well(stage)
    assert {each.key for each in observer.versions[first:] if each.live} <= {key}
