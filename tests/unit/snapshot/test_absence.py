"""When an object that is not in the snapshot may be said not to exist."""

import pytest

from reporter.catalogue.resources import DEPLOYMENTS, NAMESPACES, NODES
from reporter.model.objects import Metadata, Namespace
from reporter.model.report import SkippedObject
from reporter.snapshot.snapshot import ResourceState, Served, Snapshot
from reporter.snapshot.table import table_of

SERVED = ResourceState(Served.SERVED)
KNOWN = {DEPLOYMENTS: SERVED, NODES: SERVED, NAMESPACES: SERVED}
SPACES = {NAMESPACES: table_of([Namespace(metadata=Metadata(name="a"))])}
BROKEN = (SkippedObject("deployments.apps", "a", "istiod", "status is not an object"),)


@pytest.mark.parametrize(
    ("snapshot", "namespace", "expected"),
    [
        (Snapshot(), "a", False),
        (Snapshot(states=KNOWN), "a", True),
        (Snapshot(states={DEPLOYMENTS: ResourceState(Served.ABSENT)}), "a", True),
        (Snapshot(states=KNOWN, tables=SPACES, covered=frozenset({"a"})), "a", True),
        (Snapshot(states=KNOWN, tables=SPACES, covered=frozenset()), "a", False),
        (Snapshot(states=KNOWN, tables=SPACES, covered=frozenset()), "no-namespace", True),
        (Snapshot(states=KNOWN, skipped=BROKEN), "a", False),
        (Snapshot(states=KNOWN, skipped=BROKEN), "b", True),
    ],
    ids=[
        "not read",
        "read",
        "kind not served",
        "namespace in the dump",
        "namespace not in the dump",
        "no such namespace",
        "a malformed object may be the one",
        "malformed elsewhere",
    ],
)
def test_absence_needs_a_look(snapshot, namespace, expected):
    """Nothing is called missing that may only not have been seen."""
    assert snapshot.absence_known(DEPLOYMENTS, namespace) is expected


def test_a_malformed_node_hides_the_absence_of_nodes():
    """Cluster-scoped kinds follow the same rule."""
    broken = (SkippedObject("nodes", "", "gpu-0", "status is not an object"),)
    assert Snapshot(states=KNOWN).absence_known(NODES)
    assert not Snapshot(states=KNOWN, skipped=broken).absence_known(NODES)
