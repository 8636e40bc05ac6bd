"""A control plane with real controllers, including those of Kubernetes; nodes are played."""

import asyncio
import contextlib

import pytest
from aiohttp import web

from e2e.controllers.programs import PROGRAMS
from e2e.controllers.running import Running
from e2e.controllers.suite.cluster import (
    METRICS_CRD,
    OF_CONTROLLERS,
    Binder,
    Images,
    Metrics,
    PlayedNodes,
    controller_manager,
    made,
)
from e2e.controllers.suite.told import Prometheus
from e2e.stack.api import Api
from e2e.stack.stack import CRDS, Stack
from e2e.stage import Stage, named_after
from lab.sandbox.objects import name_of
from tests.daemon import replica as replicas


@pytest.fixture(name="plane", scope="session")
def _plane(plane):
    """The control plane, with the controllers of Kubernetes beside it."""
    with controller_manager(plane):
        yield plane


@pytest.fixture(name="api")
async def _api(plane):
    async with Api(plane.admin) as api:
        yield api


@pytest.fixture(name="binder")
async def _binder(api):
    return Binder(api)


@pytest.fixture(name="metrics")
async def _metrics(api):
    return Metrics(api)


@pytest.fixture(name="stage")
async def _stage(api, binder, metrics, kubectl):
    there = {name_of(each) for each in await api.items(CRDS)}
    for name in sorted(there & OF_CONTROLLERS):
        await api.delete(CRDS, name)
    await api.apply(METRICS_CRD)
    stack = Stack(api, without=OF_CONTROLLERS)
    async with binder, Images(api), metrics:
        await stack.install_shared()
        stage = Stage(api, stack, kubectl)
        yield stage
        await stage.forget()


@pytest.fixture(name="nodes")
async def _nodes(stage, binder):
    return PlayedNodes(stage.stack, binder)


@pytest.fixture(name="place")
def _place():
    """Where controllers run, as `Running` takes it."""
    return {}


@pytest.fixture(name="controller")
async def _controller(stage, place, monkeypatch, tmp_path_factory):
    """A function that starts a controller by name: `await controller("lws-controller-manager")`."""
    # KEDA asks its triggers every 30 s, and what KServe fails at has a grace of two minutes.
    monkeypatch.setattr(replicas, "PATIENCE_SECONDS", 240.0)
    folder = tmp_path_factory.mktemp("controllers")
    own, started = set(), []
    async with contextlib.AsyncExitStack() as running:

        async def start(name, **more):
            own.add(PROGRAMS[name].namespace)
            one = Running(PROGRAMS[name], stage.api, folder, **place, **more)
            await running.enter_async_context(one.started())
            started.append(one)
            return one

        yield start
        # Objects with finalizers go only while their controller runs.
        await asyncio.gather(*map(stage.stack.delete_namespace, stage.namespaces))
        stage.namespaces.clear()
        for each in started:
            await each.unasked()
        await asyncio.gather(*map(stage.stack.delete_namespace, own))


@pytest.fixture(name="prometheus")
async def _prometheus():
    prometheus = Prometheus()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", prometheus.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", prometheus.port).start()
    yield prometheus
    await runner.cleanup()


@pytest.fixture(name="namespace")
async def _namespace(stage, request):
    name = await stage.namespace(named_after(request.node.name))
    await stage.api.apply(made("secret", name))
    return name
