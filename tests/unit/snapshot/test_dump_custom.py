"""Dumps are read for what users declare, like a live reporter reads the cluster."""

import json

import pytest

from reporter.catalogue.custom import STATEFULSETS
from reporter.model.report import NOT_IN_DUMP
from reporter.snapshot.dump import load_dump
from reporter.snapshot.snapshot import Served
from reporter.stacks.settings import FullEvaluationSettings

STORE = {
    "reason": "clusterStoreNotReady", "layer": "cluster",
    "workload": {"kind": "StatefulSet", "name": "s", "namespaces": ["n"]},
}  # fmt: skip
WIDGET = {
    "reason": "clusterWidgetNotReady", "layer": "cluster",
    "condition": {
        "group": "example.com", "version": "v1", "plural": "widgets", "kind": "Widget",
        "type": "Ready", "selector": "tier in (a, b),!canary",
    },
}  # fmt: skip
CATALOGUE = FullEvaluationSettings(custom_components=[STORE, WIDGET]).catalogue
WIDGETS = CATALOGUE.declared[1].resource


def widget(name, api="example.com/v1", **labels):
    return {
        "apiVersion": api, "kind": "Widget",
        "metadata": {"name": name, "namespace": "n", "labels": labels},
    }  # fmt: skip


STATEFULSET = {
    "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s", "namespace": "n"},
}  # fmt: skip


def test_declared_kinds_are_read(load):
    dump = load(STATEFULSET, widget("a", tier="a"))
    assert [each.name for each in dump.snapshot[STATEFULSETS]] == ["s"]
    assert [each.name for each in dump.snapshot[WIDGETS]] == ["a"]
    assert dump.notes == ()


def test_only_selected_objects_are_read(load):
    """By the whole language of label selectors, as the API server would."""
    docs = [widget("a", tier="a"), widget("b", tier="b", canary="1"), widget("c", tier="c")]
    snapshot = load(*docs, widget("d")).snapshot
    assert [each.name for each in snapshot[WIDGETS]] == ["a"]


@pytest.mark.parametrize(
    ("documents", "complete", "state"),
    [
        ([widget("a", tier="a")], False, Served.SERVED),
        ([widget("a", tier="c")], False, Served.SERVED),
        ([{"apiVersion": "example.com/v1", "kind": "WidgetList", "items": []}], False, Served.SERVED),
        ([STATEFULSET], True, Served.SERVED),
        ([STATEFULSET], False, Served.UNKNOWN),
        ([{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinitionList", "items": []}], False, Served.ABSENT),
    ],
)  # fmt: skip
def test_what_a_dump_says_of_a_declared_kind(load, documents, complete, *, state):
    found = load(*documents, complete=complete).snapshot.state(WIDGETS)
    assert found.served is state
    assert found.cause == (NOT_IN_DUMP if state is Served.UNKNOWN else "")


def test_an_object_in_another_version_is_left_out_and_said(load):
    snapshot = load(widget("a", api="example.com/v2", tier="a")).snapshot
    assert len(snapshot[WIDGETS]) == 0
    (skipped,) = snapshot.skipped
    assert skipped.cause == "version v2 of Widget is not known"


def test_one_document_serves_all_who_read_its_kind(load, tmp_path):
    """A rule about a kind that is read anyway takes nothing from the built-in reasons."""
    rule = WIDGET | {
        "condition": {
            "group": "", "version": "v1", "plural": "pods", "kind": "Pod", "type": "Audited",
            "selector": "audit=yes",
        }
    }  # fmt: skip
    settings = FullEvaluationSettings(custom_components=[rule])
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "n", "labels": labels},
        }
        for name, labels in (("a", {"audit": "yes"}), ("b", {}))
    ]
    path = tmp_path / "pods.json"
    path.write_text("\n".join(map(json.dumps, pods)))
    snapshot = load_dump([path], settings.catalogue).snapshot
    chosen = {
        resource.label_selector: sorted(each.name for each in table)
        for resource, table in snapshot.tables.items()
    }
    assert chosen == {"": ["a", "b"], "audit=yes": ["a"]}
