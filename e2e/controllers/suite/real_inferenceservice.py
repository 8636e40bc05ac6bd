"""InferenceServices of KServe, Standard mode."""

import asyncio

from e2e.controllers.suite.cluster import GPU, made
from e2e.controllers.suite.told import SETTLING, SOON, Model, Scaler, keda
from reporter.daemon.evidence import AGAIN
from reporter.stacks.kserve import reasons as c

ISVCS = "inferenceservices.serving.kserve.io"
RUNTIMES = "servingruntimes.serving.kserve.io"


SMALL = {
    "requests": {"cpu": "10m", "memory": "64Mi"},
    "limits": {"cpu": "1", "memory": "256Mi", GPU: "1"},
}


async def test_a_model_by_deployments(stage, nodes, controller, namespace, replica):
    """The whole story, and without its runtime."""
    running = await controller("kserve-controller-manager")
    daemon = await (await replica(**SOON)).ready()
    await stage.api.create(made("runtime", namespace))
    wanted = made("inferenceservice", namespace)
    wanted["spec"]["predictor"]["model"]["resources"] = SMALL
    await stage.api.create(wanted)
    model = Model(stage, daemon, ISVCS, wanted, nodes=nodes)
    await model.over(c.READY)
    await model.agrees()

    await model.is_updated(image, c.PODS_NOT_READY)
    await model.has_no_room({"spec": {"predictor": {"minReplicas": 2}}}, c.PODS_NOT_READY)
    await model.suffers(c.PODS_NOT_READY, "chat-predictor")
    await model.has_no_controller(running, "chat-predictor", c.PODS_NOT_READY)

    await model.patch(stop("true"))
    await stage.told(c.STOPPED, model.subject)
    await model.condition("Stopped", "True")
    await model.agrees()
    await model.patch(stop(None))
    await model.over(c.STOPPED)
    await model.condition("Ready", "True")
    await model.agrees()

    await stage.api.delete(RUNTIMES, "huggingface", namespace=namespace)
    await model.patch({"spec": {"predictor": {"minReplicas": 1}}})
    await model.fires(c.RUNTIME_MISSING, "NoSupportingRuntime")
    await model.agrees()
    await stage.api.create(made("runtime", namespace))
    await model.over(c.RUNTIME_MISSING)
    await model.agrees()
    await model.is_deleted()


async def test_a_model_that_is_scaled(stage, metrics, controller, namespace, replica):
    """Scaled by its autoscaler, with metrics and without."""
    await controller("kserve-controller-manager")
    shorter = {"grace": f"model-startup={2 * SETTLING}"}
    daemon = await (await replica(**SOON | shorter)).ready()
    await stage.api.create(made("runtime", namespace))
    wanted = made("inferenceservice", namespace)
    wanted["spec"]["predictor"]["maxReplicas"] = 3
    await stage.api.create(wanted)
    model = Model(stage, daemon, ISVCS, wanted)
    await model.over(c.READY)
    for processor, pods in (("1600m", 3), ("10m", 1)):
        await metrics.use(namespace, processor)
        await model.has_pods(pods)
    await model.has_told_no_more()

    await metrics.use(namespace, "")
    await asyncio.sleep(AGAIN)
    await model.fires(
        c.SCALING_NOT_READY,
        "HorizontalPodAutoscaler chat-predictor does not work: FailedGetResourceMetric",
    )
    await model.agrees()
    await metrics.use(namespace, "10m")
    await asyncio.sleep(AGAIN)
    await model.over(c.SCALING_NOT_READY)
    await model.is_ready()
    await model.is_deleted()


async def test_a_model_that_keda_scales(stage, controller, namespace, prometheus, replica):
    """By KEDA, from zero, without its metric."""
    await keda(controller)
    await controller("kserve-controller-manager")
    daemon = await (await replica(**SOON)).ready()
    await stage.api.create(made("runtime", namespace))
    wanted = made("inferenceservice", namespace)
    wanted["metadata"]["annotations"]["serving.kserve.io/autoscalerClass"] = "keda"
    wanted["spec"]["predictor"] |= {
        "minReplicas": 0,
        "maxReplicas": 3,
        "autoScaling": {"metrics": [waiting(prometheus.url)]},
    }
    await stage.api.create(wanted)
    model = Model(stage, daemon, ISVCS, wanted)
    await Scaler(stage, namespace, "chat-predictor").says(Ready="True", Active="False")
    await model.state("idle")
    # KServe leaves KEDA no other interval than the usual one, of 30 s.
    prometheus.says(20)
    await model.has_pods(2)
    await model.agrees()
    await model.has_told_no_more()

    prometheus.says(None)
    await model.fires(
        c.SCALING_NOT_READY, "ScaledObject chat-predictor does not work: KEDAScalerFailed: "
    )
    await model.agrees()
    prometheus.says(20)
    await model.over(c.SCALING_NOT_READY)
    await model.is_ready()
    await model.is_deleted()


def waiting(address):
    metric = {"backend": "prometheus", "serverAddress": address, "query": "waiting"}
    target = {"type": "Value", "value": "10"}
    return {"type": "External", "external": {"metric": metric, "target": target}}


def image(name):
    return {"spec": {"predictor": {"model": {"image": name}}}}


def stop(value):
    return {"metadata": {"annotations": {"serving.kserve.io/stop": value}}}
