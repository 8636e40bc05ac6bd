"""LLMInferenceServices of KServe."""

import json
from functools import partial

import yaml

from e2e.controllers.programs import PROGRAMS
from e2e.controllers.suite.cluster import made, sets_image
from e2e.controllers.suite.told import SOON, Model, keda
from e2e.stack.objects import condition, gateway
from lab.demo.sample_stack import told_by
from reporter.stacks.llmisvc import reasons as c
from tests.daemon.replica import until

LLMS = "llminferenceservices.serving.kserve.io"


async def test_a_model_behind_a_picker(stage, nodes, controller, namespace, replica):
    """The whole story, and without its Gateway."""
    running = await controller("llmisvc-controller-manager")
    daemon = await (await replica(**SOON)).ready()
    wanted = made("llminferenceservice", namespace)
    await stage.api.create(wanted)
    model = Model(stage, daemon, LLMS, wanted, nodes=nodes)
    await model.fires(
        c.GATEWAY_NOT_READY,
        "KServe makes no route: HTTPRoutesReady is False, RefsInvalid: "
        "Managed HTTPRoute references non-existent Gateway kserve/kserve-ingress-gateway",
    )

    await stage.api.apply(GATEWAY)
    await stage.api.status(
        GATEWAYS,
        "kserve",
        "kserve-ingress-gateway",
        status={"conditions": [condition("Programmed")]},
    )
    await accepted(stage, namespace)
    await model.over(c.GATEWAY_NOT_READY)
    await model.over(c.READY)
    await model.condition("Ready", "True")
    await model.agrees()

    await model.is_updated(sets_image("llminferenceservice", "template"), c.PODS_NOT_READY)
    await model.has_no_room({"spec": {"replicas": 2}}, c.PODS_NOT_READY)
    await model.suffers(c.PODS_NOT_READY, "chat-kserve-")
    await model.has_no_controller(running, "chat-kserve-", c.PODS_NOT_READY)

    await model.patch(stop("true"))
    await stage.told(c.STOPPED, model.subject)
    await model.patch(stop("false"))
    await accepted(stage, namespace)
    await model.over(c.STOPPED)
    await model.condition("Ready", "True")
    await model.agrees()
    await model.is_deleted()


async def test_a_model_that_is_scaled(stage, controller, namespace, prometheus, replica):
    """Scaled by KEDA, and without CRD, metric."""
    await keda(controller)
    await controller("llmisvc-controller-manager")
    daemon = await (await replica(**SOON)).ready()
    wanted = made("llminferenceservice", namespace)
    by_keda = {"pollingInterval": 2, "cooldownPeriod": 4}
    wanted["spec"] |= {"scaling": {"maxReplicas": 3, "wva": {"keda": by_keda}}}
    for field in ("replicas", "router"):
        wanted["spec"].pop(field)
    prometheus.says(1)
    await stage.api.create(wanted)
    model = Model(stage, daemon, LLMS, wanted)
    await model.fires(
        c.RECONCILE_FAILED, "ScalingCRDNotFound", 'no matches for kind "VariantAutoscaling"'
    )

    address = json.dumps({"prometheus": {"url": prometheus.url}})
    data = {"data": {"autoscaling-wva-controller-config": address}}
    await stage.api.patch("configmaps", "inferenceservice-config", data, namespace="kserve")
    variants = PROGRAMS["llmisvc-controller-manager"].source() / VARIANTS
    await stage.api.apply(yaml.safe_load(variants.read_text()))
    await model.over(c.RECONCILE_FAILED)
    await model.condition("ScalingReady", "True")
    prometheus.says(2)
    await model.has_pods(2)
    await model.agrees()
    await model.has_told_no_more()

    prometheus.says(None)
    await model.condition("ScalingReady", "False")
    await model.fires(
        c.SCALING_NOT_READY,
        "ScaledObject chat-kserve-keda does not work: KEDAScalerFailed: ",
        "its pods serve although Ready is False for it",
    )
    await model.agrees()
    prometheus.says(1)
    await model.over(c.SCALING_NOT_READY)
    await model.has_pods(1)
    await model.agrees()
    await model.is_deleted()


VARIANTS = "test/crds/wva_variantautoscalings.yaml"
GATEWAYS = "gateways.gateway.networking.k8s.io"
GATEWAY = gateway("kserve", "kserve-ingress-gateway")


def stop(value):
    return {"metadata": {"annotations": {"serving.kserve.io/stop": value}}}


async def accepted(stage, namespace):
    """Play the Gateway's controller: it accepts the route and the pool as soon as they exist."""
    accepts = [condition("Accepted"), condition("ResolvedRefs")]
    status = told_by("kserve", "kserve-ingress-gateway", accepts)
    for resource, name in (
        ("httproutes.gateway.networking.k8s.io", "chat-kserve-route"),
        ("inferencepools.inference.networking.k8s.io", "chat-inference-pool"),
    ):
        await until(partial(stage.api.get, resource, name, namespace=namespace), f"{name} is there")
        await stage.api.status(resource, namespace, name, status=status)
