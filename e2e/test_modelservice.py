"""ModelServices on the real API server, with the chart's permissions."""

import json

import pytest

from e2e.stack.otterscale import MODELSERVICES, NAME, SYSTEM, OtterScale
from e2e.stack.pod_network import own_loopback
from e2e.stage import named_after
from lab.simulation.pod_life import Phase
from lab.simulation.server import ModelPod
from tests.daemon.replica import until

DEPLOYMENTS = "deployments.apps"
ROUTES = "httproutes.gateway.networking.k8s.io"
MONITORS = "podmonitors.monitoring.coreos.com"


@pytest.fixture(name="otterscale")
async def _otterscale(stage, request):
    """A ModelService that serves, in a namespace of the test's own."""
    name = named_after(request.node.name.partition("[")[0])
    otterscale = OtterScale(stage.api, stage.stack, name)
    stage.namespaces += [name, SYSTEM]
    await otterscale.install()
    yield otterscale
    await otterscale.remove()


def reason(name):
    return f"modelservice{name}"


async def unpack_fails(otterscale):
    await otterscale.unpack_fails("decode")
    await otterscale.stack.settled(otterscale.namespace)
    await otterscale.observe()


async def runs_again(otterscale):
    await otterscale.runs("decode")
    await otterscale.reconcile()


async def prefill_is_gone(otterscale):
    await otterscale.delete(DEPLOYMENTS, f"{NAME}-prefill")
    await otterscale.stack.settled(otterscale.namespace)
    await otterscale.observe()
    status = (await otterscale.service()).status
    assert (status.phase, status.prefill_replicas) == ("Ready", 0)


async def route_is_refused(otterscale):
    await otterscale.refused(ROUTES, "NotAllowedByListeners", "no listener takes it")


async def operator_does_not_look(otterscale):
    patch = {"spec": {"decode": {"replicas": 2}}}
    await otterscale.api.patch(MODELSERVICES, NAME, patch, namespace=otterscale.namespace)


async def reconcile(otterscale):
    await otterscale.reconcile()


FAULTS = (
    (unpack_fails, runs_again, "PodsNotReady", "init container model-unpack waits in CrashLoopBackOff"),
    (prefill_is_gone, reconcile, "ObjectMissing", "Deployment qwen3-prefill is missing"),
    (route_is_refused, reconcile, "RouteNotReady", "NotAllowedByListeners: no listener takes it"),
    (operator_does_not_look, reconcile, "NotObserved", "has not observed generation 2"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("put_in", "mend", "name", "text"), FAULTS, ids=[each[0].__name__ for each in FAULTS]
)
async def test_fault_comes_and_goes(stage, otterscale, replica, put_in, mend, name, text):
    """One Event on its namespace, ended by the same, and Ready before and after."""
    daemon = await replica()
    await daemon.ready()
    first = await stage.told(reason("Ready"), otterscale.subject, state="over")
    assert "the pods have no probes" in first["message"]
    assert {key for key in await stage.firing() if key[1] == otterscale.subject} == set()
    await put_in(otterscale)
    event = await stage.told(reason(name), otterscale.subject)
    assert event["type"] == "Warning"
    assert text in event["message"]
    assert event["message"].startswith(f"ModelService {otterscale.namespace}/{NAME}: ")
    assert event["involvedObject"]["kind"] == "Namespace"
    assert event["involvedObject"]["name"] == otterscale.namespace
    await mend(otterscale)
    over = await stage.told(reason(name), otterscale.subject, state="over")
    assert over["metadata"]["uid"] == event["metadata"]["uid"]

    async def ready_again():
        return len(await stage.events((reason("Ready"), otterscale.subject))) == 2

    await until(ready_again, "Ready is told again")


async def test_drift_is_told_and_does_not_keep_it_from_being_ready(stage, otterscale, replica):
    """A monitor with another selector and a deleted one, which the operator does not watch."""
    daemon = await replica()
    await stage.told(reason("Ready"), otterscale.subject, state="over")
    patch = {"spec": {"selector": {"matchLabels": {"llm-d.ai/role": "prefill"}}}}
    await otterscale.api.patch(MONITORS, f"{NAME}-decode", patch, namespace=otterscale.namespace)
    await otterscale.delete(MONITORS, f"{NAME}-prefill")
    wanted = (
        f"ModelService {otterscale.namespace}/{NAME}: PodMonitor qwen3-decode differs: spec.selector "
        "has llm-d.ai/role=prefill and should have llm-d.ai/role=decode (metrics of the pods are not "
        "collected as asked for); PodMonitor qwen3-prefill is missing (metrics of the pods are not "
        "collected as asked for); "
    )

    async def told():
        events = await stage.events((reason("Drift"), otterscale.subject))
        return [
            each["type"] == "Normal"
            and each["message"].startswith(wanted)
            and "the operator does not watch PodMonitors" in each["message"]
            for each in events
        ] == [True]

    await until(told, "the drift is told")
    status, text = await daemon.get("report", "/api/v1/report")
    assert status == 200
    assert otterscale.subject in {each["subject"] for each in json.loads(text)["ready"]}


async def test_pages_of_its_pods_are_judged(stage, otterscale, replica):
    """A fault of the decode pod's engine is reported on the ModelService; ports are the pods'."""
    async with (
        ModelPod(host=own_loopback(1), port=8200) as one,
        ModelPod(host=own_loopback(2), port=8000) as two,
    ):
        decode = await otterscale.answers_at("decode", one.host)
        await otterscale.answers_at("prefill", two.host)
        one.become(Phase.SATURATED)
        window = "inferencesetKVCacheSaturated=4"
        await replica(scrape_via="direct", scrape_interval_seconds=1, grace=window)
        event = await stage.told(reason("KVCacheSaturated"), otterscale.subject)
        assert f"pod {decode}" in event["message"]
        assert event["related"]["name"] == decode
        assert two.requests > 0
