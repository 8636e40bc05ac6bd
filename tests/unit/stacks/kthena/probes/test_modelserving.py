"""A ModelServing: its groups, rollout and spec, instances that do not come up or go, and gangs without room."""

from datetime import timedelta

import pytest

from reporter.catalogue.resources import PODS
from reporter.model.instant import parse_rfc3339
from reporter.model.subject import Subject
from reporter.stacks.kthena.reasons import (
    CONTROLLERREVISIONS,
    GANG_NOT_SCHEDULABLE,
    GROUP_NOT_READY,
    INVALID_SPEC,
    MODELSERVING_KIND,
    MODELSERVINGS_FORMER,
    READY,
    ROLE_CREATING,
    ROLE_DELETING,
    ROLLOUT_STUCK,
)
from tests.tables import rows
from tests.unit.probes.building import CREATED_AT, DELETING, SINCE_AT, condition, merged
from tests.unit.stacks.kthena.probes.kthena import (
    FORMER_GROUP,
    NAME,
    NEW,
    NS,
    OLD,
    ROLES,
    TITLE,
    evaluated,
    findings,
    group,
    modelserving,
    not_ready,
    only,
    owned,
    pending,
    pod,
    pod_group,
    said,
    stack,
    tells,
    waits,
    without_instances,
)

SUBJECT = Subject(MODELSERVING_KIND, NS, NAME)
POD_NAMES = ("prefill-0-0", "prefill-0-1", "decode-0-0", "decode-1-0")
LONGEST, NOT_MADE = timedelta(minutes=45), timedelta(minutes=5)
GOING = {"PodGroup m-1": None, **{f"Pod m-1-{each}": DELETING for each in POD_NAMES}}
FORMER = {"metadata": {"ownerReferences": [{"kind": "ModelServing", "uid": "uid-former"}]}}
IN_THE_WAY = {"PodGroup m-1": None, **{f"Pod m-1-{each}": FORMER for each in POD_NAMES}}
NO_VOLCANO = {"ModelServing m": {"spec": {"schedulerName": "default-scheduler"}}}
WORKER, DECODE = "Pod m-0-prefill-0-1", "Pod m-0-decode-0-0"


def wants(replicas, **spec):
    return {"ModelServing m": {"spec": {"replicas": replicas, **spec}}}


def test_one_that_serves_is_ready_and_has_no_finding():
    evaluation = evaluated(stack())
    assert evaluation.findings == ()
    assert [each.subject for each in evaluation.subjects] == [SUBJECT]
    (ready,) = evaluation.ready
    assert (ready.reason, ready.subject) == (READY, SUBJECT)
    assert ready.message == f"{TITLE} is ready: 2/2 ServingGroups Running"
    (derived,) = evaluation.derived
    assert str(derived.object) == f"ModelServing {NS}/{NAME}"
    assert len(derived.status["roleStatuses"]) == 6


@pytest.mark.parametrize(
    "changes",
    [{WORKER: waits("Whatever")}, {"Pod m-1-decode-1-0": None}, wants(3), wants(0), {"PodGroup m-2": pod_group("m-2")}],
)  # fmt: skip
def test_it_is_not_ready_while_a_group_is_missing_or_not_running(changes):
    assert evaluated(stack(changes)).ready == ()


def ready_messages(objects):
    return [each.message for each in evaluated(objects).ready]


def test_none_wanted_is_ready_and_says_so():
    """Scaled to zero on purpose: all groups, or every role, with PodGroups or without."""
    objects = {key: each for key, each in stack().items() if not key.startswith(("Pod ", "PodGr"))}
    objects["ModelServing m"] = modelserving({"spec": {"replicas": 0}})
    assert ready_messages(objects) == [f"{TITLE} is ready: 0 ServingGroups wanted"]
    told = [f"{TITLE} is ready: 0 instances wanted of any role"]
    assert ready_messages(without_instances()) == told
    groups = {f"PodGroup {each}": pod_group(each) for each in ("m-0", "m-1")}
    assert ready_messages(without_instances() | groups) == told
    assert ready_messages(without_instances() | {DECODE: pod("m-0", "decode", 0, 0)}) == []


def test_nothing_is_concluded_from_what_is_not_seen():
    """No evidence and no fault; and no status, which would be written, is made of a part."""
    found = evaluated(stack(), unknown=[PODS])
    assert (found.ready, found.findings) == ((), ())
    assert evaluated(stack(), unknown=[CONTROLLERREVISIONS]).derived == ()


def test_one_of_the_former_api_group_is_referred_to_in_it():
    former = modelserving({"spec": {"replicas": -1}}, group=FORMER_GROUP)
    finding = only(stack() | {"ModelServing m": former}, INVALID_SPEC)
    assert finding.related == MODELSERVINGS_FORMER.ref_named(NS, NAME)


MANY = [{"name": "UPPER", "replicas": -1, "workerReplicas": -1}]
MISSING = "wanted ServingGroups exist; missing: "


@rows(
    ("reason", "changes", "expected"),
    {
        "an invalid spec, by field and at once": (
            INVALID_SPEC, {"ModelServing m": {"spec": {"recoveryPolicy": "All"}}},
            {
                "exempt": True, "cause": "spec.recoveryPolicy",
                "said": "the spec is invalid: spec.recoveryPolicy: must be one of None, RoleRecreate, ServingGroupRecreate",
            },
        ),
        "many broken rules: the rest is counted": (INVALID_SPEC, wants(-1, template={"roles": MANY}), {"ends": "; and 2 more"}),
        "a group that is not Running, by role and instance": (
            GROUP_NOT_READY, {WORKER: waits("ImagePullBackOff"), "Pod m-0-decode-1-0": None},
            {
                "said": "ServingGroup m-0 is Scaling: role prefill 0/1 Running, role decode 1/2 Running (prefill-0 Creating, decode-1 NotFound)",
                "cause": "m-0 Scaling", "budget": LONGEST,
            },
        ),
        "by its PodGroup, which stays when pods are made again": (GROUP_NOT_READY, {WORKER: not_ready()}, {"about": "PodGroup m-0"}),
        "by its first pod without one": (GROUP_NOT_READY, {WORKER: not_ready()} | NO_VOLCANO, {"about": "Pod m-0-prefill-0-0"}),
        "the controller explains no crash": (GROUP_NOT_READY, {DECODE: waits("CrashLoopBackOff")}, {"independent": True}),
        "nor a start": (GROUP_NOT_READY, {DECODE: not_ready()}, {"independent": True}),
        "but a lack of pods": (GROUP_NOT_READY, {DECODE: None}, {"independent": False}),
        "groups that do not exist, of the ModelServing": (
            GROUP_NOT_READY, wants(9),
            {
                "about": "ModelServing m", "said": f"2 of 9 {MISSING}m-2, m-3, m-4, m-5, m-6 and 2 more",
                "budget": NOT_MADE, "created": CREATED_AT, "independent": False,
            },
        ),
        "what is in the way of a missing group": (
            GROUP_NOT_READY, IN_THE_WAY, {"said": f"1 of 2 {MISSING}m-1; pod m-1-decode-0-0 is in the way: it has another owner"},
        ),
        "one that is replaced as a whole": (GROUP_NOT_READY, GOING, {"ends": "ServingGroup m-1 is Deleting: ..."}),
    },
)  # fmt: skip
def test_what_is_told(reason, changes, expected):
    tells(stack(changes), reason, **expected)


@rows(
    ("objects", "unknown"),
    {
        "pods cannot be read": (stack(wants(3)), [PODS]),
        "a surplus group goes": (stack({**GOING, **wants(1)}), []),
        "no role has instances: without Volcano nothing of a group can be seen": (without_instances(), []),
    },
)  # fmt: skip
def test_groups_are_not_missed(objects, unknown):
    assert findings(objects, GROUP_NOT_READY, unknown=unknown) == []


@pytest.mark.parametrize(("replicas", "hint"), [(3, True), (2, False)])
def test_a_controller_that_is_known_to_be_stuck_is_hinted_at(replicas, hint):
    """It changes the data of a ControllerRevision when a role has another number of instances."""
    roles = [ROLES[0], {**ROLES[1], "replicas": replicas}]
    found = findings(stack(wants(3, template={"roles": roles})), GROUP_NOT_READY)
    (told,) = [said(each) for each in found if f"2 of 3 {MISSING}m-2" in said(each)]
    assert (f"ControllerRevision m-{NEW} was made: Kthena's controller may be" in told) is hint


DEADLINE, STARTUP = timedelta(minutes=10), timedelta(minutes=30)


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


SURPLUS = rollout(old=("m-0", "m-1", "m-2"))
SURPLUS["ModelServing m"]["spec"]["replicas"] = 1
LEFT_ALONE = "is still to be updated"


@rows(
    ("objects", "expected"),
    {
        "a group is left alone: everything runs, and nothing is being replaced": (
            rollout(),
            {
                "budget": DEADLINE, "about": "PodGroup m-0", "independent": False,
                "said": f"ServingGroup m-0 {LEFT_ALONE}, and nothing is being replaced; 1 of 2 ServingGroups still to be updated",
            },
        ),
        "more groups than are wanted": (SURPLUS, {"ends": "; 3 of 3 ServingGroups still to be updated"}),
        "the next group, so that time begins again with each": (rollout(old=("m-0", "m-1")), {"about": "PodGroup m-1"}),
        "one that is being replaced has the time of a start": (
            rollout(changes={"Pod m-1-decode-0-0": not_ready()}),
            {"budget": STARTUP + DEADLINE, "about": "PodGroup m-1", "ends": "the update waits for ServingGroup m-1, which is Creating; ..."},
        ),
        "one that goes too": (
            rollout(changes=GOING),
            {"budget": STARTUP + DEADLINE, "ends": "the update waits for ServingGroup m-1, which is Deleting; ..."},
        ),
        "not one that partition protects: it takes nothing of maxUnavailable": (
            rollout(old=("m-0", "m-1"), changes={DECODE: not_ready()}, partition=1), {"ends": f"ServingGroup m-1 {LEFT_ALONE}..."},
        ),
        "an instance that comes": (
            role_rollout({"Pod m-0-decode-1-0": not_ready()}),
            {"about": "Pod m-0-decode-1-0", "ends": "the update waits for ServingGroup m-0, role decode instance decode-1, which is Creating..."},
        ),
        "an instance that goes": (
            role_rollout({DECODE: DELETING}),
            {"about": "Pod m-0-decode-0-0", "ends": "the update waits for ServingGroup m-0, role decode instance decode-0, which is Deleting..."},
        ),
        "an instance that is left alone": (
            role_rollout(), {"about": "Pod m-0-prefill-0-0", "ends": f"ServingGroup m-0, role prefill instance prefill-0 {LEFT_ALONE}..."},
        ),
    },
)  # fmt: skip
def test_whom_a_rollout_waits_for(objects, expected):
    """Time begins again with each: many take long, however well it goes on."""
    tells(objects, ROLLOUT_STUCK, **expected)
    if expected.get("about", "").startswith("Pod "):
        (rolled,) = findings(objects, ROLLOUT_STUCK)
        assert {each.related for each in findings(objects, GROUP_NOT_READY)} <= {rolled.related}


@pytest.mark.parametrize(
    "objects",
    [stack(), rollout(old=()), rollout(partition=1), rollout(partition="50%"), rollout(old=("m-0", "m-1"), partition=5)],
)  # fmt: skip
def test_what_partition_protects_is_not_to_be_updated(objects):
    assert findings(objects, ROLLOUT_STUCK) == []


HEAD = "Pod m-0-prefill-0-0"
PREFILL_0 = "ServingGroup m-0, role prefill instance prefill-0"
DECODE_0 = "ServingGroup m-0, role decode instance decode-0"
SLACK = timedelta(seconds=60)
DELETED = parse_rfc3339(DELETING["metadata"]["deletionTimestamp"])
CRASHES, ROUTER = waits("CrashLoopBackOff"), pod("m-0", "router", 0, 0)
PROBE = {"name": "engine", "startupProbe": {"periodSeconds": 10, "failureThreshold": 360}}
LONG_START = merged(not_ready(), {"spec": {"containers": [PROBE]}})
RESTARTED = {
    "status": {"containerStatuses": [{"name": "engine", "ready": True, "restartCount": 9}]}
}
GOING_GROUP = {
    "PodGroup m-2": pod_group("m-2", DELETING),
    "Service m-2-decode-0-0": owned("Service", "m-2-decode-0-0", {"group-name": "m-2", "role": "decode", "role-id": "decode-0"}),
}  # fmt: skip


@rows(
    ("changes", "expected"),
    {
        "what does not heal is told at once": (
            {WORKER: CRASHES}, {"exempt": True, "cause": "prefill-0 CrashLoopBackOff", "ends": "pod m-0-prefill-0-1: container engine..."},
        ),
        "a name of an image that cannot be": ({WORKER: waits("InvalidImageName")}, {"exempt": True, "ends": f"({PREFILL_0})"}),
        "a pod by its name alone: its successor's fault goes on where this one's was": (
            {WORKER: waits("ImagePullBackOff")},
            {"exempt": False, "cause": "prefill-0 ImagePullBackOff", "related": PODS.ref_named("models", "m-0-prefill-0-1"), "lingers": True},
        ),
        "a start has a budget": ({WORKER: not_ready()}, {"budget": STARTUP, "cause": "prefill-0 not Ready yet"}),
        "or that of its probe": ({WORKER: LONG_START}, {"budget": timedelta(hours=1)}),
        "a pod is not made: only the controller makes it": (
            {WORKER: None},
            {"said": f"{PREFILL_0}: pod m-0-prefill-0-1 does not exist", "about": "Pod m-0-prefill-0-1", "budget": NOT_MADE, "independent": False, "created": CREATED_AT},
        ),
        "two are not made": (
            {WORKER: None, HEAD: None},
            {"said": f"{PREFILL_0}: pod m-0-prefill-0-0 does not exist, nor do 1 more", "about": "Pod m-0-prefill-0-0", "budget": NOT_MADE, "independent": False, "created": CREATED_AT},
        ),
        "a pod of another owner is in the way": (
            {WORKER: merged(FORMER, DELETING)},
            {"said": f"{PREFILL_0}: pod m-0-prefill-0-1 is in the way: it has another owner", "cause": "prefill-0 pod in the way"},
        ),
        "one ready pod too many: Kthena wants exactly as many as it asked for": (
            {"Pod m-0-prefill-0-2": pod("m-0", "prefill", 0, 2)}, {"said": f"{PREFILL_0}: 3 pods are ready where 2 should be"},
        ),
        "beside one that terminates the others are judged": ({WORKER: DELETING, HEAD: CRASHES}, {"about": "Pod m-0-prefill-0-0"}),
    },
)  # fmt: skip
def test_an_instance_that_does_not_come_up(changes, expected):
    """What heals by itself has a grace, a start its budget."""
    tells(stack(changes), ROLE_CREATING, **expected)


@rows(
    ("changes", "unknown", "is_ready"),
    {
        "pods cannot be read": ({WORKER: None}, [PODS], False),
        "the name of its successor is not free yet": ({WORKER: DELETING}, [], False),
        "a pod that is Ready again": ({WORKER: RESTARTED}, [], True),
        "a role that is not wanted any more, crashed": ({"Pod m-0-router-0-0": merged(ROUTER, CRASHES)}, [], 1),
        "a role that is not wanted any more, starting": ({"Pod m-0-router-0-0": merged(ROUTER, not_ready())}, [], 1),
        "what is left of a group that is being deleted": (GOING_GROUP, [], False),
    },
)  # fmt: skip
def test_an_instance_that_need_not_come_up(changes, unknown, is_ready):
    objects = stack(changes)
    assert findings(objects, ROLE_CREATING, unknown=unknown) == []
    if is_ready:
        answer = evaluated(objects)
        assert (answer.findings, len(answer.ready)) == ((), 1)


LEFT = owned("Service", "m-0-decode-0-0", {"group-name": "m-0", "role": "decode", "role-id": "decode-0"}, DELETING)  # fmt: skip
LEFT_GROUP = {**pod_group("m-2", DELETING), "apiVersion": "scheduling.volcano.sh/v1beta1"}
SILENT_NODE = {"status": {"conditions": [condition("Ready", "Unknown", "NodeStatusUnknown")]}}


@rows(
    ("changes", "expected"),
    {
        "once its time and the slack are over: deletionTimestamp is when its own grace ends": (
            {DECODE: DELETING},
            {
                "transition": DELETED - timedelta(seconds=30), "budget": timedelta(seconds=30) + SLACK, "about": "Pod m-0-decode-0-0",
                "said": f"pod m-0-decode-0-0: does not terminate on node gpu-1 ({DECODE_0})",
            },
        ),
        "with a long grace": (
            {DECODE: {**DELETING, "spec": {"terminationGracePeriodSeconds": 600}}},
            {"transition": DELETED - timedelta(seconds=600), "budget": timedelta(seconds=600) + SLACK},
        ),
        "on a node that is dead: no budget will help": (
            {DECODE: DELETING, "Node gpu-1": SILENT_NODE}, {"ends": "...terminating on node gpu-1, which is not answering...", "budget": None},
        ),
        "of a role that was removed": (
            {"Pod m-0-router-0-0": pod("m-0", "router", 0, 0, DELETING)}, {"ends": "(ServingGroup m-0, role router instance router-0)"},
        ),
        "a Service that stays behind: until then the instance is not made": (
            {DECODE: None, "Service m-0-decode-0-0": LEFT},
            {"about": "Service m-0-decode-0-0", "said": f"{DECODE_0}: Service m-0-decode-0-0 was deleted and still exists", "budget": SLACK},
        ),
        "not a Service that goes with its pods": ({DECODE: DELETING, "Service m-0-decode-0-0": LEFT}, {"about": "Pod m-0-decode-0-0"}),
        "a PodGroup that stays behind": (
            {"PodGroup m-2": LEFT_GROUP}, {"about": "PodGroup m-2", "said": "ServingGroup m-2: PodGroup m-2 was deleted and still exists"},
        ),
    },
)  # fmt: skip
def test_what_does_not_go(changes, expected):
    """The controller has asked for it, so its being down explains none of it."""
    tells(stack(changes), ROLE_DELETING, independent=True, **expected)


def test_pods_of_a_group_that_goes_are_told_too():
    """Surplus groups keep their devices until they are gone."""
    found = findings(stack(GOING), ROLE_DELETING)
    assert {each.related.name for each in found} == {f"m-1-{each}" for each in POD_NAMES}


EARLY, LATE = "2026-11-20T11:00:00Z", "2026-11-20T11:30:00Z"
WORDS = "2/4 tasks in gang unschedulable"


def refused(since="2026-11-20T11:50:00Z", status="True"):
    return condition("Unschedulable", status, "NotEnoughResources", WORDS, since=since)


def scheduled(since):
    return condition("Scheduled", "True", "tasks in gang are ready to be scheduled", since=since)


def gang(phase, *conditions, pods=POD_NAMES):
    """Changes: m-0's PodGroup is so, and these pods of it have no node."""
    status = {"phase": phase, "conditions": list(conditions)}
    return {"PodGroup m-0": {"status": status}, **{f"Pod m-0-{each}": pending() for each in pods}}


def lacking(phase, *conditions, members=4, made=()):
    """The same where only these pods of m-0 exist, of the four that its PodGroup wants."""
    changes = gang(phase, *conditions, pods=made)
    changes["PodGroup m-0"]["spec"] = {"minMember": members}
    return changes | {f"Pod m-0-{each}": None for each in POD_NAMES if each not in made}


def asking(spec):
    return gang("Pending", refused()) | {"ModelServing m": {"spec": spec}}


def within(**topology):
    return asking({"template": {"networkTopology": topology}})


TIER_1 = {"highestTierAllowed": 1}
TOLD = f"ServingGroup m-0 cannot be scheduled: PodGroup m-0 is Unschedulable: NotEnoughResources: {WORDS}"
ALL_OF_A_GROUP = f"{TOLD}; it asks for all pods of a group within tier 1 (networkTopology, hard)"
SPREAD = {
    "template": {"networkTopology": {"rolePolicy": {"highestTierName": "rack"}}},
    "topologySpreadConstraints": [
        {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"},
        {"topologyKey": "host", "whenUnsatisfiable": "ScheduleAnyway"},
    ],
}


@rows(
    ("changes", "expected"),
    {
        **{
            f"it is refused, in Volcano's words: {phase}": (
                gang(phase, refused()), {"about": "PodGroup m-0", "transition": SINCE_AT, "said": TOLD},
            )
            for phase in ("Pending", "Inqueue", "Unknown")
        },
        "what was asked of the places, for a group": (within(groupPolicy=TIER_1), {"said": ALL_OF_A_GROUP}),
        "in the older form": (within(**TIER_1, mode="hard"), {"said": ALL_OF_A_GROUP}),
        "softly": (within(groupPolicy=TIER_1 | {"mode": "soft"}), {"said": TOLD}),
        "without a tier": (within(groupPolicy={"mode": "hard"}), {"said": TOLD}),
        "for a role, and spread over zones": (
            asking(SPREAD),
            {"ends": f"{WORDS}; it asks for all pods of a role within tier rack (networkTopology, hard) and pods spread over zone (topologySpreadConstraints)"},
        ),
        "it stays pending, and nothing says why": (gang("Pending"), {"said": "ServingGroup m-0 cannot be scheduled: PodGroup m-0 is Pending"}),
        "refused again after it had been scheduled": (gang("Unknown", refused(LATE), scheduled(EARLY), pods=POD_NAMES[:1]), {}),
        "its pods may be refused while it is Pending": (lacking("Pending"), {}),
        "enough pods for the gang": (lacking("Inqueue", refused(), members=3, made=POD_NAMES[:3]), {}),
    },
)  # fmt: skip
def test_a_gang_without_room(changes, expected):
    """What was asked of the places is a fact of the spec, and no claim that it is why there is no room."""
    tells(stack(changes), GANG_NOT_SCHEDULABLE, **expected)


@pytest.mark.parametrize("made", [(), POD_NAMES[:3]], ids=["no pods", "a pod less"])
def test_a_gang_that_waits_for_pods_does_not_lack_room(made):
    """Volcano says Unschedulable then, too; that the pods are not made is told instead."""
    objects = stack(lacking("Pending", refused(), made=made))
    assert findings(objects, GANG_NOT_SCHEDULABLE) == []
    assert "does not exist" in said(findings(objects, ROLE_CREATING)[-1])


def test_where_pods_cannot_be_read_none_is_missed():
    assert only(stack(lacking("Pending", refused())), GANG_NOT_SCHEDULABLE, unknown=[PODS])


@rows(
    "changes",
    {
        "running": gang("Running", refused()),
        "completed": gang("Completed", refused()),
        "in queue": gang("Inqueue"),
        "condition False": gang("Inqueue", refused(status="False")),
        "scheduled since": gang("Inqueue", refused(EARLY), scheduled(LATE)),
        "placed": gang("Pending", refused(), pods=()),
        "another scheduler": asking({"schedulerName": "default"}),
        "being deleted": gang("Pending") | {"PodGroup m-0": {"status": {"phase": "Pending"}, **DELETING}},
    },
)  # fmt: skip
def test_what_is_no_gang_without_room(changes):
    assert findings(stack(changes), GANG_NOT_SCHEDULABLE) == []
