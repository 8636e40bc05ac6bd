"""Users' declarations: workloads, CRDs, conditions, and what Ready waits for."""

import pytest

from reporter.catalogue.custom import STATEFULSETS
from reporter.evaluation import evaluate
from reporter.stacks.kaito.reasons import INFERENCESETS
from tests.tables import rows
from tests.unit.probes.building import (
    DELETING,
    FORBIDDEN,
    NOT_IN_DUMP,
    SINCE_AT,
    condition,
    deployment,
    document,
    healthy_cluster,
    namespace,
)
from tests.unit.probes.custom.declared import (
    CRDS,
    GRIDS,
    WIDGETS,
    found,
    says,
    settings_of,
    snapshot,
    widget,
)

RULE = {"layer": "cluster", "reason": "clusterWidgetNotReady", "condition": WIDGETS | {"type": "Ready"}}  # fmt: skip
HARNESS = RULE | {"layer": "modelharness", "reason": "modelharnessWidgetNotReady"}
MODEL = RULE | {"layer": "modeldeployment", "reason": "inferencesetWidgetNotReady"}

FAILS = condition("Ready", "False", "BackendDown", "no backend answers")
DEMO = namespace("demo", managed=True)


def with_rule(component: dict, **fields) -> dict:
    return component | {"condition": component["condition"] | fields}


def inferenceset(name: str, *patches: dict) -> dict:
    return document("InferenceSet", name, "demo", {"spec": {"replicas": 1}}, *patches)


def owned(kind: str, name: str, uid: str = "") -> dict:
    owner = {"kind": kind, "name": name, "uid": uid or f"uid-{name}"}
    return {"metadata": {"ownerReferences": [owner]}}


def generation(number: int) -> dict:
    return {"metadata": {"generation": number}}


def fails(*patches: dict, name: str = "w", **place: str) -> dict:
    return widget(name, says(FAILS), *patches, **place)


def labelled(labels: dict) -> dict:
    return {"metadata": {"labels": labels}}


STALLED = with_rule(RULE, type="Stalled", status="False")
OF_GRIDS = RULE | {"condition": GRIDS | {"type": "Ready"}}
BY_LABEL = with_rule(MODEL, subject_label="example.com/model")
OF_ITSELF = MODEL | {"condition": {"group": INFERENCESETS.group, "version": "v1beta1", "plural": "inferencesets", "kind": "InferenceSet", "type": "Audited"}}  # fmt: skip
QWEN, NOT_READY = inferenceset("qwen"), "Ready is False, BackendDown: no backend answers"
WORKSPACE = document("Workspace", "ws", "demo", owned("InferenceSet", "qwen"))
MADE = document("Deployment", "d", "demo", owned("Workspace", "ws"))
OF_MODELS = [
    fails(labelled({"example.com/model": model}), name=name)
    for name, model in (("a", "qwen"), ("b", "gone"), ("c", "going"))
]
SELECTED = [{"tier": "a"}, {"tier": "b", "canary": "x"}, {"tier": "c"}, {}]
ELSEWHERE = [namespace("other", managed=True), document("InferenceSet", "elsewhere", "other", {"spec": {"replicas": 1}})]  # fmt: skip
OF_QWEN = [("inferenceset/demo/qwen", "demo", f"InferenceSet demo/qwen: Widget demo/w: {NOT_READY}")]  # fmt: skip


@rows(
    ("rule", "docs", "told"),
    {
        "it fails": (RULE, [fails()], [("cluster", "demo", f"Widget demo/w: {NOT_READY}")]),
        "the wanted status": (RULE, [widget("w", says(condition("Ready", "True")))], []),
        "unknown": (RULE, [widget("w", says(condition("Ready", "Unknown", "Pending")))], []),
        "an empty status": (RULE, [widget("w", says(condition("Ready", "")))], []),
        "another condition": (RULE, [widget("w", says(condition("Synced", "False")))], []),
        "no conditions yet": (RULE, [widget("w", {"status": {}})], []),
        "conditions that are null": (RULE, [widget("w", {"status": {"conditions": None}})], []),
        "no status yet": (RULE, [widget("w")], []),
        "being deleted": (RULE, [fails(DELETING)], []),
        "pressure is fine when it is False": (STALLED, [widget("w", says(condition("Stalled", "False")))], []),
        "and not when it is True": (
            STALLED, [widget("w", says(condition("Stalled", "True", "Deadlock")))], [("cluster", "demo", "Widget demo/w: Stalled is True, Deadlock")],
        ),
        "without a namespace": (OF_GRIDS, [fails(name="g", namespace="", kind="Grid")], [("cluster", "kube-system", f"Grid g: {NOT_READY}")]),
        "of the harness, whose namespace it is in: others have no subject": (
            HARNESS, [namespace("other"), fails(), fails(namespace="other")], [("namespace/demo", "demo", f"Widget demo/w: {NOT_READY}")],
        ),
        "of a model that a label names": (
            BY_LABEL, [QWEN, inferenceset("going", DELETING), *OF_MODELS, fails()],
            [("inferenceset/demo/qwen", "demo", f"InferenceSet demo/qwen: Widget demo/a: {NOT_READY}")],
        ),
        "of a model that owns it": (MODEL, [QWEN, fails(owned("InferenceSet", "qwen"))], OF_QWEN),
        "of one whose Workspace does": (MODEL, [QWEN, WORKSPACE, fails(owned("Workspace", "ws"))], OF_QWEN),
        "of one whose Workspace made what does": (MODEL, [QWEN, WORKSPACE, MADE, fails(owned("Deployment", "d"))], OF_QWEN),
        "of a model that KAITO made it for": (MODEL, [QWEN, fails(labelled({"inferenceset.kaito.sh/created-by": "qwen"}))], OF_QWEN),
        "of a model itself, which is not named twice": (
            OF_ITSELF, [inferenceset("phi"), inferenceset("qwen", says(condition("Audited", "False", "Outdated")))],
            [("inferenceset/demo/qwen", "demo", "InferenceSet demo/qwen: Audited is False, Outdated")],
        ),
        "nobody owns it": (MODEL, [QWEN, fails()], []),
        "somebody of another kind does: uids tell": (MODEL, [QWEN, fails(owned("Workspace", "qwen", uid="uid-qwen"))], []),
        "an earlier set of that name": (MODEL, [QWEN, fails(owned("InferenceSet", "qwen", uid="an earlier one"))], []),
        "a set elsewhere: owners live in the same namespace": (MODEL, [*ELSEWHERE, QWEN, fails(owned("InferenceSet", "elsewhere"))], []),
        "it owns itself": (MODEL, [QWEN, fails(owned("Widget", "w"))], []),
        "only selected ones count": (
            with_rule(RULE, selector="tier in (a, b),!canary"),
            [fails(labelled(each), name=f"w{number}") for number, each in enumerate(SELECTED)],
            [("cluster", "demo", f"Widget demo/w0: {NOT_READY}")],
        ),
    },
)  # fmt: skip
def test_what_a_condition_tells_of_whom(rule, docs, told):
    """Since it took that status, with the controller's reason and message."""
    findings = found(rule, DEMO, *docs)
    assert [(str(each.subject), str(each.involved), each.message) for each in findings] == [
        (subject, f"Namespace {place}", message) for subject, place, message in told
    ]
    for each in findings:
        assert (each.transition, each.sustains, each.governs) == (SINCE_AT, False, False)
        assert str(each.related) in each.message
    if rule is RULE and told:
        assert findings[0].cause == "Ready is False (BackendDown)"


@rows(
    ("doc", "outdated"),
    {
        "the condition says so": (widget("w", generation(3), says(FAILS | {"observedGeneration": 2})), True),
        "the status says so": (widget("w", generation(3), says(FAILS, observedGeneration=2)), True),
        "as text": (widget("w", generation(3), says(FAILS, observedGeneration="2")), True),
        "nothing is said of it": (widget("w", generation(3), says(FAILS)), False),
        "the condition is new": (widget("w", generation(3), says(FAILS | {"observedGeneration": 3})), False),
        "the condition knows better than the status": (widget("w", generation(3), says(FAILS | {"observedGeneration": 3}, observedGeneration=2)), False),
        "zero, which is what some write for nothing": (widget("w", generation(3), says(FAILS | {"observedGeneration": 0}, observedGeneration=0)), False),
        "no number": (widget("w", generation(3), says(FAILS, observedGeneration="latest")), False),
    },
)  # fmt: skip
def test_a_condition_of_an_earlier_spec_begins_nothing(doc, *, outdated):
    """It may be about something that was just corrected; a firing fault continues."""
    (finding,) = found(RULE, DEMO, doc)
    assert finding.sustains is outdated


def test_the_generation_that_an_inferenceservice_observed_is_another_objects():
    kind = {
        "group": "serving.kserve.io", "version": "v1beta1", "plural": "inferenceservices",
        "kind": "InferenceService",
    }  # fmt: skip
    rule = RULE | {"condition": kind | {"type": "Ready"}}
    doc = document(
        "InferenceService", "i", "demo", {"apiVersion": "serving.kserve.io/v1beta1"},
        generation(3), says(FAILS, observedGeneration=1),
    )  # fmt: skip
    (finding,) = found(rule, DEMO, doc)
    assert not finding.sustains


STORE = {
    "reason": "clusterVectorStoreNotReady",
    "layer": "cluster",
    "workload": {"kind": "StatefulSet", "name": "qdrant", "namespaces": ["vectors", "data"]},
}
CACHE = {
    "reason": "modelharnessCacheNotReady",
    "layer": "modelharness",
    "workload": {"kind": "DaemonSet", "name": "cache"},
}
SUPPRESSING = {"suppresses": ["modelharnessAPIKeyReconcileFailed"], "why": "keys are kept there"}


def statefulset(place: str, *patches: dict, ready: int = 2) -> dict:
    status = {
        "observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": ready,
        "availableReplicas": ready, "currentRevision": "r", "updateRevision": "r",
    }  # fmt: skip
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "qdrant"}}}
    base = {"metadata": {"generation": 1}, "spec": spec, "status": status}
    return document("StatefulSet", "qdrant", place, base, *patches)


def daemonset(place: str, ready: int = 2) -> dict:
    status = {
        "observedGeneration": 1, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2,
        "numberReady": ready, "numberAvailable": ready, "numberUnavailable": 2 - ready,
    }  # fmt: skip
    return document("DaemonSet", "cache", place, {"metadata": {"generation": 1}, "status": status})


PLACES = (namespace("data"), namespace("vectors"))


DOWN, DEGRADED, UP = (statefulset("data", ready=number) for number in (0, 1, 2))
LOOKED_IN = "missing (looked in vectors, data)"


@rows(
    ("docs", "place", "message"),
    {
        "down": ([*PLACES, DOWN], "data", "StatefulSet data/qdrant is down: no pods, 0/2 ready"),
        "degraded": ([*PLACES, DEGRADED], "data", "StatefulSet data/qdrant is degraded: no pods, 1/2 ready"),
        "the first namespace that has it counts": (
            [*PLACES, statefulset("vectors", ready=0), UP], "vectors", "StatefulSet vectors/qdrant is down: no pods, 0/2 ready",
        ),
        "missing": (PLACES, "vectors", f"StatefulSet vectors/qdrant is down: {LOOKED_IN}"),
        "missing, and only one of its namespaces exists": (PLACES[:1], "data", f"StatefulSet data/qdrant is down: {LOOKED_IN}"),
        "missing, and none of them exists": ([], "vectors", f"StatefulSet vectors/qdrant is down: {LOOKED_IN}"),
        "a kind is no other kind": ([*PLACES, deployment("vectors", "qdrant")], "vectors", f"StatefulSet vectors/qdrant is down: {LOOKED_IN}"),
    },
)  # fmt: skip
def test_a_workload_that_is_told(docs, place, message):
    """The subject is the cluster, the Event is about its namespace, the object is named."""
    (finding,) = found(STORE, *docs)
    assert (str(finding.subject), str(finding.involved)) == ("cluster", f"Namespace {place}")
    assert str(finding.related) == f"StatefulSet {place}/qdrant"
    assert finding.message == message
    assert not finding.governs
    if DOWN in docs:
        assert (finding.involved.uid, finding.related.uid) == ("uid-data", "uid-qdrant")
    if LOOKED_IN in message:
        assert finding.cause == "missing"


@pytest.mark.parametrize(("doc", "governs"), [(DEGRADED, False), (DOWN, True)])
def test_only_one_that_is_down_suppresses(doc, governs):
    """A single replica still does the work that others wait for."""
    (finding,) = found(STORE | SUPPRESSING, *PLACES, doc)
    assert finding.governs is governs


@pytest.mark.parametrize(
    ("docs", "options"),
    [
        ([statefulset("vectors"), DOWN], {}),
        ([], {"unknown": {STATEFULSETS: FORBIDDEN}}),
        ([], {"unknown": {STATEFULSETS: NOT_IN_DUMP}}),
        ([], {"covered": ["vectors"]}),
    ],
    ids=["another namespace comes first", "forbidden", "not in the dump", "not all was dumped"],
)
def test_a_workload_that_is_not(docs, options):
    """An absence must be confirmed."""
    assert found(STORE, *PLACES, *docs, **options) == []


def test_a_deployment_is_judged_like_a_built_in_one():
    """By the same rules: available replicas, rollouts, deadlines."""
    workload = {"kind": "Deployment", "name": "router", "namespaces": ["data"]}
    component = STORE | {"workload": workload}
    assert found(component, *PLACES, deployment("data", "router")) == []
    (finding,) = found(component, *PLACES, deployment("data", "router", wanted=0, ready=0))
    assert finding.message == "Deployment data/router is down: scaled to zero"


def test_each_workload_namespace_has_one():
    """Without `namespaces`, each of the harness layer must have it; other namespaces need not."""
    docs = [namespace(each, managed=True) for each in ("blue", "green", "red")]
    findings = found(CACHE, *docs, *PLACES, daemonset("blue"), daemonset("green", ready=0))
    assert [(str(each.subject), each.message) for each in findings] == [
        ("namespace/green", "DaemonSet green/cache is down: no pods, 0/2 ready"),
        ("namespace/red", "DaemonSet red/cache is down: missing"),
    ]
    assert [str(each.involved) for each in findings] == ["Namespace green", "Namespace red"]


def test_named_workload_namespaces_have_one_each():
    docs = [namespace(each, managed=True) for each in ("blue", "green")]
    workload = {"kind": "DaemonSet", "name": "cache", "namespaces": ["green", "data"]}
    (finding,) = found(CACHE | {"workload": workload}, *docs, *PLACES)
    assert str(finding.subject) == "namespace/green"


GRID_CRD = {
    "reason": "clusterGridCRDMissing",
    "layer": "cluster",
    "crd": {"name": "grids.example.com"},
}
READY = {
    "reason": "clusterWidgetNotReady", "layer": "cluster",
    "condition": WIDGETS | {"type": "Ready"},
}  # fmt: skip


def ready_of(*components: dict, docs=(), **options) -> list[str]:
    settings = settings_of(*components)
    found = evaluate(snapshot(settings, *healthy_cluster(), *docs, **options), settings)
    return [each.message for each in found.ready if each.reason == "clusterReady"]


def test_what_is_declared_counts():
    """The evidence counts components and CRDs."""
    (built_in,) = ready_of()
    (message,) = ready_of(STORE, GRID_CRD, docs=[statefulset("data", ready=1)])
    assert "8 component(s) available, 16 of their" in built_in
    assert "9 component(s) available, 17 of their" in message


@pytest.mark.parametrize("blocks", [True, False])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"docs": [statefulset("data", ready=0)]},
        {"docs": [statefulset("data", ready=1)], "unknown": {STATEFULSETS: FORBIDDEN}},
        {"docs": [statefulset("data", ready=1)], "served": CRDS - {"grids.example.com"}},
    ],
    ids=["missing", "down", "unknown", "not served"],
)
def test_ready_waits_for_what_is_declared(options, blocks):
    components = [each | {"blocks-ready": blocks} for each in (STORE, GRID_CRD)]
    assert bool(ready_of(*components, **options)) is not blocks


def test_what_is_declared_can_be_all_there_is():
    """If every built-in component is off, a declared one is the evidence."""
    off = dict.fromkeys(
        ("istiod_deployment", "kaito_deployment", "bbr_deployment", "keda_scaler_deployment",
         "gateway_auth_deployment"), "",
    ) | {"keda_namespace": ()}  # fmt: skip
    settings = settings_of(STORE, **off)
    found = evaluate(snapshot(settings, statefulset("data", ready=1)), settings)
    assert [each.reason for each in found.ready] == ["clusterReady"]


def of_declared(evaluation) -> list[str]:
    return [each.reason for each in evaluation.findings if "Widget" in each.reason]


def test_rules_about_one_kind_do_not_answer_for_each_other():
    """Cached selections from a table are keyed by their condition."""
    rules = [
        READY,
        READY | {"reason": "clusterWidgetNotSynced", "condition": WIDGETS | {"type": "Synced"}},
        READY
        | {
            "reason": "clusterWidgetStalled",
            "condition": WIDGETS | {"type": "Stalled", "status": "False"},
        },
        READY | {"reason": "clusterWidgetNotStalled", "condition": WIDGETS | {"type": "Stalled"}},
    ]
    settings = settings_of(*rules)
    stalled = widget(
        "w",
        says(
            condition("Ready", "True"), condition("Synced", "False"), condition("Stalled", "True")
        ),
    )
    found = evaluate(snapshot(settings, namespace("demo"), stalled), settings)
    assert of_declared(found) == ["clusterWidgetNotSynced", "clusterWidgetStalled"]


def test_a_declared_kind_that_is_not_served_is_told():
    """About the CRD, as for those that the stack needs; discovery that failed tells nothing."""
    crd = {"name": "widgets.example.com"}
    declared = {"reason": "clusterWidgetCRDMissing", "layer": "cluster", "crd": crd}
    assert found(declared) == found(declared, served=None) == []
    (finding,) = found(declared, served=CRDS - {"widgets.example.com"})
    name = "CustomResourceDefinition widgets.example.com"
    assert {str(finding.involved), str(finding.related)} == {name}
    assert str(finding.subject) == "cluster"
    assert finding.message == f"{name} is not served: install or repair what provides it"
