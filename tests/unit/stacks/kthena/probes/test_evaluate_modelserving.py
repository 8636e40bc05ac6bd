"""What is said of a ModelServing as a whole: subjects, Ready, the derived status, invalid specs."""

import pytest

from reporter.catalogue.resources import PODS
from reporter.model.subject import Subject
from reporter.stacks.kthena.reasons import (
    CONTROLLERREVISIONS,
    INVALID_SPEC,
    MODELSERVING_KIND,
    MODELSERVINGS_FORMER,
    READY,
)
from tests.unit.probes.building import DELETING, merged
from tests.unit.stacks.kthena.probes.kthena import (
    FORMER_GROUP,
    NAME,
    NS,
    TITLE,
    evaluated,
    modelserving,
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
