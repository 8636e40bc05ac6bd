"""Ready of the cluster layer waits for what users declare of it, and answers are kept rightly."""

import msgspec
import pytest

from reporter.catalogue.custom import STATEFULSETS
from reporter.evaluation import evaluate, evaluate_again
from reporter.probes.reuse import Answered
from reporter.snapshot.snapshot import Snapshot
from reporter.snapshot.table import table_of
from tests.unit.probes.building import FORBIDDEN, condition, document, healthy_cluster, namespace
from tests.unit.probes.custom.declared import CRDS, WIDGETS, says, settings_of, snapshot, widget

STORE = {
    "reason": "clusterVectorStoreNotReady",
    "layer": "cluster",
    "workload": {"kind": "StatefulSet", "name": "qdrant", "namespaces": ["data"]},
}
CRD = {"reason": "clusterGridCRDMissing", "layer": "cluster", "crd": {"name": "grids.example.com"}}
READY = {
    "reason": "clusterWidgetNotReady", "layer": "cluster",
    "condition": WIDGETS | {"type": "Ready"},
}  # fmt: skip


def statefulset(ready: int) -> dict:
    status = {"observedGeneration": 1, "readyReplicas": ready, "availableReplicas": ready}
    return document("StatefulSet", "qdrant", "data", {"status": status})


def ready_of(*components: dict, docs=(), **options) -> list[str]:
    settings = settings_of(*components)
    found = evaluate(snapshot(settings, *healthy_cluster(), *docs, **options), settings)
    return [each.message for each in found.ready if each.reason == "clusterReady"]


def test_what_is_declared_counts():
    """The evidence says how many components and definitions it rests on."""
    (built_in,) = ready_of()
    (message,) = ready_of(STORE, CRD, docs=[statefulset(1)])
    assert "8 component(s) available, 16 of their" in built_in
    assert "9 component(s) available, 17 of their" in message


@pytest.mark.parametrize("blocks", [True, False])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"docs": [statefulset(0)]},
        {"docs": [statefulset(1)], "unknown": {STATEFULSETS: FORBIDDEN}},
        {"docs": [statefulset(1)], "served": CRDS - {"grids.example.com"}},
    ],
    ids=["missing", "down", "unknown", "not served"],
)
def test_ready_waits_for_what_is_declared(options, blocks):
    components = [each | {"blocks-ready": blocks} for each in (STORE, CRD)]
    assert bool(ready_of(*components, **options)) is not blocks


def test_what_is_declared_can_be_all_there_is():
    """With every built-in component switched off, a declared one is what is seen to work."""
    off = dict.fromkeys(
        ("istiod_deployment", "kaito_deployment", "bbr_deployment", "keda_scaler_deployment",
         "gateway_auth_deployment"), "",
    ) | {"keda_namespace": ()}  # fmt: skip
    settings = settings_of(STORE, **off)
    found = evaluate(snapshot(settings, statefulset(1)), settings)
    assert [each.reason for each in found.ready] == ["clusterReady"]


def of_declared(evaluation) -> list[str]:
    return [each.reason for each in evaluation.findings if "Widget" in each.reason]


def with_table(before: Snapshot, resource, *objects) -> Snapshot:
    return Snapshot(
        tables={**before.tables, resource: table_of(objects)},
        states=before.states,
        discovery=before.discovery,
    )


def test_what_changed_is_asked_again():
    """Answers of an earlier pass do not stand for declarations whose objects changed."""
    settings = settings_of(READY)
    resource = settings.catalogue.declared[0].resource
    before = snapshot(settings, namespace("demo"), widget("w", says(condition("Ready", "True"))))
    (good,) = before[resource]
    failing = msgspec.structs.replace(
        good,
        status=msgspec.convert({"conditions": [condition("Ready", "False")]}, type(good.status)),
    )
    found, answered = evaluate_again(before, settings, Answered())
    assert of_declared(found) == []
    after = with_table(before, resource, failing)
    found, answered = evaluate_again(after, settings, answered)
    assert of_declared(found) == ["clusterWidgetNotReady"]
    assert of_declared(evaluate_again(before, settings, answered)[0]) == []


def test_rules_about_one_kind_do_not_answer_for_each_other():
    """Choices among the objects of a table are told apart by what was asked."""
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
