"""The played Kthena controller makes and deletes what the real one would."""

import copy

import pytest

from lab.simulation.kthena import plan
from lab.simulation.kthena_objects import revision_of
from tests.tables import rows
from tests.unit.lab.simulation.kthena_cluster import Cluster, modelserving, role

PREFILL_DECODE = [role("prefill", 1, workers=1), role("decode", 2)]
LABEL = "modelserving.volcano.sh"
NOW = "2026-01-01T00:00:00Z"


def settled(roles=PREFILL_DECODE, replicas=1, *, volcano=False):
    cluster = Cluster(modelserving(copy.deepcopy(roles), replicas), volcano=volcano)
    cluster.settle()
    return cluster


def new_template(cluster):
    for each in cluster.owner["spec"]["template"]["roles"]:
        each["entryTemplate"]["spec"]["containers"][0]["image"] = "vllm:2"


def test_a_group_has_the_pods_services_and_revision_of_its_roles():
    cluster = settled()
    assert cluster.names() == [
        "m-0-decode-0-0",
        "m-0-decode-1-0",
        "m-0-prefill-0-0",
        "m-0-prefill-0-1",
    ]
    assert cluster.names("Service") == ["m-0-prefill-0-0"]
    revision = revision_of(PREFILL_DECODE)
    assert cluster.names("ControllerRevision") == [f"m-{revision}"]
    assert plan(cluster.world).is_empty


def test_children_carry_labels_and_owner_as_upstream_makes_them():
    cluster = settled(volcano=True)
    worker = cluster.objects["Pod", "m-0-prefill-0-1"]
    labels = worker["metadata"]["labels"]
    assert {key.removeprefix(f"{LABEL}/"): value for key, value in labels.items()} == {
        "name": "m",
        "group-name": "m-0",
        "role": "prefill",
        "role-id": "prefill-0",
        "revision": revision_of(PREFILL_DECODE),
        "role-template-hash": labels[f"{LABEL}/role-template-hash"],
    }
    entry = cluster.objects["Pod", "m-0-prefill-0-0"]["metadata"]["labels"]
    assert entry.items() - labels.items() == {(f"{LABEL}/entry", "true")}
    (owner,) = worker["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("ModelServing", "uid-m", True)
    assert worker["metadata"]["annotations"] == {
        "scheduling.k8s.io/group-name": "m-0",
        "volcano.sh/task-spec": "prefill-0",
    }
    (container,) = worker["spec"]["containers"]
    assert {each["name"]: each["value"] for each in container["env"]} == {
        "GROUP_SIZE": "2",
        "ENTRY_ADDRESS": "m-0-prefill-0-0.models",
        "WORKER_INDEX": "1",
    }
    assert cluster.objects["PodGroup", "m-0"]["spec"] == {"minMember": 4}


@pytest.mark.parametrize(
    ("there", "wanted", "names"),
    [
        ((0, 5), 4, ["m-0", "m-1", "m-2", "m-5"]),
        ((0, 1), 3, ["m-0", "m-1", "m-2"]),
        ((0, 1, 2), 1, ["m-0"]),
        ((0, 1), 0, []),
    ],
)
def test_groups_scale_to_the_lowest_free_ordinals_and_away_from_the_highest(there, wanted, names):
    cluster = settled([role("decode")], max(there) + 1)
    for ordinal in set(range(max(there) + 1)) - {*there}:
        cluster.lose(f"m-{ordinal}-decode-0-0")
    cluster.owner["spec"]["replicas"] = wanted
    cluster.settle()
    assert [*cluster.groups] == names


@pytest.mark.parametrize("volcano", [False, True])
def test_a_rollout_replaces_one_group_at_a_time_from_the_last(volcano):
    cluster = settled([role("decode")], 3, volcano=volcano)
    old = {*cluster.revisions.values()}
    new_template(cluster)
    order = []
    for _ in range(3):
        cluster.reconcile()
        (going,) = cluster.names(deleting=True)
        order.append(going)
        assert plan(cluster.world).is_empty, "nothing more goes meanwhile"
        cluster.let_go()
        cluster.reconcile()
        assert plan(cluster.world).is_empty, "nothing more goes until the new one is ready"
        cluster.start()
    assert order == ["m-2-decode-0-0", "m-1-decode-0-0", "m-0-decode-0-0"]
    cluster.settle()
    assert old.isdisjoint(cluster.revisions.values())
    assert len(cluster.names("ControllerRevision")) == 1, "the old revision is cleaned up"


def test_a_group_whose_podgroup_goes_is_deleted_to_the_end():
    """As after a controller that stopped in the middle of it."""
    cluster = settled(volcano=True)
    cluster.objects["PodGroup", "m-0"]["metadata"]["deletionTimestamp"] = NOW
    made = cluster.reconcile()
    assert cluster.names(deleting=False) == []
    assert cluster.names("Service") == []
    assert made.create == ()


@rows(
    ("status", "deleted"),
    {
        "failed": ({"phase": "Failed"}, True),
        "restarted": ({"phase": "Running", "containerStatuses": [{"restartCount": 1}]}, True),
        "waits": ({"phase": "Pending", "containerStatuses": [{"restartCount": 0}]}, False),
        "recovered": (
            {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [{"restartCount": 3}],
            },
            False,
        ),
    },
)
def test_a_failed_or_restarted_pod_is_deleted(status, deleted):
    cluster = settled()
    cluster.objects["Pod", "m-0-decode-1-0"]["status"] = status
    made = plan(cluster.world)
    assert [each["metadata"]["name"] for each in made.delete] == ["m-0-decode-1-0"] * deleted
