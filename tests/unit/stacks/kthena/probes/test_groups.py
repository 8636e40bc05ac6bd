"""modelservingGroupNotReady: groups that are missing or not Running for long."""

from datetime import timedelta

import pytest

from reporter.catalogue.resources import PODS
from reporter.stacks.kthena.reasons import GROUP_NOT_READY, MODELSERVINGS, PODGROUPS
from tests.unit.probes.building import CREATED_AT, DELETING
from tests.unit.stacks.kthena.probes.kthena import (
    NAME,
    NEW,
    NS,
    ROLES,
    findings,
    not_ready,
    only,
    said,
    stack,
    waits,
    without_instances,
)

LONGEST = timedelta(minutes=45)
NOT_MADE = timedelta(minutes=5)
POD_NAMES = ("prefill-0-0", "prefill-0-1", "decode-0-0", "decode-1-0")
GOING = {"PodGroup m-1": None, **{f"Pod m-1-{each}": DELETING for each in POD_NAMES}}


def test_a_group_that_is_not_running_is_told_by_role_and_instance():
    changes = {"Pod m-0-prefill-0-1": waits("ImagePullBackOff"), "Pod m-0-decode-1-0": None}
    finding = only(stack(changes), GROUP_NOT_READY)
    assert said(finding) == (
        "ServingGroup m-0 is Scaling: role prefill 0/1 Running, role decode 1/2 Running "
        "(prefill-0 Creating, decode-1 NotFound)"
    )
    assert finding.cause == "m-0 Scaling"
    assert finding.budget == LONGEST


def test_a_group_is_referred_to_by_what_stays_when_its_pods_are_made_anew():
    """Pods that crash and are replaced again and again add up to one fault of their group."""
    finding = only(stack({"Pod m-0-prefill-0-1": not_ready()}), GROUP_NOT_READY)
    assert finding.related == PODGROUPS.ref_named(NS, "m-0")
    scheduler = {"spec": {"schedulerName": "default-scheduler"}}
    changes = {"Pod m-0-prefill-0-1": not_ready(), "ModelServing m": scheduler}
    assert only(stack(changes), GROUP_NOT_READY).related == PODS.ref_named(NS, "m-0-prefill-0-0")


@pytest.mark.parametrize(
    ("change", "independent"),
    [(waits("CrashLoopBackOff"), True), (not_ready(), True), (None, False)],
)
def test_the_controller_being_down_explains_only_a_group_that_lacks_pods(change, independent):
    finding = only(stack({"Pod m-0-decode-0-0": change}), GROUP_NOT_READY)
    assert finding.independent is independent


def test_groups_that_do_not_exist_are_told_of_the_modelserving():
    changes = {"ModelServing m": {"spec": {"replicas": 9}}}
    finding = only(stack(changes), GROUP_NOT_READY)
    assert finding.related == MODELSERVINGS.ref_named(NS, NAME)
    assert said(finding) == (
        "2 of 9 wanted ServingGroups exist; missing: m-2, m-3, m-4, m-5, m-6 and 2 more"
    )
    assert (finding.budget, finding.created) == (NOT_MADE, CREATED_AT)
    assert not finding.independent


@pytest.mark.parametrize(("replicas", "hint"), [(3, True), (2, False)])
def test_a_controller_that_is_known_to_be_stuck_is_hinted_at(replicas, hint):
    """It changes the data of a ControllerRevision when a role has another number of instances."""
    roles = [ROLES[0], {**ROLES[1], "replicas": replicas}]
    changes = {"ModelServing m": {"spec": {"replicas": 3, "template": {"roles": roles}}}}
    (told,) = [
        said(each)
        for each in findings(stack(changes), GROUP_NOT_READY)
        if "2 of 3 wanted ServingGroups exist; missing: m-2" in said(each)
    ]
    assert (f"ControllerRevision m-{NEW} was made: Kthena's controller may be" in told) is hint


def test_what_is_in_the_way_of_a_missing_group_is_named():
    """A pod that a deleted ModelServing of that name left, and that does not go."""
    former = {"metadata": {"ownerReferences": [{"kind": "ModelServing", "uid": "uid-former"}]}}
    changes = {"PodGroup m-1": None, **{f"Pod m-1-{each}": former for each in POD_NAMES}}
    assert said(only(stack(changes), GROUP_NOT_READY)) == (
        "1 of 2 wanted ServingGroups exist; missing: m-1; "
        "pod m-1-decode-0-0 is in the way: it has another owner"
    )


def test_groups_are_not_missed_where_pods_cannot_be_read():
    changes = {"ModelServing m": {"spec": {"replicas": 3}}}
    assert findings(stack(changes), GROUP_NOT_READY, unknown=[PODS]) == []


def test_a_group_that_is_replaced_as_a_whole_is_not_ready_until_it_is_back():
    assert said(only(stack(GOING), GROUP_NOT_READY)).startswith("ServingGroup m-1 is Deleting: ")


def test_a_surplus_group_that_goes_is_not_missed():
    changes = {**GOING, "ModelServing m": {"spec": {"replicas": 1}}}
    assert findings(stack(changes), GROUP_NOT_READY) == []


def test_groups_are_not_missed_where_no_role_has_instances():
    """Without Volcano nothing of such a group can be seen."""
    found = findings(without_instances(), GROUP_NOT_READY)
    assert found == []
