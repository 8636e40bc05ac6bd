"""Each row of the table of ServingGroups in docs/modelserving.md: what `m-0` is said to be."""

import pytest

from tests.unit.stacks.kthena.derived.building import (
    DECODE,
    GONE,
    PREFILL,
    A,
    B,
    counters,
    derived,
    entries,
    group,
    instance,
    kept,
    modelserving,
    pod_group,
    role,
    service,
)

SERVING = modelserving(PREFILL, DECODE)
UP, GOING = pod_group("m-0"), pod_group("m-0", GONE)
LEFT, LEFT_GOING = service("m-0", "prefill-0"), service("m-0", "prefill-0", GONE)
PREFILL_UP = instance("m-0", "prefill-0", "ready", "ready")
DECODE_UP = instance("m-0", "decode-0")
PREFILL_GOING = instance("m-0", "prefill-0", "terminating", "terminating")
DECODE_GOING = instance("m-0", "decode-0", "terminating")
ONE = modelserving(DECODE)
OUTDATED = modelserving(role("decode", image="v2"))
NO_PODGROUPS = {"pod_groups": False}


@pytest.mark.parametrize(
    ("row", "status", "serving", "objects", "options"),
    [
        ("S2", "Deleting", SERVING, [GOING], {}),
        ("S2", "Deleting", SERVING, [LEFT_GOING], {}),
        ("S2", "Deleting", SERVING, [GOING, LEFT], {}),
        ("S2", "Deleting", SERVING, [LEFT_GOING], NO_PODGROUPS),
        ("S3", "Deleting", SERVING, [*PREFILL_GOING, *DECODE_GOING], {}),
        ("S3", "Deleting", SERVING, [*PREFILL_GOING, *DECODE_GOING, GOING], {}),
        ("S3", "Deleting", ONE, DECODE_GOING, {}),
        ("S4", "Creating", SERVING, [*PREFILL_GOING, *DECODE_GOING, UP], {}),
        ("S5a", "Deleting", SERVING, [*PREFILL_GOING, *DECODE_GOING], NO_PODGROUPS),
        ("S5b", "Creating", ONE, DECODE_GOING, NO_PODGROUPS),
        ("S5b", "Deleting", modelserving(DECODE, replicas=0), DECODE_GOING, NO_PODGROUPS),
        ("S5b", "Deleting", OUTDATED, [*DECODE_GOING, *kept(DECODE)], NO_PODGROUPS),
        (
            "S5b", "Creating", modelserving(role("decode", image="v2"), partition=1),
            [*DECODE_GOING, *kept(DECODE)], NO_PODGROUPS,
        ),
        (
            "S5b", "Creating", modelserving(role("decode", image="v2"), by_role=True),
            [*DECODE_GOING, *kept(DECODE)], NO_PODGROUPS,
        ),
        (
            "S5b", "Deleting", modelserving(DECODE, policy="ServingGroupRecreate"),
            DECODE_GOING, NO_PODGROUPS,
        ),
        ("S5b", "Creating", modelserving(DECODE, policy="None"), DECODE_GOING, NO_PODGROUPS),
        ("S6", "Creating", SERVING, [UP], {}),
        ("S6", "Creating", SERVING, [UP, LEFT_GOING], {}),
        ("S7", "Running", SERVING, [*PREFILL_UP, *DECODE_UP, UP], {}),
        ("S7", "Running", SERVING, [*PREFILL_UP, *DECODE_UP], {}),
        ("S7", "Running", SERVING, [*PREFILL_UP, *DECODE_UP], NO_PODGROUPS),
        ("S8", "Scaling", SERVING, [*DECODE_UP, UP], {}),
        ("S8", "Scaling", ONE, [*DECODE_UP, *instance("m-0", "decode-1", "pending"), UP], {}),
        ("S8", "Scaling", ONE, [*DECODE_UP, *instance("m-0", "decode-1"), UP], {}),
        ("S9", "Creating", SERVING, [*PREFILL_GOING, *DECODE_UP, UP], {}),
        ("S9", "Creating", SERVING, [*instance("m-0", "prefill-0", "pending"), UP], {}),
        ("S9", "Creating", SERVING, [LEFT], NO_PODGROUPS),
    ],
)  # fmt: skip
def test_the_first_row_that_holds_decides(row, status, serving, *, objects, options):
    (found,) = derived(serving, *objects, **options).groups
    assert (found.name, found.row, str(found.status)) == ("m-0", row, status)


def test_s1_a_group_of_which_nothing_exists_is_no_group():
    found = derived(modelserving(DECODE, replicas=2), *group(1, DECODE))
    assert [each.name for each in found.groups] == ["m-1"]
    assert found.status["replicas"] == 1


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ([GOING], "1/0/0/0"),  # S2
        (DECODE_GOING, "1/0/0/0"),  # S3
        ([*DECODE_GOING, UP], "1/0/1/0"),  # S4
        ([UP], "1/0/0/0"),  # S6: on no revision yet
        ([*DECODE_UP, UP], "1/1/1/1"),  # S7
        ([*instance("m-0", "decode-0", "pending"), UP], "1/0/1/0"),  # S9
    ],
    ids=["S2", "S3", "S4", "S6", "S7", "S9"],
)
def test_what_a_group_is_counted_in(objects, expected):
    assert counters(derived(ONE, *objects, *kept(DECODE, revisions=[A])).status) == expected


def test_s10_a_surplus_group_counts_until_it_goes():
    found = derived(modelserving(DECODE), *group(0, DECODE), *group(4, DECODE))
    assert [(each.ordinal, each.row) for each in found.groups] == [(0, "S7"), (4, "S7")]
    assert found.status["availableReplicas"] == 2


def test_s10_a_removed_role_that_is_still_there_does_not_matter():
    found = derived(ONE, *PREFILL_UP, *DECODE_UP, UP)
    assert [each.row for each in found.groups] == ["S7"]


PARTED = modelserving(role("decode", 2, image="v2"), PREFILL, replicas=2, partition=1)


@pytest.mark.parametrize(
    ("row", "objects"),
    [
        ("S7", instance("m-0", "decode-0")),
        ("S9", instance("m-0", "decode-0", "starting")),
        ("S8", [*instance("m-0", "decode-0"), *instance("m-0", "decode-1", "starting")]),
    ],
)
def test_a_protected_group_is_judged_by_its_own_revision(row, objects):
    """Revision A has one decode and no prefill; by the new spec it could never run again."""
    revisions = kept(DECODE, revisions=[A])
    found = derived(PARTED, *objects, UP, *revisions, *group(1, role("decode", 2), revision=B))
    first = found.groups[0]
    assert (first.row, first.age.outdated, first.age.protected) == (row, True, True)
    assert not any("m-0 prefill" in each for each in entries(found.status))


def test_s11_an_old_group_that_was_scaled_to_the_spec_is_complete():
    """The controller scales roles in old groups, too; what their revision keeps is older."""
    before, now = role("decode"), role("decode", 2, image="v2")
    serving = modelserving(now, partition=1)
    found = derived(serving, *group(0, role("decode", 2)), *kept(before))
    assert [each.row for each in found.groups] == ["S7"]


@pytest.mark.parametrize(
    ("prefill", "decode", "row"),
    [("ready", "ready", "S7"), ("starting", "ready", "S9"), ("ready", "starting", "S9")],
)
def test_s11_a_role_that_the_spec_has_no_more_is_listed_as_long_as_its_group_is_old(
    prefill, decode, row
):
    """Whatever becomes ready or not; nothing is being deleted."""
    serving = modelserving(role("prefill", image="v2"), replicas=1, partition=1)
    pods = [*instance("m-0", "prefill-0", prefill), *instance("m-0", "decode-0", decode)]
    old = kept(role("prefill"), DECODE, revisions=[A])
    found = derived(serving, *pods, UP, *old)
    assert [each.row for each in found.groups] == [row]
    state = {"ready": "Running", "starting": "Creating"}
    assert entries(found.status) == [
        f"m-0 prefill-0 {state[prefill]}",
        f"m-0 decode-0 {state[decode]}",
    ]


def test_s11_without_a_revision_on_record_the_spec_has_to_do():
    found = derived(PARTED, *DECODE_UP, UP, *kept(role("decode", 2), PREFILL, revisions=[B]))
    assert [each.row for each in found.groups] == ["S8"]


def test_a_group_that_wants_no_pods_is_complete_without_any():
    empty = modelserving(role("decode", 0))
    assert [each.row for each in derived(empty, UP).groups] == ["S7"]


def test_a_group_of_no_roles_is_not_ready():
    """The webhook refuses it; where it stands all the same, nothing serves."""
    assert [each.row for each in derived(modelserving(), *DECODE_UP, UP).groups] == ["S9"]
