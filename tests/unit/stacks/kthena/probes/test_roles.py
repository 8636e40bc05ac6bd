"""Instances that do not come up or do not go, and PodGroups that Volcano has no room for."""

from datetime import timedelta

import pytest

from reporter.catalogue.resources import PODS
from reporter.model.instant import parse_rfc3339
from reporter.stacks.kthena.reasons import GANG_NOT_SCHEDULABLE, ROLE_CREATING, ROLE_DELETING
from tests.tables import rows
from tests.unit.probes.building import CREATED_AT, DELETING, SINCE_AT, condition, merged
from tests.unit.stacks.kthena.probes.kthena import (
    evaluated,
    findings,
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
)

HEAD, WORKER, DECODE = (f"Pod m-0-{each}" for each in ("prefill-0-0", "prefill-0-1", "decode-0-0"))
PREFILL_0 = "ServingGroup m-0, role prefill instance prefill-0"
DECODE_0 = "ServingGroup m-0, role decode instance decode-0"
STARTUP, NOT_MADE, SLACK = timedelta(minutes=30), timedelta(minutes=5), timedelta(seconds=60)
DELETED = parse_rfc3339(DELETING["metadata"]["deletionTimestamp"])
POD_NAMES = ("prefill-0-0", "prefill-0-1", "decode-0-0", "decode-1-0")
CRASHES, ROUTER = waits("CrashLoopBackOff"), pod("m-0", "router", 0, 0)
PROBE = {"name": "engine", "startupProbe": {"periodSeconds": 10, "failureThreshold": 360}}
LONG_START = merged(not_ready(), {"spec": {"containers": [PROBE]}})
FORMER = {"metadata": {"ownerReferences": [{"kind": "ModelServing", "uid": "uid-former"}]}}
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
GOING_M1 = {"PodGroup m-1": None, **{f"Pod m-1-{each}": DELETING for each in POD_NAMES}}


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
    found = findings(stack(GOING_M1), ROLE_DELETING)
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
