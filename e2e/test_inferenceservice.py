"""InferenceServices on the real API server, with what the chart grants and KServe played."""

import re

import pytest

from e2e.inferenceservices import NAME, Models, conditions, derived, revisions, standard
from e2e.stack.kserve import INFERENCESERVICES
from lab.demo.kserve import controllers
from lab.simulation.kserve_fates import fetch_fails, load_fails
from reporter.stacks.kserve import reasons as c
from tests.daemon.replica import until

V1, V2, V3 = (f"{NAME}-predictor-0000{number}" for number in (1, 2, 3))
KSERVE_DOWN = ("clusterKServeControllerNotReady", "cluster")
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


async def test_rollback_is_told_with_both_revisions(stage, models, replica):
    """The second pass of KServe has happened: requests go to the revision of before."""
    await models.create()
    await models.change(model={"storageUri": "hf://example/chat-2"})
    daemon = await replica(grace=KSERVE_TAKES_A_MOMENT)
    await models.change(canaryTrafficPercent=0)
    event = await stage.told(*models.about(c.ROLLED_BACK))
    assert f"requests go to {V1}, none to {V2}, which is ready" in event["message"]
    assert revisions(await derived(daemon, models)) == ["00002", "00002", "00001", "00001"]
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


async def test_model_that_cannot_be_fetched_is_told_of_its_pod(stage, models, replica):
    """Nothing was ever ready, and Knative knows nothing of init containers."""
    models.kserve.fates[V1] = fetch_fails("403 Forbidden", exit_code=3)
    await replica(grace=KSERVE_TAKES_A_MOMENT)
    await models.create()
    event = await stage.told(*models.about(c.STORAGE_FAILED))
    assert "the model cannot be fetched" in event["message"]
    assert "(exit code 3): 403 Forbidden" in event["message"]


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


async def test_controller_that_is_down_suppresses_what_only_it_can_mend(stage, models, replica):
    """A status that nobody keeps is not told of each InferenceService; back, nothing is left."""
    await models.create()
    daemon = await replica(grace=f"{c.STATUS_STALE}=1")
    await stage.told(*models.about(c.READY), state="over")
    await stage.stack.scale("kserve", "kserve-controller-manager", 0)
    await stage.told(*KSERVE_DOWN)
    await models.kserve.stop()
    gone = {"status": {"components": {"predictor": {"latestReadyRevision": None}}}}
    await stage.api.patch(
        INFERENCESERVICES, NAME, gone, namespace=models.namespace, subresource="status"
    )

    async def suppressed() -> bool:
        return (await daemon.dispositions()).get(models.about(c.STATUS_STALE)) == "suppressed"

    await until(suppressed, "the stale status is suppressed")
    assert await stage.firing() == {KSERVE_DOWN}

    models.kserve.start()
    await models.settled()
    await stage.stack.scale("kserve", "kserve-controller-manager", 1)
    await stage.told(*KSERVE_DOWN, state="over")

    async def nothing() -> bool:
        return not await daemon.dispositions()

    await until(nothing, "nothing is left to tell")
    assert await stage.events(models.about(c.STATUS_STALE)) == []


async def test_status_that_nobody_keeps_is_stale(stage, models, replica):
    """With the controller up, or unknown, it is told: believe the objects."""
    await models.create()
    await replica(grace=f"{c.STATUS_STALE}=1")
    await models.kserve.stop()
    gone = {"status": {"components": {"predictor": {"latestReadyRevision": None}}}}
    await stage.api.patch(
        INFERENCESERVICES, NAME, gone, namespace=models.namespace, subresource="status"
    )
    event = await stage.told(*models.about(c.STATUS_STALE))
    assert "components.predictor.latestReadyRevision" in event["message"]
    models.kserve.start()
    await stage.told(*models.about(c.STATUS_STALE), state="over")


async def test_crd_that_is_gone_is_told_where_its_part_is_expected(stage, models, replica):
    """And hides what was told of InferenceServices, until it is back."""
    models.kserve.fates[V1] = load_fails(OUT_OF_MEMORY)
    await models.create()
    daemon = await replica(components="kserve=on")
    await stage.told(*models.about(c.MODEL_LOAD_FAILED))
    await stage.stack.remove_crd(INFERENCESERVICES)
    event = await stage.told(*CRD_MISSING)
    assert f"CustomResourceDefinition {INFERENCESERVICES} is not served" in event["message"]
    await stage.told(*models.about(c.MODEL_LOAD_FAILED), state="over")
    assert await stage.firing() == {CRD_MISSING}
    await stage.stack.install_crds()
    await stage.told(*CRD_MISSING, state="over")
    assert {reason for reason, _ in await daemon.dispositions()} <= {CRD_MISSING[0]}


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
