"""The live cluster against the sandbox: a real server, real sockets, its faults switched on."""

from pathlib import Path

import pytest

from lab.sandbox import Sandbox
from lab.sandbox.access import Rule
from lab.sandbox.faults import InjectedFault
from reporter.catalogue.resources import CONFIGMAPS, EVENTS, NAMESPACES, NODES, PODS
from reporter.kube.informer import Informer
from reporter.snapshot.snapshot import Served
from reporter.stacks.kaito.reasons import WORKSPACES
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.kube.living import definition, living, obj, until


async def test_a_snapshot_has_what_the_cluster_has(sandbox: Sandbox, tmp_path: Path):
    """Objects, served and absent kinds are as the API server says, and changes arrive."""
    sandbox.load([obj("Namespace", "n"), obj("Pod", "p", "n"), obj("Node", "node")])
    async with living(sandbox, tmp_path) as cluster:
        snapshot = await until(cluster, lambda found: len(found[PODS]) == 1)
        assert snapshot[NODES].get("", "node") is not None
        assert snapshot.state(PODS).confirmed
        assert snapshot.state(WORKSPACES).served is Served.ABSENT
        assert snapshot.state(WORKSPACES).confirmed
        assert snapshot.discovery.state("workspaces.kaito.sh") is Served.ABSENT
        assert snapshot.discovery.state("deployments.apps") is Served.SERVED
        sandbox.create(obj("Pod", "q", "n", spec={"containers": [{"name": "c", "image": "i"}]}))
        await until(cluster, lambda found: found[PODS].get("n", "q") is not None)


async def test_the_version_that_is_served_is_used(sandbox: Sandbox, tmp_path: Path):
    """An older cluster serves only an older version; one that nobody knows is unknown."""
    sandbox.create(definition("workspaces", "Workspace", version="v1alpha1"))
    sandbox.create(definition("apikeys", "APIKey", version="v9"))
    async with living(sandbox, tmp_path) as cluster:
        sandbox.load([obj("Namespace", "n"), obj("Workspace", "w", "n", api="kaito.sh/v1alpha1")])
        snapshot = await until(cluster, lambda found: len(found[WORKSPACES]) == 1)
        states = {str(resource): state for resource, state in snapshot.states.items()}
        assert states["apikeys.kaito.sh"].served is Served.UNKNOWN
        assert "version" in states["apikeys.kaito.sh"].cause


async def test_istio_configmaps_are_read_by_name_where_istio_is(sandbox: Sandbox, tmp_path: Path):
    """Only `istio` and those of revisions are read, and only in candidate namespaces that exist."""
    sandbox.load(
        [
            obj("Namespace", "istio-system"),
            obj("ConfigMap", "istio", "istio-system", data={"mesh": "a"}),
            obj("ConfigMap", "istio-canary", "istio-system", data={"mesh": "b"}),
            obj("ConfigMap", "other", "istio-system"),
            obj("ConfigMap", "istio", "default"),
        ]
    )
    rule = Rule(resources=("configmaps",), namespaces=("aks-istio-system",))
    sandbox.access.deny(rule)
    async with living(sandbox, tmp_path) as cluster:
        snapshot = await until(cluster, lambda found: len(found[CONFIGMAPS]) == 1)
        assert snapshot.state(CONFIGMAPS).confirmed
        sandbox.load([obj("Deployment", "istiod-canary", "istio-system", api="apps/v1")])
        snapshot = await until(cluster, lambda found: len(found[CONFIGMAPS]) == 2)
        assert snapshot[CONFIGMAPS].get("istio-system", "istio-canary").data.mesh == "b"
        sandbox.load([obj("Namespace", "aks-istio-system")])
        forbidden = await until(cluster, lambda found: found.state(CONFIGMAPS).cause == "forbidden")
        permission = forbidden.state(CONFIGMAPS).permission
        assert permission == "list, watch on configmaps/istio in aks-istio-system"


async def test_without_istio_no_configmap_is_read(sandbox: Sandbox, tmp_path: Path):
    """Where the component is switched off, nothing is asked for, and nothing is unknown."""
    sandbox.load([obj("Namespace", "istio-system"), obj("ConfigMap", "istio", "istio-system")])
    settings = FullEvaluationSettings(istiod_deployment="")
    async with living(sandbox, tmp_path, settings) as cluster:
        snapshot = await until(cluster, lambda found: found.state(NAMESPACES).confirmed)
        assert not len(snapshot[CONFIGMAPS])
        assert snapshot.state(CONFIGMAPS).served is Served.SERVED


async def test_only_our_events_are_read(sandbox: Sandbox, tmp_path: Path):

    def event(name: str, namespace: str, labels: dict[str, str]):
        made = obj("Event", name, namespace, involvedObject={"namespace": namespace}, reason="r")
        made["metadata"]["labels"] = labels
        return made

    ours = {"status-reporter.io/reason": "r"}
    sandbox.load(
        [
            event("a", "kube-system", ours),
            event("b", "kube-system", {}),
            event("c", "default", ours),
        ]
    )
    async with living(sandbox, tmp_path) as cluster:
        snapshot = await until(cluster, lambda found: len(found[EVENTS]) > 0)
        assert [each.name for each in snapshot[EVENTS]] == ["a"]


@pytest.mark.parametrize("disturbance", ["cut", "compact", "pause", "end"])
async def test_disturbances_lose_no_change(sandbox: Sandbox, tmp_path: Path, disturbance: str):
    """Cut and ended watches, expired versions and pauses end in the state that is true."""
    sandbox.load([obj("Namespace", "n"), obj("Pod", "before", "n")])
    async with living(sandbox, tmp_path) as cluster:
        await until(cluster, lambda found: len(found[PODS]) == 1)
        match disturbance:
            case "cut":
                sandbox.faults.cut_watches("pods")
            case "compact":
                sandbox.faults.compact("pods")
                sandbox.faults.end_watches("pods")
            case "pause":
                cluster.unconfirm_all()
                assert not cluster.snapshot().state(PODS).confirmed
                assert not cluster.snapshot().state(WORKSPACES).confirmed
            case "end":
                sandbox.faults.end_watches()
        sandbox.load([obj("Pod", "after", "n")])
        snapshot = await until(
            cluster,
            lambda found: len(found[PODS]) == 2 and all(s.confirmed for s in found.states.values()),
        )
        assert {pod.name for pod in snapshot[PODS]} == {"before", "after"}


@pytest.mark.parametrize(
    "fault",
    [
        InjectedFault(action="html", code=200, resources=("pods",), times=3),
        InjectedFault(action="html", code=502, resources=("pods",), times=3),
        InjectedFault(action="error", code=503, seconds=0, resources=("pods",), times=3),
        InjectedFault(action="cut", resources=("pods",), times=3),
        InjectedFault(action="unknown-path", resources=("pods",), times=3),
        InjectedFault(action="html", code=502, path_prefix="/apis", times=3),
    ],
)
async def test_odd_answers_pass(sandbox: Sandbox, tmp_path: Path, fault: InjectedFault):
    """Proxies, restarts and overload delay the first list, and are not taken for empty kinds."""
    sandbox.load([obj("Namespace", "n"), obj("Pod", "p", "n")])
    sandbox.faults.add(fault)
    async with living(sandbox, tmp_path) as cluster:
        snapshot = await until(cluster, lambda found: found.state(PODS).confirmed)
        assert len(snapshot[PODS]) == 1
        await until(cluster, lambda found: found.state(WORKSPACES).served is Served.ABSENT)


async def test_a_crashed_informer_is_started_again(sandbox, tmp_path, monkeypatch):
    """A defect in one informer is logged and does not end the others, nor stay."""
    crashes = []
    original = Informer._list

    async def crashing(self: Informer) -> None:
        if self.place.resource is PODS and not crashes:
            crashes.append(self)
            raise ZeroDivisionError
        await original(self)

    monkeypatch.setattr(Informer, "_list", crashing)
    sandbox.load([obj("Namespace", "n"), obj("Pod", "p", "n")])
    async with living(sandbox, tmp_path) as cluster:
        await until(cluster, lambda found: len(found[PODS]) == 1)
    assert crashes


async def test_one_namespace_is_read_with_the_rights_in_it(sandbox, tmp_path):
    """Nothing elsewhere is asked for, and that something is not there is concluded there alone."""
    sandbox.load([
        obj("Namespace", "here"), obj("Namespace", "there"),
        obj("Pod", "a", "here"), obj("Pod", "b", "there"),
    ])  # fmt: skip
    sandbox.access.allow_only(
        [
            Rule(verbs=("list", "watch"), namespaces=("here",)),
            Rule(verbs=("get",), resources=("namespaces",), resource_names=("here",)),
        ]
    )
    async with living(sandbox, tmp_path, namespace="here") as cluster:
        snapshot = cluster.snapshot()
    assert sandbox.request_log.count(code=403) == 0
    assert [each.name for each in snapshot[PODS]] == ["a"]
    assert [each.name for each in snapshot[NAMESPACES]] == ["here"]
    assert snapshot.absence_known(PODS, "here")
    assert not snapshot.absence_known(PODS, "there")
    assert not snapshot.absence_known(NAMESPACES)
    assert snapshot.state(NODES).cause == snapshot.state(EVENTS).cause == "not asked for"
