"""InferenceServices in Standard mode on the real API server, with the chart's permissions."""

import pytest

from lab.demo.inferenceservice import INFERENCESERVICES, controllers, inferenceservice
from lab.demo.sample_stack import deployment
from reporter.stacks.kserve import reasons as c

NAME = "chat"
CRD_MISSING = ("clusterCRDMissing", "cluster")


@pytest.fixture(name="model")
async def _model(stage):
    """The namespace of a model that serves, with the controllers that it needs."""
    for each in controllers():
        await stage.namespace(each["metadata"]["namespace"])
        await stage.api.create(each)
        await stage.stack.settled(each["metadata"]["namespace"])
    made = await stage.namespace("standard-isvc")
    labels = {"serving.kserve.io/inferenceservice": NAME, "app": f"isvc.{NAME}-predictor"}
    container = {"name": "kserve-container", "image": "vllm/vllm-openai:v0.14.0"}
    await stage.api.create(deployment(made, f"{NAME}-predictor", container, labels=labels))
    wanted = inferenceservice(NAME, "hf://example/chat-1")
    wanted["metadata"] |= {
        "namespace": made,
        "annotations": {"serving.kserve.io/deploymentMode": "Standard"},
    }
    await stage.api.create(wanted)
    await stage.stack.settled(made)
    status = {
        "deploymentMode": "Standard",
        "observedGeneration": 1,
        "url": f"http://{NAME}.example.com",
        "conditions": [
            {"type": type_, "status": "True"}
            for type_ in ("IngressReady", "PredictorReady", "Ready")
        ],
    }
    await stage.stack.status(INFERENCESERVICES, made, NAME, status=status)
    return made


def about(reason, model):
    return reason, f"inferenceservice/{model}/{NAME}"


async def test_standard_mode_rests_on_deployments(stage, model, replica):
    """Standard mode has no revisions and no traffic; the Deployment says which pods count."""
    daemon = await replica()
    event = await stage.told(*about(c.READY, model), state="over")
    assert event["message"].endswith("is ready: predictor ready")
    derived = (await daemon.report())["derived"]
    (ours,) = [each["status"] for each in derived if each["namespace"] == model]
    assert "components" not in ours
    assert {each["type"]: each["status"] for each in ours["conditions"]}["Ready"] == "True"

    await stage.stack.image_pull(model, NAME, fails=True)
    event = await stage.told(*about(c.PODS_NOT_READY, model))
    assert "container kserve-container waits in ImagePullBackOff" in event["message"]
    await stage.stack.image_pull(model, NAME, fails=False)
    await stage.told(*about(c.PODS_NOT_READY, model), state="over")


async def test_crd_that_is_gone_is_told_where_it_was_there_and_nothing_is_told_where_it_is_off(
    stage, model, replica
):
    """`auto` reports what existed or is needed, `off` nothing."""
    daemon = await replica()
    await stage.told(*about(c.READY, model), state="over")
    await stage.stack.remove_crd(INFERENCESERVICES)
    event = await stage.told(*CRD_MISSING)
    assert f"{INFERENCESERVICES} is not served any more" in event["message"]
    assert "set --components kserve=off" in event["message"]
    await daemon.stop()
    daemon = await replica(components="kserve=off")
    await stage.told(*CRD_MISSING, state="over")
    assert await stage.firing() == set()
    assert (await daemon.report())["unknown"] == []
