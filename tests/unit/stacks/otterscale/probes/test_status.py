"""What the answer of an engine changes, and what the status is derived from."""

from dataclasses import replace
from datetime import UTC, datetime

import msgspec
import pytest

from reporter.evaluation import evaluate, evaluate_again
from reporter.metrics.samples.sample import EngineSample, Failure, Sample
from reporter.metrics.samples.window import (
    History,
    Judged,
    MetricFault,
    PodSamples,
    PodVerdict,
)
from reporter.model.finding import Derived
from reporter.model.objects import Deployment
from reporter.model.subject import ObjectRef
from reporter.probes.reuse import Answered
from reporter.stacks.otterscale.derived.observe import observe
from tests.unit.probes.building import SINCE_AT, at, snapshot_of
from tests.unit.probes.runtime.scraped import TARGET, Scraped, seconds, serving
from tests.unit.stacks.otterscale.manifests.building import service
from tests.unit.stacks.otterscale.probes.otterscale import (
    NS,
    SETTINGS,
    evaluation,
    healthy,
)


def test_an_answer_of_the_engine_asks_again():
    """Its verdict may be the same."""
    fault = MetricFault(
        reason="MetricsScrapeFailing", cause="c", text="t", severity=0, since=SINCE_AT
    )
    verdict = PodVerdict(uid="uid-qwen3-decode-0", faults={fault.reason: fault})
    sample = Sample(target=TARGET, at=at(0), engines={"0": EngineSample()}, known=True)
    snapshot = snapshot_of(*healthy())
    place = (NS, "qwen3-decode-0")
    silent, answered_once = (
        PodSamples(scraping=True, pods={place: Judged(History(seconds(15), samples), verdict)})
        for samples in ((), (sample,))
    )
    _, answered = evaluate_again(snapshot, SETTINGS, Answered(), samples=silent)
    assert evaluate_again(snapshot, SETTINGS, answered, samples=answered_once)[0] == (
        evaluate(snapshot, SETTINGS, answered_once)
    )


PODS = ("qwen3-decode-0", "qwen3-prefill-0")


@pytest.mark.parametrize("until", [300, 900])
def test_engine_that_answered_once_is_not_said_never_to_have(until):
    """However long ago that was: its silence has another message, and no start-up budget."""
    target = replace(TARGET, namespace=NS, name=PODS[0], uid=f"uid-{PODS[0]}", containers=())
    pod = Scraped()
    pod.watch(
        lambda at: (serving(at) if at < 60 else {"failure": Failure.REFUSED}) | {"target": target},
        until,
    )
    seen = PodSamples(scraping=True, pods={(NS, PODS[0]): Judged(pod.history, pod.verdict)})
    (finding,) = evaluation(healthy(), samples=seen).findings
    assert finding.message.endswith("its metrics could not be read for 2 min: refused")
    assert finding.budget is None


MISSING = None
STARTING = ("Running", "False", "PodsStarting", "Waiting for serving pods to become ready")


def partly(text):
    return "Running", "False", "PartiallyReady", f"{text} replicas ready"


def ready(number):
    return "Ready", "True", "AllReplicasReady", f"All {number} replicas are ready"


PENDING = ("Pending", "False", "DeploymentNotFound", "Decode Deployment has not been created yet")

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
