"""A ModelServing as a whole: its groups, its rollout, its spec, and the pages of its pods."""

from datetime import timedelta

import pytest

from reporter.catalogue import runtime as t
from reporter.catalogue.resources import PODS
from reporter.metrics.looks.window import History, Judged, MetricFault, PodVerdict, Samples
from reporter.model.subject import Subject
from reporter.stacks.kthena.reasons import (
    CONTROLLERREVISIONS,
    GROUP_NOT_READY,
    INVALID_SPEC,
    MODELSERVING_KIND,
    MODELSERVINGS,
    MODELSERVINGS_FORMER,
    PODGROUPS,
    READY,
    ROLE_CREATING,
    ROLLOUT_STUCK,
)
from tests.unit.probes.asking import evaluate_modelservings
from tests.unit.probes.building import CREATED_AT, DELETING, SINCE_AT, merged, snapshot_of
from tests.unit.probes.runtime.scraped import seconds
from tests.unit.stacks.kthena.probes.kthena import (
    FORMER_GROUP,
    NAME,
    NEW,
    NS,
    OLD,
    ROLES,
    SETTINGS,
    TITLE,
    evaluated,
    findings,
    group,
    modelserving,
    not_ready,
    only,
    pod,
    pod_group,
    said,
    stack,
    waits,
    without_instances,
)

SUBJECT = Subject(MODELSERVING_KIND, NS, NAME)


def changed(*patches):
    return stack({"ModelServing m": merged({}, *patches)})


def test_one_that_serves_is_ready_and_has_no_finding():
    evaluation = evaluated(stack())
    assert evaluation.findings == ()
    assert [each.subject for each in evaluation.subjects] == [SUBJECT]
    (ready,) = evaluation.ready
    assert (ready.reason, ready.subject) == (READY, SUBJECT)
    assert ready.message == f"{TITLE} is ready: 2/2 ServingGroups Running"


def test_one_that_is_being_deleted_is_no_subject():
    """Its pods go with it, however long that takes."""
    evaluation = evaluated(
        stack({"ModelServing m": DELETING, "Pod m-0-decode-0-0": waits("Error")})
    )
    assert (evaluation.findings, evaluation.ready, evaluation.subjects) == ((), (), ())
    assert evaluation.derived == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"Pod m-0-prefill-0-1": waits("Whatever")},
        {"Pod m-1-decode-1-0": None},
        {"ModelServing m": {"spec": {"replicas": 3}}},
        {"ModelServing m": {"spec": {"replicas": 0}}},
        {"PodGroup m-2": pod_group("m-2")},
    ],
)
def test_it_is_not_ready_while_a_group_is_missing_or_not_running(changes):
    assert evaluated(stack(changes)).ready == ()


def test_none_wanted_is_ready_and_says_so():
    """Scaled to zero on purpose."""
    objects = {key: each for key, each in stack().items() if not key.startswith(("Pod ", "PodGr"))}
    objects["ModelServing m"] = modelserving({"spec": {"replicas": 0}})
    (ready,) = evaluated(objects).ready
    assert ready.message == f"{TITLE} is ready: 0 ServingGroups wanted"


def test_roles_without_instances_are_ready_and_say_so():
    """Every role scaled to zero on purpose, with PodGroups or without."""
    objects = without_instances()
    (ready,) = evaluated(objects).ready
    assert ready.message == f"{TITLE} is ready: 0 instances wanted of any role"
    groups = {f"PodGroup {each}": pod_group(each) for each in ("m-0", "m-1")}
    assert [each.message for each in evaluated(objects | groups).ready] == [ready.message]
    still_there = {"Pod m-0-decode-0-0": pod("m-0", "decode", 0, 0)}
    assert evaluated(objects | still_there).ready == ()


def test_pods_that_cannot_be_read_are_no_evidence_and_no_fault():
    """Nothing is concluded from pods that are not seen."""
    evaluation = evaluated(stack(), unknown=[PODS])
    assert evaluation.ready == ()
    assert evaluation.findings == ()


def test_the_status_it_should_have_is_derived():
    (derived,) = evaluated(stack()).derived
    assert str(derived.object) == f"ModelServing {NS}/{NAME}"
    assert len(derived.status["roleStatuses"]) == 6


def test_no_status_is_derived_from_a_part_of_what_it_rests_on():
    """It would be written, and what could not be read may exist."""
    assert evaluated(stack(), unknown=[CONTROLLERREVISIONS]).derived == ()


def test_one_of_the_former_api_group_is_referred_to_in_it():
    objects = stack() | {
        "ModelServing m": modelserving({"spec": {"replicas": -1}}, group=FORMER_GROUP)
    }
    finding = only(objects, INVALID_SPEC)
    assert finding.related == MODELSERVINGS_FORMER.ref_named(NS, NAME)


def test_an_invalid_spec_is_told_at_once_by_field():
    finding = only(changed({"spec": {"recoveryPolicy": "All"}}), INVALID_SPEC)
    assert finding.exempt
    assert finding.cause == "spec.recoveryPolicy"
    assert said(finding) == (
        "the spec is invalid: spec.recoveryPolicy: must be one of None, RoleRecreate, "
        "ServingGroupRecreate"
    )


def test_of_many_broken_rules_the_first_are_told_and_the_rest_counted():
    roles = [{"name": "UPPER", "replicas": -1, "workerReplicas": -1}]
    finding = only(changed({"spec": {"replicas": -1, "template": {"roles": roles}}}), INVALID_SPEC)
    assert said(finding).endswith("; and 2 more")


LONGEST = timedelta(minutes=45)
NOT_MADE = timedelta(minutes=5)
POD_NAMES = ("prefill-0-0", "prefill-0-1", "decode-0-0", "decode-1-0")
GOING = {"PodGroup m-1": None, **{f"Pod m-1-{each}": DELETING for each in POD_NAMES}}


def test_a_group_that_is_not_running_is_told_by_role_and_instance():
    changes = {"Pod m-0-prefill-0-1": waits("ImagePullBackOff"), "Pod m-0-decode-1-0": None}
    finding = only(stack(changes), GROUP_NOT_READY)
    assert said(finding) == (
        "ServingGroup m-0 is Scaling: role prefill 0/1 Running, role decode 1/2 Running "
        "(prefill-0 Creating, decode-1 NotFound)"
    )
    assert finding.cause == "m-0 Scaling"
    assert finding.budget == LONGEST


def test_a_group_is_referred_to_by_what_stays_when_its_pods_are_made_anew():
    """Pods that crash and are replaced again and again add up to one fault of their group."""
    finding = only(stack({"Pod m-0-prefill-0-1": not_ready()}), GROUP_NOT_READY)
    assert finding.related == PODGROUPS.ref_named(NS, "m-0")
    scheduler = {"spec": {"schedulerName": "default-scheduler"}}
    changes = {"Pod m-0-prefill-0-1": not_ready(), "ModelServing m": scheduler}
    assert only(stack(changes), GROUP_NOT_READY).related == PODS.ref_named(NS, "m-0-prefill-0-0")


@pytest.mark.parametrize(
    ("change", "independent"),
    [(waits("CrashLoopBackOff"), True), (not_ready(), True), (None, False)],
)
def test_the_controller_being_down_explains_only_a_group_that_lacks_pods(change, independent):
    finding = only(stack({"Pod m-0-decode-0-0": change}), GROUP_NOT_READY)
    assert finding.independent is independent


def test_groups_that_do_not_exist_are_told_of_the_modelserving():
    changes = {"ModelServing m": {"spec": {"replicas": 9}}}
    finding = only(stack(changes), GROUP_NOT_READY)
    assert finding.related == MODELSERVINGS.ref_named(NS, NAME)
    assert said(finding) == (
        "2 of 9 wanted ServingGroups exist; missing: m-2, m-3, m-4, m-5, m-6 and 2 more"
    )
    assert (finding.budget, finding.created) == (NOT_MADE, CREATED_AT)
    assert not finding.independent


@pytest.mark.parametrize(("replicas", "hint"), [(3, True), (2, False)])
def test_a_controller_that_is_known_to_be_stuck_is_hinted_at(replicas, hint):
    """It changes the data of a ControllerRevision when a role has another number of instances."""
    roles = [ROLES[0], {**ROLES[1], "replicas": replicas}]
    changes = {"ModelServing m": {"spec": {"replicas": 3, "template": {"roles": roles}}}}
    (told,) = [
        said(each)
        for each in findings(stack(changes), GROUP_NOT_READY)
        if "2 of 3 wanted ServingGroups exist; missing: m-2" in said(each)
    ]
    assert (f"ControllerRevision m-{NEW} was made: Kthena's controller may be" in told) is hint


def test_what_is_in_the_way_of_a_missing_group_is_named():
    """A pod that a deleted ModelServing of that name left, and that does not go."""
    former = {"metadata": {"ownerReferences": [{"kind": "ModelServing", "uid": "uid-former"}]}}
    changes = {"PodGroup m-1": None, **{f"Pod m-1-{each}": former for each in POD_NAMES}}
    assert said(only(stack(changes), GROUP_NOT_READY)) == (
        "1 of 2 wanted ServingGroups exist; missing: m-1; "
        "pod m-1-decode-0-0 is in the way: it has another owner"
    )


def test_groups_are_not_missed_where_pods_cannot_be_read():
    changes = {"ModelServing m": {"spec": {"replicas": 3}}}
    assert findings(stack(changes), GROUP_NOT_READY, unknown=[PODS]) == []


def test_a_group_that_is_replaced_as_a_whole_is_not_ready_until_it_is_back():
    assert said(only(stack(GOING), GROUP_NOT_READY)).startswith("ServingGroup m-1 is Deleting: ")


def test_a_surplus_group_that_goes_is_not_missed():
    changes = {**GOING, "ModelServing m": {"spec": {"replicas": 1}}}
    assert findings(stack(changes), GROUP_NOT_READY) == []


def test_groups_are_not_missed_where_no_role_has_instances():
    """Without Volcano nothing of such a group can be seen."""
    found = findings(without_instances(), GROUP_NOT_READY)
    assert found == []


DEADLINE = timedelta(minutes=10)
STARTUP = timedelta(minutes=30)


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
        ({}, "ServingGroup m-0, role prefill instance prefill-0 is still to be updated", "m-0-prefill-0-0"),
    ],
)  # fmt: skip
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


POD = "m-1-decode-0-0"


def samples(reason):
    fault = MetricFault(reason=reason, cause="cause", text="suffers", severity=3, since=SINCE_AT)
    verdict = PodVerdict(uid=f"uid-{POD}", faults={reason: fault}, doubts={})
    return Samples(scraping=True, pods={(NS, POD): Judged(History(seconds(15)), verdict)})


def by_pages(reason, changes=None):
    objects = stack(changes).values()
    return evaluate_modelservings(snapshot_of(*objects), SETTINGS, samples(reason)).findings


def test_a_fault_in_the_page_of_a_pod_is_told_of_its_modelserving():
    (finding,) = by_pages(t.KV_CACHE)
    assert finding.reason == t.of_kind(t.KV_CACHE, MODELSERVING_KIND)
    assert finding.message == f"{TITLE}: pod {POD}: suffers"


def test_a_pod_that_is_not_ready_is_the_same_object_in_both_findings():
    """Else it would not explain what its page says."""
    found = by_pages(t.ERROR_RATE, {f"Pod {POD}": not_ready()})
    by_reason = {each.reason: each.related for each in found}
    assert by_reason[ROLE_CREATING] == by_reason[t.of_kind(t.ERROR_RATE, MODELSERVING_KIND)]


@pytest.mark.parametrize(("changes", "told"), [(None, True), ({f"Pod {POD}": None}, False)])
def test_what_more_groups_will_relieve_waits_for_them(changes, told):
    other = {key.replace("m-1", "m-0"): each for key, each in (changes or {}).items()}
    names = {each.reason for each in by_pages(t.BACKLOG, other)}
    assert (t.of_kind(t.BACKLOG, MODELSERVING_KIND) in names) is told
