"""Scaling, infrastructure and nodes of an InferenceSet."""

from dataclasses import replace
from datetime import timedelta

import pytest

from reporter.catalogue.resources import NODES
from reporter.stacks.kaito.reasons import MODEL_INFRA, MODEL_NODE_PRESSURE, MODEL_SCALING
from tests.unit.probes.building import CREATED_AT, DELETING, FORBIDDEN, SINCE_AT, condition, merged
from tests.unit.stacks.kaito.probes.kaito import (
    NS,
    SET,
    conditions,
    findings,
    model_pod,
    node,
    only,
    stack,
    workspace,
)

METRIC = "{name: 'vllm:num_requests_waiting', type: gauge, upthreshold: 10, downthreshold: 1}"
GOOD = {"max-replicas": "3", "metrics": f"[{METRIC}]"}


def scaled(*, limit=None, replicas=1, switch="true", **annotations):
    values = {"auto-provision": switch} | GOOD
    values |= {key.replace("_", "-"): value for key, value in annotations.items()}
    named = {
        f"scaledobject.kaito.sh/{key}": value for key, value in values.items() if value is not None
    }
    spec = {"replicas": replicas} | ({"nodeCountLimit": limit} if limit is not None else {})
    return stack(set={"metadata": {"annotations": named}, "spec": spec})


def told(**changes):
    return [each.message for each in findings(scaled(**changes), MODEL_SCALING)]


def metric(**fields):
    base = {"name": "waiting", "type": "gauge", "upthreshold": "10", "downthreshold": "1"}
    parts = (f"{key}: {value}" for key, value in (base | fields).items() if value is not None)
    return f"- {{{', '.join(parts)}}}"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"max_replicas": "three"}, 'max-replicas "three" is not an integer'),
        ({"max_replicas": " 3"}, "is not an integer"),
        ({"max_replicas": "1"}, "max-replicas 1 is not above 1"),
        ({"max_replicas": None}, "max-replicas and spec.nodeCountLimit are not set"),
        ({"max_replicas": None, "limit": 0}, "are not set"),
        ({"min_replicas": "4"}, "max-replicas 3 is below min-replicas 4"),
        ({"max_replicas": None, "limit": 2, "min_replicas": "3"}, "is below min-replicas 3"),
        ({"replicas": 5}, "max-replicas 3 is below spec.replicas 5"),
        ({"metrics": None}, "metrics is empty"),
        ({"metrics": "[]"}, "metrics is empty"),
        ({"metrics": "{a: 1}"}, "metrics is not a list"),
        ({"metrics": "[unclosed"}, "metrics is not valid YAML"),
        ({"metrics": "!!python/object:os.system []"}, "metrics is not valid YAML"),
        ({"metrics": "[1]"}, "metrics[0] is not a mapping"),
        ({"metrics": metric(name=None)}, "metrics[0] has no name"),
        ({"metrics": metric(type="counter")}, "type is neither gauge nor histogram"),
        ({"metrics": metric(type=None)}, "type is neither gauge nor histogram"),
        ({"metrics": metric(source="prometheus")}, "source prometheus is unknown"),
        ({"metrics": metric(upthreshold=None)}, "upthreshold is missing"),
        ({"metrics": metric(downthreshold=None)}, "downthreshold is missing"),
        ({"metrics": metric(upthreshold=".inf")}, "upthreshold .inf is not a finite number"),
        ({"metrics": metric(upthreshold=".nan")}, "is not a finite number"),
        ({"metrics": metric(upthreshold="'10'")}, "is not a finite number"),
        ({"metrics": metric(upthreshold="'1e3'")}, "upthreshold 1e3 is not a finite number"),
        ({"metrics": metric(upthreshold="1e400")}, "upthreshold 1e400 is not a finite number"),
        ({"metrics": metric(downthreshold="1e3")}, "downthreshold 1000.0 is above upthreshold 10"),
        ({"metrics": metric(upthreshold="1" + "0" * 400)}, "is not a finite number"),
        ({"metrics": metric(upthreshold="0", downthreshold="0")}, "upthreshold 0 is not above 0"),
        ({"metrics": metric(upthreshold="-1", downthreshold="-2")}, "is not above 0"),
        ({"metrics": metric(downthreshold="11")}, "downthreshold 11 is above upthreshold 10"),
        ({"metrics": metric(metriccachewindow="60")}, "metriccachewindow is for histograms only"),
        ({"metrics": metric(type="histogram", metriccachewindow="0")}, "metriccachewindow 0 is not"),
        ({"metrics": "\n".join((metric(name="a_b"), metric(name="'a:b'")))}, "metric a:b collides with a_b"),
        ({"evaluationwindow": "-1"}, 'evaluationwindow "-1" is not a number of seconds'),
        ({"scaleupcooldown": "1m"}, "scaleupcooldown"),
        ({"scaledowncooldown": "1.5"}, "scaledowncooldown"),
        ({"combinepolicy": "OR"}, 'combinepolicy "OR" is not AND'),
    ],
)  # fmt: skip
def test_values_that_can_never_work_are_told_at_once(changes, words):
    """They are static, so there is no grace; the message names the value."""
    finding = only(scaled(**changes), MODEL_SCALING)
    assert finding.message.startswith(f"InferenceSet {NS}/{SET}: ")
    assert words in finding.message
    assert finding.exempt
    assert finding.related.kind == "InferenceSet"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"min_replicas": "1", "replicas": 3},
        {"min_replicas": "2", "max_replicas": "2", "replicas": 2},
        {"max_replicas": None, "limit": 4},
        {"min_replicas": "whatever"},
        {"metrics": metric(type="histogram", metriccachewindow="300", source="modelpod")},
        {"metrics": metric(source="epp", upthreshold="10.5", downthreshold="10.5")},
        {"metrics": metric(upthreshold="1e3", downthreshold="5E-1")},
        {"metrics": metric(upthreshold="1.5e3", downthreshold=".5")},
        {"metrics": '[{"Name": "a", "Type": "gauge", "upThreshold": 2, "downThreshold": 1}]'},
        {"metrics": f"{metric(name='a')}\n{metric(name='b')}"},
        {"min_replicas": "0", "metrics": metric(upthreshold=None, downthreshold=None)},
        {"min_replicas": "0", "max_replicas": "1"},
        {"evaluationwindow": "0", "scaleupcooldown": "300", "scaledowncooldown": ""},
        {"combinepolicy": "and"},
        {"threshold": "0"},
    ],
)
def test_values_that_the_scaler_takes_are_silent(changes):
    """Replicas inside the range, defaults, scaling to zero and deprecated values raise nothing."""
    assert told(**changes) == []


@pytest.mark.parametrize("switch", [None, "false", "True", ""])
def test_settings_of_scaling_that_is_off_do_not_matter(switch):
    """Only exactly "true" turns scaling on."""
    assert told(switch=switch, max_replicas="0", metrics="[") == []


def test_all_refused_values_are_told_in_one_finding():
    """One look is enough to correct them all."""
    (message,) = told(max_replicas="2", replicas=3, combinepolicy="OR", metrics="[]")
    for words in ("below spec.replicas 3", "metrics is empty", "not AND"):
        assert words in message


@pytest.mark.parametrize(
    "text",
    [
        "- " + "x" * 20_000,
        "a: &a [1]\nb: [*a, *a]",
        "x0: &x0 {k: v}\n" + "\n".join(f"x{n}: &x{n} {{<<: [*x{n - 1}, *x{n - 1}]}}" for n in range(1, 40)),
        "[" * 10_000,
        "[" + "1," * 8_000 + "]",
    ],
    ids=["huge", "alias", "merge bomb", "deep", "long"],
)  # fmt: skip
def test_texts_made_to_hurt_are_left_alone(text):
    """Reading an annotation takes bounded time and memory, whatever a tenant writes there."""
    assert told(metrics=text) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ('!!int ""', "metrics is not valid YAML"),
        ("!!bool x", "metrics is not valid YAML"),
        ("!!timestamp x", "metrics is not valid YAML"),
        ("0x" + "f" * 4000, "metric 0xffff"),
        ("1" + ":0" * 3000, "metric 1:0:0:0"),
        (f"a, ? 0x{'f' * 4000} : 1, type: x", "metric a: type is neither gauge nor histogram"),
    ],
    ids=["no integer", "no boolean", "no time", "long hexadecimal", "long sexagesimal", "long key"],
)
def test_scalars_that_cannot_be_read_end_nothing(name, words):
    """One annotation that no parser expects must not stop what is said of everybody else."""
    (message,) = told(metrics=f"[{{name: {name}}}]")
    assert words in message


def test_hostile_values_are_clean_and_bounded():
    """Values of annotations are other people's text."""
    (message,) = told(max_replicas="https://x.example/" + "y" * 5000, combinepolicy="a\nb")
    assert "https://" not in message
    assert "\n" not in message
    assert len(message.encode()) < 400


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
        conditions(condition("NodeClaimReady", "False", "LaunchFailed"), condition("WorkspaceDeleting", "True", "workspaceDeleted")),
    ],
    ids=["healthy", "no conditions", "unknown", "deleting", "being removed"],
)  # fmt: skip
def test_no_finding_without_a_fault(patch):
    """Healthy, young, unknown and deleted Workspaces raise nothing."""
    assert findings(stack(workspace=patch), MODEL_INFRA) == []


def test_faults_of_infrastructure_may_be_explained_by_the_controller():
    """KAITO writes the condition, so its being down explains it."""
    finding = only(stack(model_pod("other"), workspace=claims("LaunchFailed")), MODEL_INFRA)
    assert not finding.independent


TEXT = "2/2 ready; warning: worker node(s) under resource pressure: "


def pressed(*types):
    kinds = ("DiskPressure", "MemoryPressure", "PIDPressure")
    return conditions(*(condition(each, str(each in types)) for each in kinds))


def says(text, status="True"):
    return conditions(condition("NodesReady", status, "NodesReady", text))


def blind(snapshot):
    return replace(snapshot, states=dict(snapshot.states) | {NODES: FORBIDDEN})


def test_pressure_is_read_from_the_node():
    """It is the node's own statement, so no controller explains it."""
    finding = only(stack(node=pressed("DiskPressure", "MemoryPressure")), MODEL_NODE_PRESSURE)
    expected = f"InferenceSet {NS}/{SET}: node gpu-1 is under DiskPressure, MemoryPressure"
    assert finding.message == expected
    assert (finding.related.kind, finding.related.name) == ("Node", "gpu-1")
    assert finding.independent
    assert finding.transition == SINCE_AT


@pytest.mark.parametrize("changes", [{"pod": None}, {"workspace": {"status": {"workerNodes": []}}}])
def test_nodes_are_found_by_pods_and_by_workspaces(changes):
    """Either of them says where the model runs."""
    assert only(stack(node=pressed("PIDPressure"), **changes), MODEL_NODE_PRESSURE)


def test_the_text_counts_where_nodes_cannot_be_read():
    """Then KAITO's text is all there is, and its being down explains it."""
    text = f"{TEXT}gpu-1 (DiskPressure, MemoryPressure); gpu-2 (PIDPressure)"
    found = findings(blind(stack(workspace=says(text))), MODEL_NODE_PRESSURE)
    assert [each.related.name for each in found] == ["gpu-1", "gpu-2"]
    assert found[0].cause == "DiskPressure, MemoryPressure"
    assert not any(each.independent for each in found)
    assert all(each.transition is None for each in found)


def test_the_status_of_the_condition_does_not_matter():
    """Pressure is told in the text alone."""
    snapshot = blind(stack(workspace=says(f"{TEXT}gpu-1 (DiskPressure)", "False")))
    assert only(snapshot, MODEL_NODE_PRESSURE)


def test_the_text_counts_where_the_node_does_not_say():
    """A node without these conditions does not deny it."""
    silent = conditions(condition("Ready", "True"))
    finding = only(
        stack(node=silent, workspace=says(f"{TEXT}gpu-1 (DiskPressure)")), MODEL_NODE_PRESSURE
    )
    assert not finding.independent


@pytest.mark.parametrize("changes", [{}, {"node": None}])
def test_a_stale_text_does_not_count(changes):
    """KAITO does not watch nodes: one that is fine, or gone, is under no pressure."""
    snapshot = stack(workspace=says(f"{TEXT}gpu-1 (DiskPressure)"), **changes)
    assert findings(snapshot, MODEL_NODE_PRESSURE) == []


def test_the_node_is_believed_rather_than_the_text():
    """Where both speak, the node says which pressure it is."""
    snapshot = stack(node=pressed("PIDPressure"), workspace=says(f"{TEXT}gpu-1 (DiskPressure)"))
    assert only(snapshot, MODEL_NODE_PRESSURE).cause == "PIDPressure"


def test_a_text_that_names_no_node_is_told_of_the_workspace():
    """Free text may change; the marker alone is enough where nodes cannot be read."""
    snapshot = blind(stack(workspace=says(f"{TEXT}???")))
    assert only(snapshot, MODEL_NODE_PRESSURE).related.kind == "Workspace"
    assert findings(stack(workspace=says(f"{TEXT}???")), MODEL_NODE_PRESSURE) == []


def test_a_reconcile_error_beside_the_text_does_no_harm():
    """Any condition may gain one."""
    text = f"{TEXT}gpu-1 (DiskPressure) (last reconcile error: no {'x' * 50_000})"
    assert only(blind(stack(workspace=says(text))), MODEL_NODE_PRESSURE).cause == "DiskPressure"


@pytest.mark.parametrize("text", ["", "2/2 ready", "gpu-1 (DiskPressure)"])
def test_without_the_marker_there_is_no_pressure(text):
    """Only KAITO's marker makes it a statement about pressure."""
    assert findings(blind(stack(workspace=says(text))), MODEL_NODE_PRESSURE) == []


def test_all_nodes_under_pressure_are_told():
    """No node hides another."""
    more = [workspace("qwen-b", {"status": {"workerNodes": ["gpu-2"]}}), node("gpu-2")]
    more[1] = merged(more[1], pressed("DiskPressure"))
    found = findings(stack(*more, node=pressed("DiskPressure")), MODEL_NODE_PRESSURE)
    assert [each.related.name for each in found] == ["gpu-1", "gpu-2"]


def test_nodes_of_others_and_of_workspaces_that_go_do_not_matter():
    """Only nodes that run the set's pods or Workspaces count."""
    going = workspace("qwen-b", DELETING, {"status": {"workerNodes": ["gpu-2"]}})
    bad = [merged(node(name), pressed("DiskPressure")) for name in ("gpu-2", "gpu-3")]
    assert findings(stack(going, *bad)) == []
