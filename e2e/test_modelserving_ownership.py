"""Others write the status of ModelServings too: completely, concurrently, or without the field."""

import asyncio

import pytest

from e2e.serving import running
from e2e.stack.kthena import MODELSERVINGS
from e2e.stack.stack import CRDS
from e2e.test_modelserving import _ours, _owner  # noqa: F401 - fixtures
from lab.demo.modelserving import NAME
from reporter.stacks.kthena import reasons as m
from tests.daemon.replica import until

MODES = pytest.mark.parametrize("mode", ["full", "roles"])


async def test_conflicts_are_answered_from_fresh_state(stage, serving, owner, ours):
    """Somebody writes the object all the time; our writes carry the version they are based on."""
    daemon, _ = await owner()
    await serving.create(replicas=1)
    await serving.shows(running(1))

    async def disturb():
        number = 0
        while True:
            number += 1
            patch = {"metadata": {"annotations": {"number": str(number)}}}
            await stage.api.patch(MODELSERVINGS, NAME, patch, namespace=serving.namespace)

    disturbing = [asyncio.create_task(disturb()) for _ in range(4)]
    try:
        pod = f"{NAME}-0-decode-0-0"
        ready = True

        async def conflicted():
            nonlocal ready
            ready = not ready
            if ready:
                await stage.stack.pod_ready(serving.namespace, pod)
            else:
                await stage.stack.pod_waiting(serving.namespace, pod, ("ContainerCreating", ""))
            await daemon.passes(1)
            return any(each.code == 409 for each in ours())

        await until(conflicted, "a write met a conflict")
    finally:
        for each in disturbing:
            each.cancel()
    await stage.stack.pod_ready(serving.namespace, pod)
    await serving.shows(running(1))
    assert {each.code for each in ours()} <= {200, 409}
    assert [each for each in daemon.lines() if each["level"] == "error"] == []
    assert await daemon.metric("modelserving_status_writes_total", outcome="conflict") >= 1


@MODES
async def test_a_crd_without_the_field_is_told_and_not_looped_on(stage, serving, owner, ours, mode):
    """The API server drops what the schema does not know, or refuses it; both end the same."""
    await without_the_field(stage, serving)
    daemon, _ = await owner(mode)
    await serving.create(replicas=1)
    event = await stage.told(m.STATUS_NOT_OWNED, serving.subject)
    assert "status.roleStatuses" in event["message"]
    before = len(ours())
    await daemon.passes(8)
    assert len(ours()) - before <= 3, "tried again after 1, 2 and 4 resyncs, no more"
    if mode == "full":
        assert (await serving.status())["availableReplicas"] == 1, "the rest is written"

    await stage.stack.install_crds()
    await serving.shows(running(1))
    await stage.told(m.STATUS_NOT_OWNED, serving.subject, state="over")


async def without_the_field(stage, serving):
    """Replace the CRD by that of Kthena's releases, and wait until it is served."""
    crd = await stage.api.get(CRDS, MODELSERVINGS)
    (version,) = crd["spec"]["versions"]
    properties = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    for name in ("roleStatuses", "roleStatusesOmitted"):
        del properties[name]
    resource = await stage.api.resource(CRDS)
    await stage.api.request("PUT", resource.path("", MODELSERVINGS), body=crd)
    trial = {
        "apiVersion": "workload.serving.volcano.sh/v1alpha1",
        "kind": "ModelServing",
        "metadata": {"name": "trial", "namespace": serving.namespace},
        "spec": {
            "replicas": 0,
            "template": {"roles": [{"name": "a", "workerReplicas": 0, "entryTemplate": {}}]},
        },
    }
    await stage.api.create(trial)
    entry = {"servingGroupName": "a", "roleName": "a", "roleID": "a", "status": "Running"}

    async def dropped():
        status = {"roleStatuses": [entry], "replicas": 1}
        await stage.stack.status(MODELSERVINGS, serving.namespace, "trial", status=status)
        found = await stage.api.get(MODELSERVINGS, "trial", namespace=serving.namespace)
        return "roleStatuses" not in found["status"]

    await until(dropped, "the field is dropped")
    await stage.api.delete(MODELSERVINGS, "trial", namespace=serving.namespace)
