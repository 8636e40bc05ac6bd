"""vLLM pods of InferenceServices, scraped by the real daemon: the rules are those of InferenceSets."""

from datetime import UTC, datetime

import pytest

from lab.demo.inferenceservice import NAMESPACE, inferenceservice
from lab.demo.kserve import KServe, kinds
from lab.demo.sample_stack import AGE
from lab.simulation import ModelPod, Phase
from reporter.catalogue.runtime import KV_CACHE, of_kind
from reporter.model.instant import rfc3339
from reporter.stacks.kserve.reasons import INFERENCESERVICE_KIND
from tests.daemon.replica import free_port
from tests.tables import of_inferencesets as t

WINDOW = 2
SUBJECT = f"inferenceservice/{NAMESPACE}/chat"
POD = "chat-predictor-00001-deployment-0"
FULL = (of_kind(KV_CACHE, INFERENCESERVICE_KIND), SUBJECT)
ADDRESS = "127.246.0.1"


@pytest.fixture(name="port")
def _port():
    return free_port()


@pytest.fixture(name="settings")
def _settings():
    return {
        "scrape_via": "direct",
        "scrape_interval_seconds": 1,
        "scrape_timeout_seconds": 3,
        "runtime_window": {t.KV_CACHE: WINDOW},
    }


@pytest.fixture(name="kserve")
def _kserve(stage):
    """KServe's controllers, whose pods have been Ready for a while."""
    stage.sandbox.load(kinds())
    node = stage.sandbox.list("nodes")[0]["metadata"]["name"]
    return KServe(stage.sandbox, node=node, now=lambda: rfc3339(datetime.now(UTC) - AGE))


def create(stage, kserve, port, **model):
    """An InferenceService whose container serves on a port."""
    stage.sandbox.load([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
    wanted = inferenceservice("chat", "s3://models/chat")
    wanted["spec"]["predictor"]["model"] |= {"ports": [{"containerPort": port}], **model}
    stage.sandbox.create(wanted)
    kserve.settle()


async def test_full_kv_cache_of_a_kserve_pod_is_told_of_its_inferenceservice(
    stage, kserve, inside, *, settings, port
):
    """The reason has the name of the subject's kind, and the settings of all kinds count for it."""
    create(stage, kserve, port)
    async with ModelPod(host=ADDRESS, port=port) as pod:
        pod.become(Phase.SATURATED)
        await inside(**settings).start()
        event = await stage.told(FULL)
        assert event["reason"] == "inferenceserviceKVCacheSaturated"
        assert f"InferenceService {NAMESPACE}/chat: pod {POD}: " in event["message"]
        assert event["related"]["name"] == POD
        pod.become(Phase.SERVING)
        await stage.told(FULL, "over")
