"""KEDA's operator.

Its metrics adapter, which computes fallbacks, does not run: objects stand for its answers.
"""

import time

import pytest
from aiohttp import web

from e2e.controllers.suite.cluster import EXTERNAL_METRIC, engine
from e2e.controllers.suite.told import SOON, Model
from reporter.stacks.workloads import reasons as c
from tests.daemon.replica import free_port, until

SCALEDOBJECTS = "scaledobjects.keda.sh"
LABELS = {"app": "llama"}


def deployment(namespace):
    spec = {"containers": [engine("vllm/vllm-openai:v0.14.0")]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "llama", "namespace": namespace},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": LABELS},
            "template": {"metadata": {"labels": LABELS}, "spec": spec},
        },
    }


def scaledobject(namespace, prometheus):
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "llama", "namespace": namespace},
        "spec": {
            "scaleTargetRef": {"name": "llama"},
            "minReplicaCount": 0,
            "maxReplicaCount": 2,
            "pollingInterval": 2,
            "cooldownPeriod": 4,
            "triggers": [
                {
                    "type": "prometheus",
                    "metadata": {
                        "serverAddress": prometheus,
                        "query": "sum(vllm:num_requests_waiting)",
                        "threshold": "10",
                    },
                }
            ],
        },
    }


class Prometheus:
    """A Prometheus that knows one number, and the adapter of KEDA, which hands it on."""

    def __init__(self, api, namespace):
        self.url = f"http://127.0.0.1:{free_port()}"
        self._api = api
        self._namespace = namespace
        self.number = None

    async def says(self, number):
        """Let the query have this answer; None is an error."""
        self.number = number
        if number is not None:
            await self._api.apply(
                {
                    "apiVersion": "external.metrics.k8s.io/v1beta1",
                    "kind": "ExternalMetricValue",
                    "metadata": {
                        "name": "llama",
                        "namespace": self._namespace,
                        "labels": {"scaledobject.keda.sh/name": "llama"},
                    },
                    "metricName": "s0-prometheus",
                    "value": str(number),
                }
            )

    async def answer(self, _request):
        if self.number is None:
            return web.Response(status=500)
        found = [{"metric": {}, "value": [time.time(), str(self.number)]}]
        data = {"resultType": "vector", "result": found}
        return web.json_response({"status": "success", "data": data})


@pytest.fixture(name="prometheus")
async def _prometheus(stage, namespace):
    await stage.api.apply(EXTERNAL_METRIC)
    await stage.stack.until(lambda: stage.stack.lists("s0-prometheus.external.metrics.k8s.io"), "")
    prometheus = Prometheus(stage.api, namespace)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", prometheus.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", int(prometheus.url.rpartition(":")[2])).start()
    yield prometheus
    await runner.cleanup()


async def test_a_deployment_that_is_scaled(stage, controller, namespace, prometheus, replica):
    """Active, inactive, at zero, without its trigger, its target."""
    await controller("keda-operator")
    daemon = await (await replica(**SOON)).ready()
    wanted = deployment(namespace)
    await stage.api.create(wanted)
    model = Model(stage, daemon, "deployments.apps", wanted)
    model.subject = f"workload/{namespace}/llama"
    await model.over(c.READY)
    scaler = scaledobject(namespace, prometheus.url)
    await prometheus.says(20)
    await stage.api.create(scaler)

    async def patch(body):
        await stage.api.patch(SCALEDOBJECTS, "llama", body, namespace=namespace)

    async def says(type_, status):
        async def so():
            found = await stage.api.get(SCALEDOBJECTS, "llama", namespace=namespace)
            conditions = (found.get("status") or {}).get("conditions") or ()
            assert (type_, status) in {(each["type"], each["status"]) for each in conditions}, (
                conditions
            )
            return True

        await until(so, f"{type_} is {status}")

    await says("Active", "True")
    await model.has_pods(2)
    await prometheus.says(0)
    await says("Active", "False")
    await model.state("idle")
    await prometheus.says(20)
    await model.has_pods(2)
    await model.has_told_no_more()

    for change, back, words in (
        (
            lambda: prometheus.says(None),
            lambda: prometheus.says(20),
            "prometheus query api returned error. status: 500",
        ),
        (
            lambda: patch(trigger("")),
            lambda: patch({"spec": scaler["spec"]}),
            'missing required parameter "serverAddress"',
        ),
    ):
        await change()
        await says("Ready", "False")
        await model.fires(
            c.SCALING_NOT_READY,
            "ScaledObject llama does not work: KEDAScalerFailed: ",
            words,
        )
        await back()
        await model.over(c.SCALING_NOT_READY)
        await model.is_ready()

    await patch({"spec": {"scaleTargetRef": {"name": "nobody"}}})
    await says("Ready", "False")
    await daemon.passes(20)
    await model.is_ready()
    await stage.api.delete(SCALEDOBJECTS, "llama", namespace=namespace)
    await model.is_deleted()


def trigger(address):
    metadata = {"serverAddress": address, "query": "up", "threshold": "10"}
    return {"spec": {"triggers": [{"type": "prometheus", "metadata": metadata}]}}
