"""The cluster layer as a whole: its evidence, its CustomResourceDefinitions, and what cannot be read."""

import dataclasses
from dataclasses import replace

import pytest

from reporter.catalogue.reasons import CLUSTER_CRD_MISSING
from reporter.catalogue.resources import (
    CONFIGMAPS,
    DEPLOYMENTS,
    GATEWAYCLASSES,
    GATEWAYS,
    NODES,
    PODS,
)
from reporter.catalogue.resources import SHARED as SHARED_KINDS
from reporter.model.finding import KnownSubject
from reporter.model.subject import CLUSTER
from reporter.model.text import MESSAGE_BYTES
from reporter.probes.cluster import evaluate_cluster
from reporter.probes.cluster.blindness import probe_unknown_resources
from reporter.probes.cluster.parts import probe_crds, required_crds
from reporter.setting_types import PartMode, StackMode
from reporter.snapshot.snapshot import CREDENTIALS, NOT_READ, Discovery, ResourceState, Served
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import SUPPRESSION, Stack, rows
from tests.unit.probes.asking import scope
from tests.unit.probes.building import (
    ALL_CRDS,
    ALL_ON,
    FORBIDDEN,
    NOT_IN_DUMP,
    SHARED,
    at,
    condition,
    deployment,
    document,
    healthy_cluster,
    snapshot_of,
)

DEFAULTS = FullEvaluationSettings(components=ALL_ON)


def evaluate(*docs, settings=DEFAULTS, **options):
    return evaluate_cluster(scope(snapshot_of(*docs, **options), settings))


def test_a_healthy_cluster_is_ready():
    """Everything configured works; the evidence refers to the release namespace."""
    evaluation = evaluate(*healthy_cluster())
    (ready,) = evaluation.ready
    assert evaluation.findings == ()
    assert evaluation.subjects == (KnownSubject(CLUSTER),)
    assert (ready.reason, str(ready.involved)) == ("clusterReady", "Namespace kube-system")
    assert "cluster layer is healthy" in ready.message


def ready_with(name, *docs):
    """Whether the cluster is ready with these in place of a component."""
    return evaluate(*healthy_cluster(name), *docs).ready != ()


def test_not_ready_unless_each_component_is_available():
    """Missing, down and degraded are not evidence, nor is a copy elsewhere."""
    assert [
        name
        for place, name in SHARED
        if ready_with(name)
        or ready_with(name, deployment(place, name, ready=0))
        or ready_with(name, deployment(place, name, ready=1, wanted=2))
        or ready_with(name, deployment("elsewhere", name))
    ] == []
    assert [name for place, name in SHARED if not ready_with(name, deployment(place, name))] == []


NO_API_KEYS = {"served": ALL_CRDS - {"apikeys.kaito.sh"}}
ALL_OFF = FullEvaluationSettings(
    istiod_deployment="", kaito_deployment="", keda_namespace=(), bbr_deployment="",
    keda_scaler_deployment="", gateway_auth_deployment="",
)  # fmt: skip


@rows(
    ("docs", "options", "place"),
    {
        "the release namespace is a setting: its Event belongs where the umbrella chart was installed": (
            healthy_cluster(), {"settings": FullEvaluationSettings(release_namespace="keda")}, "keda",
        ),
        "Deployments cannot be read": (healthy_cluster(), {"unknown": {DEPLOYMENTS: FORBIDDEN}}, None),
        "discovery failed": (healthy_cluster(), {"served": None}, None),
        "a namespace was not dumped": (healthy_cluster("keda-operator"), {"covered": {"istio-system"}}, None),
        "a required CRD is not served": (healthy_cluster(), NO_API_KEYS, None),
        "that of a component that is off": (
            healthy_cluster(), NO_API_KEYS | {"settings": FullEvaluationSettings(gateway_auth_deployment="")}, "kube-system",
        ),
        "all is off: nothing could be seen to work": ([], {"settings": ALL_OFF}, None),
    },
)  # fmt: skip
def test_whether_the_cluster_is_ready(docs, options, place):
    found = [(str(each.involved), each.involved.uid) for each in evaluate(*docs, **options).ready]
    assert found == ([(f"Namespace {place}", f"uid-{place}")] if place else [])


PLAIN = FullEvaluationSettings()
ON = FullEvaluationSettings(components=ALL_ON)

LISTED = {each.name for each in required_crds(PLAIN)}
"""docs/compatibility.md lists them; tests/unit/docs compares."""

REQUIRED = sorted(each.name for each in required_crds(ON) if each.mode is PartMode.ON)
"""Those without which a part does not work, whatever uses it."""


def missing(served, settings=ON):
    return list(probe_crds(scope(snapshot_of(served=served), settings)))


def test_a_required_crd_that_is_not_served():
    """One finding about that CRD; it governs everything that needs the kind."""
    found = {name: missing(ALL_CRDS - {name}) for name in REQUIRED}
    assert {name: [str(each.involved) for each in of_one] for name, of_one in found.items()} == {
        name: [f"CustomResourceDefinition {name}"] for name in REQUIRED
    }
    findings = [each for of_one in found.values() for each in of_one]
    assert {(each.reason, each.involved.api_version, each.governs) for each in findings} == {
        (CLUSTER_CRD_MISSING, "apiextensions.k8s.io/v1", True)
    }
    assert {(each.transition, each.created) for each in findings} == {(None, None)}
    assert [each for each in findings if each.involved.name not in each.message] == []


@pytest.mark.parametrize(
    "switches",
    [
        ({"istiod_deployment": ""}, {"istio_namespace": ()}),
        ({"kaito_deployment": ""}, {"kaito_namespace": ()}),
        ({"gateway_auth_deployment": ""}, {"gateway_auth_namespace": ()}),
        ({"keda_namespace": ()},),
    ],
)
def test_crds_of_a_component_that_is_switched_off(switches):
    """A part that is switched off is not missing, whichever way it is switched off."""
    required = [
        frozenset(each.part for each in required_crds(FullEvaluationSettings(**switch)))
        for switch in switches
    ]
    (left,) = {*required}
    assert left < {each.part for each in required_crds(PLAIN)}


def test_what_healthy_clusters_lack_is_not_required():
    assert not LISTED & {
        "inferenceobjectives.inference.networking.x-k8s.io",
        "inferencemodelrewrites.inference.networking.x-k8s.io",
        "destinationrules.networking.istio.io",
        "ciliumnetworkpolicies.cilium.io",
        "nodeclaims.karpenter.sh",
        "modelmirrors.kaito.sh",
    }


def test_discovery_that_failed_is_no_evidence():
    """Nor that of a group: a failed call does not make every CRD missing."""
    assert missing(None) == []
    snapshot = dataclasses.replace(
        snapshot_of(), discovery=Discovery(frozenset(), frozenset({"kaito.sh", "keda.sh"}))
    )
    groups = {each.related.name.partition(".")[2] for each in probe_crds(scope(snapshot, ON))}
    assert "networking.istio.io" in groups
    assert not groups & {"kaito.sh", "keda.sh"}


def test_every_row_of_the_suppression_table_can_fire():
    rows = {row.crd for row in SUPPRESSION if row.upstream == CLUSTER_CRD_MISSING}
    every = FullEvaluationSettings(stacks=dict.fromkeys(Stack, StackMode.ON))
    assert rows <= {each.name for each in required_crds(every)}


@pytest.mark.parametrize(
    ("name", "controller", "unknown", "missed"),
    [
        ("istio", "istio.io/gateway-controller", {}, True),
        ("own", "istio.io/gateway-controller", {}, True),
        ("istio", None, {}, True),  # the class is not there, and its name is Istio's
        ("envoy", "gateway.envoyproxy.io/gatewayclass-controller", {}, False),
        ("envoy", None, {}, False),
        ("istio", None, {GATEWAYCLASSES: FORBIDDEN}, False),  # nobody knows who runs it
    ],
)
def test_kinds_of_istio_are_missed_behind_its_gateways_alone(name, controller, unknown, missed):
    labels = {"metadata": {"labels": {"kaito.sh/owned-by": "modelharness"}}}
    docs = [document("Gateway", "gw", "models", labels, {"spec": {"gatewayClassName": name}})]
    if controller:
        docs.append(document("GatewayClass", name, "", {"spec": {"controllerName": controller}}))
    of_istio = {each for each in ALL_CRDS if each.endswith(".istio.io")}
    snapshot = snapshot_of(*docs, served=ALL_CRDS - of_istio, unknown=unknown)
    found = {each.involved.name for each in probe_crds(scope(snapshot, PLAIN))}
    needed = {"authorizationpolicies.security.istio.io", "envoyfilters.networking.istio.io"}
    assert found == needed if missed else not found & of_istio


_PARENT = {"parentRef": {"name": "gw"}, "controllerName": "c"}


@pytest.mark.parametrize(
    ("metadata", "accepted", "place"),
    [
        ({}, None, None),
        ({}, "False", None),
        ({}, "True", "models"),
        ({"labels": {"app.kubernetes.io/managed-by": "Helm"}}, None, "models"),
        ({"labels": {"kaito.sh/owned-by": "modeldeployment"}}, None, "models"),
        ({"ownerReferences": [{"kind": "LLMInferenceService", "uid": "u"}]}, None, "models"),
    ],
    ids=["nobody", "refused", "accepted", "helm", "a-chart", "a-controller"],
)
def test_a_route_needs_gateways_where_it_is_in_use(metadata, accepted, place):
    """Any tenant may write one; the object and namespace that need the kind are reported."""
    status = {"parents": [{**_PARENT, "conditions": [condition("Accepted", accepted)]}]}
    route = document(
        "HTTPRoute", "r", "models",
        {"metadata": metadata, "spec": {"parentRefs": [{"name": "gw"}]}, "status": status if accepted else {}},
    )  # fmt: skip
    gone = "gateways.gateway.networking.k8s.io"
    for others, expected in (
        ([], place),
        ([{**route, "metadata": {**route["metadata"], "namespace": "more"}}], place and ""),
    ):
        snapshot = snapshot_of(route, *others, served=ALL_CRDS - {gone})
        found = {each.involved.name: each for each in probe_crds(scope(snapshot, PLAIN))}
        assert (found[gone].sole_place if gone in found else None) == expected


FORBIDDEN_PODS = ResourceState(
    Served.UNKNOWN, cause="forbidden", permission="list, watch on pods", since=at(-300)
)
UNREACHABLE = ResourceState(Served.UNKNOWN, cause="unreachable", since=at(-150))


def probe(unknown):
    return list(
        probe_unknown_resources(scope(snapshot_of(*healthy_cluster(), unknown=unknown), PLAIN))
    )


def test_nothing_is_unknown():
    """A readable cluster with kinds that are not installed has no finding."""
    absent = snapshot_of(*healthy_cluster(), served=frozenset())
    assert probe({}) == []
    assert list(probe_unknown_resources(scope(absent, PLAIN))) == []


def test_a_forbidden_resource_names_the_permission():
    """The operator learns what to grant, by which command, and since when it is missing."""
    (finding,) = probe({PODS: FORBIDDEN_PODS})
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
ONE_PLACE = replace(FORBIDDEN_PODS, permission="list, watch on configmaps/istio in istio-system")


@pytest.mark.parametrize(
    ("resource", "state", "kind", "command"),
    [
        (PODS, FORBIDDEN_PODS, "Permission: ", "kubectl create clusterrole "),
        (
            CONFIGMAPS, ONE_PLACE, "Permission: ",
            "kubectl create role status-reporter-reads -n istio-system --verb=list,watch --resource=configmaps --resource-name=istio && kubectl create rolebinding",
        ),
        (PODS, REFUSED, "Credentials: ", "expired or refused"),
        (PODS, UNREACHABLE, "Connection: ", "kubectl get --raw /readyz?verbose"),
        (GATEWAYS, UNREACHABLE, "Connection: ", "kubectl get --raw /apis/gateway.networking.k8s.io/v1"),
        (GATEWAYS, OTHER_VERSION, "Version: ", "kubectl api-resources --api-group=gateway.networking.k8s.io"),
    ],
)  # fmt: skip
def test_it_says_what_is_to_blame_and_what_mends_it(resource, state, kind, *, command):
    """Connection, permission, credentials or versions: each with a command to copy."""
    (finding,) = probe({resource: state})
    assert finding.message.startswith(kind)
    assert command in finding.message


def test_one_line_for_each_cause():
    """Many refusals are one sentence, and its command grants them all within an Event's limit."""
    found = probe({PODS: FORBIDDEN_PODS, NODES: FORBIDDEN_PODS, GATEWAYS: UNREACHABLE})
    assert len({each.key for each in found}) == 1
    assert [(str(each.related), each.cause) for each in found] == [
        ("APIResource nodes", "nodes, pods forbidden"),
        (
            "CustomResourceDefinition gateways.gateway.networking.k8s.io",
            "gateways.gateway.networking.k8s.io unreachable",
        ),
    ]
    (everything,) = probe(dict.fromkeys(SHARED_KINDS, FORBIDDEN_PODS))
    assert f"and {len(SHARED_KINDS) - 4} more cannot be read" in everything.message
    assert all(str(each) in everything.message for each in SHARED_KINDS)
    many = dict.fromkeys(FullEvaluationSettings().catalogue.resources, FORBIDDEN_PODS)
    (more,) = probe(many)
    assert ", then " in more.message
    for each in (everything, more):
        assert len(each.message) <= MESSAGE_BYTES - len(" (and 9 more)")
        assert each.message.endswith("--user=<account>")


def test_the_clock_is_that_of_the_one_unknown_for_the_longest():
    """A further refusal does not restart the grace."""
    later = replace(FORBIDDEN_PODS, since=at(-1))
    (finding,) = probe({NODES: later, PODS: FORBIDDEN_PODS})
    assert (finding.related.name, finding.transition) == ("pods", at(-300).wall)


def test_what_a_dump_does_not_hold_is_no_fault():
    """It was not requested; a Status document proves a refused request, without a time."""
    assert probe({PODS: NOT_IN_DUMP, NODES: NOT_READ}) == []
    (finding,) = probe({NODES: ResourceState(Served.UNKNOWN, cause="forbidden")})
    assert finding.transition is None
