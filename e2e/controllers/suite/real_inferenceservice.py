"""InferenceServices of KServe, Standard mode."""

from e2e.controllers.suite.told import SOON, Model
from reporter.stacks.kserve import reasons as c
from tests.daemon.replica import until

ISVCS = "inferenceservices.serving.kserve.io"
RUNTIMES = "servingruntimes.serving.kserve.io"


def runtime(namespace):
    container = {
        "name": "kserve-container",
        "image": "kserve/huggingfaceserver:v0.20.0",
        "args": ["--model_name={{.Name}}", "--model_dir=/mnt/models"],
    }
    return {
        "apiVersion": "serving.kserve.io/v1alpha1",
        "kind": "ServingRuntime",
        "metadata": {"name": "huggingface", "namespace": namespace},
        "spec": {
            "supportedModelFormats": [{"name": "huggingface", "version": "1", "autoSelect": True}],
            "protocolVersions": ["v1", "v2"],
            "containers": [container],
        },
    }


def inferenceservice(namespace):
    return {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {
            "name": "chat",
            "namespace": namespace,
            "annotations": {"serving.kserve.io/deploymentMode": "Standard"},
        },
        "spec": {
            "predictor": {
                "minReplicas": 1,
                "model": {
                    "modelFormat": {"name": "huggingface"},
                    "storageUri": "pvc://models/llama",
                },
            }
        },
    }


async def test_a_model_by_deployments(stage, controller, namespace, replica):
    """Created, scaled, without Secret, image, node, controller, updated, stopped, started, without its runtime, deleted."""
    running = await controller("kserve-controller-manager")
    daemon = await (await replica(**SOON)).ready()
    await stage.api.create(runtime(namespace))
    wanted = inferenceservice(namespace)
    await stage.api.create(wanted)
    model = Model(stage, daemon, ISVCS, wanted)
    await model.over(c.READY)
    await model.agrees()

    await model.patch({"spec": {"predictor": {"minReplicas": 2}}})
    await model.agrees()
    await model.suffers(c.PODS_NOT_READY, "chat-predictor")
    await model.has_no_controller(running, "chat-predictor", c.PODS_NOT_READY)
    await model.patch({"spec": {"predictor": {"model": {"image": "vllm:typo"}}}})
    await model.agrees()

    async def updated():
        pods = await stage.api.items("pods", namespace=namespace)
        new = [each for each in pods if each["spec"]["containers"][0]["image"] == "vllm:typo"]
        return new[0]["metadata"]["name"] if new and len(new) == len(pods) else ""

    name = await until(updated, "the pods are those of the new image")
    await stage.stack.image_pull(namespace, name, fails=True)
    await model.fires(
        c.PODS_NOT_READY, f"pod {name}: container kserve-container waits in ImagePullBackOff"
    )
    await model.agrees()
    await stage.stack.image_pull(namespace, name, fails=False)
    await model.over(c.PODS_NOT_READY)
    await model.agrees()

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
    await stage.api.create(runtime(namespace))
    await model.over(c.RUNTIME_MISSING)
    await model.agrees()
    await model.is_deleted()


def stop(value):
    return {"metadata": {"annotations": {"serving.kserve.io/stop": value}}}
