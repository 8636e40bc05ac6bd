"""Scaling, infrastructure and nodes of an InferenceSet."""

from datetime import timedelta

import pytest

from reporter.catalogue.resources import NODES
from reporter.model.instant import parse_rfc3339
from reporter.stacks.kaito.reasons import MODEL_INFRA, MODEL_NODE_PRESSURE, MODEL_SCALING
from tests.tables import rows
from tests.unit.probes.building import (
    CREATED_AT,
    DELETING,
    SINCE_AT,
    condition,
    document,
    merged,
)
from tests.unit.stacks.kaito.probes.kaito import (
    NS,
    SET,
    conditions,
    findings,
    node,
    only,
    stack,
    tells,
    without,
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
        # Scalars that no parser expects, which must not stop what is said of everybody else.
        ({"metrics": '[{name: !!int ""}]'}, "metrics is not valid YAML"),
        ({"metrics": "[{name: !!bool x}]"}, "metrics is not valid YAML"),
        ({"metrics": "[{name: !!timestamp x}]"}, "metrics is not valid YAML"),
        ({"metrics": f"[{{name: 0x{'f' * 4000}}}]"}, "metric 0xffff"),
        ({"metrics": f"[{{name: 1{':0' * 3000}}}]"}, "metric 1:0:0:0"),
        ({"metrics": f"[{{name: a, ? 0x{'f' * 4000} : 1, type: x}}]"}, "metric a: type is neither gauge nor histogram"),
    ],
)  # fmt: skip
def test_values_that_can_never_work_are_told_at_once(changes, words):
    """They are static, so there is no grace; the message names the value."""
    finding = only(scaled(**changes), MODEL_SCALING)
    assert finding.message.startswith(f"InferenceSet {NS}/{SET}: ")
    assert words in finding.message
    assert finding.exempt
    assert finding.related.kind == "InferenceSet"


MERGE_BOMB = "x0: &x0 {k: v}\n" + "\n".join(
    f"x{n}: &x{n} {{<<: [*x{n - 1}, *x{n - 1}]}}" for n in range(1, 40)
)


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
        # What takes long to read, whatever a tenant writes there, is left alone.
        {"metrics": "- " + "x" * 20_000},
        {"metrics": "a: &a [1]\nb: [*a, *a]"},
        {"metrics": MERGE_BOMB},
        {"metrics": "[" * 10_000},
        {"metrics": "[" + "1," * 8_000 + "]"},
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


def test_hostile_values_are_clean_and_bounded():
    """Values of annotations are other people's text."""
    (message,) = told(max_replicas="https://x.example/" + "y" * 5000, combinepolicy="a\nb")
    assert "https://" not in message
    assert "\n" not in message
    assert len(message.encode()) < 400


BOOT = timedelta(minutes=15)
IN_GRACE, BOOTS, AT_ONCE = (
    {"exempt": at_once, "budget": budget} for at_once, budget in ((False, None), (False, BOOT), (True, None))
)  # fmt: skip


def claims(reason, message="because", **more):
    return conditions(condition("NodeClaimReady", "False", reason, message) | more)


def plugins(since):
    return conditions(
        condition("NodeClaimReady", "True", "NodeClaimsReady", since=since),
        condition("NodesReady", "False", "NodePluginsNotReady", "no device plugin"),
    )


CLOUD = (
    "LaunchFailed", "MultipleNodesFound", "SubscriptionQuotaReached", "AllocationFailure", "ZonalAllocationFailure",
    "OverconstrainedAllocationFailure", "OverconstrainedZonalAllocationFailure", "CreateInstanceFailed",
    "InstanceTypeResolutionFailed", "NodeClassReadinessUnknown", "SomethingThatComesLater",
)  # fmt: skip
BOOTING = (
    "NodeClaimNotReady", "AwaitingReconciliation", "NodeNotFound", "NodeNotReady", "StartupTaintsExist", "KnownEphemeralTaintsExist",
    "ResourceNotRegistered", "RegistrationHookPending", "DRADriverPoolsNotPublished", "",
)  # fmt: skip
UNAVAILABLE = "the SKU is unavailable during launch"
LAST_ERROR = f"waiting (last reconcile error: unavailable during launch {'x' * 9000})"
LINK = "quota, see https://quota.example.com/form?x=1"
OF_BEFORE = merged(claims("SKUNotAvailable", observedGeneration=1), {"metadata": {"generation": 2}})
REMOVED = [
    condition("NodeClaimReady", "False", "LaunchFailed"),
    condition("WorkspaceDeleting", "True", "workspaceDeleted"),
]


@rows(
    ("patch", "expected"),
    {
        **{
            f"a cloud error has the grace of the reason: {each}": (
                claims(each),
                IN_GRACE | {
                    "transition": None, "created": CREATED_AT, "cause": each, "about": "Workspace qwen-a",
                    "ends": f"InferenceSet {NS}/{SET}: Workspace qwen-a: NodeClaimReady is False, {each}: because",
                },
            )
            for each in CLOUD
        },
        **{f"a boot has a budget, and does not last for ever: {each}": (claims(each), BOOTS | {"transition": SINCE_AT}) for each in BOOTING},
        "a size that is not available is practically terminal": (claims("SKUNotAvailable", "no such size"), AT_ONCE),
        "in a launch that failed": (claims("LaunchFailed", UNAVAILABLE), AT_ONCE),
        "in what else is not ready": (claims("NodeClaimNotReady", "instance type unavailable during launch"), AT_ONCE),
        "of an earlier spec, which may just have been corrected": (OF_BEFORE, IN_GRACE),
        "a reconcile error that KAITO appends decides nothing": (
            claims("NodeNotFound", LAST_ERROR), BOOTS | {"ends": "...NodeNotFound: waiting (last reconcile error: unavailable..."},
        ),
        "missing plugins have it since the node claims were ready: the boot of the machine is not counted": (
            plugins("2026-11-20T11:55:00Z"),
            BOOTS | {"transition": parse_rfc3339("2026-11-20T11:55:00Z"), "ends": "NodePluginsNotReady: no device plugin"},
        ),
        "nodes that somebody brought have no node claims": (
            conditions(condition("NodesReady", "False", "NodeNotReady")), BOOTS | {"transition": SINCE_AT},
        ),
    },
)  # fmt: skip
def test_told_of_infrastructure(patch, expected):
    """KAITO writes the condition, so its being down may explain it."""
    tells(stack(workspace=patch), MODEL_INFRA, independent=False, **expected)
    (finding,) = findings(stack(workspace=patch), MODEL_INFRA)
    assert (finding.involved.kind, finding.involved.uid) == ("Namespace", f"uid-{NS}")
    assert len(finding.message.encode()) < 800


def test_urls_of_cloud_errors_are_removed():
    """Messages hold no link, but for those to a few documented hosts."""
    snapshot = stack(workspace=claims("SubscriptionQuotaReached", LINK))
    assert "https://" not in only(snapshot, MODEL_INFRA).message


def test_every_failing_workspace_is_told():
    """In whatever order they come; a cloud error is worse than a boot, and speaks for the set."""
    snapshot = stack(workspace("qwen-b", claims("NodeNotFound")), workspace=claims("LaunchFailed"))
    bad, booting = findings(snapshot, MODEL_INFRA)
    assert [each.related.name for each in (bad, booting)] == ["qwen-a", "qwen-b"]
    assert bad.severity > booting.severity


@rows(
    "patch",
    {
        "healthy": {},
        "no conditions": conditions(),
        "unknown": conditions(condition("NodeClaimReady", "Unknown", "Pending")),
        "deleting": merged(claims("LaunchFailed"), DELETING),
        "being removed": conditions(*REMOVED),
    },
)
def test_infrastructure_without_a_fault(patch):
    assert findings(stack(workspace=patch), MODEL_INFRA) == []


FEW = claims("NodeClaimNotReady", "Ready NodeClaims are not enough")
REFUSED = condition("Launched", "Unknown", "LaunchFailed", "403 Forbidden")
JOINS = condition("Registered", "Unknown", "NodeNotFound", "no node")


def nodeclaim(*items, workspace="qwen-a", namespace=NS):
    labels = {"kaito.sh/workspace": workspace, "kaito.sh/workspacenamespace": namespace}
    return document("NodeClaim", "ws1", "", {"metadata": {"labels": labels}}, conditions(*items))


@rows(
    ("claim", "code", "budget"),
    {
        "what the machine lacks": (nodeclaim(REFUSED), "capacity", None),
        "a boot keeps its budget": (nodeclaim(JOINS), "node-not-joining", BOOT),
        "that is on its way": (nodeclaim(), None, BOOT),
        "of another workspace": (nodeclaim(REFUSED, workspace="qwen-b"), None, BOOT),
        "of another namespace": (nodeclaim(REFUSED, namespace="other"), None, BOOT),
    },
)
def test_why_node_claims_are_not_enough(claim, code, budget):
    """A workspace may say only that they are few: each says itself what it waits for."""
    finding = only(stack(claim, workspace=FEW), MODEL_INFRA)
    assert (finding.diagnosis and finding.diagnosis.code, finding.budget) == (code, budget)


TEXT = "2/2 ready; warning: worker node(s) under resource pressure: "
ON_1, UNNAMED = f"{TEXT}gpu-1 (DiskPressure)", f"{TEXT}???"
SILENT = conditions(condition("Ready", "True"))
SECOND = {"status": {"workerNodes": ["gpu-2"]}}


def pressed(*types):
    kinds = ("DiskPressure", "MemoryPressure", "PIDPressure")
    return conditions(*(condition(each, str(each in types)) for each in kinds))


def says(text, status="True"):
    return conditions(condition("NodesReady", status, "NodesReady", text))


def blind(text, status="True"):
    """The set with this text, where nodes cannot be read."""
    return without(stack(workspace=says(text, status)), NODES)


DISK = pressed("DiskPressure")


@rows(
    ("snapshot", "expected"),
    {
        "the node says so: no controller explains it": (
            stack(node=pressed("DiskPressure", "MemoryPressure")),
            {"about": "Node gpu-1", "ends": "node gpu-1 is under DiskPressure, MemoryPressure", "independent": True, "transition": SINCE_AT},
        ),
        "found by its Workspace": (stack(node=pressed("PIDPressure"), pod=None), {}),
        "found by its pod": (stack(node=pressed("PIDPressure"), workspace={"status": {"workerNodes": []}}), {}),
        "the text counts where nodes cannot be read: KAITO being down explains it": (
            blind(f"{TEXT}gpu-1 (DiskPressure, MemoryPressure)"), {"about": "Node gpu-1", "cause": "DiskPressure, MemoryPressure", "independent": False, "transition": None},
        ),
        "whatever the status of the condition": (blind(ON_1, "False"), {}),
        "and where the node does not say": (stack(node=SILENT, workspace=says(ON_1)), {"independent": False}),
        "the node is believed rather than the text": (stack(node=pressed("PIDPressure"), workspace=says(ON_1)), {"cause": "PIDPressure"}),
        "a text that names no node, of the Workspace": (blind(UNNAMED), {"about": "Workspace qwen-a"}),
        "a reconcile error beside the text does no harm": (blind(f"{ON_1} (last reconcile error: no {'x' * 50_000})"), {"cause": "DiskPressure"}),
    },
)  # fmt: skip
def test_a_node_under_pressure(snapshot, expected):
    tells(snapshot, MODEL_NODE_PRESSURE, **expected)


@rows(
    ("snapshot", "names"),
    {
        "by their own words": (stack(workspace("qwen-b", SECOND), node("gpu-2", DISK), node=DISK), ["gpu-1", "gpu-2"]),
        "by the text": (blind(f"{TEXT}gpu-1 (DiskPressure, MemoryPressure); gpu-2 (PIDPressure)"), ["gpu-1", "gpu-2"]),
        "not on a node that is fine: KAITO does not watch nodes": (stack(workspace=says(ON_1)), []),
        "nor on one that is gone": (stack(workspace=says(ON_1), node=None), []),
        "nor where the text names none": (stack(workspace=says(UNNAMED)), []),
        "nor without KAITO's marker": (blind("gpu-1 (DiskPressure)"), []),
        "nor with another text": (blind("2/2 ready"), []),
        "nor without one": (blind(""), []),
        "nor of others, and of Workspaces that go": (stack(workspace("qwen-b", DELETING, SECOND), node("gpu-2", DISK), node("gpu-3", DISK)), []),
    },
)  # fmt: skip
def test_all_nodes_under_pressure_are_told(snapshot, names):
    """No node hides another, and a text that is out of date tells of none."""
    found = findings(snapshot, MODEL_NODE_PRESSURE)
    assert [each.related.name for each in found] == names
