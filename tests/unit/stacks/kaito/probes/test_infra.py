"""inferencesetInfraProvisioningFailed: nodes that a Workspace does not get."""

from datetime import timedelta

import pytest

from reporter.stacks.kaito.reasons import MODEL_INFRA
from tests.unit.probes.building import CREATED_AT, DELETING, SINCE_AT, condition, merged
from tests.unit.stacks.kaito.probes.kaito import (
    NS,
    SET,
    conditions,
    findings,
    model_pod,
    only,
    stack,
    workspace,
)

BOOT = timedelta(minutes=15)


def claims(reason, message="because", **more):
    return conditions(condition("NodeClaimReady", "False", reason, message) | more)


@pytest.mark.parametrize(
    "reason",
    [
        "LaunchFailed",
        "MultipleNodesFound",
        "SubscriptionQuotaReached",
        "AllocationFailure",
        "ZonalAllocationFailure",
        "OverconstrainedAllocationFailure",
        "OverconstrainedZonalAllocationFailure",
        "CreateInstanceFailed",
        "InstanceTypeResolutionFailed",
        "NodeClassReadinessUnknown",
        "SomethingThatComesLater",
    ],
)
def test_cloud_errors_have_the_grace_of_the_reason(reason):
    """A cloud error fires after the catalogue's 180 s, counted from the error."""
    finding = only(stack(workspace=claims(reason)), MODEL_INFRA)
    assert (finding.exempt, finding.budget, finding.transition) == (False, None, None)
    assert finding.created == CREATED_AT
    assert finding.cause == reason
    expected = f"InferenceSet {NS}/{SET}: Workspace qwen-a: NodeClaimReady is False, {reason}: "
    assert finding.message == f"{expected}because"
    assert (finding.related.kind, finding.related.name) == ("Workspace", "qwen-a")
    assert (finding.involved.kind, finding.involved.name) == ("Namespace", NS)
    assert finding.involved.uid == f"uid-{NS}"


@pytest.mark.parametrize(
    "reason",
    [
        "NodeClaimNotReady",
        "AwaitingReconciliation",
        "NodeNotFound",
        "NodeNotReady",
        "StartupTaintsExist",
        "KnownEphemeralTaintsExist",
        "ResourceNotRegistered",
        "RegistrationHookPending",
        "DRADriverPoolsNotPublished",
        "",
    ],
)
def test_booting_has_a_budget_and_ends(reason):
    """Normal boot states are no failure after 180 s, and do not last for ever."""
    finding = only(stack(workspace=claims(reason)), MODEL_INFRA)
    assert (finding.exempt, finding.budget, finding.transition) == (False, BOOT, SINCE_AT)


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("SKUNotAvailable", "no such size"),
        ("LaunchFailed", "the SKU is unavailable during launch"),
        ("NodeClaimNotReady", "instance type unavailable during launch"),
    ],
)
def test_what_the_cloud_does_not_have_fires_at_once(reason, message):
    """A size that is not available is practically terminal."""
    finding = only(stack(workspace=claims(reason, message)), MODEL_INFRA)
    assert (finding.exempt, finding.budget) == (True, None)


def test_a_condition_of_an_earlier_spec_is_told_but_not_at_once():
    """The instance type may just have been corrected."""
    patch = merged(claims("SKUNotAvailable", observedGeneration=1), {"metadata": {"generation": 2}})
    finding = only(stack(workspace=patch), MODEL_INFRA)
    assert (finding.exempt, finding.budget) == (False, None)


def test_a_reconcile_error_decides_nothing_and_is_bounded():
    """KAITO appends its last reconcile error to any condition, at any length."""
    text = f"waiting (last reconcile error: unavailable during launch {'x' * 9000})"
    finding = only(stack(workspace=claims("NodeNotFound", text)), MODEL_INFRA)
    assert (finding.exempt, finding.budget) == (False, BOOT)
    assert "NodeNotFound: waiting (last reconcile error: unavailable" in finding.message
    assert len(finding.message.encode()) < 800


def test_urls_of_cloud_errors_are_removed():
    """Messages hold no link, but for those to a few documented hosts."""
    text = "quota, see https://quota.example.com/form?x=1"
    finding = only(stack(workspace=claims("SubscriptionQuotaReached", text)), MODEL_INFRA)
    assert "https://" not in finding.message


def test_every_failing_workspace_is_told():
    """All Workspaces of a set are judged, in whatever order they come."""
    other = workspace("qwen-b", claims("LaunchFailed"))
    snapshot = stack(other, workspace=claims("AllocationFailure"))
    names = [each.related.name for each in findings(snapshot, MODEL_INFRA)]
    assert names == ["qwen-a", "qwen-b"]


def test_a_cloud_error_is_worse_than_a_boot():
    """The worst Workspace speaks for the set."""
    other = workspace("qwen-b", claims("NodeNotFound"))
    bad, booting = findings(stack(other, workspace=claims("LaunchFailed")), MODEL_INFRA)
    assert bad.severity > booting.severity


def test_missing_plugins_have_the_budget_since_the_node_claims_were_ready():
    """NodePluginsNotReady may be stuck; the boot of the machine is not counted."""
    patch = conditions(
        condition("NodeClaimReady", "True", "NodeClaimsReady", since="2026-11-20T11:55:00Z"),
        condition("NodesReady", "False", "NodePluginsNotReady", "no device plugin"),
    )
    finding = only(stack(workspace=patch), MODEL_INFRA)
    assert finding.budget == BOOT
    assert finding.transition is not None
    assert finding.transition > SINCE_AT
    assert "NodePluginsNotReady: no device plugin" in finding.message


def test_brought_nodes_that_are_not_ready_have_the_budget_too():
    """Without NodeClaims (bring your own nodes) NodesReady alone decides."""
    patch = conditions(condition("NodesReady", "False", "NodeNotReady"))
    finding = only(stack(workspace=patch), MODEL_INFRA)
    assert (finding.budget, finding.transition) == (BOOT, SINCE_AT)


@pytest.mark.parametrize(
    "patch",
    [
        {},
        conditions(),
        conditions(condition("NodeClaimReady", "Unknown", "Pending")),
        merged(claims("LaunchFailed"), DELETING),
        conditions(
            condition("NodeClaimReady", "False", "LaunchFailed"),
            condition("WorkspaceDeleting", "True", "workspaceDeleted"),
        ),
    ],
    ids=["healthy", "no conditions", "unknown", "deleting", "being removed"],
)
def test_no_finding_without_a_fault(patch):
    """Healthy, young, unknown and deleted Workspaces raise nothing."""
    assert findings(stack(workspace=patch), MODEL_INFRA) == []


def test_faults_of_infrastructure_may_be_explained_by_the_controller():
    """KAITO writes the condition, so its being down explains it."""
    finding = only(stack(model_pod("other"), workspace=claims("LaunchFailed")), MODEL_INFRA)
    assert not finding.independent
