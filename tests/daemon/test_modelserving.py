"""The status of a ModelServing, as the daemon writes it to the sandbox."""

import asyncio
import json
import os
import shutil

import pytest

from lab.demo.modelserving import MODELSERVINGS, NAME, NAMESPACE, Serving, load_crd, modelserving
from lab.simulation.kthena import ModelServingWorld, plan
from tests.daemon.replica import until

FULL = {"modelserving_status": "full"}
ROLES = ("prefill-0", "decode-0", "decode-1")
CRDS = "customresourcedefinitions.apiextensions.k8s.io"


@pytest.fixture(name="serving")
async def _serving(stage):
    """Kthena in the sandbox, its controller in step with what the daemon writes."""
    async with Serving(stage.sandbox, lambda _line: None) as serving:
        yield serving


def status_of(stage, resource=MODELSERVINGS):
    return stage.sandbox.get(resource, NAME, namespace=NAMESPACE).get("status") or {}


def roles_of(stage):
    return [
        (each["servingGroupName"], each["roleID"], each["status"])
        for each in status_of(stage).get("roleStatuses") or ()
    ]


def running(*groups):
    return [(f"{NAME}-{group}", role, "Running") for group in groups for role in ROLES]


def writes(stage):
    """How many requests changed, or tried to change, a ModelServing."""
    verbs = ("update", "patch")
    return sum(stage.sandbox.request_log.count(verb=verb, resource=MODELSERVINGS) for verb in verbs)


def status_is(stage, **fields):
    """Return whether the status has these fields."""
    return fields.items() <= status_of(stage).items()


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")
@pytest.mark.quick
async def test_role_statuses_are_there_for_kubectl(stage, serving, inside, *, tmp_path):
    await inside(**FULL).start()
    stage.sandbox.create(modelserving())
    await until(lambda: roles_of(stage) == running(0, 1), "all roles run")
    kubectl = await asyncio.create_subprocess_exec(
        "kubectl", "--kubeconfig", str(stage.kubeconfig), "-n", NAMESPACE, "get", "modelserving",
        NAME, "-o", "jsonpath={.status.roleStatuses}", stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "HOME": str(tmp_path), "KUBECACHEDIR": str(tmp_path)},
    )  # fmt: skip
    found, _ = await kubectl.communicate()
    assert json.loads(found) == status_of(stage)["roleStatuses"]


@pytest.mark.quick
async def test_off_writes_nothing(stage, serving, inside):
    daemon = await (await inside().start()).ready()
    stage.sandbox.create(modelserving())
    await daemon.passes(3)
    assert writes(stage) == 0
    assert status_of(stage) == {}


async def test_entries_that_full_mode_wrote_go_in_roles_mode(stage, inside):
    """They are ours by the PUT too, and an apply that does not name them leaves them there."""
    first = await inside(modelserving_status="full").start()
    stage.sandbox.load([load_crd(), namespace()])
    made = plan(ModelServingWorld(stage.sandbox.create(modelserving()))).create
    for each in made:
        stage.sandbox.create(each)
    creating = [(f"{NAME}-{group}", role, "Creating") for group in (0, 1) for role in ROLES]
    await until(lambda: roles_of(stage) == creating, "the roles of both groups are there")
    await first.stop()
    for each in made:
        if each["metadata"]["name"].startswith(f"{NAME}-1-"):
            kind = {"Pod": "pods", "Service": "services"}[each["kind"]]
            stage.sandbox.delete(kind, each["metadata"]["name"], namespace=NAMESPACE)
    stage.sandbox.scale(MODELSERVINGS, NAME, 1, namespace=NAMESPACE)
    second = await inside("replica-b", modelserving_status="roles").start()
    await until(second.leads, "replica-b leads")
    await until(lambda: roles_of(stage) == creating[:3], "the roles of the group that went go")
    before = writes(stage)
    await second.passes(3)
    assert writes(stage) == before, "one release; then it rests"


async def test_the_kind_is_followed_once_it_is_served(stage, inside):
    """The CRD comes later, goes, and comes again with another object."""
    daemon = await inside(**FULL).start()
    await daemon.ready()
    for _ in range(2):
        stage.sandbox.load([load_crd(), namespace()])
        stage.sandbox.create(modelserving() | {"spec": {**modelserving()["spec"], "replicas": 0}})
        await until(lambda: status_is(stage, observedGeneration=1), "the status is there")
        stage.sandbox.delete(CRDS, MODELSERVINGS)
        await daemon.passes(2)


def namespace():
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
