"""The reporter's diagnosis of nodes and pods matches the messages of a real kube-scheduler."""

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
import msgspec
import pytest
import yaml

from e2e.envtest.binaries import binaries, built
from e2e.envtest.commands import EnvtestError
from e2e.envtest.control_plane import ControlPlane, Server, free_ports
from reporter.catalogue.resources import CLAIMS, NODES, ON_DEMAND, PODS, VOLUMES
from reporter.diagnosis.fit import Plugin, counts_of, demands_of, named_nodes, offered
from reporter.diagnosis.scheduling import why_unscheduled
from reporter.model.objects import Node, Pod
from reporter.snapshot.snapshot import ResourceState, Served, Snapshot
from reporter.snapshot.table import table_of

GPU: Final = "nvidia.com/gpu"
FLAGS: Final = ("--disable-admission-plugins=TaintNodesByCondition",)
"""For kube-apiserver: it would taint new nodes as not ready, and no controller removes that."""

LATE_SECONDS: Final = 20.0

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


@contextmanager
def scheduler(plane: ControlPlane) -> Iterator[None]:
    """Run the kube-scheduler of the same release next to a control plane."""
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
    (port,) = free_ports(1)
    server = Server(
        "kube-scheduler",
        [str(program), f"--config={configuration}", f"--secure-port={port}", "--bind-address=127.0.0.1"],
        plane.folder / "scheduler.log",
    )  # fmt: skip
    server.start()
    try:
        yield
    finally:
        server.stop()


@dataclass
class RandomClusters:
    """Makes clusters, and compares the diagnosis of each pod with the scheduler's message.

    Attributes:
        plane: all its nodes and the namespace `default` are ours.
        seed: of everything random.
        pods: how many were compared, by outcome.

    """

    plane: ControlPlane
    seed: int = 1
    pods: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        admin = self.plane.admin
        self.client = httpx.Client(
            base_url=admin.url, headers=admin.headers, verify=admin.tls(), timeout=30.0
        )
        self._ask("POST", "/apis/node.k8s.io/v1/runtimeclasses", _RUNTIME, fine=(409,))

    def differences(self) -> list[str]:
        """Make one more cluster and return the differences from the scheduler; empty if none."""
        names = [f"n{number}" for number in range(self.chance.randint(1, 7))]
        for name in names:
            self._make_node(name)
        self._await_nodes(len(names))
        found = []
        for number in range(self.chance.randint(3, 8)):
            found += self._compare(self._make_pod(f"p{number}"))
        self._clear()
        return found

    def _ask(
        self, method: str, path: str, body: object = None, *, fine: tuple[int, ...] = ()
    ) -> Any:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        answer = self.client.request(
            method, path, content=msgspec.json.encode(body) if body else None,
            headers={"Content-Type": kind},
        )  # fmt: skip
        if answer.is_error and answer.status_code not in fine:
            raise EnvtestError(f"{method} {path}: {answer.status_code} {answer.text[:500]}")
        return answer.json()

    def _some(self, share: float) -> bool:
        return self.chance.random() < share

    def _make_node(self, name: str) -> None:
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
        self._ask("POST", "/api/v1/nodes", {
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": spec,
            "status": {"allocatable": allocatable, "capacity": capacity,
                       "conditions": [{"type": "Ready", "status": ready}]},
        })  # fmt: skip

    def _make_pod(self, name: str) -> str:
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
            self._make_volume(name)
            spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]
        self._ask("POST", "/api/v1/namespaces/default/pods", {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec,
        })  # fmt: skip
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

    def _make_volume(self, name: str) -> None:
        """Create a claim that is bound to a volume of one zone; no controller runs to bind it."""
        zone = {"key": "zone", "operator": "In", "values": [self.chance.choice(_LABELS["zone"])]}
        volume, size = f"v-{name}", {"storage": "1Gi"}
        modes = ["ReadWriteOnce"]
        uid = self._ask("POST", "/api/v1/namespaces/default/persistentvolumeclaims", {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {"volumeName": volume, "accessModes": modes, "storageClassName": "",
                     "resources": {"requests": size}},
        })["metadata"]["uid"]  # fmt: skip
        self._ask("POST", "/api/v1/persistentvolumes", {
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume},
            "spec": {"capacity": size, "accessModes": modes, "csi": {"driver": "x", "volumeHandle": volume},
                     "claimRef": {"namespace": "default", "name": name, "uid": uid},
                     "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}}},
        })  # fmt: skip
        self._ask("PATCH", f"/api/v1/namespaces/default/persistentvolumeclaims/{name}/status",
                  {"status": {"phase": "Bound"}})  # fmt: skip

    def _compare(self, name: str) -> list[str]:
        pod = self._settled(name)
        snapshot = self._snapshot()
        look = _Expected(pod, snapshot)
        if pod.spec.node_name:
            self.pods["placed"] += 1
            # Demands are read again from what was written: a pod that has a place is held against it too.
            return (
                []
                if pod.spec.node_name in look.able
                else [f"{name} is on {pod.spec.node_name}: {look}"]
            )
        said = self._said(pod)
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

    def _await_nodes(self, count: int) -> None:
        """Wait until the scheduler knows the nodes.

        The scheduler does not retry a rejected pod for a node that would not fit either, so each
        try takes another pod.
        """
        for number in range(1_000):
            asks = {"requests": {"example.com/none": "1"}, "limits": {"example.com/none": "1"}}
            containers = [{"name": "c", "image": "x", "resources": asks}]
            name = f"look-{number}"
            self._ask("POST", "/api/v1/namespaces/default/pods", {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
                "spec": {"containers": containers},
            })  # fmt: skip
            counts = counts_of(self._said(self._settled(name)))
            self._ask(
                "DELETE", f"/api/v1/namespaces/default/pods/{name}", {"gracePeriodSeconds": 0}
            )
            if counts is not None and counts.nodes == count:
                return
        raise EnvtestError(f"the scheduler does not see {count} nodes")

    def _settled(self, name: str) -> Pod:
        """Wait until the scheduler has tried a pod."""
        until = time.monotonic() + LATE_SECONDS
        while time.monotonic() < until:
            raw = self._ask("GET", f"/api/v1/namespaces/default/pods/{name}")
            pod = msgspec.convert(raw, Pod)
            # The scheduler may not know a volume that was created a moment ago.
            said = self._said(pod)
            if pod.spec.node_name or (said and "not found" not in said):
                return pod
            time.sleep(0.02)
        log = f"{self.plane.folder}/scheduler.log"
        raise EnvtestError(f"the scheduler has not looked at {name}: see {log}")

    @staticmethod
    def _said(pod: Pod) -> str:
        condition = pod.status.condition("PodScheduled")
        return (condition.message if condition else "") or ""

    def _snapshot(self) -> Snapshot:
        paths = {
            NODES: "/api/v1/nodes", PODS: "/api/v1/namespaces/default/pods", VOLUMES: "/api/v1/persistentvolumes",
            CLAIMS: "/api/v1/namespaces/default/persistentvolumeclaims",
        }  # fmt: skip
        tables = {
            each: table_of(
                msgspec.convert(item, each.type) for item in self._ask("GET", path)["items"]
            )
            for each, path in paths.items()
        }
        absent = dict.fromkeys(ON_DEMAND, ResourceState(Served.ABSENT))
        return Snapshot(
            tables=tables, states=absent | dict.fromkeys(paths, ResourceState(Served.SERVED))
        )

    def _clear(self) -> None:
        at_once = {"gracePeriodSeconds": 0}
        self._ask("DELETE", "/api/v1/namespaces/default/pods", at_once)
        for path in (
            "/api/v1/namespaces/default/persistentvolumeclaims",
            "/api/v1/persistentvolumes",
        ):
            for each in self._ask("GET", path)["items"]:
                place = f"{path}/{each['metadata']['name']}"
                self._ask("PATCH", place, {"metadata": {"finalizers": None}}, fine=(404,))
                self._ask("DELETE", place, at_once, fine=(404,))
        self._ask("DELETE", "/api/v1/nodes", at_once)


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
