"""`roleStatuses`: states, several groups, groups being deleted, nothing at all; order and bound."""

import pytest

from reporter.stacks.kthena.derived.status import MAX_ENTRIES
from tests.unit.stacks.kthena.derived.building import (
    DECODE,
    derived,
    entries,
    group,
    instance,
    modelserving,
    pod_group,
    role,
)

UP = pod_group("m-0")


class TestUpdateModelServingStatusRoleStatuses:
    """The four scenarios, under the name that the proposal gives them."""

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
    def test_without_instances_the_list_is_left_out(self, serving, objects):
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
