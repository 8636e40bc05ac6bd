"""Answers about LLMInferenceServices that are given again are those of asking from nothing."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from reporter.evaluation import evaluate_again
from reporter.model.instant import Instant
from reporter.probes.reuse import Answered
from reporter.snapshot.table import table_of
from reporter.stacks.llmisvc.reasons import REASONS
from reporter.stacks.settings import FullEvaluationSettings
from tests.scenarios.world import World

NOON = Instant(datetime(2026, 11, 20, 12, tzinfo=UTC), timedelta(days=1))
SETTINGS = FullEvaluationSettings()
SCHEDULER = {
    "app.kubernetes.io/name": "llm",
    "app.kubernetes.io/part-of": "llminferenceservice",
    "app.kubernetes.io/component": "llminferenceservice-router-scheduler",
}
BEFORE = {
    "LLMInferenceService llms/pd": {"spec": {"baseRefs": [{"name": "shape"}]}},
    "LLMInferenceServiceConfig llms/shape": {"spec": {"prefill": {"replicas": 1}}},
    "HTTPRoute llms/pd-kserve-route": {
        "metadata": {
            "labels": {
                **SCHEDULER,
                "app.kubernetes.io/name": "pd",
                "app.kubernetes.io/component": "llminferenceservice-router",
            }
        }
    },
    "InferencePool llms/llm-inference-pool": {"status": {"parents": None}},
    "InferencePool llms/llm-former": {
        "apiVersion": "inference.networking.x-k8s.io/v1alpha2",
        "metadata": {"labels": SCHEDULER},
        "spec": {
            "selector": {"app.kubernetes.io/name": "llm"},
            "targetPortNumber": 8000,
            "extensionRef": {"name": "llm-epp-service"},
        },
        "status": {
            "parent": [
                {
                    "parentRef": {"name": "kserve-ingress-gateway", "namespace": "kserve"},
                    "conditions": {"Accepted": "True Accepted"},
                }
            ]
        },
    },
    "ScaledObject llms/llm-kserve-keda": {
        "metadata": {"labels": {**SCHEDULER, "app.kubernetes.io/component": "x"}},
        "status": {"conditions": {"Ready": "True ScaledObjectReady"}},
    },
}
NOT_READY = {"status": {"conditions": {"Ready": "False X"}}}
CHANGES = [
    # the kind that is read and what changes, what is told of which service after it
    ("LLMInferenceService llms/llm", {"metadata": {"generation": 2}}, "StatusStale"),
    ("LLMInferenceService llms/pd", {"spec": {"model": {"name": "llm"}, "router": {"route": {}}}}, "ModelNameShadowed"),
    ("LLMInferenceServiceConfig kserve/kserve-config-llm-template", None, "Invalid"),
    ("LLMInferenceServiceConfig llms/shape", {"spec": {"prefill": {"worker": {}}}}, "ObjectMissing"),
    ("Deployment llms/llm-kserve", {"status": {"conditions": {"ReplicaFailure": "True Quota"}}}, "PodsNotCreated"),
    ("LeaderWorkerSet llms/big-kserve-mn", {"status": {"readyReplicas": 0, "conditions": {"Available": "False X"}}}, "StatusStale"),
    ("Pod llms/pd-kserve-prefill-a", NOT_READY, "PodsNotReady"),
    ("Pod llms/big-kserve-mn-0-1", None, "PodsNotCreated"),
    ("Pod llms/llm-kserve-router-scheduler-a", NOT_READY, "EPPNotReady"),
    ("Node gpu-1", {"status": {"conditions": {"Ready": "Unknown NodeStatusUnknown"}}}, "PodsNotReady"),
    ("HTTPRoute llms/llm-kserve-route", None, "ObjectMissing"),
    ("InferencePool llms/llm-inference-pool", {"spec": {"selector": {"matchLabels": {"a": "b"}}}}, "PoolNotReady"),
    ("InferencePool llms/llm-former", None, "PoolNotReady"),
    ("Gateway kserve/kserve-ingress-gateway", None, "GatewayNotReady"),
    ("Service llms/llm-epp-service", None, "PoolNotReady"),
    ("ScaledObject llms/llm-kserve-keda", {"status": {"conditions": {"Ready": "False TriggerError"}}}, "ScalingNotReady"),
]  # fmt: skip


@pytest.fixture
def world():
    world = World(["healthy", "llminferenceservice"], NOON)
    world.change(BEFORE, NOON)
    return world


def seen_again(before, after):
    """The later snapshot with the objects of before where they are equal, as a watch leaves them."""
    tables = {}
    for resource, table in after.tables.items():
        old = before.tables[resource]
        found = ((old.get(each.namespace, each.name), each) for each in table)
        tables[resource] = table_of(known if known == each else each for known, each in found)
    return replace(after, tables=tables)


@pytest.mark.parametrize(("which", "patch", "reason"), CHANGES, ids=[each[0] for each in CHANGES])
def test_after_a_change_the_answers_are_those_of_asking_from_nothing(
    world, which, *, patch, reason
):
    """Of each kind that is read one object changes, and what it does to a service is told."""
    first = world.snapshot(NOON)
    quiet, before = evaluate_again(first, SETTINGS, Answered())
    world.change({which: patch}, NOON)
    snapshot = seen_again(first, world.snapshot(NOON))
    told, _ = evaluate_again(snapshot, SETTINGS, before)
    assert told == evaluate_again(replace(snapshot), SETTINGS, Answered(seen=before.seen))[0]
    name = f"llminferenceservice{reason}"
    assert name not in {each.reason for each in quiet.findings}
    assert name in {each.reason for each in told.findings}


def test_each_kind_that_is_read_for_a_reason_changes_above():
    """A kind that a reason begins to read needs a change above."""
    read = {resource.kind for reason in REASONS for resource in reason.reads}
    assert read <= {which.split()[0] for which, *_ in CHANGES}


def test_what_does_not_change_is_not_asked_again(world):
    """Else a pass would cost all of them each time."""
    first = world.snapshot(NOON)
    _, before = evaluate_again(first, SETTINGS, Answered())
    _, again = evaluate_again(seen_again(first, world.snapshot(NOON)), SETTINGS, before)
    assert all(again.answers[key] is kept for key, kept in before.answers.items())


def test_a_change_of_one_service_asks_no_other(world):
    """A pod of the one that prefills is nothing to those beside it."""
    first = world.snapshot(NOON)
    _, before = evaluate_again(first, SETTINGS, Answered())
    world.change({"Pod llms/pd-kserve-prefill-a": NOT_READY}, NOON)
    _, again = evaluate_again(seen_again(first, world.snapshot(NOON)), SETTINGS, before)
    asked = {str(key) for key, kept in before.answers.items() if again.answers[key] is not kept}
    assert {each for each in asked if each.startswith("llm")} == {"llminferenceservice/llms/pd"}
