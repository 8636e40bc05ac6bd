"""The status that a ModelService should have."""

from datetime import UTC, datetime

import msgspec
import pytest

from reporter.model.finding import Derived
from reporter.model.objects import Deployment
from reporter.model.subject import ObjectRef
from reporter.stacks.otterscale.derived.observe import observe
from tests.unit.stacks.otterscale.manifests.building import service

MISSING = None
STARTING = ("Running", "False", "PodsStarting", "Waiting for serving pods to become ready")


def partly(text):
    return "Running", "False", "PartiallyReady", f"{text} replicas ready"


def ready(number):
    return "Ready", "True", "AllReplicasReady", f"All {number} replicas are ready"


PENDING = (
    "Pending",
    "False",
    "DeploymentNotFound",
    "Decode Deployment has not been created yet",
)

# Wanted and ready pods of decode; whether prefill is in the spec; its wanted and ready pods.
TRUTH = [
    (MISSING, False, MISSING, PENDING),
    (MISSING, True, MISSING, PENDING),
    (MISSING, True, (2, 2), PENDING),
    ((1, 0), False, MISSING, STARTING),
    ((1, 1), False, MISSING, ready(1)),
    ((3, 1), False, MISSING, partly("1/3")),
    ((0, 0), False, MISSING, ready(0)),
    ((0, 1), False, MISSING, ready(1)),
    ((2, 3), False, MISSING, ready(3)),
    ((2, 2), True, (2, 2), ready(4)),
    ((2, 2), True, (2, 0), partly("2/4")),
    ((2, 0), True, (2, 2), partly("2/4")),
    ((2, 0), True, (2, 0), STARTING),
    ((2, 2), True, MISSING, ready(2)),
    ((2, 0), True, MISSING, STARTING),
    ((2, 3), True, (1, 0), ready(3)),
    ((1, 1), False, (1, 0), ready(1)),
    ((0, 0), True, (0, 0), ready(0)),
    ((None, 1), False, MISSING, ready(1)),
]


def deployment(counts):
    if counts is None:
        return None
    wanted, ready_ = counts
    spec = {} if wanted is None else {"replicas": wanted}
    # Nothing else of a Deployment counts.
    status = {"readyReplicas": ready_, "updatedReplicas": 9, "conditions": []}
    return msgspec.convert({"metadata": {"name": "x"}, "spec": spec, "status": status}, Deployment)


@pytest.mark.parametrize(("decode", "in_spec", "prefill", "expected"), TRUTH)
def test_truth_table(decode, in_spec, prefill, *, expected):
    made = service(generation=7, prefill={} if in_spec else None)
    found = observe(made, deployment(decode), deployment(prefill))
    phase, status, reason, message = expected
    counters = {
        "decodeReplicas": decode[0] if decode else 0,
        "decodeReady": decode[1] if decode else 0,
        "prefillReplicas": prefill[0] if prefill and in_spec else 0,
        "prefillReady": prefill[1] if prefill and in_spec else 0,
    }
    assert found == {
        "observedGeneration": 7,
        "phase": phase,
        **{key: each for key, each in counters.items() if each},
        "conditions": [
            {
                "type": "Ready",
                "status": status,
                "observedGeneration": 7,
                "reason": reason,
                "message": message,
            }
        ],
    }


BEFORE, NOW = "2026-01-01T00:00:00Z", datetime(2026, 1, 2, tzinfo=UTC)


def on_record(status, **more):
    condition = {
        "type": "Ready",
        "status": status,
        "reason": "ReconcileError",
        "message": "old",
        **more,
    }
    return service(status={"conditions": [condition]})


@pytest.mark.parametrize(
    ("made", "decode", "since"),
    [
        (on_record("False", lastTransitionTime=BEFORE), (1, 0), BEFORE),
        (on_record("True", lastTransitionTime=BEFORE), (1, 1), BEFORE),
        (on_record("False", lastTransitionTime=BEFORE), (1, 1), "2026-01-02T00:00:00Z"),
        (on_record("True", lastTransitionTime=BEFORE), (1, 0), "2026-01-02T00:00:00Z"),
        (on_record("False"), (1, 0), "2026-01-02T00:00:00Z"),
        (service(), (1, 0), "2026-01-02T00:00:00Z"),
    ],
)
def test_time_changes_only_with_the_status(made, decode, since):
    """Reason and message change without it."""
    derived = Derived(ObjectRef("v1", "ModelService"), observe(made, deployment(decode), None))
    (condition,) = derived.dated(NOW).status["conditions"]
    assert condition["lastTransitionTime"] == since
    assert condition["reason"] != "ReconcileError"
