"""vLLM pods of LLMInferenceServices, scraped by the real daemon under their labels."""

from datetime import UTC, datetime

import pytest

from lab.demo.llmisvc import NAME, NAMESPACE, LlmCluster, made
from lab.demo.sample_stack import AGE
from lab.simulation import ModelPod, Phase
from reporter.catalogue.runtime import KV_CACHE, of_kind
from reporter.model.instant import rfc3339
from reporter.stacks.llmisvc.reasons import LLM_KIND
from tests.daemon.replica import free_port, until
from tests.tables import of_inferencesets as t

FULL = (of_kind(KV_CACHE, LLM_KIND), f"llminferenceservice/{NAMESPACE}/{NAME}")
ADDRESSES = {"workload": "127.246.0.1", "workload-prefill": "127.246.0.2"}


@pytest.fixture(name="port")
def _port(stage):
    """The port of the containers `main` of a pod that decodes and of one that prefills."""
    port = free_port()
    LlmCluster(stage.sandbox, print)
    config, *_, llm = made()
    for each in (config, llm):
        stage.sandbox.create(each)
    for part, address in ADDRESSES.items():
        stage.sandbox.load([serving_pod(part, address, port)])
    return port


def serving_pod(part, address, port):
    """One that has been Ready for a while."""
    long_ago = rfc3339(datetime.now(UTC) - AGE)
    labels = {
        "app.kubernetes.io/name": NAME,
        "app.kubernetes.io/part-of": "llminferenceservice",
        "app.kubernetes.io/component": f"llminferenceservice-{part}",
        "kserve.io/component": "workload",
    }
    running = {"name": "main", "ready": True, "restartCount": 0}
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": long_ago}
        for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{NAME}-{part}", "namespace": NAMESPACE, "labels": labels},
        "spec": {"containers": [{"name": "main", "ports": [{"containerPort": port}]}]},
        "status": {
            "phase": "Running",
            "podIP": address,
            "conditions": conditions,
            "containerStatuses": [{**running, "state": {"running": {"startedAt": long_ago}}}],
        },
    }


async def test_full_kv_cache_is_told_of_the_role_whose_pod_has_it(stage, inside, port):
    """Both roles are scraped; the one that prefills is full, and is named."""
    settings = {
        "scrape_via": "direct",
        "scrape_interval_seconds": 1,
        "scrape_timeout_seconds": 3,
        "runtime_window": {t.KV_CACHE: 2},
    }
    decode, prefill = ADDRESSES.values()
    async with ModelPod(host=decode, port=port) as idle, ModelPod(host=prefill, port=port) as full:
        idle.become(Phase.SERVING)
        full.become(Phase.SATURATED)
        await inside(**settings).start()
        event = await stage.told(FULL)
        assert event["reason"] == "llminferenceserviceKVCacheSaturated"
        title = f"LLMInferenceService {NAMESPACE}/{NAME}"
        assert f"{title}: prefill pod {NAME}-workload-prefill: " in event["message"]
        await until(lambda: idle.requests > 1, "the pod that decodes is scraped too")
        full.become(Phase.SERVING)
        await stage.told(FULL, "over")
