"""Instances that do not come up or do not go, and PodGroups that Volcano has no room for."""

from datetime import timedelta

import pytest

from reporter.catalogue.resources import PODS, SERVICES
from reporter.catalogue.resources import PODS as PODS_KIND
from reporter.model.instant import parse_rfc3339
from reporter.stacks.kthena.reasons import (
    GANG_NOT_SCHEDULABLE,
    PODGROUPS,
    ROLE_CREATING,
    ROLE_DELETING,
)
from tests.unit.probes.building import CREATED_AT, DELETING, SINCE_AT, condition, merged
from tests.unit.stacks.kthena.probes.kthena import (
    NS,
    evaluated,
    findings,
    not_ready,
    only,
    owned,
    pending,
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
        ([WORKER, "Pod m-0-prefill-0-0"], "pod m-0-prefill-0-0 does not exist, nor do 1 more", "m-0-prefill-0-0"),
    ],
)  # fmt: skip
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


POD = "Pod m-0-decode-0-0"
DECODE_PLACE = "ServingGroup m-0, role decode instance decode-0"
SLACK = timedelta(seconds=60)
DELETED = parse_rfc3339(DELETING["metadata"]["deletionTimestamp"])
LABELS = {"group-name": "m-0", "role": "decode", "role-id": "decode-0"}


@pytest.mark.parametrize(
    ("spec", "grace"), [({}, 30), ({"terminationGracePeriodSeconds": 600}, 600)]
)
def test_a_pod_that_terminates_is_told_once_its_time_and_the_slack_are_over(spec, grace):
    """`deletionTimestamp` is when the pod's own grace period ends."""
    finding = only(stack({POD: {**DELETING, "spec": spec}}), ROLE_DELETING)
    own = timedelta(seconds=grace)
    assert (finding.transition, finding.budget) == (DELETED - own, own + SLACK)
    assert said(finding) == f"pod m-0-decode-0-0: does not terminate on node gpu-1 ({PLACE})"
    assert finding.related == PODS.ref_named(NS, "m-0-decode-0-0")


def test_a_pod_that_terminates_on_a_dead_node_is_told_with_the_node():
    """Nobody is there to end it, so that no budget will help."""
    gone = {"status": {"conditions": [condition("Ready", "Unknown", "NodeStatusUnknown")]}}
    finding = only(stack({POD: DELETING, "Node gpu-1": gone}), ROLE_DELETING)
    assert "terminating on node gpu-1, which is not answering" in said(finding)
    assert finding.budget is None


def test_pods_of_a_group_that_goes_are_told_too():
    """Surplus groups keep their devices until they are gone."""
    pods = ("prefill-0-0", "prefill-0-1", "decode-0-0", "decode-1-0")
    changes = {"PodGroup m-1": None, **{f"Pod m-1-{each}": DELETING for each in pods}}
    found = findings(stack(changes), ROLE_DELETING)
    assert {each.related.name for each in found} == {f"m-1-{each}" for each in pods}


def test_pods_of_a_removed_role_are_told():
    changes = {"Pod m-0-router-0-0": pod("m-0", "router", 0, 0, DELETING)}
    finding = only(stack(changes), ROLE_DELETING)
    assert said(finding).endswith("(ServingGroup m-0, role router instance router-0)")


def test_a_service_that_stays_behind_is_told():
    """Kthena recreates the instance only once its Service is gone."""
    service = owned("Service", "m-0-decode-0-0", LABELS, DELETING)
    finding = only(stack({POD: None, "Service m-0-decode-0-0": service}), ROLE_DELETING)
    assert finding.related == SERVICES.ref_named(NS, "m-0-decode-0-0")
    assert said(finding) == f"{PLACE}: Service m-0-decode-0-0 was deleted and still exists"
    assert finding.budget == SLACK


def test_a_service_that_goes_along_with_its_pods_is_not():
    service = owned("Service", "m-0-decode-0-0", LABELS, DELETING)
    found = findings(stack({POD: DELETING, "Service m-0-decode-0-0": service}), ROLE_DELETING)
    assert [each.related.kind for each in found] == ["Pod"]


def test_a_pod_group_that_stays_behind_is_told():
    group = owned("PodGroup", "m-2", {"group-name": "m-2"}, DELETING)
    group["apiVersion"] = "scheduling.volcano.sh/v1beta1"
    finding = only(stack({"PodGroup m-2": group}), ROLE_DELETING)
    assert finding.related == PODGROUPS.ref_named(NS, "m-2")
    assert said(finding) == "ServingGroup m-2: PodGroup m-2 was deleted and still exists"


@pytest.mark.parametrize("change", [{POD: DELETING}, {POD: None}])
def test_the_controller_being_down_explains_none_of_it(change):
    """It has asked for the deletion; kubelets and finalizers do the rest."""
    service = owned("Service", "m-0-decode-0-0", LABELS, DELETING)
    found = findings(stack({**change, "Service m-0-decode-0-0": service}), ROLE_DELETING)
    assert found
    assert all(each.independent for each in found)


EARLY, LATE = "2026-11-20T11:00:00Z", "2026-11-20T11:30:00Z"
WORDS = "2/4 tasks in gang unschedulable"
POD_NAMES = ("prefill-0-0", "prefill-0-1", "decode-0-0", "decode-1-0")


def refused(since="2026-11-20T11:50:00Z", status="True"):
    return condition("Unschedulable", status, "NotEnoughResources", WORDS, since=since)


def scheduled(since):
    return condition("Scheduled", "True", "tasks in gang are ready to be scheduled", since=since)


def gang(phase, *conditions, pods=POD_NAMES):
    """Changes: m-0's PodGroup is so, and these pods of it have no node."""
    status = {"phase": phase, "conditions": list(conditions)}
    return {"PodGroup m-0": {"status": status}, **{f"Pod m-0-{each}": pending() for each in pods}}


@pytest.mark.parametrize("phase", ["Pending", "Inqueue", "Unknown"])
def test_a_gang_that_is_refused_is_told_with_volcanos_words(phase):
    finding = only(stack(gang(phase, refused())), GANG_NOT_SCHEDULABLE)
    assert finding.related == PODGROUPS.ref_named(NS, "m-0")
    assert finding.transition == SINCE_AT
    assert said(finding) == (
        "ServingGroup m-0 cannot be scheduled: PodGroup m-0 is Unschedulable: NotEnoughResources: "
        + WORDS
    )


TIER_1 = {"highestTierAllowed": 1}
ALL_OF_A_GROUP = "; it asks for all pods of a group within tier 1 (networkTopology, hard)"


@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        ({"template": {"networkTopology": {"groupPolicy": TIER_1}}}, ALL_OF_A_GROUP),
        ({"template": {"networkTopology": TIER_1 | {"mode": "hard"}}}, ALL_OF_A_GROUP),
        ({"template": {"networkTopology": {"groupPolicy": TIER_1 | {"mode": "soft"}}}}, ""),
        ({"template": {"networkTopology": {"groupPolicy": {"mode": "hard"}}}}, ""),
        (
            {
                "template": {"networkTopology": {"rolePolicy": {"highestTierName": "rack"}}},
                "topologySpreadConstraints": [
                    {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"},
                    {"topologyKey": "host", "whenUnsatisfiable": "ScheduleAnyway"},
                ],
            },
            (
                "; it asks for all pods of a role within tier rack (networkTopology, hard) and pods spread "
                "over zone (topologySpreadConstraints)"
            ),
        ),
    ],
)
def test_what_was_asked_of_the_places_is_said_next_to_volcanos_words(spec, asked):
    """It is a fact of the spec, and no claim that it is why there is no room."""
    changes = gang("Pending", refused()) | {"ModelServing m": {"spec": spec}}
    finding = only(stack(changes), GANG_NOT_SCHEDULABLE)
    assert said(finding).partition(WORDS)[2] == asked


def test_a_pod_group_that_stays_pending_is_told_though_nothing_says_why():
    """A queue without room admits it to no scheduling at all."""
    finding = only(stack(gang("Pending")), GANG_NOT_SCHEDULABLE)
    assert said(finding) == "ServingGroup m-0 cannot be scheduled: PodGroup m-0 is Pending"


def test_refused_again_after_it_had_been_scheduled_is_told():
    changes = gang("Unknown", refused(LATE), scheduled(EARLY), pods=POD_NAMES[:1])
    assert only(stack(changes), GANG_NOT_SCHEDULABLE)


def lacking(phase, *conditions, members=4, made=()):
    """The same where only these pods of m-0 exist, of the four that its PodGroup wants."""
    changes = gang(phase, *conditions, pods=made)
    changes["PodGroup m-0"]["spec"] = {"minMember": members}
    return changes | {f"Pod m-0-{each}": None for each in POD_NAMES if each not in made}


@pytest.mark.parametrize("made", [(), POD_NAMES[:3]], ids=["no pods", "a pod less"])
def test_a_gang_that_waits_for_pods_does_not_lack_room(made):
    """Volcano says Unschedulable then, too; that the pods are not made is told instead."""
    objects = stack(lacking("Pending", refused(), made=made))
    assert findings(objects, GANG_NOT_SCHEDULABLE) == []
    assert "does not exist" in said(findings(objects, ROLE_CREATING)[-1])


@pytest.mark.parametrize(
    "changes",
    [lacking("Pending"), lacking("Inqueue", refused(), members=3, made=POD_NAMES[:3])],
    ids=["its pods may be refused while it is Pending", "enough pods for the gang"],
)
def test_a_gang_may_lack_room_and_pods(changes):
    assert only(stack(changes), GANG_NOT_SCHEDULABLE)


def test_where_pods_cannot_be_read_none_is_missed():
    changes = lacking("Pending", refused())
    assert only(stack(changes), GANG_NOT_SCHEDULABLE, unknown=[PODS_KIND])


@pytest.mark.parametrize(
    "changes",
    [
        gang("Running", refused()),
        gang("Completed", refused()),
        gang("Inqueue"),
        gang("Inqueue", refused(status="False")),
        gang("Inqueue", refused(EARLY), scheduled(LATE)),
        gang("Pending", refused(), pods=()),
        {**gang("Pending", refused()), "ModelServing m": {"spec": {"schedulerName": "default"}}},
        {**gang("Pending"), "PodGroup m-0": {"status": {"phase": "Pending"}, **DELETING}},
    ],
    ids=["running", "completed", "in queue", "condition False", "scheduled since", "placed",
         "another scheduler", "being deleted"],
)  # fmt: skip
def test_what_is_no_gang_without_room(changes):
    assert findings(stack(changes), GANG_NOT_SCHEDULABLE) == []
