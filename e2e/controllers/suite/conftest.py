"""A control plane with real controllers; kubelets and built-in controllers are played."""

import asyncio
import contextlib
import re

import pytest

from e2e.controllers.programs import PROGRAMS
from e2e.controllers.running import Running
from e2e.stack.api import Api
from e2e.stack.controller import Controller, key_of
from e2e.stack.errors import ApiError
from e2e.stack.nodes import schedulable
from e2e.stack.stack import CRDS, Stack
from e2e.stack.times import now
from e2e.stage import Stage
from lab.sandbox.objects import dig, name_of

_OF_CONTROLLERS = {
    "clusterstoragecontainers.serving.kserve.io",
    "inferencepools.inference.networking.k8s.io",
    "inferencepools.inference.networking.x-k8s.io",
    "inferenceservices.serving.kserve.io",
    "leaderworkersets.leaderworkerset.x-k8s.io",
    "llminferenceserviceconfigs.serving.kserve.io",
    "llminferenceservices.serving.kserve.io",
}
"""CustomResourceDefinitions that the controllers' charts install, whole."""


UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/7 nodes are available: 7 Insufficient nvidia.com/gpu.",
}


class Binder(Controller):
    """The scheduler: any node is good for any pod, but for those of a namespace that is full."""

    follows = ("pods",)

    def __init__(self, api):
        super().__init__(api)
        self.full = ""

    async def has_room(self, namespace):
        """Let the pods of a namespace be scheduled again."""
        self.full = ""
        for pod in await self.api.items("pods", namespace=namespace):
            self.add(key_of(pod))

    def keys(self, resource, obj, *, exists):
        return (key_of(obj),) if exists and not dig(obj, "spec", "nodeName") else ()

    async def reconcile(self, key):
        if key.namespace == self.full:
            status = {
                "phase": "Pending",
                "conditions": [UNSCHEDULABLE | {"lastTransitionTime": now()}],
            }
            with contextlib.suppress(ApiError):
                await self.api.patch(
                    "pods",
                    key.name,
                    {"status": status},
                    namespace=key.namespace,
                    subresource="status",
                )
            return
        node = schedulable(await self.api.items("nodes"))[0]
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": key.name, "namespace": key.namespace},
            "target": target,
        }
        path = f"/api/v1/namespaces/{key.namespace}/pods/{key.name}/binding"
        with contextlib.suppress(ApiError):
            await self.api.request("POST", path, body=binding)


@pytest.fixture(name="stage")
async def _stage(plane, kubectl):
    async with Api(plane.admin) as api:
        there = {name_of(each) for each in await api.items(CRDS)}
        for name in sorted(there & _OF_CONTROLLERS):
            await api.delete(CRDS, name)
        async with Stack(api, without=_OF_CONTROLLERS) as stack:
            await stack.install_shared()
            stage = Stage(api, stack, kubectl)
            yield stage
            await stage.forget()


@pytest.fixture(name="binder", autouse=True)
async def _binder(stage):
    binder = Binder(stage.api)
    binder.start()
    yield binder
    await binder.stop()


@pytest.fixture(name="controller")
async def _controller(stage, tmp_path_factory):
    """What starts a controller by name, and returns it: `await controller("lws-controller-manager")`."""
    folder = tmp_path_factory.mktemp("controllers")
    own = set()
    async with contextlib.AsyncExitStack() as running:

        async def start(name):
            (program,) = [each for each in PROGRAMS if each.name == name]
            own.add(program.namespace)
            started = Running(program, stage.api, folder)
            await running.enter_async_context(started.started())
            return started

        yield start
        # Objects with finalizers go only while their controller runs.
        await asyncio.gather(*map(stage.stack.delete_namespace, stage.namespaces))
        stage.namespaces.clear()
        await asyncio.gather(*map(stage.stack.delete_namespace, own))


@pytest.fixture(name="namespace")
async def _namespace(stage, request):
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))[:40].strip("-")
    stage.namespaces.append(name)
    await stage.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name
