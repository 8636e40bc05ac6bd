"""What the model is doing, by the containers of the first pod."""

import pytest
from msgspec.structs import replace

from reporter.stacks.kserve.derived.derive import model_status
from reporter.stacks.kserve.objects import FailureInfo, ModelCopies, ModelStates, ModelStatus
from tests.unit.stacks.kserve.derived.building import (
    RUNNING,
    container,
    ended,
    predictor_pod,
    typed,
    waits,
)

OLD_FAILURE = FailureInfo(reason="ModelLoadFailed", message="of old", exit_code=9)
STORED = ModelStatus(
    transition_status="UpToDate",
    states=ModelStates(active_model_state="Loaded", target_model_state="Loaded"),
    last_failure_info=OLD_FAILURE,
    copies=ModelCopies(failed_copies=0, total_copies=5),
)
NEW_FAILURE = FailureInfo(reason="ModelLoadFailed", message="no weights", exit_code=3)


def storage(state, last=None):
    return {"storage": container("storage-initializer", state, last)}


def serving(state, last=None):
    return {"serving": container("kserve-container", state, last)}


ERROR = ended("Error", 3, "no weights")
CRASHING = waits("CrashLoopBackOff")

ROWS = [
    # row, pod (None: none), failed, loaded, target, transition, active, failure
    ("1", None, True, False, "FailedToLoad", "BlockedByFailedLoad", "Loaded", OLD_FAILURE),
    ("2", None, False, False, "Pending", "InProgress", "Loaded", OLD_FAILURE),
    ("2 although Ready", None, False, True, "Pending", "InProgress", "Loaded", OLD_FAILURE),
    ("4", storage(RUNNING), False, True, "Loading", "InProgress", "Loaded", OLD_FAILURE),
    ("5", storage(ERROR), False, True, "FailedToLoad", "BlockedByFailedLoad", "Loaded", NEW_FAILURE),
    ("6", storage(CRASHING, ERROR), False, True, "FailedToLoad", "BlockedByFailedLoad", "Loaded", NEW_FAILURE),
    ("7", serving(RUNNING), False, True, "Loaded", "UpToDate", "Loaded", OLD_FAILURE),
    ("7 after the storage", storage(ended("Completed", 0)), False, True, "Loaded", "UpToDate", "Loaded", OLD_FAILURE),
    ("7 before the container", serving(ERROR), False, True, "Loaded", "UpToDate", "Loaded", OLD_FAILURE),
    ("8", serving(ERROR), False, False, "FailedToLoad", "BlockedByFailedLoad", "Loaded", NEW_FAILURE),
    ("9", serving(CRASHING, ERROR), False, False, "FailedToLoad", "BlockedByFailedLoad", "Loaded", NEW_FAILURE),
    ("10 running", serving(RUNNING), True, False, "Pending", "InProgress", "Loaded", OLD_FAILURE),
    ("10 out of memory", serving(ended("OOMKilled", 137)), False, False, "Pending", "InProgress", "Loaded", OLD_FAILURE),
    ("10 image", serving(waits("ImagePullBackOff")), False, False, "Pending", "InProgress", "Loaded", OLD_FAILURE),
    ("10 completed", serving(ended("Completed", 0)), False, False, "Pending", "InProgress", "Loaded", OLD_FAILURE),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pod", "failed", "loaded", "target", "transition", "active", "failure"),
    [each[1:] for each in ROWS],
    ids=[each[0] for each in ROWS],
)
def test_row(pod, failed, loaded, *, target, transition, active, failure):
    """Target state, transition, active state and failure, by the first row that holds."""
    pods = [] if pod is None else [typed(predictor_pod(**pod))]
    found = model_status(STORED, pods, failed=failed, loaded=loaded)
    assert found.states == ModelStates(active_model_state=active, target_model_state=target)
    assert (found.transition_status, found.last_failure_info) == (transition, failure)


def test_row_3_a_second_download_is_not_stored():
    """The storage initializer runs and had ended before: KServe looks again a second later."""
    pod = typed(predictor_pod(**storage(RUNNING, ERROR)))
    assert model_status(STORED, [pod], failed=False, loaded=True) is None


def test_row_11_a_pod_without_the_container_changes_nothing_but_the_copies():
    """Ready pods are counted first, also where the first one by name has no container status yet."""
    pod = typed(predictor_pod(serving=container("queue-proxy", CRASHING)))
    ready = typed(predictor_pod(name="pod-b", ready=True))
    found = model_status(STORED, [pod, ready], failed=True, loaded=False)
    assert found == replace(STORED, copies=ModelCopies(failed_copies=0, total_copies=1))


def test_only_the_first_pod_is_examined():
    """The second one may suffer from what it likes."""
    pods = [
        typed(predictor_pod(name="pod-a", ready=True)),
        typed(predictor_pod(name="pod-b", **serving(ERROR))),
    ]
    assert model_status(STORED, pods, failed=False, loaded=True).transition_status == "UpToDate"
    found = model_status(STORED, pods[::-1], failed=False, loaded=False)
    assert found.transition_status == "BlockedByFailedLoad"


def test_copies_are_ready_pods():
    """Running and Ready; failed copies are never counted."""
    pods = [
        typed(predictor_pod(name="pod-a", ready=True)),
        typed(predictor_pod(name="pod-b", ready=True)),
        typed(predictor_pod(name="pod-c", **serving(ERROR))),
        typed(predictor_pod({"status": {"phase": "Pending"}}, name="pod-d", ready=True)),
    ]
    found = model_status(ModelStatus(), pods, failed=False, loaded=True)
    assert found.copies == ModelCopies(failed_copies=0, total_copies=2)


def test_the_first_model_that_loads_becomes_active():
    """From an empty status."""
    pod = typed(predictor_pod(ready=True))
    found = model_status(ModelStatus(), [pod], failed=False, loaded=True)
    assert found.states == ModelStates(active_model_state="Loaded", target_model_state="Loaded")
    assert found.last_failure_info is None


def test_a_crash_loop_without_a_last_end():
    """The failure is named, and nothing more is known of it."""
    pod = typed(predictor_pod(**serving(CRASHING)))
    found = model_status(ModelStatus(), [pod], failed=False, loaded=False)
    assert found.last_failure_info == FailureInfo(reason="ModelLoadFailed")
