"""modelservingRoleStuckCreating: pods of instances that do not come up."""

from datetime import timedelta

import pytest

from reporter.catalogue.resources import PODS
from reporter.stacks.kthena.reasons import ROLE_CREATING
from tests.unit.probes.building import CREATED_AT, DELETING, merged
from tests.unit.stacks.kthena.probes.kthena import (
    NS,
    evaluated,
    findings,
    not_ready,
    only,
    owned,
    pod,
    pod_group,
    said,
    stack,
    waits,
)

WORKER = "Pod m-0-prefill-0-1"
PLACE = "ServingGroup m-0, role prefill instance prefill-0"
STARTUP = timedelta(minutes=30)
NOT_MADE = timedelta(minutes=5)


@pytest.mark.parametrize(
    ("reason", "exempt"),
    [("CrashLoopBackOff", True), ("InvalidImageName", True), ("ImagePullBackOff", False)],
)
def test_a_container_fault_is_told_with_group_role_and_instance(reason, exempt):
    """What heals by itself has a grace; what does not is told at once."""
    finding = only(stack({WORKER: waits(reason)}), ROLE_CREATING)
    assert finding.exempt is exempt
    assert finding.cause == f"prefill-0 {reason}"
    assert said(finding).startswith("pod m-0-prefill-0-1: container engine")
    assert said(finding).endswith(f"({PLACE})")


def test_a_pod_is_referred_to_by_its_name_alone():
    """Kthena deletes a pod that failed; its successor's fault goes on where this one's was."""
    finding = only(stack({WORKER: waits("ImagePullBackOff")}), ROLE_CREATING)
    assert finding.related == PODS.ref_named(NS, "m-0-prefill-0-1")
    assert finding.related.uid == ""
    assert finding.lingers


def test_start_up_has_a_budget_and_the_probe_s_own_if_there_is_one():
    finding = only(stack({WORKER: not_ready()}), ROLE_CREATING)
    assert (finding.budget, finding.cause) == (STARTUP, "prefill-0 not Ready yet")
    probe = {"name": "engine", "startupProbe": {"periodSeconds": 10, "failureThreshold": 360}}
    patch = merged(not_ready(), {"spec": {"containers": [probe]}})
    assert only(stack({WORKER: patch}), ROLE_CREATING).budget == timedelta(hours=1)


@pytest.mark.parametrize(
    ("gone", "words", "first"),
    [
        ([WORKER], "pod m-0-prefill-0-1 does not exist", "m-0-prefill-0-1"),
        (
            [WORKER, "Pod m-0-prefill-0-0"],
            "pod m-0-prefill-0-0 does not exist, nor do 1 more",
            "m-0-prefill-0-0",
        ),
    ],
)
def test_pods_that_are_not_made_are_told_of_their_instance(gone, words, first):
    """The controller makes them: only that has a budget, and the controller being down explains it."""
    finding = only(stack(dict.fromkeys(gone)), ROLE_CREATING)
    assert said(finding) == f"{PLACE}: {words}"
    assert finding.related == PODS.ref_named(NS, first)
    assert (finding.budget, finding.independent) == (NOT_MADE, False)
    assert finding.created == CREATED_AT


def test_a_pod_of_another_owner_is_told_to_be_in_the_way():
    """Such as one that a deleted ModelServing of that name left, and that does not go."""
    former = {"metadata": {"ownerReferences": [{"kind": "ModelServing", "uid": "uid-former"}]}}
    finding = only(stack({WORKER: merged(former, DELETING)}), ROLE_CREATING)
    assert said(finding) == (f"{PLACE}: pod m-0-prefill-0-1 is in the way: it has another owner")
    assert finding.cause == "prefill-0 pod in the way"


def test_pods_that_cannot_be_read_are_not_missed():
    assert findings(stack({WORKER: None}), ROLE_CREATING, unknown=[PODS]) == []


def test_one_ready_pod_too_many_keeps_an_instance_from_running():
    """Kthena wants exactly as many ready pods as it asked for, so it is as bad as one too few."""
    extra = pod("m-0", "prefill", 0, 2)
    finding = only(stack({"Pod m-0-prefill-0-2": extra}), ROLE_CREATING)
    assert said(finding) == f"{PLACE}: 3 pods are ready where 2 should be"


def test_while_a_pod_terminates_its_successor_is_not_missed():
    """It cannot be made before the name is free; the pod that goes is told by RoleStuckDeleting."""
    assert findings(stack({WORKER: DELETING}), ROLE_CREATING) == []


def test_the_others_of_an_instance_one_pod_of_which_terminates_are_judged():
    changes = {WORKER: DELETING, "Pod m-0-prefill-0-0": waits("CrashLoopBackOff")}
    finding = only(stack(changes), ROLE_CREATING)
    assert finding.related.name == "m-0-prefill-0-0"


def test_an_instance_that_runs_has_no_finding_whatever_else_its_pods_went_through():
    """A pod that is Ready again, and an extra one that is not."""
    changes = {
        WORKER: {
            "status": {"containerStatuses": [{"name": "engine", "ready": True, "restartCount": 9}]}
        }
    }
    assert evaluated(stack(changes)).findings == ()


@pytest.mark.parametrize("patch", [waits("CrashLoopBackOff"), not_ready()])
def test_an_instance_of_a_role_that_is_not_wanted_any_more_need_not_come_up(patch):
    """The group runs without it."""
    changes = {"Pod m-0-router-0-0": merged(pod("m-0", "router", 0, 0), patch)}
    answer = evaluated(stack(changes))
    assert (answer.findings, len(answer.ready)) == ((), 1)


def test_instances_of_a_group_that_is_being_deleted_are_not_missed():
    """What is left of it has no pods, and none will be made."""
    labels = {"group-name": "m-2", "role": "decode", "role-id": "decode-0"}
    changes = {
        "PodGroup m-2": pod_group("m-2", DELETING),
        "Service m-2-decode-0-0": owned("Service", "m-2-decode-0-0", labels),
    }
    assert findings(stack(changes), ROLE_CREATING) == []
