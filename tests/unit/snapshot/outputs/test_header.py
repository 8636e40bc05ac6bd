"""The header makes a dump as good as the cluster, and claims no more than was looked at."""

import pytest

from reporter.catalogue import resources as r
from reporter.snapshot.outputs.archive import header_of
from reporter.snapshot.snapshot import Served

HEADER = {
    "apiVersion": "status-reporter/v1",
    "kind": "Dump",
    "collectedAt": "2026-11-20T12:00:00Z",
    "resources": {"pods": {"served": "served"}, "nodes": {"served": "unknown", "cause": "forbidden"}},
    "unknownGroups": ["kaito.sh"],
}  # fmt: skip
PODS = {"apiVersion": "v1", "kind": "PodList", "items": []}
SERVED = [
    {"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": each, "resources": []}
    for each in ("v1", "apps/v1")
]


def test_what_was_looked_at(load):
    """What was listed is known everywhere; what was refused or not asked for is unknown."""
    dump = load(HEADER, PODS, *SERVED)
    snapshot = dump.snapshot
    assert snapshot.absence_known(r.PODS, "any-namespace")
    assert snapshot.state(r.NODES).cause == "forbidden"
    assert not snapshot.known(r.DEPLOYMENTS)
    assert snapshot.discovery.state("workspaces.kaito.sh") is Served.UNKNOWN
    assert snapshot.discovery.state("gateways.gateway.networking.k8s.io") is Served.ABSENT
    assert str(dump.newest) == "2026-11-20 12:00:00+00:00"


@pytest.mark.parametrize(
    "wrong", [{"resources": 5}, {"collectedAt": "2026-11-20T12:00:00"}], ids=str
)
def test_a_header_of_a_newer_program(load, wrong):
    """One that cannot be read is a document like others, and the lists still count."""
    broken = {**HEADER, **wrong}
    assert header_of(broken) is None
    assert header_of({**HEADER, "more": 1}) is not None
    snapshot = load(broken, PODS).snapshot
    assert snapshot.known(r.PODS)
    assert not snapshot.absence_known(r.PODS, "any-namespace")
