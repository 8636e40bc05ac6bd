"""Each row of the table of instances in docs/modelserving.md: what those of `m-0` are said to be."""

from dataclasses import replace

import msgspec
import pytest

from reporter.model.objects import Pod
from reporter.stacks.kthena.derived.groups import INSTANCE_ROWS, InstanceFacts, decide
from reporter.stacks.kthena.derived.status import derive
from tests.unit.probes.building import merged
from tests.unit.stacks.kthena.derived.building import (
    DECODE,
    GONE,
    PREFILL,
    A,
    B,
    derived,
    entries,
    facts,
    instance,
    kept,
    modelserving,
    pod,
    pod_group,
    role,
    service,
)

SERVING = modelserving(PREFILL)
"""One instance of two pods: `prefill-0`."""

OTHER = instance("m-0", "decode-0")
UP = pod_group("m-0")


def prefill(*states):
    return instance("m-0", "prefill-0", *states)


def rows(serving, *objects, pod_groups=True):
    """Row and status of each instance by its ID."""
    found = derived(serving, *objects, pod_groups=pod_groups)
    return {
        each.id: (each.row, str(each.status)) for group in found.groups for each in group.instances
    }


@pytest.mark.parametrize(
    ("row", "status", "objects"),
    [
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
    ],
)
def test_the_first_row_that_holds_decides(row, status, objects):
    assert rows(SERVING, *objects) == {"prefill-0": (row, status)}
    assert entries(derived(SERVING, *objects).status) == [f"m-0 prefill-0 {status}"]


def test_instances_of_removed_roles_are_not_listed():
    """They are seen all the same, for whoever looks for what hangs."""
    gone = instance("m-0", "router-0", "terminating", "ready")
    alive = instance("m-0", "cache-0", "ready", "ready")
    found = derived(SERVING, UP, *prefill("ready", "ready"), *gone, *alive)
    assert entries(found.status) == ["m-0 prefill-0 Running"]
    assert rows(SERVING, UP, *prefill("ready", "ready"), *gone, *alive) == {
        "prefill-0": ("I11", "Running"),
        "cache-0": ("I11", "Running"),
        "router-0": ("I2", "Deleting"),
    }


@pytest.mark.parametrize(
    ("known", "wanted", "absent"),
    [
        ([0], 1, []),
        ([0], 3, [1, 2]),
        ([0, 5], 4, [1, 2]),
        ([0, 2], 2, []),
        ([3], 2, [0]),
        ([0, 1, 2], 1, []),
    ],
)
def test_i3_i4_what_is_created_next_is_not_found(known, wanted, absent):
    """Instances count whatever their ordinals are, so a gap alone means nothing."""
    serving = modelserving(role("decode", wanted))
    pods = [each for number in known for each in instance("m-0", f"decode-{number}")]
    found = rows(serving, UP, *pods)
    assert [key for key, (_, status) in found.items() if status == "NotFound"] == [
        f"decode-{number}" for number in absent
    ]
    assert list(found) == [f"decode-{number}" for number in sorted((*known, *absent))]


def test_what_is_neither_there_nor_wanted_has_no_entry():
    row = decide(INSTANCE_ROWS, InstanceFacts(expected=1))
    assert (row.name, row.status) == ("I4", None)


@pytest.mark.parametrize("state", ["ready", "starting", "failed", "terminating"])
def test_i16_the_revision_of_the_pods_does_not_matter(state):
    new = [UP, *instance("m-0", "decode-0", state, revision=B), *kept(DECODE)]
    old = [UP, *instance("m-0", "decode-0", state, revision=A), *kept(DECODE)]
    serving = modelserving(DECODE)
    assert rows(serving, *new) == rows(serving, *old)


@pytest.mark.parametrize("grace", [0, 600])
def test_a_pod_that_restarted_counts_at_once_however_long_it_is_left(grace):
    """restartGracePeriodSeconds says when Kthena deletes the pod, not what the instance is until then."""
    serving = merged(SERVING, {"spec": {"template": {"restartGracePeriodSeconds": grace}}})
    found = rows(serving, UP, *prefill("ready", "restarted"))
    assert found == {"prefill-0": ("I10", "Creating")}


def test_i18_pods_of_different_revisions_make_one_instance():
    """It is completed by what is wanted now: two pods, although either revision had three."""
    before = kept(role("prefill", workers=2))
    pods = [pod("m-0", "prefill-0", 0), pod("m-0", "prefill-0", 1, revision=B)]
    assert rows(SERVING, UP, *pods, *before) == {"prefill-0": ("I11", "Running")}


def test_expected_pods_follow_the_revision_of_the_pods():
    """An instance of revision A, which had two workers, is complete with three pods only."""
    before = kept(role("prefill", workers=2), revisions=[A])
    assert rows(SERVING, UP, *prefill("ready", "ready"), *before)["prefill-0"][0] == "I13"
    assert rows(SERVING, UP, *prefill("ready", "ready", "ready"), *before)["prefill-0"][0] == "I11"


@pytest.mark.parametrize("owner", ["uid-of-another", ""])
def test_i19_objects_of_another_owner_are_ignored(owner):
    """They carry the labels of a deleted ModelServing of the same name; Kthena counts them."""
    foreign = [
        pod("m-0", "prefill-0", 1, uid=owner),
        pod("m-5", "prefill-0", 0, uid=owner),
        service("m-6", "prefill-0", uid=owner),
        pod_group("m-7", uid=owner),
    ]
    found = derived(SERVING, UP, pod("m-0", "prefill-0", 0), *foreign)
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
    found = msgspec.to_builtins(facts(SERVING, pod("m-0", "prefill-0")).pods[0])
    del found["metadata"]["labels"][f"modelserving.volcano.sh/{missing}"]
    known = replace(facts(SERVING, UP), pods=(msgspec.convert(found, Pod),))
    assert entries(derive(known).status) == (["m-0 prefill-0 NotFound"])
