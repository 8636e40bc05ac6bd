"""KEDA's operator, and its adapter."""

from e2e.controllers.suite.cluster import made
from e2e.controllers.suite.told import SCALEDOBJECTS, SOON, Model, Prometheus, Scaler, keda, trigger
from lab.demo.sample_stack import deployment
from reporter.stacks.workloads import reasons as c

FALLBACK = {"failureThreshold": 1, "replicas": 2}
FAILS = "prometheus query api returned error. status: 500"


def scaledobject(namespace, *triggers, **more):
    wanted = made("scaledobject", namespace)
    wanted["spec"] |= {"triggers": list(triggers), **more}
    return wanted


async def scaled(stage, controller, replica, wanted):
    """Return a Deployment that is scaled so, as a model, and what scales it."""
    namespace = wanted["metadata"]["namespace"]
    await keda(controller)
    daemon = await (await replica(**SOON)).ready()
    of_model = deployment(namespace, "llama", made("engine"), labels={"app": "llama"})
    await stage.api.create(of_model)
    model = Model(stage, daemon, "deployments.apps", of_model)
    model.subject = f"workload/{namespace}/llama"
    await model.over(c.READY)
    await stage.api.create(wanted)
    return model, Scaler(stage, namespace, "llama")


async def test_a_deployment_that_is_scaled(stage, controller, namespace, prometheus, replica):
    """Active, inactive, at zero, without its trigger, its target."""
    wanted = scaledobject(namespace, trigger(prometheus.url))
    prometheus.says(20)
    model, scaler = await scaled(stage, controller, replica, wanted)

    await scaler.says(Active="True")
    await model.has_pods(2)
    prometheus.says(0)
    await scaler.says(Active="False")
    await model.state("idle")
    prometheus.says(20)
    await model.has_pods(2)
    await model.has_told_no_more()

    prometheus.says(None)
    await scaler.says(Ready="False")
    await model.fires(
        c.SCALING_NOT_READY, "ScaledObject llama does not work: KEDAScalerFailed: ", FAILS
    )
    prometheus.says(20)
    await model.over(c.SCALING_NOT_READY)
    await model.is_ready()
    await scaler.patch({"triggers": [trigger("")]})
    await scaler.says(Ready="False")
    await model.fires(
        c.SCALING_NOT_READY,
        "ScaledObject llama does not work: KEDAScalerFailed: ",
        'missing required parameter "serverAddress"',
    )
    await scaler.patch(wanted["spec"])
    await model.over(c.SCALING_NOT_READY)
    await model.is_ready()

    await scaler.patch({"scaleTargetRef": {"name": "nobody"}})
    await scaler.says(Ready="False")
    await model.daemon.passes(20)
    await model.is_ready()
    await stage.api.delete(SCALEDOBJECTS, "llama", namespace=namespace)
    await model.is_deleted()


async def test_triggers_that_fail(stage, controller, namespace, prometheus, replica):
    """A fallback; one of two triggers fails."""
    wanted = scaledobject(namespace, trigger(prometheus.url), fallback=FALLBACK, minReplicaCount=1)
    prometheus.says(5)
    model, scaler = await scaled(stage, controller, replica, wanted)
    await scaler.says(Ready="True", Active="True", Fallback="False")
    await model.has_pods(1)

    prometheus.says(None)
    await scaler.says(Ready="True", Fallback="True")
    await model.fires(c.SCALING_NOT_READY, FAILS, "; it falls back to 2 replica(s)")
    await model.has_pods(2, firing=c.SCALING_NOT_READY)
    prometheus.says(5)
    await scaler.says(Ready="True", Fallback="False")
    await model.over(c.SCALING_NOT_READY)
    await model.has_pods(1)

    other = Prometheus()
    broken = trigger(other.url)
    await scaler.patch({"fallback": None, "triggers": [trigger(prometheus.url), broken]})
    await scaler.says(Ready="Unknown")
    await model.fires(
        c.SCALING_NOT_READY,
        "ScaledObject llama works with only some of its triggers: KEDAScalerFailed: ",
        "connection refused",
    )
    await scaler.patch({"triggers": [trigger(prometheus.url)]})
    await model.over(c.SCALING_NOT_READY)
    await model.is_ready()
    await model.is_deleted()
