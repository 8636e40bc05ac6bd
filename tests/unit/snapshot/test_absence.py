"""When an object that is not in the snapshot is known not to exist."""

import pytest

from reporter.catalogue.resources import DEPLOYMENTS, NAMESPACES, NODES, PODS
from reporter.model.objects import LabelSelector, Metadata, Namespace
from reporter.model.report import SkippedObject
from reporter.snapshot.decode import belongs_to, selected_by
from reporter.snapshot.snapshot import ResourceState, Served, Snapshot
from reporter.snapshot.table import table_of
from tests.tables import rows

SERVED = ResourceState(Served.SERVED)
KNOWN = {DEPLOYMENTS: SERVED, NODES: SERVED, NAMESPACES: SERVED}
SPACES = {NAMESPACES: table_of([Namespace(metadata=Metadata(name="a"))])}
BROKEN = (SkippedObject("deployments.apps", "a", "istiod", "status is not an object"),)
NAMELESS = (SkippedObject("deployments.apps", "a", "", "metadata.name is missing"),)
PLACELESS = (SkippedObject("deployments.apps", "", "istiod", "metadata.namespace is missing"),)
NEITHER = (SkippedObject("deployments.apps", "", "", "metadata is missing"),)
CUT = {"deployments.apps": "not all of it could be read"}


@rows(
    ("snapshot", "namespace", "expected"),
    {
        "not read": (Snapshot(), "a", False),
        "read": (Snapshot(states=KNOWN), "a", True),
        "kind not served": (Snapshot(states={DEPLOYMENTS: ResourceState(Served.ABSENT)}), "a", True),
        "namespace in the dump": (Snapshot(states=KNOWN, tables=SPACES, covered=frozenset({"a"})), "a", True),
        "namespace not in the dump": (Snapshot(states=KNOWN, tables=SPACES, covered=frozenset()), "a", False),
        "no such namespace": (Snapshot(states=KNOWN, tables=SPACES, covered=frozenset()), "no-namespace", True),
        "a malformed object hides no other": (Snapshot(states=KNOWN, skipped=BROKEN), "a", True),
        "one without a name may be any": (Snapshot(states=KNOWN, skipped=NAMELESS), "a", False),
        "one without a name is elsewhere": (Snapshot(states=KNOWN, skipped=NAMELESS), "b", True),
        "one without a namespace hides no other": (Snapshot(states=KNOWN, skipped=PLACELESS), "b", True),
        "one without name and namespace may be any anywhere": (Snapshot(states=KNOWN, skipped=NEITHER), "b", False),
        "cut off": (Snapshot(states=KNOWN, incomplete=CUT), "a", False),
    },
)  # fmt: skip
def test_absence_needs_a_look(snapshot, namespace, expected):
    """Nothing is called missing if it may simply not have been seen."""
    assert snapshot.absence_known(DEPLOYMENTS, namespace) is expected


@pytest.mark.parametrize(
    ("skipped", "namespace", "name", "expected"),
    [
        (BROKEN, "a", "istiod", False),
        (BROKEN, "a", "other", True),
        (BROKEN, "b", "istiod", True),
        (PLACELESS, "b", "istiod", False),
        (PLACELESS, "b", "other", True),
    ],
)
def test_a_malformed_object_is_unknown_itself(skipped, namespace, name, *, expected):
    snapshot = Snapshot(states=KNOWN, skipped=skipped)
    assert snapshot.absence_known(DEPLOYMENTS, namespace, name) is expected


def test_cluster_scoped_kinds_follow_the_same_rule():
    broken = (SkippedObject("nodes", "", "gpu-0", "status is not an object"),)
    snapshot = Snapshot(states=KNOWN, skipped=broken)
    assert snapshot.absence_known(NODES)
    assert snapshot.absence_known(NODES, name="gpu-1")
    assert not snapshot.absence_known(NODES, name="gpu-0")


@pytest.mark.parametrize(
    ("name", "labels", "expected"),
    [
        ("x", {"set": "m"}, False),
        ("m-0", {"set": "other"}, True),
        ("m-0", {}, False),
        ("m", None, False),
        ("m-0", None, False),
        ("mistral-0", None, True),
    ],
)
def test_of_several_a_malformed_one_counts_if_it_may_belong_to_them(name, labels, *, expected):
    """Its label decides, or its name if it has no readable label."""
    broken = (SkippedObject("pods", "a", name, "status is not an object", labels),)
    snapshot = Snapshot(states={PODS: SERVED}, skipped=broken)
    assert snapshot.absence_known(PODS, "a", sought=belongs_to("m", "set")) is expected


@pytest.mark.parametrize(
    ("labels", "expected"), [({"app": "m"}, False), ({"app": "x"}, True), (None, False)]
)
def test_a_selector_may_select_a_malformed_object(labels, *, expected):
    broken = (SkippedObject("pods", "a", "p", "status is not an object", labels),)
    snapshot = Snapshot(states={PODS: SERVED}, skipped=broken)
    sought = selected_by(LabelSelector({"app": "m"}))
    assert snapshot.absence_known(PODS, "a", sought=sought) is expected
