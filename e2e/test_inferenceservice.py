"""InferenceServices on the real API server, with what the chart grants and KServe played."""

import re

import pytest

from e2e.inferenceservices import NAME, Models, conditions, derived, revisions, standard
from e2e.stack.kserve import INFERENCESERVICES
from lab.demo.kserve import controllers
from lab.simulation.kserve_fates import load_fails
from reporter.stacks.kserve import reasons as c
from tests.daemon.replica import until

V1, V2, V3 = (f"{NAME}-predictor-0000{number}" for number in (1, 2, 3))
CRD_MISSING = ("clusterCRDMissing", "cluster")
KSERVE_TAKES_A_MOMENT = f"{c.STATUS_STALE}=30"
"""A status is behind until KServe, which is played, has looked at a change."""

OUT_OF_MEMORY = "torch.OutOfMemoryError: CUDA out of memory"


@pytest.fixture(name="models")
async def _models(stage, request, operators):
    """InferenceServices need their controllers, which are expected."""
    del operators
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))[:40].strip("-")
    models = Models(stage, f"{name}-isvc")
    await namespace(stage, models.namespace)
    models.kserve.start()
    yield models
    await models.kserve.stop()


@pytest.fixture(name="operators")
async def _operators(stage):
    """The Deployments of KServe's and Knative's controllers, as the chart's values name them."""
    for each in controllers():
        await namespace(stage, each["metadata"]["namespace"])
        await stage.api.create(each)
        await stage.stack.settled(each["metadata"]["namespace"])


async def namespace(stage, name):
    stage.namespaces.append(name)
    await stage.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


async def test_canary_is_promoted_and_each_revision_is_as_derived(stage, models, replica):
    """From the first rollout to the promotion, KServe's status and ours are the same."""
    daemon = await replica(grace=KSERVE_TAKES_A_MOMENT)
    await models.create()
    event = await stage.told(*models.about(c.READY), state="over")
    assert event["message"].endswith(f"is ready: predictor ready (revision {V1})")

    async def agrees(*wanted):
        async def both() -> bool:
            ours, theirs = await derived(daemon, models), await models.status()
            assert revisions(ours) == revisions(theirs) == [*wanted]
            assert conditions(ours) == conditions(theirs)
            assert ours["modelStatus"] == theirs["modelStatus"]
            return True

        await until(both, f"{models.key} has revisions {wanted}")

    await agrees("00001", "00001", "00001", "")
    await models.change(canaryTrafficPercent=20, model={"storageUri": "hf://example/chat-2"})
    event = await stage.told(*models.about(c.CANARY_IN_PROGRESS))
    assert event["type"] == "Normal"
    assert f"revision {V2} gets 20 percent of the requests, {V1} the rest" in event["message"]
    await agrees("00002", "00002", "00001", "")
    await models.change(canaryTrafficPercent=None)
    await stage.told(*models.about(c.CANARY_IN_PROGRESS), state="over")
    await agrees("00002", "00002", "00002", "00001")
    assert await stage.firing() == set()


async def test_model_that_does_not_load_is_told_until_it_does(stage, models, replica):
    """The older revision is named, which serves; repaired, the InferenceService is ready again."""
    await models.create()
    await replica(grace=KSERVE_TAKES_A_MOMENT)
    await stage.told(*models.about(c.READY), state="over")
    models.kserve.fates[V2] = load_fails(OUT_OF_MEMORY)
    await models.change(model={"storageUri": "hf://example/chat-70b"})
    event = await stage.told(*models.about(c.MODEL_LOAD_FAILED))
    assert (
        f"pod {V2}-deployment-0: the model does not load (exit code 1): "
        f"{OUT_OF_MEMORY}; revision {V1} still serves"
    ) in event["message"]
    assert event["related"]["name"] == f"{V2}-deployment-0"
    assert await stage.firing() == {models.about(c.MODEL_LOAD_FAILED)}

    await models.change(model={"storageUri": "hf://example/chat-1"})
    await stage.told(*models.about(c.MODEL_LOAD_FAILED), state="over")
    (_, ready) = await until(
        lambda: _both(stage, models.about(c.READY)), "the InferenceService is ready once more"
    )
    assert f"(revision {V3})" in ready["message"]


async def _both(stage, key):
    found = await stage.events(key)
    return found if len(found) > 1 else []


async def test_transformer_that_fails_while_ready_is_true(stage, models, replica):
    """Ready follows predictor and ingress only, so it stays True without the transformer."""
    await models.create(transformer=True)
    await replica(grace=KSERVE_TAKES_A_MOMENT)
    await stage.told(*models.about(c.READY), state="over")
    await models.befalls(f"{NAME}-transformer", load_fails("KeyError: 'query'"))
    told = conditions(await models.status())
    assert (told["Ready"], told["TransformerReady"]) == ("True", "False")
    event = await stage.told(*models.about(c.PODS_NOT_READY))
    assert "Ready is True all the same" in event["message"]
    assert f"{NAME}-transformer-00001-deployment-0" in event["message"]


async def test_crd_that_is_gone_is_told_where_it_was_there_and_nothing_is_told_where_it_is_off(
    stage, models, replica
):
    """`auto` misses what was there or is needed, `off` nothing."""
    await models.create()
    daemon = await replica(grace=KSERVE_TAKES_A_MOMENT)
    await stage.told(*models.about(c.READY), state="over")
    await stage.stack.remove_crd(INFERENCESERVICES)
    event = await stage.told(*CRD_MISSING)
    assert f"{INFERENCESERVICES} is not served any more" in event["message"]
    assert "set --components kserve=off" in event["message"]
    await daemon.stop()
    daemon = await replica(components="kserve=off")
    await stage.told(*CRD_MISSING, state="over")
    assert await stage.firing() == set()
    assert (await daemon.report())["unknown"] == []


async def test_standard_mode_rests_on_deployments(stage, models, replica):
    """Standard mode has no revisions and no traffic; the Deployment says which pods count."""
    await models.kserve.stop()  # it plays Knative mode
    deployment, found, status = standard(models.namespace)
    await stage.api.create(deployment)
    await stage.api.create(found)
    await stage.stack.settled(models.namespace)
    await stage.stack.status(INFERENCESERVICES, models.namespace, NAME, status=status)
    daemon = await replica(grace=KSERVE_TAKES_A_MOMENT)
    event = await stage.told(*models.about(c.READY), state="over")
    assert event["message"].endswith("is ready: predictor ready")
    ours = await derived(daemon, models)
    assert "components" not in ours
    assert conditions(ours)["Ready"] == "True"

    await stage.stack.image_pull(models.namespace, NAME, fails=True)
    event = await stage.told(*models.about(c.PODS_NOT_READY))
    assert "container kserve-container waits in ImagePullBackOff" in event["message"]
    await stage.stack.image_pull(models.namespace, NAME, fails=False)
    await stage.told(*models.about(c.PODS_NOT_READY), state="over")
