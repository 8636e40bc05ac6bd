"""modelservingRolloutStuck: whom an update waits for, and whom it leaves alone."""

from datetime import timedelta

import pytest

from reporter.catalogue.resources import PODS
from reporter.stacks.kthena.reasons import GROUP_NOT_READY, PODGROUPS, ROLLOUT_STUCK
from tests.unit.probes.building import DELETING, merged
from tests.unit.stacks.kthena.probes.kthena import (
    NS,
    OLD,
    findings,
    group,
    not_ready,
    only,
    said,
    stack,
)

DEADLINE = timedelta(minutes=10)
STARTUP = timedelta(minutes=30)
POD_NAMES = ("prefill-0-0", "prefill-0-1", "decode-0-0", "decode-1-0")


def rollout(old=("m-0",), changes=None, **strategy):
    """Two groups, of which some are still on the old revision."""
    objects = stack()
    for name in old:
        objects.update(group(name, revision=OLD))
    update = {"type": "ServingGroupRollingUpdate", "rollingUpdateConfiguration": strategy}
    spec = {"spec": {"rolloutStrategy": update}}
    objects["ModelServing m"] = stack({"ModelServing m": spec})["ModelServing m"]
    for key, change in (changes or {}).items():
        if change is None:
            del objects[key]
        else:
            objects[key] = _patched(objects[key], change)
    return objects


def _patched(known, change):
    return {**known, **{key: {**known.get(key, {}), **each} for key, each in change.items()}}


def test_a_rollout_that_leaves_a_group_alone_is_told_after_the_deadline():
    """Everything runs, nothing is being replaced, and m-0 is still old."""
    finding = only(rollout(), ROLLOUT_STUCK)
    assert finding.budget == DEADLINE
    assert finding.related == PODGROUPS.ref_named(NS, "m-0")
    assert said(finding) == (
        "ServingGroup m-0 is still to be updated, and nothing is being replaced; 1 of 2 "
        "ServingGroups still to be updated"
    )


def test_a_rollout_of_more_groups_than_are_wanted_counts_those_that_exist():
    objects = rollout(old=("m-0", "m-1", "m-2"))
    objects["ModelServing m"]["spec"]["replicas"] = 1
    assert said(only(objects, ROLLOUT_STUCK)).endswith("3 of 3 ServingGroups still to be updated")


def test_the_next_group_is_the_one_that_is_told_so_that_time_begins_anew_with_each():
    assert only(rollout(old=("m-0", "m-1")), ROLLOUT_STUCK).related.name == "m-1"


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"Pod m-1-decode-0-0": not_ready()}, "Creating"),
        ({"PodGroup m-1": None, **{f"Pod m-1-{each}": DELETING for each in POD_NAMES}}, "Deleting"),
    ],
)
def test_a_rollout_waits_for_what_is_being_replaced_as_long_as_start_up_may_take(changes, state):
    finding = only(rollout(changes=changes), ROLLOUT_STUCK)
    assert finding.budget == STARTUP + DEADLINE
    assert finding.related.name == "m-1"
    assert said(finding).startswith(f"the update waits for ServingGroup m-1, which is {state}; ")


def test_a_rollout_does_not_wait_for_an_old_group_that_partition_protects():
    """Such a group takes nothing of maxUnavailable; m-1 is what is left alone."""
    changes = {"Pod m-0-decode-0-0": not_ready()}
    objects = rollout(old=("m-0", "m-1"), changes=changes, partition=1)
    assert said(only(objects, ROLLOUT_STUCK)).startswith("ServingGroup m-1 is still to be updated")


BY_ROLE = {"spec": {"rolloutStrategy": {"type": "RoleRollingUpdate"}}}


def role_rollout(changes=None):
    """One group, of which prefill-0 and decode-0 are old and decode-1 is new."""
    objects = stack({"ModelServing m": merged(BY_ROLE, {"spec": {"replicas": 1}})})
    for ordinal in ("prefill-0-0", "prefill-0-1", "decode-0-0"):
        objects[f"Pod m-0-{ordinal}"] = group("m-0", revision=OLD)[f"Pod m-0-{ordinal}"]
    for key in [key for key in objects if "m-1" in key]:
        del objects[key]
    for key, change in (changes or {}).items():
        objects[key] = merged(objects[key], change)
    return objects


@pytest.mark.parametrize(
    ("changes", "words", "related"),
    [
        (
            {"Pod m-0-decode-1-0": not_ready()},
            "the update waits for ServingGroup m-0, role decode instance decode-1, which is Creating",
            "m-0-decode-1-0",
        ),
        (
            {"Pod m-0-decode-0-0": DELETING},
            "the update waits for ServingGroup m-0, role decode instance decode-0, which is Deleting",
            "m-0-decode-0-0",
        ),
        (
            {},
            "ServingGroup m-0, role prefill instance prefill-0 is still to be updated",
            "m-0-prefill-0-0",
        ),
    ],
)
def test_a_rollout_by_instances_begins_its_time_anew_with_each(changes, words, related):
    """A group of many is not Running for as long as all of them take, however well it goes on."""
    objects = role_rollout(changes)
    finding = only(objects, ROLLOUT_STUCK)
    assert said(finding).startswith(words)
    assert finding.related == PODS.ref_named(NS, related)
    for each in findings(objects, GROUP_NOT_READY):
        assert each.related == finding.related


def test_only_the_controller_can_go_on_with_it():
    assert not only(rollout(), ROLLOUT_STUCK).independent


@pytest.mark.parametrize(
    "objects",
    [
        stack(),
        rollout(old=()),
        rollout(partition=1),
        rollout(partition="50%"),
        rollout(old=("m-0", "m-1"), partition=5),
    ],
)
def test_what_partition_protects_is_not_to_be_updated(objects):
    assert findings(objects, ROLLOUT_STUCK) == []
