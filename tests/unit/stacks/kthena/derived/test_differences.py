"""What Kthena's own status gets wrong (v1.0.0), and what is derived instead."""

from itertools import permutations

import msgspec
import pytest

from reporter.stacks.kthena.derived.status import derive
from tests.unit.probes.building import NOW
from tests.unit.stacks.kthena.derived.building import (
    DECODE,
    PREFILL,
    A,
    B,
    controller_revision,
    derived,
    differs,
    facts,
    group,
    instance,
    kept,
    modelserving,
    of_type,
    pod,
    pod_group,
    revisions,
    role,
    stored,
    truth,
)

UP = pod_group("m-0")
V2 = role("decode", image="v2")
RECORDED = {"currentRevision": A, "updateRevision": A}
EARLIER = "2026-11-20T10:00:00Z"


def of(serving, *objects):
    return derived(serving, *objects).status


def true(status):
    return [type_ for type_, value in truth(status).items() if value == "True"]


def after(serving, *moments):
    """The status after several moments, each of which was written."""
    for objects in moments:
        serving = stored(serving, of(serving, *objects))
    return serving["status"]


ONE_OF_TWO = [*group(0, DECODE), *group(1, DECODE, state="Creating")]
NONE_OF_TWO = [*group(0, DECODE, state="Creating"), *group(1, DECODE, state="Creating")]
BOTH_OF_TWO = [*group(0, DECODE), *group(1, DECODE)]
TWO = modelserving(DECODE, replicas=2)


def test_the_message_is_refreshed_while_the_condition_stays_true():
    found = of_type(after(TWO, NONE_OF_TWO, ONE_OF_TWO), "Progressing")
    assert (found["status"], found["message"]) == ("True", "Some groups is progressing: [1]")


def test_the_time_stays_while_the_condition_stays_true():
    serving = stored(TWO, of(TWO, *NONE_OF_TWO))
    for each in serving["status"]["conditions"]:
        each["lastTransitionTime"] = EARLIER
    found = of_type(of(serving, *ONE_OF_TWO), "Progressing")
    assert found["lastTransitionTime"] == EARLIER


def test_ordinals_and_not_positions_are_named():
    status = of(
        modelserving(V2, replicas=2, generation=2),
        *group(3, DECODE, state="Creating"), *group(7, V2, revision=B), *kept(DECODE),
    )  # fmt: skip
    assert of_type(status, "UpdateInProgress")["message"] == (
        "Some groups is progressing: [3], Updated Groups are: [7]"
    )


def test_updated_groups_that_are_deleted_are_not_named():
    groups = [*group(0, DECODE), *group(1, V2, revision=B)]
    going = group(2, V2, state="Deleting", revision=B)
    status = of(modelserving(V2, replicas=2), *groups, *going, *kept(DECODE))
    assert of_type(status, "UpdateInProgress")["message"] == (
        "Some groups is progressing: [2], Updated Groups are: [1]"
    )


@pytest.mark.parametrize(
    ("objects", "type_", "reason", "message"),
    [
        (ONE_OF_TWO, "Available", "GroupsNotReady", "Serving groups that are not ready: [1]"),
        (BOTH_OF_TWO, "Progressing", "AllGroupsReady", "No Serving group is progressing"),
        (BOTH_OF_TWO, "UpdateInProgress", "NoGroupToUpdate", "No Serving group is to be updated"),
        ([*ONE_OF_TWO, *group(2, DECODE)], "Available", "GroupsNotReady", "Serving groups that are not ready: [1]"),
        ([*BOTH_OF_TWO, *group(2, DECODE)], "Available", "TooManyGroups", "3 Serving groups exist, 2 wanted"),
    ],
)  # fmt: skip
def test_a_losing_condition_says_what_is_true_now(objects, type_, reason, message):
    found = of_type(of(TWO, *objects), type_)
    assert (found["status"], found["reason"], found["message"]) == ("False", reason, message)


@pytest.mark.parametrize(
    ("surge", "available"), [(1, "True"), ("1%", "True"), (None, "False"), (-1, "False")]
)
def test_groups_that_a_rollout_may_add_are_not_too_many(surge, available):
    """A percentage is rounded up, so that 1% of two groups is one more."""
    update = {"rollingUpdateConfiguration": {"maxSurge": surge} if surge is not None else {}}
    strategy = {"type": "ServingGroupRollingUpdate", **update}
    serving = modelserving(DECODE, replicas=2, rolloutStrategy=strategy)
    status = of(serving, *BOTH_OF_TWO, *group(2, DECODE))
    assert of_type(status, "Available")["status"] == available


def test_a_partition_from_the_start_leaves_no_record_of_the_revision():
    """Kthena makes no ControllerRevision then, and says that all groups are updated."""
    serving = modelserving(DECODE, replicas=1, partition=1)
    status = of(serving, *group(0, DECODE, revision=A))
    assert (status["updateRevision"], status["currentRevision"]) == (A, A)
    assert (status["updatedReplicas"], status["currentReplicas"]) == (1, 0)


def test_the_revision_on_record_says_that_the_pods_are_old():
    """The spec has changed since they were made, and partition protects them."""
    recorded = {"updateRevision": B, "currentRevision": A}
    serving = modelserving(DECODE, replicas=1, partition=1, generation=2, status=recorded)
    status = of(serving, *group(0, DECODE, revision=A))
    assert status["updateRevision"] == B
    assert (status["updatedReplicas"], status["currentReplicas"]) == (0, 1)


def test_a_losing_condition_has_the_time_of_its_transition():
    serving = stored(TWO, of(TWO, *BOTH_OF_TWO))
    for each in serving["status"]["conditions"]:
        each["lastTransitionTime"] = EARLIER
    status = of(serving, *ONE_OF_TWO)
    assert "lastTransitionTime" not in of_type(status, "Available")
    written = stored(serving, status)["status"]
    assert of_type(written, "Available")["lastTransitionTime"] == f"{NOW:%Y-%m-%dT%H:%M:%SZ}"
    assert of_type(written, "UpdateInProgress")["lastTransitionTime"] == EARLIER


def test_while_an_update_is_in_progress_progressing_says_so():
    status = of(modelserving(V2, generation=2), *group(0, DECODE, state="Deleting"), *kept(DECODE))
    assert of_type(status, "Progressing")["reason"] == "GroupsUpdating"


@pytest.mark.parametrize("partition", [None, 0, 1, "50%"])
def test_in_the_steady_state_there_is_nothing_to_write(partition):
    serving = modelserving(DECODE, replicas=2, partition=partition)
    written = stored(serving, of(serving, *BOTH_OF_TWO, *kept(DECODE)))
    known = facts(written, *BOTH_OF_TWO, *kept(DECODE))
    assert not differs(known.modelserving.status, derive(known).status)


def test_an_old_group_with_other_roles_can_become_running_again():
    serving = modelserving(V2, PREFILL, partition=1, generation=2)
    revision = kept(role("decode", 2), revisions=[A])
    unready = [*instance("m-0", "decode-0"), *instance("m-0", "decode-1", "starting"), UP]
    ready = [*instance("m-0", "decode-0"), *instance("m-0", "decode-1"), UP]
    assert of(serving, *unready, *revision)["availableReplicas"] == 0
    assert of(serving, *ready, *revision)["availableReplicas"] == 1


def test_revisions_of_a_former_modelserving_say_nothing():
    former = controller_revision(B, V2, uid="uid-of-the-former")
    status = of(modelserving(V2, status=RECORDED), *group(0, DECODE), former)
    assert revisions(status) == "A/A"


@pytest.mark.parametrize(
    ("objects", "replicas"),
    [
        ([], 1),
        (group(0, DECODE), 2),
        ([*group(0, DECODE), *group(1, DECODE)], 1),
        (group(0, DECODE), 0),
    ],
)
def test_available_needs_as_many_groups_as_are_wanted(objects, replicas):
    assert true(of(modelserving(DECODE, replicas=replicas), *objects)) == ["Progressing"]


def test_groups_that_do_not_exist_yet_are_named():
    status = of(modelserving(DECODE, replicas=4), *group(1, DECODE), *group(9, DECODE))
    assert of_type(status, "Progressing")["message"] == "Some groups is progressing: [0 2]"


def test_groups_that_are_too_many_are_told():
    status = of(modelserving(DECODE), *group(0, DECODE), *group(1, DECODE))
    assert of_type(status, "Progressing")["message"] == (
        "Some groups is progressing: [], 2 Serving groups exist, 1 wanted"
    )


def test_groups_that_partition_protects_are_no_update_in_progress():
    """Both groups are old, one is protected; upstream compares how many with the partition."""
    serving = modelserving(V2, replicas=2, partition=1, generation=2)
    last_step = [*group(0, DECODE), *group(1, DECODE, state="Deleting")]
    done = [*group(0, DECODE), *group(1, V2, state="Creating", revision=B)]
    broken = [*group(0, DECODE, state="Creating"), *group(1, V2, revision=B)]
    assert true(of(serving, *last_step, *kept(DECODE))) == ["UpdateInProgress"]
    assert true(of(serving, *done, *kept(DECODE))) == ["Progressing"]
    assert true(of(serving, *broken, *kept(DECODE))) == ["Progressing"]


def test_partition_protects_by_position_and_not_by_count():
    """One old group, outside of the protected first place: upstream says Progressing."""
    serving = modelserving(V2, replicas=2, partition=1, generation=2)
    objects = [*group(0, V2, revision=B), *group(5, DECODE, state="Creating")]
    assert true(of(serving, *objects, *kept(DECODE))) == ["UpdateInProgress"]


def test_computing_a_status_changes_nothing():
    known = facts(TWO, *ONE_OF_TWO, *kept(DECODE))
    before = msgspec.json.encode(known)
    assert derive(known) == derive(known)
    assert msgspec.json.encode(known) == before


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_tie_for_the_current_revision_is_decided_by_the_lowest_ordinal(order):
    third = role("decode", image="v3")
    serving = modelserving(third, replicas=3, generation=3)
    groups = [group(0, V2, revision=B), group(1, DECODE), group(2, third, revision="ccc")]
    objects = [each for place in order for each in groups[place]]
    status = of(serving, *objects, *kept(DECODE), controller_revision("ccc", third))
    assert status["currentRevision"] == B


@pytest.mark.parametrize(("recorded", "expected"), [(A, A), (B, B), ("zzz", B), ("", B)])
def test_the_current_revision_on_record_stays_while_a_group_is_on_it(recorded, expected):
    third = role("decode", image="v3")
    serving = modelserving(third, replicas=3, status={"currentRevision": recorded})
    groups = [*group(0, DECODE), *group(1, V2, revision=B), *group(2, V2, revision=B)]
    status = of(serving, *groups, *kept(DECODE), controller_revision("ccc", third))
    assert (status["currentRevision"], status["updateRevision"]) == (expected, "ccc")


ENTRY = "modelserving.volcano.sh/entry=true,modelserving.volcano.sh/name=m"


@pytest.mark.parametrize(
    ("roles", "objects", "expected"),
    [
        ([PREFILL, DECODE], [UP, *instance("m-0", "decode-0")], "decode-0"),
        ([role("prefill", 0), DECODE], [], "decode-0"),
        ([role("prefill", 0), DECODE], [UP, *instance("m-0", "decode-0")], "decode-0"),
        ([role("decode", 2)], [UP, *instance("m-0", "decode-1")], "decode-1"),
        ([role("decode", 2)], [UP, *instance("m-0", "decode-0", "terminating"), *instance("m-0", "decode-1")], "decode-0"),
        ([role("decode", 2)], [*instance("m-0", "decode-1"), *instance("m-1", "decode-1"), *instance("m-0", "decode-0")], "decode-1"),
        ([role("decode", 2)], [*group(0, DECODE, state="Deleting"), *instance("m-1", "decode-1")], "decode-1"),
        ([PREFILL], [UP, pod("m-0", "prefill-0", 1)], "prefill-0"),
        ([role("prefill", 0)], [], "prefill-0"),
    ],
    ids=[
        "first role is away", "first role has no replicas", "and there are pods",
        "instance 0 is away", "a pod that goes is still selected", "what most groups have", "a group that goes does not count",
        "no entry pod", "nothing is wanted",
    ],
)  # fmt: skip
def test_the_selector_names_an_instance_that_is_there(roles, objects, expected):
    role_name = expected.partition("-")[0]
    prefix = "modelserving.volcano.sh/"
    assert of(modelserving(*roles), *objects)["labelSelector"] == (
        f"{ENTRY},{prefix}role-id={expected},{prefix}role={role_name}"
    )


def test_without_roles_nothing_is_selected():
    assert "labelSelector" not in of(modelserving())
