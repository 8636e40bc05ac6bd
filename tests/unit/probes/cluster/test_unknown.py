"""clusterStatusUnknown: a blind reporter says so."""

from dataclasses import replace

import pytest

from reporter.catalogue.resources import CONFIGMAPS, GATEWAYS, NODES, PODS, SHARED
from reporter.model.text import MESSAGE_BYTES
from reporter.probes.cluster.blindness import probe_unknown_resources
from reporter.snapshot.snapshot import CREDENTIALS, NOT_READ, ResourceState, Served
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
    """The operator learns what to grant, by which command, and since when it is missing."""
    (finding,) = probe({PODS: FORBIDDEN})
    assert finding.reason == "clusterStatusUnknown"
    assert (str(finding.involved), finding.involved.uid) == (
        "Namespace kube-system",
        "uid-kube-system",
    )
    assert finding.message == (
        "Permission: pods cannot be read (forbidden), so what depends on it is unknown; grant the reporter: "
        "list, watch on pods: kubectl create clusterrole status-reporter-reads --verb=list,watch "
        "--resource=pods && kubectl create clusterrolebinding status-reporter-reads "
        "--clusterrole=status-reporter-reads --user=<account>"
    )
    assert finding.transition == at(-300).wall
    assert finding.cause == "pods forbidden"


REFUSED = ResourceState(Served.UNKNOWN, cause="forbidden", permission=CREDENTIALS, since=at(-60))
OTHER_VERSION = ResourceState(Served.UNKNOWN, cause="served in version v2, not in v1")
ONE_PLACE = replace(FORBIDDEN, permission="list, watch on configmaps/istio in istio-system")


@pytest.mark.parametrize(
    ("resource", "state", "kind", "command"),
    [
        (PODS, FORBIDDEN, "Permission: ", "kubectl create clusterrole "),
        (
            CONFIGMAPS,
            ONE_PLACE,
            "Permission: ",
            (
                "kubectl create role status-reporter-reads -n istio-system --verb=list,watch "
                "--resource=configmaps --resource-name=istio && kubectl create rolebinding"
            ),
        ),
        (PODS, REFUSED, "Credentials: ", "expired or refused"),
        (PODS, UNREACHABLE, "Connection: ", "kubectl get --raw /readyz?verbose"),
        (
            GATEWAYS,
            UNREACHABLE,
            "Connection: ",
            "kubectl get --raw /apis/gateway.networking.k8s.io/v1",
        ),
        (
            GATEWAYS,
            OTHER_VERSION,
            "Version: ",
            "kubectl api-resources --api-group=gateway.networking.k8s.io",
        ),
    ],
)
def test_it_says_what_is_to_blame_and_what_mends_it(resource, state, kind, *, command):
    """Connection, permission, credentials or versions: each with a command to be copied."""
    (finding,) = probe({resource: state})
    assert finding.message.startswith(kind)
    assert command in finding.message


def test_one_line_for_each_cause():
    """Many refusals are one sentence, and its command grants all of them within an Event's limit."""
    found = probe({PODS: FORBIDDEN, NODES: FORBIDDEN, GATEWAYS: UNREACHABLE})
    assert len({each.key for each in found}) == 1
    assert [(str(each.related), each.cause) for each in found] == [
        ("APIResource nodes", "nodes, pods forbidden"),
        (
            "CustomResourceDefinition gateways.gateway.networking.k8s.io",
            "gateways.gateway.networking.k8s.io unreachable",
        ),
    ]
    (everything,) = probe(dict.fromkeys(SHARED, FORBIDDEN))
    assert f"and {len(SHARED) - 4} more cannot be read" in everything.message
    assert all(str(each) in everything.message for each in SHARED)
    many = dict.fromkeys(FullEvaluationSettings().catalogue.resources, FORBIDDEN)
    (more,) = probe(many)
    assert ", then " in more.message
    for each in (everything, more):
        assert len(each.message) <= MESSAGE_BYTES - len(" (and 9 more)")
        assert each.message.endswith("--user=<account>")


def test_the_clock_is_that_of_the_one_unknown_for_the_longest():
    """A further refusal begins no grace again."""
    later = replace(FORBIDDEN, since=at(-1))
    (finding,) = probe({NODES: later, PODS: FORBIDDEN})
    assert (finding.related.name, finding.transition) == ("pods", at(-300).wall)


def test_what_a_dump_does_not_hold_is_no_fault():
    """Nobody asked for it; `check` lists it as unknown all the same."""
    assert probe({PODS: NOT_IN_DUMP, NODES: NOT_READ}) == []


def test_a_failure_recorded_in_a_dump_counts():
    """A Status document says that somebody asked and was refused, without saying when."""
    (finding,) = probe({NODES: ResourceState(Served.UNKNOWN, cause="forbidden")})
    assert finding.transition is None
