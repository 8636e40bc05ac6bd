"""One of two nodes fails.

It is the one cause, reported once, of everything on it: models of two stacks, a shared part, and
the leading replica.
"""

import asyncio
import json
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.cluster.machine import NODE
from e2e.cluster.suite.cluster_replicas import holder, leading_pod
from e2e.cluster.suite.conftest import NAMESPACE, OWN_LABEL, QUICK
from e2e.cluster.suite.faults import DEPLOYMENTS, MODEL_PODS, STATEFUL_SETS
from e2e.cluster.suite.runnable import AGENT, STORE, container
from e2e.cluster.suite.story import calm, fires, has_been_told, told_once, until
from e2e.envtest.commands import EnvtestError, run
from lab.demo.sample_stack import deployment
from lab.sandbox.objects import name_of
from lab.sandbox.workloads import is_ready
from tests.go_programs import built

NODE_B = "node-b"
GPU = "nvidia.com/gpu"
NODE_NOT_READY = ("clusterNodeNotReady", "cluster")
KAITO_MODEL = "inferenceset/models/phi-4-mini"
PLAIN_MODEL = "workload/models/plain"
PLAIN_READY = ("workloadReady", PLAIN_MODEL)
ON_B = {"nodeSelector": {"kubernetes.io/hostname": NODE_B}, "terminationGracePeriodSeconds": 5}
KEDA = (DEPLOYMENTS, "keda", "keda-operator")
PLUGIN = "device plugin"
DEVICE_PLUGIN = Path(__file__).resolve().parents[1] / "deviceplugin"

PLAIN = deployment(
    "models", "plain", container(resources={"limits": {GPU: 1}}), labels={"app": "plain"}, **ON_B
)
PLAIN["metadata"]["annotations"] = {"status-reporter.io/model": "true"}

Undo = Callable[[], None]


def freeze(cluster, kubectl) -> Undo:
    kubelet = cluster.servers[f"kubelet {NODE_B}"]
    kubelet.send(signal.SIGSTOP)
    return lambda: kubelet.send(signal.SIGCONT)


def cut_off(cluster, kubectl) -> Undo:
    """Drop all packets to the first node; the node's pods run on, and its replica leads nobody."""

    def drops(does: str) -> None:
        rule = ("iptables", "-t", "raw", does, "PREROUTING", "-i", NODE_B, "-j", "DROP")
        run(cluster.machine.in_network(rule))

    drops("-I")
    return lambda: drops("-D")


def delete(cluster, kubectl) -> Undo:
    """Its kubelet runs on; only a starting kubelet registers its node."""
    kubectl("delete", "node", NODE_B)

    def back() -> None:
        cluster.servers[f"kubelet {NODE_B}"].stop()
        start_again(cluster)

    return back


def drain(cluster, kubectl) -> Undo:
    for pods in ("app=plain", "inferenceset.kaito.sh/created-by=phi-4-mini"):
        kubectl("drain", NODE_B, f"--pod-selector={pods}", "--timeout=120s")
    return lambda: kubectl("uncordon", NODE_B)


def start_again(cluster) -> None:
    """Restart kubelet and device plugin: a new kubelet forgets plugins; they register again."""
    plugin = cluster.servers[PLUGIN]
    plugin.stop()
    # The socket of the killed kubelet; if it stays, the plugin gets no answer.
    socket = "/var/lib/kubelet/device-plugins/kubelet.sock"
    second = cluster.nodes[1]
    second.run("rm", "-f", socket)
    cluster.servers[f"kubelet {NODE_B}"].start()
    second.run("sh", "-c", f"until [ -S {socket} ]; do sleep 0.1; done")
    plugin.start()


def lose_gpus(cluster, kubectl) -> Undo:
    plugin = cluster.servers[PLUGIN]
    plugin.stop()
    kubectl("-n", "models", "delete", "pod", "-l", "app=plain")
    return plugin.start


@dataclass(frozen=True)
class Loss:
    """What happens to the node, and a regular expression for each message."""

    strike: Callable[..., Undo]
    words: str
    hit: tuple[str, ...] = (KAITO_MODEL, PLAIN_MODEL)
    key: tuple[str, str] = NODE_NOT_READY
    ready: str = "clusterReady"


LOSSES = [
    Loss(freeze, f"{NODE_B} (is not answering|is NotReady)"),
    Loss(cut_off, f"{NODE_B} (is not answering|is NotReady)"),
    # Back before the garbage collector removes its pods, which serve until then.
    Loss(delete, f"{NODE_B} is (gone|NotReady)", hit=()),
    Loss(drain, f"{NODE_B}.*cordoned"),
    # One model only: its own cause, which names the node.
    Loss(
        lose_gpus,
        f"{NODE_B}.* offers none of its 1 {GPU}",
        (PLAIN_MODEL,),
        ("workloadPodsNotReady", PLAIN_MODEL),
        PLAIN_READY[0],
    ),
]


@pytest.fixture(name="on_b")
async def _on_b(installed, cluster, stage, models):
    """Put models of two stacks and a shared part on the second node, and let its replica lead."""
    if PLUGIN not in cluster.servers:
        program = built(DEVICE_PLUGIN, ".")
        log = cluster.folder / "log" / "device-plugin.log"
        cluster.servers[PLUGIN] = cluster.nodes[1].server(PLUGIN, [str(program), "1"], log)
        cluster.servers[PLUGIN].start()
    for resource, place, name in (MODEL_PODS, KEDA):
        patch = {"spec": {"template": {"spec": ON_B}}}
        namespace = place.format(namespace=models)
        await stage.api.patch(resource, name, patch, namespace=namespace)
        if resource == STATEFUL_SETS:
            stage.kubectl("-n", namespace, "delete", "pod", f"{name}-0")
    await stage.api.apply(PLAIN)
    await stage.stack.settled(models)
    await stage.stack.settled("keda")
    await has_been_told(stage, PLAIN_READY)
    await lead_from(stage, NODE_B)
    yield
    # A starting kubelet rejects pods with a GPU until its plugin is there; owners replace them.
    stage.kubectl("delete", "pods", "-A", "--field-selector=status.phase=Failed")


async def lead_from(stage, node: str) -> None:
    """Let the replica on a node lead, and move the other one elsewhere."""
    gone = set()

    async def leads() -> bool:
        if not await holder(stage):
            return False
        pods = await stage.api.items("pods", namespace=NAMESPACE, selector=OWN_LABEL)
        there = [each for each in pods if not each["metadata"].get("deletionTimestamp")]
        leader = await leading_pod(stage)
        others = [each for each in there if name_of(each) != name_of(leader)]
        if leader["spec"]["nodeName"] != node:
            wrong = leader
        elif any(each["spec"].get("nodeName") == NODE for each in others):
            return True
        else:
            wrong = next(iter(others), leader)
        if len(there) > 1 and name_of(wrong) not in gone and all(map(is_ready, there)):
            gone.add(name_of(wrong))
            stage.kubectl("-n", NAMESPACE, "delete", "pod", name_of(wrong), "--wait=false")
        return False

    await until(leads, f"the replica on {node} leads")


async def states(stage) -> dict[str, str]:
    """Return each subject's state, from the replica on the other node; empty while it starts."""
    pods = await stage.api.items("pods", namespace=NAMESPACE, selector=OWN_LABEL)
    name = next(name_of(each) for each in pods if each["spec"].get("nodeName") == NODE)
    asked = ("status-reporter", "status", "-o", "json", "--fail-on=none")
    try:
        told = stage.kubectl("-n", NAMESPACE, "exec", name, "--", *asked)
    except EnvtestError:
        return {}
    return {each["subject"]: each["state"] for each in json.loads(told)["subjects"]}


@pytest.mark.parametrize("loss", LOSSES, ids=lambda each: each.strike.__name__)
async def test_node_fails(on_b, cluster, stage, kubectl, observer, loss):
    """One cause, with its impact; nothing is reported twice when the node is back."""

    async def hit() -> bool:
        told = await states(stage)
        return {told.get(each) for each in loss.hit} <= {"not-serving"}

    own = {"ready": loss.ready, "but": (STORE, AGENT)}
    async with told_once(stage, observer, loss.key, loss.words, **own):
        undo = loss.strike(cluster, kubectl)
        try:
            await fires(stage, loss.key)
            await until(hit, f"{loss.hit} do not serve")
        finally:
            undo()


async def test_kubelet_restarts(on_b, cluster, stage, observer):
    """Nothing is reported about a kubelet that comes back at once: its pods run on."""
    await calm(stage)
    first = len(observer.versions)
    ready = "jsonpath={.status.conditions[?(@.type=='Ready')].lastHeartbeatTime}"
    node = ("get", "node", NODE_B, "-o", ready)
    before = stage.kubectl(*node)
    cluster.servers[f"kubelet {NODE_B}"].stop()
    start_again(cluster)

    gpus = ("get", "node", NODE_B, "-o", r"jsonpath={.status.allocatable.nvidia\.com/gpu}")

    async def is_back() -> bool:
        return stage.kubectl(*node) != before and stage.kubectl(*gpus) == "1"

    await until(is_back, "the kubelet reports again, and has its GPU")
    # By then, anything wrong would be reported.
    await asyncio.sleep(QUICK["startupGraceSeconds"] + QUICK["resyncSeconds"])
    told = observer.versions[first:]
    assert [each for each in told if each.live and each.type == "Warning"] == []
