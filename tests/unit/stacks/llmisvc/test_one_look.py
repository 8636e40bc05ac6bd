"""What `check` says of an LLMInferenceService whose objects have just changed: one look, no pass before it."""

from datetime import UTC, datetime, timedelta

import pytest

from reporter.model.instant import Instant
from reporter.resolution import Memory, OneLook, resolve
from reporter.stacks.settings import FullEvaluationSettings
from tests.scenarios.world import World
from tests.unit.probes.asking import evaluate_llminferenceservices

NOON = Instant(datetime(2026, 11, 20, 12, tzinfo=UTC), timedelta(days=1))
STALE = "llminferenceserviceStatusStale"
LLM, PD, BIG = (f"LLMInferenceService llms/{name}" for name in ("llm", "pd", "big"))
UNAVAILABLE = {"status": {"availableReplicas": 0, "conditions": {"Available": "False X"}}}
EDITED = {
    PD: {
        "metadata": {
            "generation": 2,
            "managedFields": [
                {"manager": "kserve", "subresource": "status", "time": "now+5s"},
                {"manager": "kubectl-edit", "time": "now", "fieldsV1": {"f:spec": {}}},
            ],
        }
    }
}
REFUSED = {
    "status": {
        "parents": [
            {
                "parentRef": {"name": "kserve-ingress-gateway", "namespace": "kserve"},
                "conditions": {"Accepted": "False X"},
            }
        ]
    }
}
SCALED = {
    "metadata": {
        "managedFields": [
            {"manager": "hpa", "subresource": "scale", "time": "now", "fieldsV1": {"f:spec": {}}}
        ]
    },
    "spec": {"replicas": 0},
    "status": {"availableReplicas": 0},
}
CHANGES = {
    # what changes; whether its age is known once it has lasted its grace
    "a generation": (EDITED, True),
    "a workload": ({"Deployment llms/pd-kserve": UNAVAILABLE}, False),
    "groups": ({"LeaderWorkerSet llms/big-kserve-mn": UNAVAILABLE}, False),
    "what KServe says": (
        {LLM: {"status": {"conditions": {"MainWorkloadReady": "False X"}}}},
        False,
    ),
    "a picker": ({"Deployment llms/llm-kserve-router-scheduler": UNAVAILABLE}, False),
    "a picker at zero": ({"Deployment llms/llm-kserve-router-scheduler": SCALED}, False),
    "a route": ({"HTTPRoute llms/llm-kserve-route": REFUSED}, False),
    "a pool": ({"InferencePool llms/llm-inference-pool": REFUSED}, False),
    "a replica": (
        {
            "Deployment llms/llm-kserve": {"status": {"availableReplicas": 1}},
            "Pod llms/llm-kserve-a": {"status": {"conditions": {"Ready": "False X"}}},
        },
        False,
    ),
}


def looked(world, seconds):
    """Return what one look that many seconds after noon says of the status."""
    now = NOON.after(seconds)
    snapshot, settings = world.snapshot(now), FullEvaluationSettings()
    evaluation = evaluate_llminferenceservices(snapshot, settings)
    report = resolve(
        evaluation, snapshot, Memory(), now=now, settings=settings, one_look=OneLook()
    ).report
    return [each for each in report.findings if each.reason == STALE]


@pytest.mark.parametrize(("change", "known"), CHANGES.values(), ids=CHANGES)
def test_a_status_has_its_grace_since_the_last_change(change, known):
    """KServe takes a moment to follow, and kinds are read in turn; one that lags is told all the same."""
    world = World(["healthy", "llminferenceservice"], NOON)
    world.change(change, NOON)
    (young,) = looked(world, 3)
    assert (young.disposition, young.since, young.age_known) == ("pending", NOON.wall, True)
    (old,) = looked(world, 300)
    assert (old.disposition, old.age_known) == ("firing", known)
    if known:
        assert old.since == NOON.wall


def test_without_a_time_a_status_that_differs_is_told():
    """Nothing says when the Deployment changed, and the rest is a week old."""
    world = World(["healthy", "llminferenceservice"], NOON)
    world.change({"Deployment llms/llm-kserve": {"status": {"availableReplicas": 1}}}, NOON)
    (found,) = looked(world, 3)
    assert (found.disposition, found.age_known) == ("firing", False)
