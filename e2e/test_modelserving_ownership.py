"""Others write the status of ModelServings too: whole, at the same time, or without the field."""

import asyncio

import pytest

from e2e.serving import running
from e2e.stack.kthena import MANAGER, MODELSERVINGS
from e2e.stack.stack import CRDS
from e2e.test_modelserving import _ours, _owner  # noqa: F401 - fixtures
from lab.demo.modelserving import NAME
from reporter.stacks.kthena import reasons as m
from tests.daemon.replica import until

RESYNC = 4
MODES = pytest.mark.parametrize("mode", ["full", "roles"])


async def test_a_field_that_is_erased_is_restored_and_then_fought_for_no_more(
    stage, serving, owner, ours
):
    """Upstream's whole-status PUT: once it is mended, the second time within a resync it is told."""
    daemon, _ = await owner("full", resync_seconds=RESYNC)
    await serving.create(replicas=1)
    await serving.shows(running(1))
    before = await on_record(daemon, ours)

    await serving.kthena.tell(serving.key)
    await serving.shows(running(1))
    await until(lambda: len(ours()) == before + 1, "it is written once more")
    await serving.kthena.tell(serving.key)
    event = await stage.told(m.STATUS_NOT_OWNED, serving.subject)
    assert MANAGER in event["message"]
    assert await serving.roles() == {}
    assert len(ours()) == before + 1, "we stood back"

    await serving.shows(running(1))
    await stage.told(m.STATUS_NOT_OWNED, serving.subject, state="over")
    assert await on_record(daemon, ours) == before + 2


async def test_beside_kthena_a_field_that_is_erased_is_written_again(stage, serving, owner, ours):
    """Kthena does not know the field and removes it with each write; that is no fight."""
    daemon, _ = await owner("roles", resync_seconds=RESYNC)
    await serving.create(replicas=1)
    await serving.shows(running(1))
    before = await on_record(daemon, ours)
    for _ in range(3):
        await serving.kthena.tell(serving.key)
        await serving.shows(running(1))
    assert await on_record(daemon, ours) == before + 3
    assert await stage.events((m.STATUS_NOT_OWNED, serving.subject)) == []


async def on_record(daemon, ours):
    """How many writes there are, a pass later.

    What a write changed can be seen before its line is in the audit log.
    """
    await daemon.passes(1)
    return len(ours())


async def test_a_controller_that_goes_on_is_left_to_it_for_a_growing_time(
    stage, serving, owner, ours
):
    """Kthena's controller puts the whole status again whenever we have written."""
    daemon, _ = await owner("full")
    await serving.create(replicas=1)
    await until(serving.roles, "the roles are there")

    async def erase():
        while True:
            if await serving.roles():
                await serving.kthena.tell(serving.key)
            await asyncio.sleep(0.05)

    erasing = asyncio.create_task(erase())
    await stage.told(m.STATUS_NOT_OWNED, serving.subject)
    before = len(ours())
    await daemon.passes(8)
    assert len(ours()) - before <= 3, "after 1, 2 and 4 resyncs, no more"
    erasing.cancel()
    await serving.shows(running(1))
    await stage.told(m.STATUS_NOT_OWNED, serving.subject, state="over")


async def test_conflicts_are_answered_from_fresh_state(stage, serving, owner, ours):
    """Somebody writes the object all the time; our writes carry the version that they rest on."""
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
    """Make the CRD what Kthena's releases have, and wait until it is served so."""
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
