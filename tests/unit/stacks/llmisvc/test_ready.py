"""What is said of an LLMInferenceService that serves."""

from datetime import UTC, datetime, timedelta

from reporter.model.instant import Instant
from reporter.stacks.settings import FullEvaluationSettings
from tests.scenarios.world import World
from tests.unit.probes.asking import evaluate_llminferenceservices

NOON = Instant(datetime(2026, 11, 20, 12, tzinfo=UTC), timedelta(days=1))
PREFILL = "Deployment llms/pd-kserve-prefill"


def message(world):
    """Return what is said of the one that prefills and decodes apart."""
    found = evaluate_llminferenceservices(world.snapshot(NOON), FullEvaluationSettings())
    return {each.subject.name: each.message for each in found.ready}.get("pd")


def test_it_is_said_that_no_prefill_is_wanted():
    """A role without replicas is no fault, and nobody shall believe that it is there."""
    world = World(["healthy", "llminferenceservice"], NOON)
    title = "LLMInferenceService llms/pd is ready: decode Deployment"
    assert message(world) == f"{title} and prefill Deployment available"
    world.change({PREFILL: {"status": {"availableReplicas": 0, "readyReplicas": 0}}}, NOON)
    assert message(world) is None
    world.change({PREFILL: {"spec": {"replicas": 0}}}, NOON)
    assert message(world) == f"{title} available, 0 prefill wanted"
