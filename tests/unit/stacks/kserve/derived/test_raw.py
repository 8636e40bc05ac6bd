"""The Ready of a component in Standard mode, by every pair of Available and Progressing."""

import pytest

from reporter.stacks.kserve.derived.conditions import raw_ready
from tests.unit.stacks.kserve.derived.building import PREDICTOR, raw_deployment, typed

AVAILABLE = {
    "SILENT": (None, "Unknown AvailableReason: available"),
    "TRUE": ("True AvailableReason: available",),
    "FALSE": ("False AvailableReason: available",),
}
PROGRESSING = {
    "SILENT": (None, "Unknown ProgressReason: progress"),
    "COMPLETE": ("True NewReplicaSetAvailable: progress",),
    "GOING_ON": ("True ReplicaSetUpdated: progress", "True"),
    "FAILED": ("False ProgressDeadlineExceeded: progress",),
    "FAILED_SILENTLY": ("False ProgressDeadlineExceeded",),
}

CELLS = """
SILENT SILENT          False
SILENT COMPLETE        True    P
SILENT GOING_ON        Unknown P
SILENT FAILED          False   P
SILENT FAILED_SILENTLY False
TRUE   SILENT          True    A
TRUE   COMPLETE        True    P
TRUE   GOING_ON        True    A
TRUE   FAILED          False   P
TRUE   FAILED_SILENTLY True    A
FALSE  SILENT          False   A
FALSE  COMPLETE        False   A
FALSE  GOING_ON        False   A
FALSE  FAILED          False   A
FALSE  FAILED_SILENTLY False   A
"""


def cases():
    for line in CELLS.split("\n"):
        if not line:
            continue
        available, progressing, status, *source = line.split()
        for one in AVAILABLE[available]:
            for other in PROGRESSING[progressing]:
                yield one, other, status, "".join(source)


def deployment(name=PREDICTOR, **texts):
    return typed(raw_deployment(name=name, **{k: v for k, v in texts.items() if v}))


@pytest.mark.parametrize(("available", "progressing", "status", "source"), list(cases()))
def test_cell(available, progressing, status, *, source):
    """Status, and whose reason and message it takes."""
    ready = raw_ready("PredictorReady", [deployment(Available=available, Progressing=progressing)])
    assert (ready.type, ready.status) == ("PredictorReady", status)
    text = {"A": available, "P": progressing, "": None}[source] or ""
    reason, _, message = text.partition(" ")[2].partition(": ")
    assert (ready.reason or "", ready.message or "") == (reason, message)


def with_replica_failure(available, progressing):
    """What is derived where pods cannot be created."""
    broken = deployment(
        Available=available, Progressing=progressing, ReplicaFailure="True FailedCreate: quota"
    )
    ready = raw_ready("PredictorReady", [broken])
    return ready.status, ready.reason, ready.message


def test_a_replica_failure_overrides_every_cell():
    """Pods that cannot be created are told before anything else."""
    found = {each[:2]: with_replica_failure(*each[:2]) for each in cases()}
    assert found == dict.fromkeys(found, ("False", "FailedCreate", "quota"))


def test_a_replica_failure_that_is_over_changes_nothing():
    """Only True counts."""
    fine = deployment(Available="True MinimumReplicasAvailable", ReplicaFailure="False Over")
    assert raw_ready("PredictorReady", [fine]).status == "True"


def test_no_deployment_at_all():
    """False, and nothing says why."""
    ready = raw_ready("PredictorReady", [])
    assert (ready.status, ready.reason, ready.message) == ("False", None, None)


def two(head, worker):
    return raw_ready(
        "PredictorReady", [deployment(**head), deployment(f"{PREDICTOR}-worker", **worker)]
    )


TWO = [
    # head, worker, status, reason, message
    (
        "both True, same reason",
        {"Available": "True MinimumReplicasAvailable: fine"},
        {"Available": "True MinimumReplicasAvailable: good"},
        "True", "MinimumReplicasAvailable", "predictor-container: fine, worker-container: good",
    ),
    (
        "one False, reasons differ",
        {"Available": "True MinimumReplicasAvailable: fine"},
        {"Available": "False MinimumReplicasUnavailable: none"},
        "False",
        "predictor-container: MinimumReplicasAvailable, worker-container: MinimumReplicasUnavailable",
        "predictor-container: fine, worker-container: none",
    ),
    (
        "Unknown becomes False",
        {"Available": "True Same"},
        {"Available": "Unknown Same"},
        "False", "Same", "",
    ),
    (
        "one that is reported by the head only counts as absent",
        {"Available": "False MinimumReplicasUnavailable", "Progressing": "True NewReplicaSetAvailable"},
        {"Progressing": "True NewReplicaSetAvailable"},
        "True", "NewReplicaSetAvailable", "",
    ),
    (
        "a worker without conditions leaves nothing to tell",
        {"Available": "True MinimumReplicasAvailable"},
        {},
        "False", "", "",
    ),
    (
        "a replica failure of one of them counts as absent",
        {"Available": "True Same", "ReplicaFailure": "True FailedCreate: quota"},
        {"Available": "True Same"},
        "True", "Same", "",
    ),
    (
        "a replica failure of both",
        {"ReplicaFailure": "True FailedCreate: one"},
        {"ReplicaFailure": "True FailedCreate: other"},
        "False", "FailedCreate", "predictor-container: one, worker-container: other",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("head", "worker", "status", "reason", "message"),
    [each[1:] for each in TWO],
    ids=[each[0] for each in TWO],
)
def test_head_and_worker(head, worker, status, *, reason, message):
    """A condition counts only if both report it, and is True only if both are."""
    ready = two(head, worker)
    assert (ready.status, ready.reason or "", ready.message or "") == (status, reason, message)
