"""The status of ModelServings on the real API server, with the chart's permissions.

Others write it too: completely, concurrently, or without the field.
"""

import json

import pytest

from e2e.envtest.audit import granted, requests, unused
from e2e.envtest.release import REPORTER
from e2e.serving import MODELSERVINGS, running
from e2e.stack.stack import CRDS
from lab.demo.modelserving import NAME, modelserving
from lab.simulation.kthena import ModelServingWorld, plan
from reporter.stacks.kthena import reasons as m
from tests.daemon.replica import until

STATUS = f"{MODELSERVINGS}/status"
FORMER = "modelservings.workload.volcano.sh"
COMPONENT = "productionstack-status-reporter"
IMAGE = "vllm/vllm-openai:v0.15.0"


@pytest.fixture(name="owner")
def _owner(another, replica):
    """A function that starts a replica owning the status, or the roles: `await owner("roles")`."""

    async def start(mode="full", name="replica-a", *, release=None, **settings):
        if release is None:
            values = {"modelServing": {"status": mode}}
            release, _ = await another(f"ms-{mode}", REPORTER, values)
        daemon = await replica(name, release=release, **settings)
        await daemon.ready()
        return daemon, release

    return start


@pytest.fixture(name="ours")
def _ours(plane):
    """Return a function for replicas' later requests, about statuses or of any kind."""
    start = plane.audit_log.stat().st_size

    def since(resource=STATUS, after=start):
        return [
            each
            for each in requests(plane.audit_log, since=after)
            if each.pod and each.writes and resource in ("", each.resource)
        ]

    return since


def conditions(status):
    return {each["type"]: each["status"] for each in status["conditions"]}


async def test_full_status_follows_the_groups_with_the_rights_of_the_chart(
    stage, serving, owner, ours
):
    """Scaled, rolled out, and with a lost pod: at rest, the status is always right."""
    daemon, _ = await owner()
    await serving.create()
    await serving.shows(running())
    found = stage.kubectl(
        "-n", serving.namespace, "get", MODELSERVINGS, NAME, "-o", "jsonpath={.status.roleStatuses}"
    )
    assert [each["roleID"] for each in json.loads(found)] == [
        "prefill-0",
        "decode-0",
        "decode-1",
    ] * 2

    await serving.patch(replicas=3)
    await serving.shows(running(3))
    roles = (await serving.get())["spec"]["template"]["roles"]
    for each in roles:
        each["entryTemplate"]["spec"]["containers"][0]["image"] = IMAGE
    await serving.patch(template={"roles": roles})
    await stage.api.delete("pods", f"{NAME}-0-prefill-0-1", namespace=serving.namespace)
    await serving.settled()
    await serving.shows(running(3))

    async def complete():
        modelserving = await serving.get()
        status = modelserving["status"]
        assert status["observedGeneration"] == modelserving["metadata"]["generation"]
        assert status["currentRevision"] == status["updateRevision"]
        assert conditions(status)["Available"] == "True"
        names = ("replicas", "currentReplicas", "updatedReplicas", "availableReplicas")
        return [status[name] for name in names] == [3, 3, 3, 3]

    await until(complete, "the status is complete")
    await stage.told(m.READY, serving.subject, state="over")
    assert {each.verb for each in ours()} == {"update"}
    assert all(each.allowed for each in ours(""))

    async def are_counted():
        written = await daemon.metric("modelserving_status_writes_total", outcome="written")
        return written == len(ours())

    await until(are_counted, "each write is counted once")


async def test_roles_mode_owns_the_roles_and_leaves_the_rest_alone(stage, serving, owner, ours):
    await owner("roles")
    await serving.create(replicas=1)
    await stage.api.status(MODELSERVINGS, serving.namespace, NAME, status={"availableReplicas": 7})
    await serving.shows(running(1))
    await serving.patch(replicas=2)
    await serving.shows(running(2))
    modelserving = await serving.get()
    status = modelserving["status"]
    assert {*status} == {"availableReplicas", "roleStatuses"}
    assert status["availableReplicas"] == 7
    (entry,) = [
        each for each in modelserving["metadata"]["managedFields"] if each["manager"] == COMPONENT
    ]
    assert (entry["operation"], entry["subresource"]) == ("Apply", "status")
    assert [*entry["fieldsV1"]["f:status"]] == ["f:roleStatuses"]
    assert {each.verb for each in ours()} == {"patch"}


@pytest.mark.parametrize(("mode", "verb"), [("full", "update"), ("roles", "patch")])
async def test_what_the_chart_grants_on_statuses_is_what_is_used(
    stage, serving, owner, ours, plane, mode, verb
):
    """One verb on the status of both groups of ModelServings; nothing while nothing changes."""
    daemon, release = await owner(mode)
    await serving.create(replicas=1)
    await serving.shows(running(1))
    former = modelserving() | {"apiVersion": f"{FORMER.partition('.')[2]}/v1alpha1"}
    former["metadata"] = {"name": "former", "namespace": serving.namespace}
    made = await stage.api.create(former)
    for each in plan(ModelServingWorld(made)).create:
        await stage.api.create(each)

    async def written():
        found = await stage.api.get(FORMER, "former", namespace=serving.namespace)
        return found.get("status", {}).get("roleStatuses")

    await until(written, "roles of the former group are there")
    grants = {
        each for each in granted(stage.kubectl, release.name) if "modelservings" in each.resource
    }
    statuses = {each for each in grants if each.resource.endswith("/status")}
    assert {each.verb for each in statuses} == {verb}
    assert {each.verb for each in grants - statuses} == {"list", "watch"}
    await until(lambda: not unused(statuses, ours("")), "the writes are on record")
    assert all(each.allowed for each in ours(""))
    await daemon.passes(3)
    quiet = plane.audit_log.stat().st_size
    await daemon.passes(6)
    assert [each for each in ours("", after=quiet) if "leases" not in each.resource] == []


@pytest.mark.parametrize("mode", ["full", "roles"])
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
        await stage.api.status(MODELSERVINGS, serving.namespace, "trial", status=status)
        found = await stage.api.get(MODELSERVINGS, "trial", namespace=serving.namespace)
        return "roleStatuses" not in found["status"]

    await until(dropped, "the field is dropped")
    await stage.api.delete(MODELSERVINGS, "trial", namespace=serving.namespace)
