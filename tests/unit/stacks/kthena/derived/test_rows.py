"""Each row of the tables of ServingGroups and instances in docs/modelserving.md, and roleStatuses."""

from dataclasses import replace

import msgspec
import pytest

from reporter.model.objects import Pod
from reporter.stacks.kthena.derived.status import MAX_ENTRIES, derive
from tests.unit.probes.building import merged
from tests.unit.stacks.kthena.derived.building import (
    DECODE,
    GONE,
    PREFILL,
    A,
    B,
    counters,
    derived,
    entries,
    facts,
    group,
    instance,
    kept,
    modelserving,
    pod,
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
PARTED = modelserving(role("decode", 2, image="v2"), PREFILL, replicas=2, partition=1)
NO_PODGROUPS = {"pod_groups": False}


GROUP_ROWS = [
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
    ("S5b", "Creating", modelserving(role("decode", image="v2"), partition=1), [*DECODE_GOING, *kept(DECODE)], NO_PODGROUPS),
    ("S5b", "Creating", modelserving(role("decode", image="v2"), by_role=True), [*DECODE_GOING, *kept(DECODE)], NO_PODGROUPS),
    ("S5b", "Deleting", modelserving(DECODE, policy="ServingGroupRecreate"), DECODE_GOING, NO_PODGROUPS),
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
    ("S7", "Running", ONE, [*PREFILL_UP, *DECODE_UP, UP], {}),  # S10: a removed role that is still there does not matter
    # S11: the controller scales roles in old groups, too; what their revision keeps is older.
    ("S7", "Running", modelserving(role("decode", 2, image="v2"), partition=1), [*group(0, role("decode", 2)), *kept(DECODE)], {}),
    # S11: without a revision on record the spec has to do.
    ("S8", "Scaling", PARTED, [*DECODE_UP, UP, *kept(role("decode", 2), PREFILL, revisions=[B])], {}),
    ("S7", "Running", modelserving(role("decode", 0)), [UP], {}),  # no pods are wanted
    ("S9", "Creating", modelserving(), [*DECODE_UP, UP], {}),  # no roles: the webhook refuses it, and nothing serves
]  # fmt: skip
"""Row of the page, status, and the ModelServing, objects and options that it is of."""


@pytest.mark.parametrize(("_row", "status", "serving", "objects", "options"), GROUP_ROWS)
def test_the_first_row_that_holds_decides(_row, status, serving, *, objects, options):
    (found,) = derived(serving, *objects, **options).groups
    assert (found.name, str(found.status)) == ("m-0", status)


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
    assert [(each.ordinal, each.available) for each in found.groups] == [(0, True), (4, True)]
    assert found.status["availableReplicas"] == 2


@pytest.mark.parametrize(
    ("status", "objects"),
    [
        ("Running", instance("m-0", "decode-0")),
        ("Creating", instance("m-0", "decode-0", "starting")),
        ("Scaling", [*instance("m-0", "decode-0"), *instance("m-0", "decode-1", "starting")]),
    ],
)
def test_a_protected_group_is_judged_by_its_own_revision(status, objects):
    """Revision A has one decode and no prefill; by the new spec it could never run again."""
    revisions = kept(DECODE, revisions=[A])
    found = derived(PARTED, *objects, UP, *revisions, *group(1, role("decode", 2), revision=B))
    first = found.groups[0]
    assert (first.status, first.age.outdated, first.age.protected) == (status, True, True)
    assert not any("m-0 prefill" in each for each in entries(found.status))


@pytest.mark.parametrize(
    ("prefill", "decode", "status"),
    [
        ("ready", "ready", "Running"),
        ("starting", "ready", "Creating"),
        ("ready", "starting", "Creating"),
    ],
)
def test_s11_a_role_that_the_spec_has_no_more_is_listed_as_long_as_its_group_is_old(
    prefill, decode, status
):
    """Whatever becomes ready or not; nothing is being deleted."""
    serving = modelserving(role("prefill", image="v2"), replicas=1, partition=1)
    pods = [*instance("m-0", "prefill-0", prefill), *instance("m-0", "decode-0", decode)]
    old = kept(role("prefill"), DECODE, revisions=[A])
    found = derived(serving, *pods, UP, *old)
    assert [each.status for each in found.groups] == [status]
    state = {"ready": "Running", "starting": "Creating"}
    assert entries(found.status) == [
        f"m-0 prefill-0 {state[prefill]}",
        f"m-0 decode-0 {state[decode]}",
    ]


ONE_INSTANCE = modelserving(PREFILL)
"""One instance of two pods: `prefill-0`."""

OTHER = instance("m-0", "decode-0")
THREE_PODS = role("prefill", workers=2)


def prefill(*states):
    return instance("m-0", "prefill-0", *states)


def statuses(serving, *objects):
    """The status of each instance by its ID."""
    found = derived(serving, *objects)
    return {each.id: str(each.status) for group in found.groups for each in group.instances}


INSTANCE_ROWS = [
    ("I3", "NotFound", [UP]),
    ("I5", "Deleting", [UP, service("m-0", "prefill-0", GONE)]),
    ("I6", "Creating", [UP, service("m-0", "prefill-0")]),
    ("I7", "Deleting", [UP, *prefill("terminating", "terminating, not ready")]),
    ("I7", "Deleting", [UP, *prefill("terminating")]),
    ("I8", "Creating", [UP, *prefill("ready", "terminating")]),
    ("I9", "Creating", [UP, *prefill("ready", "failed")]),
    ("I9", "Creating", [UP, *prefill("ready", "ready", "failed")]),
    ("I10", "Creating", [UP, *prefill("ready", "restarted")]),
    ("I10", "Creating", [UP, *prefill("ready", "init restarted")]),
    ("I10", "Creating", [UP, *prefill("ready", "ready", "restarted")]),
    ("I11", "Running", [UP, *prefill("ready", "ready")]),
    ("I11", "Running", [UP, *prefill("ready", "ready after restarts")]),
    ("I11", "Running", [UP, *prefill("ready", "ready", "starting")]),
    ("I12", "Creating", [UP, *prefill("ready", "ready", "ready")]),
    ("I13", "Creating", [UP, *prefill("ready")]),
    ("I14", "Creating", [UP, *prefill("ready", "not ready any more")]),
    ("I15", "Creating", [UP, *prefill("ready", "starting")]),
    ("I15", "Creating", [UP, *prefill("ready", "pending")]),
    ("I15", "Creating", [UP, *prefill("ready", "ready, not running")]),
    ("I15", "Creating", [UP, *prefill("ready", "unknown")]),
    ("I14", "Creating", [UP, *prefill("ready", "succeeded")]),
    # I18: pods of two revisions are completed by what is wanted now, although either revision had three.
    ("I11", "Running", [UP, pod("m-0", "prefill-0", 0), pod("m-0", "prefill-0", 1, revision=B), *kept(THREE_PODS)]),
    # Of one revision, that counts: A had two workers.
    ("I13", "Creating", [UP, *prefill("ready", "ready"), *kept(THREE_PODS, revisions=[A])]),
    ("I11", "Running", [UP, *prefill("ready", "ready", "ready"), *kept(THREE_PODS, revisions=[A])]),
]  # fmt: skip
"""Row of the page, status, and the objects that it is of."""


@pytest.mark.parametrize(("_row", "status", "objects"), INSTANCE_ROWS)
def test_the_first_row_that_holds_decides_of_an_instance(_row, status, objects):
    """Whatever restartGracePeriodSeconds is: it says when Kthena deletes a pod that restarted, not what it is."""
    patient = merged(ONE_INSTANCE, {"spec": {"template": {"restartGracePeriodSeconds": 600}}})
    for serving in (ONE_INSTANCE, patient):
        assert statuses(serving, *objects) == {"prefill-0": status}
        assert entries(derived(serving, *objects).status) == [f"m-0 prefill-0 {status}"]


def test_instances_of_removed_roles_are_not_listed():
    """They are seen all the same, for whoever looks for what hangs."""
    gone = instance("m-0", "router-0", "terminating", "ready")
    alive = instance("m-0", "cache-0", "ready", "ready")
    found = derived(ONE_INSTANCE, UP, *prefill("ready", "ready"), *gone, *alive)
    assert entries(found.status) == ["m-0 prefill-0 Running"]
    assert statuses(ONE_INSTANCE, UP, *prefill("ready", "ready"), *gone, *alive) == {
        "prefill-0": "Running",
        "cache-0": "Running",
        "router-0": "Deleting",  # I2
    }


@pytest.mark.parametrize(
    ("known", "wanted", "absent"),
    [
        ([0], 1, []), ([0], 3, [1, 2]), ([0, 5], 4, [1, 2]), ([0, 2], 2, []), ([3], 2, [0]),
        ([0, 1, 2], 1, []),
    ],
)  # fmt: skip
def test_i3_i4_what_is_created_next_is_not_found(known, wanted, absent):
    """Instances count whatever their ordinals are, so a gap alone means nothing."""
    serving = modelserving(role("decode", wanted))
    pods = [each for number in known for each in instance("m-0", f"decode-{number}")]
    found = statuses(serving, UP, *pods)
    assert [key for key, status in found.items() if status == "NotFound"] == [
        f"decode-{number}" for number in absent
    ]
    assert list(found) == [f"decode-{number}" for number in sorted((*known, *absent))]


@pytest.mark.parametrize("state", ["ready", "starting", "failed", "terminating"])
def test_i16_the_revision_of_the_pods_does_not_matter(state):
    new = [UP, *instance("m-0", "decode-0", state, revision=B), *kept(DECODE)]
    old = [UP, *instance("m-0", "decode-0", state, revision=A), *kept(DECODE)]
    serving = modelserving(DECODE)
    assert statuses(serving, *new) == statuses(serving, *old)


@pytest.mark.parametrize("owner", ["uid-of-another", ""])
def test_i19_objects_of_another_owner_are_ignored(owner):
    """They carry the labels of a deleted ModelServing of the same name; Kthena counts them."""
    foreign = [
        pod("m-0", "prefill-0", 1, uid=owner),
        pod("m-5", "prefill-0", 0, uid=owner),
        service("m-6", "prefill-0", uid=owner),
        pod_group("m-7", uid=owner),
    ]
    found = derived(ONE_INSTANCE, UP, pod("m-0", "prefill-0", 0), *foreign)
    assert [(each.name, str(each.status)) for each in found.groups] == [("m-0", "Creating")]
    assert entries(found.status) == ["m-0 prefill-0 Creating"]


def test_where_there_are_no_uids_labels_are_all_there_is():
    """A hand-made dump."""
    known = facts(modelserving(DECODE), UP, *OTHER)
    nameless = msgspec.structs.replace(
        known.modelserving, metadata=msgspec.structs.replace(known.modelserving.metadata, uid="")
    )
    assert derive(replace(known, modelserving=nameless)).status["availableReplicas"] == 1


@pytest.mark.parametrize("missing", ["group-name", "role", "role-id"])
def test_pods_that_lack_a_label_are_part_of_no_instance(missing):
    """As upstream, whose informer selects by the label of the group."""
    found = msgspec.to_builtins(facts(ONE_INSTANCE, pod("m-0", "prefill-0")).pods[0])
    del found["metadata"]["labels"][f"modelserving.volcano.sh/{missing}"]
    known = replace(facts(ONE_INSTANCE, UP), pods=(msgspec.convert(found, Pod),))
    assert entries(derive(known).status) == (["m-0 prefill-0 NotFound"])


@pytest.mark.parametrize(
    ("serving", "objects"),
    [
        (modelserving(DECODE), []),
        (modelserving(DECODE, replicas=0), []),
        (modelserving(DECODE), group(0, DECODE, state="Deleting")),
        (modelserving(role("decode", 0)), [UP]),
        (modelserving(), [UP]),
    ],
    ids=["no groups", "scaled to 0", "only deleted groups", "no instances", "no roles"],
)
def test_without_instances_the_list_is_left_out(serving, objects):
    """The proposal calls these TestUpdateModelServingStatusRoleStatuses."""
    assert "roleStatuses" not in derived(serving, *objects).status


def test_order_is_group_ordinal_then_role_then_instance_ordinal():
    """Numbers are numbers: 10 follows 2. Roles are in the order of the spec."""
    serving = modelserving(role("zebra", 11), role("ant"), replicas=12)
    objects = [
        each
        for name in ("m-10", "m-2", "m-0")
        for id_ in ("ant-0", *(f"zebra-{number}" for number in reversed(range(11))))
        for each in (*instance(name, id_), pod_group(name))
    ]
    found = [each.split()[:2] for each in entries(derived(serving, *objects).status)]
    ids = [*(f"zebra-{number}" for number in range(11)), "ant-0"]
    assert found == [[name, id_] for name in ("m-0", "m-2", "m-10") for id_ in ids]


def test_two_roles_of_one_name_make_no_entry_twice():
    """The API server would refuse the whole status for it; the spec is told to be invalid."""
    serving = modelserving(role("decode", 2), role("decode", 3))
    found = entries(derived(serving, *instance("m-0", "decode-0"), UP).status)
    assert found == ["m-0 decode-0 Running", "m-0 decode-1 NotFound"]


def many(count, *not_running):
    """A group of `count` instances, of which some are Creating."""
    states = dict.fromkeys(not_running, "pending")
    return [
        each
        for number in range(count)
        for each in instance("m-0", f"decode-{number}", states.get(number, "ready"))
    ]


def test_as_many_as_fit_are_all_there():
    status = derived(modelserving(role("decode", MAX_ENTRIES)), UP, *many(MAX_ENTRIES)).status
    assert len(status["roleStatuses"]) == MAX_ENTRIES
    assert "roleStatusesOmitted" not in status


def test_of_more_than_fit_those_that_are_not_running_are_kept():
    count = MAX_ENTRIES + 20
    serving = modelserving(role("decode", count))
    status = derived(serving, UP, *many(count, 3, count - 1)).status
    assert status["roleStatusesOmitted"] == 20
    shown = [each["roleID"] for each in status["roleStatuses"]]
    assert len(shown) == MAX_ENTRIES
    assert shown == [*(f"decode-{n}" for n in range(MAX_ENTRIES - 1)), f"decode-{count - 1}"]


def test_what_was_never_created_is_bounded_too():
    """A typing error in `replicas` must not cost memory; the number left out is still exact."""
    wanted = 500_000_000
    serving = modelserving(role("prefill", wanted), role("decode", wanted), replicas=wanted)
    found = derived(serving, UP, *instance("m-0", "decode-0"), pod_group("m-1"))
    status = found.status
    assert sum(len(each.instances) for each in found.groups) == MAX_ENTRIES + 1
    assert len(status["roleStatuses"]) == MAX_ENTRIES
    assert status["roleStatusesOmitted"] == 4 * wanted - MAX_ENTRIES
    assert {each["status"] for each in status["roleStatuses"]} == {"NotFound"}
    assert {each["roleName"] for each in status["roleStatuses"]} == {"prefill"}, "the first"


def test_the_number_that_is_left_out_fits_the_field():
    """The CRD has 32 bits for it; the API server would refuse the whole status."""
    wanted = 2_000_000_000
    serving = modelserving(role("prefill", wanted), role("decode", wanted))
    assert derived(serving, UP).status["roleStatusesOmitted"] == 2**31 - 1
