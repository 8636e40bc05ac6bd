"""LLMInferenceServices on the real API server, with the chart's permissions."""

from copy import deepcopy

import pytest

from e2e.envtest.audit import requests
from e2e.stack.objects import condition, gateway
from e2e.stage import named_after
from lab.demo.llmisvc import CONFIG, CONFIGS, LLMS, NAME, made, statuses
from lab.demo.sample_stack import controller
from reporter.catalogue.resources import FORMER_POOLS
from reporter.stacks.llmisvc import reasons as c
from reporter.stacks.llmisvc.reasons import LEADERWORKERSETS, RESOURCES

LWS = "leaderworkersets.leaderworkerset.x-k8s.io"
GATEWAYS = "gateways.gateway.networking.k8s.io"


class Llm:
    """An LLMInferenceService in its own namespace, with what KServe created for it."""

    def __init__(self, stage, namespace):
        self.stage = stage
        self.namespace = namespace

    def about(self, reason):
        return (reason, f"llminferenceservice/{self.namespace}/{NAME}")

    async def create(self, version="v1alpha2"):
        """Create everything as KServe leaves it if it knows no route."""
        reference = {"name": "own", "namespace": self.namespace}
        await self.stage.api.create(gateway(self.namespace, "own"))
        programmed = {"conditions": [condition("Programmed")]}
        await self.stage.stack.status(GATEWAYS, self.namespace, "own", status=programmed)
        for each in deepcopy(made()):
            each["metadata"]["namespace"] = self.namespace
            if each["kind"] == "LLMInferenceService":
                each["spec"]["router"]["gateway"]["refs"] = [reference]
            if each["apiVersion"].startswith("serving.kserve.io"):
                each["apiVersion"] = f"serving.kserve.io/{version}"
            await self.stage.api.create(each)
        for resource, name, status in deepcopy(tuple(statuses())):
            for parent in status.get("parents", ()):
                parent["parentRef"] = reference
            await self.stage.stack.status(resource, self.namespace, name, status=status)
        await self.stage.stack.settled(self.namespace)

    async def change(self, patch, resource=LLMS, name=NAME):
        await self.stage.api.patch(resource, name, patch, namespace=self.namespace)


@pytest.fixture(name="llm")
async def _llm(stage, request):
    """Its namespace, and the Deployment of its controller."""
    place = await stage.namespace("kserve")
    name, image = "llmisvc-controller-manager", "kserve/llmisvc-controller:v0.20.0"
    await stage.api.create(controller(place, name, image=image, labels={"app": name}))
    await stage.stack.settled(place)
    return Llm(stage, await stage.namespace(f"{named_after(request.node.name)}-llm"))


async def test_one_that_serves_is_ready_although_kserve_waits_for_ever(
    stage, llm, replica, *, plane
):
    """Requests are answered; the status that follows from the objects is in the report.

    The stored one of two versions is read: the other one needs the controller's webhook.
    """
    start = plane.audit_log.stat().st_size
    daemon = await replica()
    await llm.create()
    event = await stage.told(*llm.about(c.READY), state="over")
    assert "decode Deployment and prefill Deployment available" in event["message"]
    assert await stage.firing() == set()
    (status,) = [
        each["status"]
        for each in (await daemon.report())["derived"]
        if each["kind"] == "LLMInferenceService"
    ]
    asked = requests(plane.audit_log, since=start)
    uris = {each.uri.partition("?")[0] for each in asked if each.resource == LLMS and each.pod}
    assert uris == {"/apis/serving.kserve.io/v1alpha2/llminferenceservices"}
    found = {each["type"]: each["status"] for each in status["conditions"]}
    wanted = (
        "MainWorkloadReady",
        "PrefillWorkloadReady",
        "WorkloadsReady",
        "SchedulerWorkloadReady",
    )
    assert {found[each] for each in wanted} == {"True"}


async def test_what_breaks_is_told_and_over_when_it_is_mended(stage, llm, replica):
    """A pod without its image, a picker at zero, a deleted config: each by its own reason."""
    await llm.create()
    await replica(grace=f"{c.EPP_NOT_READY}=1")
    await stage.told(*llm.about(c.READY), state="over")

    await stage.stack.image_pull(llm.namespace, f"{NAME}-kserve-prefill", fails=True)
    event = await stage.told(*llm.about(c.PODS_NOT_READY))
    assert f"prefill pod {NAME}-kserve-prefill" in event["message"]
    assert event["related"]["kind"] == "Pod"
    await stage.stack.image_pull(llm.namespace, f"{NAME}-kserve-prefill", fails=False)
    await stage.told(*llm.about(c.PODS_NOT_READY), state="over")

    await stage.stack.scale(llm.namespace, f"{NAME}-kserve-router-scheduler", 0)
    event = await stage.told(*llm.about(c.EPP_NOT_READY))
    assert "by failureMode FailClose" in event["message"]
    await stage.stack.scale(llm.namespace, f"{NAME}-kserve-router-scheduler", 1)
    await stage.told(*llm.about(c.EPP_NOT_READY), state="over")

    config = await stage.api.get(CONFIGS, CONFIG, namespace=llm.namespace)
    await stage.api.delete(CONFIGS, CONFIG, namespace=llm.namespace)
    await stage.told(*llm.about(c.INVALID))
    kept = {key: config[key] for key in ("apiVersion", "kind", "spec")}
    place = {"name": CONFIG, "namespace": llm.namespace}
    await stage.api.create({**kept, "metadata": place})
    await stage.told(*llm.about(c.INVALID), state="over")
    assert await stage.firing() == set()


async def test_one_that_is_stopped_and_deleted_leaves_nothing(stage, llm, replica):
    """Stopped is worth knowing; after deletion, it is forgotten without a Ready."""
    await llm.create()
    await replica()
    await stage.told(*llm.about(c.READY), state="over")
    await llm.change({"metadata": {"annotations": {"serving.kserve.io/stop": "true"}}})
    event = await stage.told(*llm.about(c.STOPPED))
    assert event["type"] == "Normal"
    await stage.api.delete(LLMS, NAME, namespace=llm.namespace)
    await stage.told(*llm.about(c.STOPPED), state="over")
    assert len(await stage.events(llm.about(c.READY))) == 1


async def test_a_kind_that_goes_and_comes(stage, llm, replica):
    """Without LeaderWorkerSets a worker cannot be created; once installed again, that is over."""
    await llm.create()
    await stage.stack.remove_crd(LWS)
    await replica(grace=f"{c.STATUS_STALE}=600,{c.OBJECT_MISSING}=600")
    await llm.change({"spec": {"worker": {"containers": []}}})
    event = await stage.told(*llm.about(c.DEPENDENCY_MISSING))
    assert f"the cluster does not serve {LWS}" in event["message"]
    await stage.stack.install_crds()
    await stage.told(*llm.about(c.DEPENDENCY_MISSING), state="over")


async def test_the_older_version_alone(stage, llm, replica):
    """KServe v0.16 only serves v1alpha1, which is then read."""
    crds = "customresourcedefinitions.apiextensions.k8s.io"
    for name in (LLMS, CONFIGS):
        crd = await stage.api.get(crds, name)
        for each in crd["spec"]["versions"]:
            each["served"] = each["name"] == "v1alpha1"
        await stage.api.patch(crds, name, {"spec": {"versions": crd["spec"]["versions"]}})
    await stage.api.resources(fresh=True)
    try:
        await llm.create(version="v1alpha1")
        await replica()
        await stage.told(*llm.about(c.READY), state="over")
        assert await stage.firing() == set()
    finally:
        await stage.stack.install_crds()
        await stage.api.resources(fresh=True)


async def test_a_cluster_without_the_kind_pays_nothing(stage, plane, replica):
    """Nothing of the stack is requested or stored."""
    await stage.stack.remove_crd(LLMS)
    try:
        start = plane.audit_log.stat().st_size
        daemon = await (await replica("without-llms")).ready()
        await daemon.passes(3)
        asked = {
            each.resource
            for each in requests(plane.audit_log, since=start)
            if each.pod == daemon.name
        }
        # KAITO has such pools too, and plain workloads such sets.
        own = {str(each) for each in RESOURCES} - {str(FORMER_POOLS), str(LEADERWORKERSETS)}
        assert "pods" in asked
        assert own & asked == set()
        _, page = await daemon.get("metrics", "/metrics")
        held = [
            line
            for line in page.splitlines()
            if line.startswith("status_reporter_objects{")
            and any(f'"{name}"' in line for name in own)
            and not line.endswith(" 0.0")
        ]
        assert held == []
        assert await stage.firing() == set()
    finally:
        await stage.stack.install_crds()
