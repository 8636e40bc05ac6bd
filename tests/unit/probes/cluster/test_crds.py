"""Required CustomResourceDefinitions."""

import dataclasses

import pytest

from reporter.catalogue.reasons import CLUSTER_CRD_MISSING
from reporter.catalogue.resources import GATEWAYCLASSES
from reporter.probes.cluster.parts import probe_crds, required_crds
from reporter.setting_types import PartMode, StackMode
from reporter.snapshot.snapshot import Discovery
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import SUPPRESSION, Stack
from tests.unit.probes.asking import scope
from tests.unit.probes.building import (
    ALL_CRDS,
    ALL_ON,
    FORBIDDEN,
    condition,
    document,
    snapshot_of,
)

DEFAULTS = FullEvaluationSettings()
ON = FullEvaluationSettings(components=ALL_ON)

LISTED = {each.name for each in required_crds(DEFAULTS)}
"""Which they are is said by docs/compatibility.md, to which tests/unit/docs holds them."""

REQUIRED = sorted(each.name for each in required_crds(ON) if each.mode is PartMode.ON)
"""Those without which a part does not work, whatever uses it."""


def missing(served, settings=ON):
    return list(probe_crds(scope(snapshot_of(served=served), settings)))


def test_a_required_crd_that_is_not_served():
    """One finding about that CRD; it governs whatever needs the kind."""
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
    """What a set did not ask for is not missed, whichever way it is left out."""
    required = [
        frozenset(each.part for each in required_crds(FullEvaluationSettings(**switch)))
        for switch in switches
    ]
    (left,) = {*required}
    assert left < {each.part for each in required_crds(DEFAULTS)}


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
    """A failed call does not make every CRD missing."""
    assert missing(None) == []


def test_a_group_whose_discovery_failed_is_no_evidence():
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
    docs = [
        {
            "kind": "Gateway",
            "metadata": {
                "name": "gw",
                "namespace": "models",
                "labels": {"kaito.sh/owned-by": "modelharness"},
            },
            "spec": {"gatewayClassName": name},
        }
    ]
    if controller:
        spec = {"controllerName": controller}
        docs.append({"kind": "GatewayClass", "metadata": {"name": name}, "spec": spec})
    of_istio = {each for each in ALL_CRDS if each.endswith(".istio.io")}
    snapshot = snapshot_of(*docs, served=ALL_CRDS - of_istio, unknown=unknown)
    found = {each.involved.name for each in probe_crds(scope(snapshot, DEFAULTS))}
    assert (
        found == {"authorizationpolicies.security.istio.io", "envoyfilters.networking.istio.io"}
        if missed
        else not found & of_istio
    )


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
    """Anybody may write one; what needs the kind is told, and where all of that is."""
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
        found = {each.involved.name: each for each in probe_crds(scope(snapshot, DEFAULTS))}
        assert (found[gone].sole_place if gone in found else None) == expected
