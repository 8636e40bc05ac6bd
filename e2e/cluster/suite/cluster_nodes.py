"""A node that fails and comes back."""

import json
import signal

import pytest
import yaml

from e2e.cluster.cluster import NODE
from e2e.cluster.images import small_images
from e2e.cluster.suite.conftest import IN_NAMESPACE, QUICK
from e2e.cluster.suite.faults import FAULTS, MODEL, PODS, mend, put_in
from e2e.cluster.suite.runnable import AGENT, STORE, container
from e2e.cluster.suite.story import (
    CLUSTER_READY,
    all_is_well,
    calm,
    complaints,
    fires,
    ready_again,
)
from e2e.envtest.release import REPORTER

NODE_NOT_READY = ("clusterNodeNotReady", "cluster")
PODS_OF_MODEL = f"inferenceset.kaito.sh/created-by={MODEL}"
GPU = "nvidia.com/gpu"
NEEDS_GPU = next(each for each in FAULTS if each.name == "no such device")


async def closed(stage, observer, first, words) -> list[str]:
    """Wait until everything is healthy again, and return what was reported wrongly."""
    await all_is_well(stage)
    await ready_again(observer, first, CLUSTER_READY)
    # Users' declarations are reported separately: a node does not explain them.
    told = [each for each in observer.versions[first:] if each.key not in (STORE, AGENT)]
    return complaints(told, NODE_NOT_READY, words, ready="clusterReady")


@pytest.mark.parametrize("verb", ["cordon", "drain"])
async def test_cordoned(installed, stage, kubectl, models, observer, verb):
    """The node is the one cause, by name, of what waits for it."""
    await calm(stage)
    first = len(observer.versions)
    if verb == "drain":
        kubectl("drain", NODE, f"--pod-selector={PODS_OF_MODEL}", "--timeout=120s")
    else:
        kubectl("cordon", NODE)
        kubectl("-n", models, "delete", "pod", "-l", PODS_OF_MODEL)
    try:
        await fires(stage, NODE_NOT_READY)
    finally:
        kubectl("uncordon", NODE)
    assert await closed(stage, observer, first, f"{NODE}.*cordoned") == []


async def test_lost(installed, cluster, stage, models, observer):
    """A node whose kubelet does not answer is the one cause of everything on it."""
    await calm(stage)
    first = len(observer.versions)
    cluster.servers["kubelet"].send(signal.SIGSTOP)
    try:
        await fires(stage, NODE_NOT_READY)
    finally:
        cluster.servers["kubelet"].send(signal.SIGCONT)
    # A kubelet that wakes up reports what it still waits for.
    words = f"{NODE} is (not answering|NotReady)"
    assert await closed(stage, observer, first, words) == []


def devices(kubectl, count: str | None) -> None:
    """Set the number of GPUs of the node, as a device plugin does; None: there never was one."""
    status = {"status": {each: {GPU: count} for each in ("capacity", "allocatable")}}
    patch = json.dumps(status)
    kubectl("patch", "node", NODE, "--subresource=status", "--type=merge", "-p", patch)


async def test_devices_are_gone(installed, stage, kubectl, models, observer):
    """A node that had GPUs and has none now is the one cause of what waits for one."""
    await calm(stage)
    devices(kubectl, "1")
    before = await put_in(stage, NEEDS_GPU, models)
    try:
        await stage.stack.settled(models)
        await all_is_well(stage)
        first = len(observer.versions)
        devices(kubectl, "0")
        kubectl("-n", models, "delete", "pod", "-l", PODS_OF_MODEL)
        await fires(stage, NODE_NOT_READY)
        devices(kubectl, "1")
        assert await closed(stage, observer, first, f"{NODE}.*offers no {GPU}") == []
    finally:
        await mend(stage, NEEDS_GPU, before, namespace=models)
        devices(kubectl, None)


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
    await calm(stage)
    first = len(observer.versions)
    before = restart_kubelet(cluster, evictionHard={"nodefs.available": "99%"})
    try:
        await fires(stage, NODE_NOT_READY)
    finally:
        restart_kubelet(cluster, **yaml.safe_load(before))
        # It has removed the images that no pod uses.
        for archive in small_images(cluster.folder):
            cluster.load(archive)
    try:
        words = f"{NODE} is (under DiskPressure|NotReady)"
        assert await closed(stage, observer, first, words) == []
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
