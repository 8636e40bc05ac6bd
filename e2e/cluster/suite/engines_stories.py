"""Engines of our own under real controllers.

The stories are those of `e2e/controllers`; kubelet, scheduler and registry are real too.
The replica of the reporter runs beside the cluster, and reads the engines' pages through the API
server.
"""

import asyncio
import contextlib
import json
import signal

import pytest
import yaml

from e2e.cluster.machine import NODE, Link
from e2e.cluster.registry import Registry, engine_config, engine_layers
from e2e.cluster.settings import ENGINES
from e2e.cluster.suite.runnable import RunnableStack, runnable
from e2e.controllers.programs import PROGRAMS
from e2e.controllers.suite.cluster import (
    FIRST,
    GOOD,
    GPU,
    METRICS_CRD,
    OF_CONTROLLERS,
    PROBES_SECONDS,
    PULLS_SECONDS,
    SECRET,
    SLOW,
    Metrics,
    made,
)
from e2e.controllers.suite.conftest import _controller, _namespace
from e2e.controllers.suite.real_inferenceservice import test_a_model_by_deployments
from e2e.controllers.suite.real_leaderworkerset import test_groups_of_two
from e2e.controllers.suite.real_llminferenceservice import test_a_model_behind_a_picker
from e2e.controllers.suite.real_modelserving import test_roles_of_a_model
from e2e.controllers.suite.told import SETTLING
from e2e.envtest.release import REPORTER, Release
from e2e.stack.api import Api
from e2e.stage import Stage
from lab.sandbox.objects import name_of
from reporter.daemon.evidence import AGAIN
from tests.daemon import replica as replicas

__all__ = [
    "_controller",
    "_namespace",
    "test_a_model_behind_a_picker",
    "test_a_model_by_deployments",
    "test_groups_of_two",
    "test_roles_of_a_model",
]

PICKING = PROGRAMS["endpoint-picker"]
GPUS = "16"
PICKER = f"{ENGINES}/picker:v1"
THROUGH_API_SERVER = "apiserver-proxy"


@pytest.fixture(name="registry", scope="session")
def _registry(cluster):
    layers = engine_layers(**{PICKING.name: PICKING.built()})
    with Registry() as registry:
        for image, pulls, loads in (
            (FIRST, 0, 0), (GOOD, 0, 0), (PICKER, 0, 0), (SLOW, PULLS_SECONDS, PROBES_SECONDS),
        ):  # fmt: skip
            config = engine_config(loads, image)
            registry.add(short(image), layers, pull_seconds=pulls, **config)
        yield registry


def devices(kubectl, count):
    """Set the number of GPUs of the node, as a device plugin does."""
    status = {"status": {each: {GPU: count} for each in ("capacity", "allocatable")}}
    patch = json.dumps(status)
    kubectl("patch", "node", NODE, "--subresource=status", "--type=merge", "-p", patch)


def short(image):
    """Return how the registry itself names an image."""
    return image.removeprefix(f"{ENGINES}/")


@pytest.fixture(name="release", scope="session")
def _release(cluster, helm, kubectl, tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    release = Release("status", "status-system", helm, kubectl, cluster.admin, folder)
    asyncio.run(release.install(REPORTER, {"scrape": {"via": THROUGH_API_SERVER}}))
    # No pod here runs the reporter's image.
    kubectl("-n", release.namespace, "scale", "deployments", "--all", "--replicas=0")
    return release


@pytest.fixture(name="replica")
async def _replica(replica, monkeypatch):
    """A replica that scrapes; a real node takes longer than a played one."""
    monkeypatch.setattr(replicas, "PATIENCE_SECONDS", 240.0)
    own = {
        "scrape_via": THROUGH_API_SERVER,
        "scrape_interval_seconds": 5,
        # The statuses of autoscalers are read each minute.
        "grace": f"model-startup={AGAIN + 3 * SETTLING}",
    }
    return lambda **settings: replica(**settings | own)


@pytest.fixture(name="stage")
async def _stage(cluster, kubectl):
    async with Api(cluster.admin) as api:
        stack = RunnableStack(api, without=OF_CONTROLLERS)
        await stack.install_shared()
        for path in (PICKING.source() / PICKING.crds).glob("*.yaml"):
            crd = yaml.safe_load(path.read_text())
            if name_of(crd) not in OF_CONTROLLERS:
                await api.apply(crd)
        await api.apply(METRICS_CRD)
        async with Metrics(api):
            stage = Stage(api, stack, kubectl)
            yield stage
            await stage.forget()


@pytest.fixture(name="place")
def _place():
    return {"host": Link.host, "fit": runnable}


@pytest.fixture(name="nodes")
def _nodes(cluster, stage, registry):
    devices(stage.kubectl, GPUS)
    return Nodes(cluster, stage, registry)


class Nodes:
    """Real faults of pods and their node, each while it is entered; see `PlayedNodes`."""

    replaces_pods = True

    def __init__(self, cluster, stage, registry):
        self._cluster = cluster
        self._stage = stage
        self._registry = registry

    async def _engines(self, namespace, pods=""):
        found = await self._stage.api.items("pods", namespace=namespace)
        return [
            each
            for each in found
            if name_of(each).startswith(pods) and GPU in str(each["spec"]["containers"])
        ]

    async def _start_again(self, engines, *, kept=False):
        """Replace pods or, if nothing recreates them, end their containers as a drain would."""
        for pod in engines:
            if kept:
                (container,) = pod["status"]["containerStatuses"]
                task = container["containerID"].rpartition("/")[2]
                self._cluster.machine.ctr("tasks", "kill", "--signal", "SIGTERM", task)
            else:
                place = pod["metadata"]["namespace"]
                await self._stage.api.delete("pods", name_of(pod), namespace=place)

    @contextlib.asynccontextmanager
    async def without_secret(self, namespace, pods):
        await self._stage.api.delete("secrets", SECRET, namespace=namespace)
        await self._start_again(await self._engines(namespace, pods))
        yield
        await self._stage.api.apply(made("secret", namespace))

    @contextlib.asynccontextmanager
    async def without_image(self, namespace, pods, *, kept=False):
        engines = await self._engines(namespace, pods)
        images = {each["spec"]["containers"][0]["image"] for each in engines}
        manifests = {short(each): self._registry.manifests.pop(short(each)) for each in images}
        self._cluster.machine.ctr("images", "rm", *images)
        await self._start_again(engines, kept=kept)
        yield
        self._registry.manifests |= manifests

    @contextlib.asynccontextmanager
    async def without_node(self, namespace, pods):
        del namespace, pods
        self._cluster.servers["kubelet"].send(signal.SIGSTOP)
        try:
            yield
        finally:
            self._cluster.servers["kubelet"].send(signal.SIGCONT)

    @contextlib.asynccontextmanager
    async def without_room(self, namespace):
        devices(self._stage.kubectl, str(len(await self._engines(namespace))))
        yield
        devices(self._stage.kubectl, GPUS)
