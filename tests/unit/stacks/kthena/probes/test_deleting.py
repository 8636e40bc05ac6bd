"""modelservingRoleStuckDeleting: what does not go."""

from datetime import timedelta

import pytest

from reporter.catalogue.resources import PODS, SERVICES
from reporter.model.instant import parse_rfc3339
from reporter.stacks.kthena.reasons import PODGROUPS, ROLE_DELETING
from tests.unit.probes.building import DELETING, condition
from tests.unit.stacks.kthena.probes.kthena import NS, findings, only, owned, pod, said, stack

POD = "Pod m-0-decode-0-0"
PLACE = "ServingGroup m-0, role decode instance decode-0"
SLACK = timedelta(seconds=60)
DELETED = parse_rfc3339(DELETING["metadata"]["deletionTimestamp"])
LABELS = {"group-name": "m-0", "role": "decode", "role-id": "decode-0"}


@pytest.mark.parametrize(
    ("spec", "grace"), [({}, 30), ({"terminationGracePeriodSeconds": 600}, 600)]
)
def test_a_pod_that_terminates_is_told_once_its_time_and_the_slack_are_over(spec, grace):
    """`deletionTimestamp` is when the pod's own grace period ends."""
    finding = only(stack({POD: {**DELETING, "spec": spec}}), ROLE_DELETING)
    own = timedelta(seconds=grace)
    assert (finding.transition, finding.budget) == (DELETED - own, own + SLACK)
    assert said(finding) == f"pod m-0-decode-0-0: does not terminate on node gpu-1 ({PLACE})"
    assert finding.related == PODS.ref_named(NS, "m-0-decode-0-0")


def test_a_pod_that_terminates_on_a_dead_node_is_told_with_the_node():
    """Nobody is there to end it, so that no budget will help."""
    gone = {"status": {"conditions": [condition("Ready", "Unknown", "NodeStatusUnknown")]}}
    finding = only(stack({POD: DELETING, "Node gpu-1": gone}), ROLE_DELETING)
    assert "terminating on node gpu-1, which is not answering" in said(finding)
    assert finding.budget is None


def test_pods_of_a_group_that_goes_are_told_too():
    """Surplus groups keep their devices until they are gone."""
    pods = ("prefill-0-0", "prefill-0-1", "decode-0-0", "decode-1-0")
    changes = {"PodGroup m-1": None, **{f"Pod m-1-{each}": DELETING for each in pods}}
    found = findings(stack(changes), ROLE_DELETING)
    assert {each.related.name for each in found} == {f"m-1-{each}" for each in pods}


def test_pods_of_a_removed_role_are_told():
    changes = {"Pod m-0-router-0-0": pod("m-0", "router", 0, 0, DELETING)}
    finding = only(stack(changes), ROLE_DELETING)
    assert said(finding).endswith("(ServingGroup m-0, role router instance router-0)")


def test_a_service_that_stays_behind_is_told():
    """Kthena recreates the instance only once its Service is gone."""
    service = owned("Service", "m-0-decode-0-0", LABELS, DELETING)
    finding = only(stack({POD: None, "Service m-0-decode-0-0": service}), ROLE_DELETING)
    assert finding.related == SERVICES.ref_named(NS, "m-0-decode-0-0")
    assert said(finding) == f"{PLACE}: Service m-0-decode-0-0 was deleted and still exists"
    assert finding.budget == SLACK


def test_a_service_that_goes_along_with_its_pods_is_not():
    service = owned("Service", "m-0-decode-0-0", LABELS, DELETING)
    found = findings(stack({POD: DELETING, "Service m-0-decode-0-0": service}), ROLE_DELETING)
    assert [each.related.kind for each in found] == ["Pod"]


def test_a_pod_group_that_stays_behind_is_told():
    group = owned("PodGroup", "m-2", {"group-name": "m-2"}, DELETING)
    group["apiVersion"] = "scheduling.volcano.sh/v1beta1"
    finding = only(stack({"PodGroup m-2": group}), ROLE_DELETING)
    assert finding.related == PODGROUPS.ref_named(NS, "m-2")
    assert said(finding) == "ServingGroup m-2: PodGroup m-2 was deleted and still exists"


@pytest.mark.parametrize("change", [{POD: DELETING}, {POD: None}])
def test_the_controller_being_down_explains_none_of_it(change):
    """It has asked for the deletion; kubelets and finalizers do the rest."""
    service = owned("Service", "m-0-decode-0-0", LABELS, DELETING)
    found = findings(stack({**change, "Service m-0-decode-0-0": service}), ROLE_DELETING)
    assert found
    assert all(each.independent for each in found)
