"""The reporter's diagnosis of nodes and pods matches the messages of a real kube-scheduler."""

import os
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import pytest
import yaml

from e2e.envtest.binaries import built
from e2e.envtest.control_plane import ControlPlane, Server, control_plane, free_ports
from e2e.stack.api import Api
from lab.sandbox.objects import Object, name_of, namespace_of
from reporter.catalogue.resources import CLAIMS, NODES, ON_DEMAND, PODS, VOLUMES
from reporter.diagnosis.fit import Plugin, counts_of, demands_of, named_nodes, offered
from reporter.diagnosis.scheduling import why_unscheduled
from reporter.model.objects import Node, Pod
from reporter.snapshot.snapshot import ResourceState, Served, Snapshot
from reporter.snapshot.table import table_of
from tests.daemon.replica import until

GPU: Final = "nvidia.com/gpu"
FLAGS: Final = ("--disable-admission-plugins=TaintNodesByCondition",)
"""For kube-apiserver: it would taint new nodes as not ready, and no controller removes that."""

_LABELS: Final = {
    "zone": ("a", "b", "c"),
    "pool": ("cpu", "gpu", "system"),
    "tier": ("1", "2", "10"),
}
_TAINTS: Final = (
    ("sku", "gpu", "NoSchedule"), ("team", "x", "NoExecute"), ("team", "y", "NoSchedule"),
    ("soft", "", "PreferNoSchedule"), ("node.kubernetes.io/not-ready", "", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "", "NoSchedule"),
)  # fmt: skip
_TOLERATIONS: Final = (
    {"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"},
    {"key": "sku", "operator": "Exists"}, {"key": "team", "operator": "Exists"},
    {"key": "team", "value": "x"}, {"key": "team", "value": "x", "effect": "NoSchedule"},
    {"operator": "Exists"}, {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"},
    {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"},
)  # fmt: skip
_REQUESTS: Final = {
    GPU: ("1", "2", "4", "8"), "cpu": ("500m", "2", "6", "12"), "memory": ("1Gi", "6000Mi", "20Gi"),
    "ephemeral-storage": ("1Gi", "90Gi"), "example.com/nic": ("1",),
}  # fmt: skip
_RUNTIME: Final = {
    "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "heavy"},
    "handler": "heavy", "overhead": {"podFixed": {"cpu": "750m", "memory": "500Mi"}},
}  # fmt: skip


def scheduler(plane: ControlPlane) -> Server:
    """Return the kube-scheduler of the same release, for a control plane."""
    program = built("kube-scheduler") / "kube-scheduler"
    configuration = plane.folder / "scheduler.yaml"
    kubeconfig = plane.admin.write_kubeconfig(plane.folder / "scheduler-kubeconfig.yaml")
    configuration.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "leaderElection": {"leaderElect": False},
                "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 500, "burst": 500},
            }
        )
    )
    flags = f"--config={configuration}", f"--secure-port={free_ports(1)[0]}"
    command = [str(program), *flags, "--bind-address=127.0.0.1"]
    return Server("kube-scheduler", command, plane.folder / "scheduler.log")


@dataclass
class RandomClusters:
    """Makes clusters, and compares the diagnosis of each pod with the scheduler's message.

    Attributes:
        api: of a control plane all of whose nodes and the namespace `default` are ours.
        seed: of everything random.
        pods: how many were compared, by outcome.

    """

    api: Api
    seed: int = 1
    pods: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    async def differences(self) -> list[str]:
        """Make one more cluster and return the differences from the scheduler; empty if none."""
        await self.api.apply(_RUNTIME)
        names = [f"n{number}" for number in range(self.chance.randint(1, 7))]
        for name in names:
            await self.api.create(self._node(name))
        await self._await_nodes(len(names))
        found = []
        for number in range(self.chance.randint(3, 8)):
            found += await self._compare(await self._make_pod(f"p{number}"))
        for each in ("pods", "persistentvolumeclaims", "persistentvolumes", "nodes"):
            await self._clear(each)
        return found

    def _some(self, share: float) -> bool:
        return self.chance.random() < share

    def _node(self, name: str) -> Object:
        labels = {k: self.chance.choice(v) for k, v in _LABELS.items() if self._some(0.8)}
        taints = [t for t in _TAINTS if self._some(0.12)]
        allocatable = {
            "cpu": self.chance.choice(("4", "7910m", "16")), "memory": self.chance.choice(("8388608Ki", "32Gi")),
            "ephemeral-storage": self.chance.choice(("20Gi", "100Gi")), "pods": "30",
        }  # fmt: skip
        if self._some(0.6):
            allocatable[GPU] = self.chance.choice(("0", "1", "2", "4", "8"))
        if self._some(0.3):
            allocatable["example.com/nic"] = "2"
        capacity = allocatable | ({GPU: "8"} if GPU in allocatable else {})
        written = [{"key": k, "value": v, "effect": e} for k, v, e in taints]
        spec: dict[str, Any] = {"taints": written}
        if self._some(0.12):
            cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
            spec = {"unschedulable": True, "taints": [*written, cordon]}
        ready = "False" if any("not-ready" in key for key, _, _ in taints) else "True"
        # Created as a whole, so that the scheduler never sees half of it.
        status = {"allocatable": allocatable, "capacity": capacity}
        status |= {"conditions": [{"type": "Ready", "status": ready}]}
        return _made("Node", name, spec, status=status, labels=labels)

    async def _make_pod(self, name: str) -> str:
        spec: dict[str, Any] = {
            "containers": [self._container(f"c{i}") for i in range(self.chance.randint(1, 2))]
        }
        if self._some(0.25):
            spec["initContainers"] = [
                self._container(f"i{i}") | ({"restartPolicy": "Always"} if self._some(0.5) else {})
                for i in range(self.chance.randint(1, 2))
            ]
        if self._some(0.15):
            spec["runtimeClassName"] = "heavy"
        if self._some(0.1):
            spec["resources"] = {"requests": {"cpu": "40", "memory": "200Gi"}}
        if self._some(0.4):
            spec["nodeSelector"] = {
                k: self.chance.choice(v) for k, v in _LABELS.items() if self._some(0.4)
            }
        if self._some(0.3):
            terms = [self._term() for _ in range(self.chance.randint(1, 2))]
            required = {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
            }
            spec["affinity"] = {"nodeAffinity": required}
        spec["tolerations"] = [t for t in _TOLERATIONS if self._some(0.12)]
        if self._some(0.2):
            await self._make_volume(name)
            spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]
        await self.api.create(_made("Pod", name, spec))
        return name

    def _container(self, name: str) -> dict[str, Any]:
        asks = {k: self.chance.choice(v) for k, v in _REQUESTS.items() if self._some(0.3)}
        devices = {k: v for k, v in asks.items() if "/" in k}
        return {"name": name, "image": "x", "resources": {"requests": asks, "limits": devices}}

    def _term(self) -> dict[str, Any]:
        if self._some(0.1):
            return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0"]}]}
        found = []
        for key, values in _LABELS.items():
            if self._some(0.5):
                operator = self.chance.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
                operator = "In" if operator in ("Gt", "Lt") and key != "tier" else operator
                chosen = self.chance.sample(values, self.chance.randint(1, 2))
                chosen = chosen[:1] if operator in ("Gt", "Lt") else chosen
                found.append({"key": key, "operator": operator,
                              **({} if "xist" in operator else {"values": chosen})})  # fmt: skip
        return {"matchExpressions": found} if found else {}

    async def _make_volume(self, name: str) -> None:
        """Create a claim that is bound to a volume of one zone; no controller runs to bind it."""
        zone = {"key": "zone", "operator": "In", "values": [self.chance.choice(_LABELS["zone"])]}
        volume, size = f"v-{name}", {"storage": "1Gi"}
        common = {"accessModes": ["ReadWriteOnce"]}
        wanted = {"volumeName": volume, "storageClassName": "", "resources": {"requests": size}}
        bound = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
        claim = await self.api.create(
            _made("PersistentVolumeClaim", name, common | wanted, **bound)
        )
        place = {"namespace": "default", "name": name, "uid": claim["metadata"]["uid"]}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}
        spec = {
            "capacity": size, "csi": {"driver": "x", "volumeHandle": volume},
            "claimRef": place, "nodeAffinity": {"required": terms}, **common,
        }  # fmt: skip
        await self.api.create(_made("PersistentVolume", volume, spec))
        await self.api.status("persistentvolumeclaims", "default", name, {"phase": "Bound"})

    async def _compare(self, name: str) -> list[str]:
        pod = await self._settled(name)
        snapshot = await self._snapshot()
        look = _Expected(pod, snapshot)
        if node := pod.spec.node_name:
            self.pods["placed"] += 1
            # Demands are read from what was written: a pod that has a place is held against it too.
            return [] if node in look.able else [f"{name} is on {node}: {look}"]
        said = _said(pod)
        counts = counts_of(said)
        found = why_unscheduled(pod, snapshot)
        self.pods[found.code if found else "nothing"] += 1
        wrong = []
        if counts is None or dict(counts.by_text) != look.texts:
            wrong.append(f"{name}: {said.partition(' preemption')[0]!r}, and not {look.texts}")
        # Why nothing offers devices is never certain where no pod of a plugin says so.
        if found is None or (found.sureness != "certain" and found.code != "device-missing"):
            wrong.append(f"{name}: {said.partition(' preemption')[0]!r} is explained by {found}")
        return wrong

    async def _await_nodes(self, count: int) -> None:
        """Wait until the scheduler knows the nodes.

        The scheduler does not retry a rejected pod for a node that would not fit either, so each
        try takes another pod.
        """
        asks = {"requests": {"example.com/none": "1"}, "limits": {"example.com/none": "1"}}
        spec = {"containers": [{"name": "c", "image": "x", "resources": asks}]}
        for number in range(1_000):
            name = f"look-{number}"
            await self.api.create(_made("Pod", name, spec))
            counts = counts_of(_said(await self._settled(name)))
            await self.api.delete("pods", name, namespace="default", grace_seconds=0)
            if counts is not None and counts.nodes == count:
                return
        raise AssertionError(f"the scheduler does not see {count} nodes")

    async def _settled(self, name: str) -> Pod:
        """Wait until the scheduler has tried a pod."""

        async def tried() -> Pod | None:
            pod = msgspec.convert(await self.api.get("pods", name, namespace="default"), Pod)
            # The scheduler may not know a volume that was created a moment ago.
            said = _said(pod)
            return pod if pod.spec.node_name or (said and "not found" not in said) else None

        return await until(tried, f"the scheduler has looked at {name}")

    async def _snapshot(self) -> Snapshot:
        read = (NODES, PODS, VOLUMES, CLAIMS)
        tables = {
            each: table_of(
                msgspec.convert(item, each.type) for item in await self.api.items(str(each))
            )
            for each in read
        }
        absent = dict.fromkeys(ON_DEMAND, ResourceState(Served.ABSENT))
        return Snapshot(
            tables=tables, states=absent | dict.fromkeys(read, ResourceState(Served.SERVED))
        )

    async def _clear(self, resource: str) -> None:
        for each in await self.api.items(resource):
            place = {"namespace": namespace_of(each)}
            if "finalizers" in each["metadata"]:
                keep = {"metadata": {"finalizers": None}}
                await self.api.patch(resource, name_of(each), keep, **place)
            await self.api.delete(resource, name_of(each), grace_seconds=0, **place)


def _made(
    kind: str, name: str, spec: Object, *, status: Object | None = None, **metadata: Object
) -> Object:
    where = {} if kind in ("Node", "PersistentVolume") else {"namespace": "default"}
    named = {"name": name, **where, **metadata}
    made = {"apiVersion": "v1", "kind": kind, "metadata": named, "spec": spec}
    return made | ({"status": status} if status else {})


def _said(pod: Pod) -> str:
    condition = pod.status.condition("PodScheduled")
    return (condition.message if condition else "") or ""


class _Expected:
    """What the scheduler has to count for a pod, with everything that the other pods use."""

    def __init__(self, pod: Pod, snapshot: Snapshot) -> None:
        self.demands = demands_of(pod, snapshot)
        self.used: dict[str, Counter[str]] = {}
        for each in snapshot[PODS]:
            if each.spec.node_name and each.name != pod.name:
                self.used.setdefault(each.spec.node_name, Counter()).update(each.spec.demand)
        self.able: list[str] = []
        self.texts: dict[str, int] = {}
        named = named_nodes(pod)
        for node in snapshot[NODES]:
            left_out = named is not None and not named.is_met(node)
            self._count([str(Plugin.LABEL)] if left_out else self._refused(node), node)

    def _count(self, texts: list[str], node: Node) -> None:
        if not texts:
            self.able.append(node.name)
        for each in texts:
            self.texts[each] = self.texts.get(each, 0) + 1

    def _refused(self, node: Node) -> list[str]:
        for plugin in (Plugin.CORDON, Plugin.TAINT, Plugin.LABEL, Plugin.RESOURCE, Plugin.VOLUME):
            of_plugin = [each for each in self.demands if each.plugin is plugin]
            if plugin is Plugin.RESOURCE:
                used = self.used.get(node.name, Counter())
                lacking = [
                    d.what for d in of_plugin if d.asks > offered(node, d.what) - used[d.what]
                ]
                if lacking:
                    return [f"Insufficient {each}" for each in lacking]
            elif any(not each.is_met(node) for each in of_plugin):
                return [str(plugin)]
        return []

    def __str__(self) -> str:
        return f"able are {self.able}, {self.texts}"


CLUSTERS = int(os.environ.get("SCHEDULING_CLUSTERS", "40"))


@pytest.mark.xdist_group("scheduling")
@pytest.mark.timeout(60 + 6 * CLUSTERS)
async def test_the_scheduler_refuses_the_same_nodes_for_the_same_reasons(tmp_path):
    """Random clusters; more: `SCHEDULING_CLUSTERS=500 make e2e ARGS='-k scheduler_refuses -s'`."""
    with control_plane(tmp_path, *FLAGS) as plane, scheduler(plane):
        async with Api(plane.admin) as api:
            made = RandomClusters(api, seed=int(os.environ.get("SCHEDULING_SEED", "1")))
            wrong = [
                f"cluster {n}: {each}" for n in range(CLUSTERS) for each in await made.differences()
            ]
    print(f"{CLUSTERS} clusters, {made.pods.total()} pods: {dict(made.pods.most_common())}")
    assert not wrong, "\n".join(wrong)
    assert made.pods["placed"]
    assert len(made.pods) > 5
