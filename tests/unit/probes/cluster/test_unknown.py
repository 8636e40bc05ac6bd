"""clusterStatusUnknown: a blind reporter says so."""

from reporter.catalogue.resources import GATEWAYS, NODES, PODS
from reporter.probes.cluster.unknown import probe_unknown_resources
from reporter.snapshot.snapshot import NOT_READ, ResourceState, Served
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.asking import scope
from tests.unit.probes.building import (
    NOT_IN_DUMP,
    at,
    healthy_cluster,
    snapshot_of,
)

DEFAULTS = FullEvaluationSettings()
FORBIDDEN = ResourceState(
    Served.UNKNOWN, cause="forbidden", permission="list, watch on pods", since=at(-300)
)
UNREACHABLE = ResourceState(Served.UNKNOWN, cause="unreachable", since=at(-150))


def probe(unknown):
    return list(
        probe_unknown_resources(scope(snapshot_of(*healthy_cluster(), unknown=unknown), DEFAULTS))
    )


def test_nothing_is_unknown():
    """A cluster that can be read, with kinds that are not installed, raises nothing."""
    absent = snapshot_of(*healthy_cluster(), served=frozenset())
    assert probe({}) == []
    assert list(probe_unknown_resources(scope(absent, DEFAULTS))) == []


def test_a_forbidden_resource_names_the_permission():
    """The operator learns what to grant, and since when it is missing."""
    (finding,) = probe({PODS: FORBIDDEN})
    assert finding.reason == "clusterStatusUnknown"
    assert (str(finding.involved), finding.involved.uid) == (
        "Namespace kube-system",
        "uid-kube-system",
    )
    assert finding.message == (
        "Resource pods cannot be read (forbidden), so what depends on it is unknown; grant the "
        "reporter: list, watch on pods"
    )
    assert finding.transition == at(-300).wall
    assert finding.cause == "pods forbidden"


def test_several_are_told_apart_under_one_key():
    """One Event, which names the first and counts the others."""
    found = probe({PODS: FORBIDDEN, NODES: FORBIDDEN, GATEWAYS: UNREACHABLE})
    assert len({each.key for each in found}) == 1
    assert [str(each.related) for each in found] == [
        "CustomResourceDefinition gateways.gateway.networking.k8s.io",
        "APIResource nodes",
        "APIResource pods",
    ]


def test_what_a_dump_does_not_hold_is_no_fault():
    """Nobody asked for it; `check` lists it as unknown all the same."""
    assert probe({PODS: NOT_IN_DUMP, NODES: NOT_READ}) == []


def test_a_failure_recorded_in_a_dump_counts():
    """A Status document says that somebody asked and was refused, without saying when."""
    (finding,) = probe({NODES: ResourceState(Served.UNKNOWN, cause="forbidden")})
    assert finding.transition is None
