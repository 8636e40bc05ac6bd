"""An answer about an LLMInferenceService is given again only while all that it rests on is the same."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from reporter.model.instant import Instant
from reporter.probes.reuse import Answered, answer, shared_inputs
from reporter.snapshot.table import table_of
from reporter.stacks.llmisvc.probes import PROBES
from reporter.stacks.settings import FullEvaluationSettings
from tests.scenarios.world import World
from tests.unit.probes.asking import evaluate_llminferenceservices, scope

NOON = Instant(datetime(2026, 11, 20, 12, tzinfo=UTC), timedelta(days=1))
SETTINGS = FullEvaluationSettings()

CHANGES = [
    {"LLMInferenceServiceConfig kserve/kserve-config-llm-template": None},
    {"Deployment llms/llm-kserve": {"status": {"conditions": {"ReplicaFailure": "True Quota"}}}},
    {"LeaderWorkerSet llms/big-kserve-mn": {"status": {"readyReplicas": 0, "conditions": {"Available": "False X"}}}},
    {"Pod llms/pd-kserve-prefill-a": {"status": {"conditions": {"Ready": "False X"}}}},
    {"HTTPRoute llms/llm-kserve-route": None},
    {"InferencePool llms/llm-inference-pool": {"spec": {"selector": {"matchLabels": {"a": "b"}}}}},
    {"Gateway kserve/kserve-ingress-gateway": None},
    {"Service llms/llm-epp-service": None},
    {"Pod llms/llm-kserve-router-scheduler-a": {"status": {"conditions": {"Ready": "False X"}}}},
    {"LLMInferenceService llms/pd": {"spec": {"model": {"name": "llm"}, "router": {"route": {}}}}},
]  # fmt: skip


def seen_again(before, after):
    """The later snapshot with the objects of before where they are equal, as a watch leaves them."""
    tables = {}
    for resource, table in after.tables.items():
        old = before.tables[resource]
        found = ((old.get(each.namespace, each.name), each) for each in table)
        tables[resource] = table_of(known if known == each else each for known, each in found)
    return replace(after, tables=tables)


def asked(snapshot, earlier):
    questions = PROBES.subjects.questions(scope(snapshot, SETTINGS))
    return answer(questions, shared_inputs(snapshot, SETTINGS), earlier)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_an_answer_of_before_is_that_of_now(change):
    """What is told with the answers of an earlier pass is what is told without them."""
    world = World(["llminferenceservice"], NOON)
    first = world.snapshot(NOON)
    before = asked(first, Answered())
    world.change(change, NOON)
    snapshot = seen_again(first, world.snapshot(NOON))
    told = {
        (each.reason, each.message)
        for _, evaluation in asked(snapshot, before).answers.values()
        for each in evaluation.findings
    }
    fresh = evaluate_llminferenceservices(snapshot, SETTINGS)
    assert told == {(each.reason, each.message) for each in fresh.findings}
    assert told


def test_what_does_not_change_is_not_asked_again():
    """Else a pass would cost all of them each time."""
    world = World(["llminferenceservice"], NOON)
    first = world.snapshot(NOON)
    before = asked(first, Answered())
    again = asked(seen_again(first, world.snapshot(NOON)), before)
    assert all(again.answers[key] is kept for key, kept in before.answers.items())
