"""modelservingGangNotSchedulable: PodGroups that Volcano has no room for."""

import pytest

from reporter.catalogue.resources import PODS as PODS_KIND
from reporter.stacks.kthena.reasons import GANG_NOT_SCHEDULABLE, PODGROUPS, ROLE_CREATING
from tests.unit.probes.building import DELETING, SINCE_AT, condition
from tests.unit.stacks.kthena.probes.kthena import NS, findings, only, pending, said, stack

EARLY, LATE = "2026-11-20T11:00:00Z", "2026-11-20T11:30:00Z"
WORDS = "2/4 tasks in gang unschedulable"
PODS = ("prefill-0-0", "prefill-0-1", "decode-0-0", "decode-1-0")


def refused(since="2026-11-20T11:50:00Z", status="True"):
    return condition("Unschedulable", status, "NotEnoughResources", WORDS, since=since)


def scheduled(since):
    return condition("Scheduled", "True", "tasks in gang are ready to be scheduled", since=since)


def gang(phase, *conditions, pods=PODS):
    """Changes: m-0's PodGroup is so, and these pods of it have no node."""
    status = {"phase": phase, "conditions": list(conditions)}
    return {
        "PodGroup m-0": {"status": status},
        **{f"Pod m-0-{each}": pending() for each in pods},
    }


@pytest.mark.parametrize("phase", ["Pending", "Inqueue", "Unknown"])
def test_a_gang_that_is_refused_is_told_with_volcanos_words(phase):
    finding = only(stack(gang(phase, refused())), GANG_NOT_SCHEDULABLE)
    assert finding.related == PODGROUPS.ref_named(NS, "m-0")
    assert finding.transition == SINCE_AT
    assert said(finding) == (
        "ServingGroup m-0 cannot be scheduled: PodGroup m-0 is Unschedulable: NotEnoughResources: "
        + WORDS
    )


TIER_1 = {"highestTierAllowed": 1}
ALL_OF_A_GROUP = "; it asks for all pods of a group within tier 1 (networkTopology, hard)"


@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        ({"template": {"networkTopology": {"groupPolicy": TIER_1}}}, ALL_OF_A_GROUP),
        ({"template": {"networkTopology": TIER_1 | {"mode": "hard"}}}, ALL_OF_A_GROUP),
        ({"template": {"networkTopology": {"groupPolicy": TIER_1 | {"mode": "soft"}}}}, ""),
        ({"template": {"networkTopology": {"groupPolicy": {"mode": "hard"}}}}, ""),
        (
            {
                "template": {"networkTopology": {"rolePolicy": {"highestTierName": "rack"}}},
                "topologySpreadConstraints": [
                    {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"},
                    {"topologyKey": "host", "whenUnsatisfiable": "ScheduleAnyway"},
                ],
            },
            (
                "; it asks for all pods of a role within tier rack (networkTopology, hard) and pods spread "
                "over zone (topologySpreadConstraints)"
            ),
        ),
    ],
)
def test_what_was_asked_of_the_places_is_said_next_to_volcanos_words(spec, asked):
    """It is a fact of the spec, and no claim that it is why there is no room."""
    changes = gang("Pending", refused()) | {"ModelServing m": {"spec": spec}}
    finding = only(stack(changes), GANG_NOT_SCHEDULABLE)
    assert said(finding).partition(WORDS)[2] == asked


def test_a_pod_group_that_stays_pending_is_told_though_nothing_says_why():
    """A queue without room admits it to no scheduling at all."""
    finding = only(stack(gang("Pending")), GANG_NOT_SCHEDULABLE)
    assert said(finding) == "ServingGroup m-0 cannot be scheduled: PodGroup m-0 is Pending"


def test_refused_again_after_it_had_been_scheduled_is_told():
    changes = gang("Unknown", refused(LATE), scheduled(EARLY), pods=PODS[:1])
    assert only(stack(changes), GANG_NOT_SCHEDULABLE)


def lacking(phase, *conditions, members=4, made=()):
    """The same where only these pods of m-0 exist, of the four that its PodGroup wants."""
    changes = gang(phase, *conditions, pods=made)
    changes["PodGroup m-0"]["spec"] = {"minMember": members}
    return changes | {f"Pod m-0-{each}": None for each in PODS if each not in made}


@pytest.mark.parametrize("made", [(), PODS[:3]], ids=["no pods", "a pod less"])
def test_a_gang_that_waits_for_pods_does_not_lack_room(made):
    """Volcano says Unschedulable then, too; that the pods are not made is told instead."""
    objects = stack(lacking("Pending", refused(), made=made))
    assert findings(objects, GANG_NOT_SCHEDULABLE) == []
    assert "does not exist" in said(findings(objects, ROLE_CREATING)[-1])


@pytest.mark.parametrize(
    "changes",
    [lacking("Pending"), lacking("Inqueue", refused(), members=3, made=PODS[:3])],
    ids=["its pods may be refused while it is Pending", "enough pods for the gang"],
)
def test_a_gang_may_lack_room_and_pods(changes):
    assert only(stack(changes), GANG_NOT_SCHEDULABLE)


def test_where_pods_cannot_be_read_none_is_missed():
    changes = lacking("Pending", refused())
    assert only(stack(changes), GANG_NOT_SCHEDULABLE, unknown=[PODS_KIND])


@pytest.mark.parametrize(
    "changes",
    [
        gang("Running", refused()),
        gang("Completed", refused()),
        gang("Inqueue"),
        gang("Inqueue", refused(status="False")),
        gang("Inqueue", refused(EARLY), scheduled(LATE)),
        gang("Pending", refused(), pods=()),
        {**gang("Pending", refused()), "ModelServing m": {"spec": {"schedulerName": "default"}}},
        {**gang("Pending"), "PodGroup m-0": {"status": {"phase": "Pending"}, **DELETING}},
    ],
    ids=["running", "completed", "in queue", "condition False", "scheduled since", "placed",
         "another scheduler", "being deleted"],
)  # fmt: skip
def test_what_is_no_gang_without_room(changes):
    assert findings(stack(changes), GANG_NOT_SCHEDULABLE) == []
