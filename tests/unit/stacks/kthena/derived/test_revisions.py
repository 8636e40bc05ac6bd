"""Which revision is wanted, which groups are on it, and what the status says of that."""

from itertools import permutations

import msgspec
import pytest

from reporter.stacks.kthena.derived.status import derive
from reporter.stacks.kthena.templates import same_roles
from tests.tables import rows
from tests.unit.probes.building import NOW, document, merged
from tests.unit.stacks.kthena.derived.building import (
    DECODE,
    LATER,
    NS,
    PREFILL,
    STARTED,
    A,
    B,
    Document,
    at_image,
    controller_revision,
    counters,
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
    template,
    truth,
)

OURS = ("Available", "Progressing", "UpdateInProgress")
EARLIER = "2026-11-20T10:00:00Z"
UP = pod_group("m-0")
V2 = role("decode", image="v2")
RECORDED = {"currentRevision": A, "updateRevision": A}


def spec_of(**container: object) -> Document:
    return {"spec": {"containers": [{"name": "main", "image": "v1"} | container]}}


def with_spec(**fields: object) -> Document:
    found = template("v1")
    return found | {"spec": found["spec"] | fields}


def labelled(**labels: str) -> Document:
    return template("v1") | {"metadata": {"labels": labels}}


def two_containers() -> Document:
    found = template("v1")
    found["spec"]["containers"] *= 2
    return found


@pytest.mark.parametrize(
    ("written", "kept_as"),
    [
        ({}, {"resources": {}}),
        ({}, {"command": None, "env": []}),
        ({"stdin": False}, {}),
        ({"env": [{"name": "X", "value": ""}]}, {"env": [{"name": "X"}]}),
        (
            {"resources": {"limits": {"cpu": "0.5", "memory": "1024Mi", "gpu": 1}}},
            {"resources": {"limits": {"cpu": "500m", "memory": "1Gi", "gpu": "1"}}},
        ),
        ({"resources": {"requests": {"memory": "1e3"}}}, {"resources": {"requests": {"memory": "1k"}}}),
        (
            {"env": [{"valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}]},
            {
                "env": [{"valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}}}]
            },
        ),
        ({"readinessProbe": {"initialDelaySeconds": 0}}, {"readinessProbe": {}}),
        ({"securityContext": {"privileged": False}}, {"securityContext": {"privileged": False}}),
    ],
)  # fmt: skip
def test_a_template_is_the_same_however_it_is_written(written, kept_as):
    """Go leaves out zero values, spells out empty structs and canonizes quantities."""
    ours = role("decode") | {"entryTemplate": spec_of(**written)}
    theirs = role("decode", 7) | {"entryTemplate": {"metadata": {}} | spec_of(**kept_as)}
    status = derived(modelserving(ours), *group(0, DECODE), controller_revision(A, theirs)).status
    assert revisions(status) == "A/A"


@pytest.mark.parametrize(
    "changed",
    [
        [PREFILL, DECODE],
        [role("decode", image="v2")],
        [role("decode", workers=1)],
        [DECODE | {"workerReplicas": 1}],
        [DECODE | {"entryTemplate": two_containers()}],
        [role("decoder")],
        [DECODE, PREFILL],
        [],
        [DECODE | {"entryTemplate": spec_of(resources={"limits": {"cpu": "501m"}})}],
        [DECODE | {"entryTemplate": spec_of(resources={"limits": {"cpu": "half"}})}],
        [DECODE | {"entryTemplate": spec_of(args=["--x", ""])}],
        [DECODE | {"entryTemplate": template("v1") | {"metadata": {"labels": {"app": "n"}}}}],
        [DECODE | {"entryTemplate": labelled(app="m", canary="")}],
        [DECODE | {"entryTemplate": with_spec(nodeSelector={"gpu": ""})}],
        [DECODE | {"entryTemplate": with_spec(automountServiceAccountToken=False)}],
        [DECODE | {"entryTemplate": with_spec(terminationGracePeriodSeconds=0)}],
        [DECODE | {"entryTemplate": spec_of(securityContext={"runAsUser": 0})}],
    ],
)
def test_another_template_is_another_revision(changed):
    """Another order of the roles is one, too."""
    for roles in ([DECODE], [DECODE, PREFILL]):
        if roles != changed:
            ours = facts(modelserving(*roles)).modelserving.roles
            assert not same_roles(ours, facts(modelserving(*changed)).modelserving.roles)


def deep(levels: int) -> Document:
    found: Document = {}
    for _ in range(levels):
        found = {"x": found}
    return found


@pytest.mark.parametrize(
    "data",
    [None, 7, "text", {}, {"data": None}, {"data": [{"name": 7}]}, {"data": {"a": 1}}, deep(400)],
)
def test_a_controller_revision_that_cannot_be_read_says_nothing(data):
    broken = merged(controller_revision(A), {"data": data})
    status = derived(modelserving(DECODE), *group(0, DECODE), broken).status
    assert (counters(status), revisions(status)) == ("1/1/0/1", "A/-")


UNKNOWN_TO_KTHENA = role("decode", image="v1") | {
    "entryTemplate": template("v1", fieldOfTomorrow="on")
}


@pytest.mark.parametrize(
    ("observed", "managers", "true"),
    [
        (2, [], "Available"),
        (2, [{"manager": "kthena", "subresource": "status"}], "Available"),
        (2, [{"manager": "productionstack-status-reporter", "subresource": "status"}], "UpdateInProgress"),
        (1, [], "UpdateInProgress"),
    ],
)  # fmt: skip
def test_a_field_that_kthena_does_not_know_is_no_change(observed, managers, true):
    """The CRD of our chart stores it; what Kthena recorded for the same spec says that it is done."""
    status = {**RECORDED, "observedGeneration": observed}
    serving = modelserving(UNKNOWN_TO_KTHENA, generation=2, status=status)
    serving = merged(serving, {"metadata": {"managedFields": managers}})
    found = derived(serving, *kept(DECODE, revisions=[A]), *group(0, DECODE, revision=A))
    assert any(each.awaits_update for each in found.groups) is (true != "Available")


def of(serving, *objects):
    return derived(serving, *objects).status


def true(status):
    return [type_ for type_, value in truth(status).items() if value == "True"]


def backdated(serving):
    """The ModelServing with conditions that took their status earlier."""
    for each in serving["status"]["conditions"]:
        each["lastTransitionTime"] = EARLIER
    return serving


ONE_OF_TWO = [*group(0, DECODE), *group(1, DECODE, state="Creating")]
NONE_OF_TWO = [*group(0, DECODE, state="Creating"), *group(1, DECODE, state="Creating")]
BOTH_OF_TWO = [*group(0, DECODE), *group(1, DECODE)]
TWO = modelserving(DECODE, replicas=2)


def test_a_condition_that_stays_true_keeps_its_time_and_has_a_new_message():
    serving = backdated(stored(TWO, of(TWO, *NONE_OF_TWO)))
    found = of_type(of(serving, *ONE_OF_TWO), "Progressing")
    assert (found["status"], found["message"]) == ("True", "Some groups is progressing: [1]")
    assert found["lastTransitionTime"] == EARLIER


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


def test_a_losing_condition_has_the_time_of_its_transition():
    serving = backdated(stored(TWO, of(TWO, *BOTH_OF_TWO)))
    status = of(serving, *ONE_OF_TWO)
    assert "lastTransitionTime" not in of_type(status, "Available")
    written = stored(serving, status)["status"]
    assert of_type(written, "Available")["lastTransitionTime"] == f"{NOW:%Y-%m-%dT%H:%M:%SZ}"
    assert of_type(written, "UpdateInProgress")["lastTransitionTime"] == EARLIER


@pytest.mark.parametrize("partition", [None, 0, 1, "50%"])
def test_in_the_steady_state_there_is_nothing_to_write(partition):
    serving = modelserving(DECODE, replicas=2, partition=partition)
    written = stored(serving, of(serving, *BOTH_OF_TWO, *kept(DECODE)))
    known = facts(written, *BOTH_OF_TWO, *kept(DECODE))
    assert not differs(known.modelserving.status, derive(known).status)


OTHER_SCHEDULE = role("decode", 3, maxUnavailable="50%", partition=1)
UNLABELLED = {"metadata": {"labels": {"modelserving.volcano.sh/revision": None}}}
V2_ONE = modelserving(V2, generation=2, status=RECORDED)
OF_A, PAIR_V2 = kept(DECODE, revisions=[A]), role("decode", 2, image="v2")
MIXED_PAIR = modelserving(PAIR_V2, status=RECORDED)
NEW_1 = instance("m-0", "decode-1", revision=B)
THIRD = role("decode", image="v3")
OF_THREE = [*kept(DECODE), controller_revision("ccc", THIRD)]
BOTH_V2 = modelserving(V2, replicas=2, generation=2)
HALF = modelserving(V2, replicas=2, partition=1, generation=2)
OLD_ROLES = modelserving(V2, PREFILL, partition=1, generation=2)
TWO_DECODE = kept(role("decode", 2), revisions=[A])
AFTER_2 = modelserving(V2, generation=2)


def by_role(*roles, **more):
    """A ModelServing whose rollout is by roles, decode and router if none are named."""
    return modelserving(*(roles or (V2, role("router"))), by_role=True, **more)


def pair(decode, other, created=(STARTED, STARTED)):
    """Two instances of a group, each with its revision, its hash, and when it was made."""
    found = [
        *instance("m-0", decode[0], revision=decode[1], hash_=decode[2]),
        *instance("m-0", other[0], revision=other[1], hash_=other[2]),
    ]
    for each, moment in zip(found, created, strict=True):
        each["metadata"]["creationTimestamp"] = moment
    return [*found, UP]


BEFORE = controller_revision(A, role("decode"), role("router"))
ROUTER_OLD = ("router-0", A, None)
NEW_BESIDE = pair(("decode-0", B, None), ROUTER_OLD)
GPU = role("decode", 2) | {"entryTemplate": with_spec(nodeSelector={"gpu": ""})}
SERVING_2 = [role("decode", 2), role("router")]
PENDING_ROUTER = instance("m-0", "router-0", "pending")


def in_parts(partition):
    """By roles, with a partition of decode; both of its instances are old."""
    roles = (role("decode", 2, image="v2", partition=partition), role("router"))
    pods = [*instance("m-0", "decode-0"), *instance("m-0", "decode-1"), *PENDING_ROUTER]
    return by_role(*roles), [*pods, UP, BEFORE]


NOT_BEGUN = ("UpdateNotStarted", "Serving groups to be updated: [0]")
ON_A = [*group(0, DECODE), *OF_A]


@rows(
    ("serving", "objects", "expected"),
    {
        "replicas, unavailability and partition are no part of the revision": (
            modelserving(OTHER_SCHEDULE), [*group(0, role("decode", 3)), *OF_A], {"revisions": "A/A"},
        ),
        "the name of a ControllerRevision will do without its label": (
            modelserving(DECODE), [*group(0, DECODE), merged(controller_revision(A, DECODE), UNLABELLED)], {"revisions": "A/A"},
        ),
        "the roles may stand without a wrapper": (
            modelserving(DECODE), [*group(0, DECODE), merged(controller_revision(A), {"data": None}) | {"data": [DECODE]}], {"revisions": "A/A"},
        ),
        "a template of any depth is compared or is another": (
            modelserving(DECODE | {"entryTemplate": deep(400)}),
            [*group(0, DECODE), controller_revision(A, DECODE | {"entryTemplate": deep(401)})], {"replicas": 1},
        ),
        "of equal revisions the newest counts: a newer controller may give the same roles another hash": (
            modelserving(DECODE),
            [*group(0, DECODE), controller_revision(B, DECODE, created=LATER), controller_revision(A, DECODE, created=STARTED)],
            {"revisions": "A/B", "counters": "1/1/0/1"},
        ),
        "no revision matches: those on record stay, and what is available stays so until the update begins": (
            V2_ONE, ON_A, {"revisions": "A/A", "counters": "1/1/0/1", "true": ["Available"], "UpdateInProgress": NOT_BEGUN},
        ),
        "no revision is guessed": (AFTER_2, group(0, DECODE), {"revisions": "A/-", "counters": "1/1/0/1"}),
        "a group of which nothing is known awaits no update: its template may be the same": (
            modelserving(V2), group(0, DECODE, state="Creating"), {"true": ["Progressing"]},
        ),
        "one whose template is known does": (modelserving(V2), [*group(0, DECODE, state="Creating"), *OF_A], {"true": ["UpdateInProgress"]}),
        "a group is updated when all pods that stay are": (
            MIXED_PAIR, [*instance("m-0", "decode-0"), *NEW_1, UP, *kept(DECODE)], {"counters": "1/1/0/1"},
        ),
        "one that goes does not count": (
            MIXED_PAIR, [*instance("m-0", "decode-0", "terminating"), *NEW_1, UP, *kept(DECODE)], {"counters": "1/0/1/0"},
        ),
        "a pod without the label is not updated": (
            modelserving(V2), [*instance("m-0", "decode-0", revision=None), UP, *kept(DECODE)], {"counters": "1/0/0/1", "revisions": "B/B"},
        ),
        "by roles: an unchanged role on the old label is up to date": (by_role(), [*NEW_BESIDE, BEFORE], {"counters": "1/1/1/1", "revisions": "B/B"}),
        "by roles: a changed role is outdated": (by_role(), [*pair(("decode-0", A, None), ROUTER_OLD), BEFORE], {"counters": "1/1/0/1"}),
        **{
            f"by roles, without a ControllerRevision: the hash of a current pod decides, {old}": (
                by_role(PAIR_V2), pair(("decode-0", A, old), ("decode-1", B, "h2"), (STARTED, LATER)), {"updatedReplicas": updated},
            )
            for old, updated in (("h1", 0), ("h2", 1), (None, 1))
        },
        "by roles: the newest pods tell the update revision that nothing keeps": (
            by_role(), pair(("decode-0", B, None), ROUTER_OLD, (LATER, STARTED)), {"updateRevision": B},
        ),
        **{
            f"by roles: of pods that are equally new nothing is concluded, {recorded}": (
                by_role(status={"updateRevision": recorded}), NEW_BESIDE,
                {"updateRevision": recorded or None, "currentRevision": recorded if recorded in {A, B} else None},
            )
            for recorded in ("", A, B, "zzz")
        },
        "by roles: a node selector without a value is a change, and no new ControllerRevision is kept": (
            by_role(GPU), [*pair(("decode-0", B, "h2"), ("decode-1", B, "h2")), controller_revision(A, role("decode", 2))],
            {"counters": "1/1/1/1", "revisions": "B/B"},
        ),
        "by roles, back to a revision that is kept: the hash of a pod that is back shows that the other is not": (
            by_role(*SERVING_2),
            [*pair(("decode-0", B, "h2"), ("decode-1", A, "h1")), *instance("m-0", "router-0"), controller_revision(A, *SERVING_2)],
            {"counters": "1/1/0/1", "revisions": "B/A"},
        ),
        **{
            f"by roles: a partition protects the first instances, {partition}": (*in_parts(partition), {"true": [true]})
            for partition, true in (
                (None, "UpdateInProgress"), (1, "UpdateInProgress"), (2, "Progressing"), ("100%", "Progressing"), ("50%", "UpdateInProgress"),
            )
        },
        "by roles: an instance of a removed role is to be updated away": (
            by_role(role("router")), [*PENDING_ROUTER, *instance("m-0", "cache-0"), UP], {"true": ["UpdateInProgress"]},
        ),
        "by roles: the partition of the groups does not apply, the webhook refuses it": (
            by_role(V2, partition=5), [*instance("m-0", "decode-0", "pending"), *OF_A, UP], {"true": ["UpdateInProgress"]},
        ),
        "both the image and the number of groups change at once": (
            modelserving(*at_image([PREFILL, DECODE], "v2"), replicas=3, status=RECORDED),
            [*group(0, PREFILL, DECODE), *group(1, PREFILL, DECODE), *kept(PREFILL, DECODE)],
            {"counters": "2/2/0/2", "revisions": "A/B", "UpdateInProgress": "Some groups is progressing: [2], Updated Groups are: []"},
        ),
        "ordinals and not positions are named": (
            BOTH_V2, [*group(3, DECODE, state="Creating"), *group(7, V2, revision=B), *kept(DECODE)],
            {"UpdateInProgress": "Some groups is progressing: [3], Updated Groups are: [7]"},
        ),
        "updated groups that are deleted are not named": (
            modelserving(V2, replicas=2), [*group(0, DECODE), *group(1, V2, revision=B), *group(2, V2, state="Deleting", revision=B), *kept(DECODE)],
            {"UpdateInProgress": "Some groups is progressing: [2], Updated Groups are: [1]"},
        ),
        "a partition from the start leaves no record: Kthena makes no ControllerRevision, and says that all are updated": (
            modelserving(DECODE, replicas=1, partition=1), group(0, DECODE),
            {"updateRevision": A, "currentRevision": A, "updatedReplicas": 1, "currentReplicas": 0},
        ),
        "the revision on record says that the pods are old, and partition protects them": (
            modelserving(DECODE, replicas=1, partition=1, generation=2, status={"updateRevision": B, "currentRevision": A}), group(0, DECODE),
            {"updateRevision": B, "updatedReplicas": 0, "currentReplicas": 1},
        ),
        "while an update is in progress Progressing says so": (
            AFTER_2, [*group(0, DECODE, state="Deleting"), *kept(DECODE)],
            {"Progressing": ("GroupsUpdating",)},
        ),
        "an old group with other roles": (
            OLD_ROLES, [*instance("m-0", "decode-0"), *instance("m-0", "decode-1", "starting"), UP, *TWO_DECODE], {"availableReplicas": 0},
        ),
        "can become running again": (
            OLD_ROLES, [*instance("m-0", "decode-0"), *instance("m-0", "decode-1"), UP, *TWO_DECODE], {"availableReplicas": 1},
        ),
        "revisions of a former ModelServing say nothing": (
            modelserving(V2, status=RECORDED), [*group(0, DECODE), controller_revision(B, V2, uid="uid-of-the-former")], {"revisions": "A/A"},
        ),
        "replicas default to one": (modelserving(DECODE, replicas=None), group(0, DECODE), {"true": ["Available"]}),
        "none of one": (modelserving(DECODE), [], {"true": ["Progressing"]}),
        "one of two": (modelserving(DECODE, replicas=2), group(0, DECODE), {"true": ["Progressing"]}),
        "one too many": (
            modelserving(DECODE), BOTH_OF_TWO, {"true": ["Progressing"], "Progressing": "Some groups is progressing: [], 2 Serving groups exist, 1 wanted"},
        ),
        "one of none": (modelserving(DECODE, replicas=0), group(0, DECODE), {"true": ["Progressing"]}),
        "groups that do not exist yet are named": (
            modelserving(DECODE, replicas=4), [*group(1, DECODE), *group(9, DECODE)], {"Progressing": "Some groups is progressing: [0 2]"},
        ),
        "the last step beside one that partition protects": (
            HALF, [*group(0, DECODE), *group(1, DECODE, state="Deleting"), *kept(DECODE)], {"true": ["UpdateInProgress"]},
        ),
        "a group that partition protects is no update in progress": (
            HALF, [*group(0, DECODE), *group(1, V2, state="Creating", revision=B), *kept(DECODE)], {"true": ["Progressing"]},
        ),
        "nor where it is the one that is broken": (
            HALF, [*group(0, DECODE, state="Creating"), *group(1, V2, revision=B), *kept(DECODE)], {"true": ["Progressing"]},
        ),
        "partition protects by position and not by count: upstream says Progressing": (
            HALF, [*group(0, V2, revision=B), *group(5, DECODE, state="Creating"), *kept(DECODE)], {"true": ["UpdateInProgress"]},
        ),
        **{
            f"the current revision on record stays while a group is on it, {recorded}": (
                modelserving(THIRD, replicas=3, status={"currentRevision": recorded}),
                [*group(0, DECODE), *group(1, V2, revision=B), *group(2, V2, revision=B), *OF_THREE],
                {"currentRevision": current, "updateRevision": "ccc"},
            )
            for recorded, current in ((A, A), (B, B), ("zzz", B), ("", B))
        },
        "strategies and policies that do not exist are not choked on": (
            document("ModelServing", "m", NS, {"spec": {"rolloutStrategy": {"type": "Later"}, "recoveryPolicy": "", "template": {}}}), [], {"replicas": 0},
        ),
    },
)  # fmt: skip
def test_status(serving, objects, expected):
    """What Kthena's own status gets wrong (v1.0.0), and what is derived instead."""
    status = of(serving, *objects)
    for name, value in expected.items():
        if name in OURS:
            found = of_type(status, name)
            told = (found["reason"], found["message"])
            assert value in {found["message"], told, told[:1]}
        else:
            ways = {"counters": counters, "revisions": revisions, "true": true}
            assert ways.get(name, lambda each, name=name: each.get(name))(status) == value


@pytest.mark.parametrize("state", ["ready", "pending"])
def test_a_pod_without_the_label_is_not_known_to_be_outdated_either(state):
    pods = instance("m-0", "decode-0", state, revision=None)
    (found,) = derived(modelserving(V2), *pods, UP, *kept(DECODE)).groups
    assert (found.age.updated, found.age.outdated) == (False, False)


@pytest.mark.parametrize(
    ("partition", "protected"),
    [
        (None, []), (0, []), (2, [0, 3]), (9, [0, 3, 4]), (-1, []), ("0%", []), ("1%", [0]),
        ("34%", [0, 3]), ("100%", [0, 3, 4]), ("two", []), ("2", []), ("%", []), ("-50%", []),
    ],
)  # fmt: skip
def test_partition_protects_the_first_groups(partition, protected):
    """A percentage is rounded up; what is neither protects none."""
    serving = modelserving(V2, replicas=3, partition=partition)
    objects = [each for ordinal in (4, 0, 3) for each in group(ordinal, DECODE)]
    found = derived(serving, *objects, *kept(DECODE)).groups
    assert [each.ordinal for each in found if each.age.protected] == protected


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
