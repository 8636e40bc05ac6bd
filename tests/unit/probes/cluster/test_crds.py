"""CustomResourceDefinitions that are required, and those that are not."""

import dataclasses

import pytest

from reporter.catalogue.reasons import CLUSTER_CRD_MISSING
from reporter.probes.cluster.crds import probe_crds, required_crds
from reporter.setting_types import StackMode
from reporter.snapshot.snapshot import Discovery
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import SUPPRESSION, Stack
from tests.unit.probes.asking import scope
from tests.unit.probes.building import ALL_CRDS, snapshot_of

DEFAULTS = FullEvaluationSettings()

REQUIRED = {
    "gateways.gateway.networking.k8s.io": {"istiod_deployment": ""},
    "httproutes.gateway.networking.k8s.io": {"istio_namespace": ()},
    "envoyfilters.networking.istio.io": {"istiod_deployment": ""},
    "authorizationpolicies.security.istio.io": {"istiod_deployment": ""},
    "inferencesets.kaito.sh": {"kaito_deployment": ""},
    "workspaces.kaito.sh": {"kaito_namespace": ()},
    "inferencepools.inference.networking.k8s.io": {"kaito_deployment": ""},
    "apikeys.kaito.sh": {"gateway_auth_deployment": ""},
    "scaledobjects.keda.sh": {"keda_namespace": ()},
    "clustertriggerauthentications.keda.sh": {"keda_namespace": ()},
}


def missing(served, settings=DEFAULTS):
    return list(probe_crds(scope(snapshot_of(served=served), settings)))


def test_the_required_crds():
    """Exactly the ones whose objects the charts make or the reporter reads."""
    assert {each.name for each in required_crds(DEFAULTS)} == set(REQUIRED)


@pytest.mark.parametrize("name", REQUIRED)
def test_a_required_crd_that_is_not_served(name):
    """One finding about that CRD; it governs whatever needs the kind."""
    (finding,) = missing(ALL_CRDS - {name})
    assert finding.reason == "clusterCRDMissing"
    assert str(finding.involved) == f"CustomResourceDefinition {name}"
    assert finding.involved.api_version == "apiextensions.k8s.io/v1"
    assert name in finding.message
    assert finding.governs
    assert (finding.transition, finding.created) == (None, None)


@pytest.mark.parametrize("name", REQUIRED)
def test_a_crd_of_a_component_that_is_switched_off(name):
    """What a set did not ask for is not missed."""
    assert missing(ALL_CRDS - {name}, FullEvaluationSettings(**REQUIRED[name])) == []


def test_each_missing_crd_has_a_finding_of_its_own():
    """An empty cluster misses all of them, each under its own key."""
    found = missing(frozenset())
    assert len({each.key for each in found}) == len(REQUIRED)


@pytest.mark.parametrize(
    "name",
    [
        "inferenceobjectives.inference.networking.x-k8s.io",
        "inferencemodelrewrites.inference.networking.x-k8s.io",
        "destinationrules.networking.istio.io",
        "ciliumnetworkpolicies.cilium.io",
        "nodeclaims.karpenter.sh",
        "modelmirrors.kaito.sh",
    ],
)
def test_crds_off_the_list_are_not_required(name):
    """To require them would warn for ever on healthy clusters."""
    assert missing(ALL_CRDS - {name}) == []


def test_discovery_that_failed_is_no_evidence():
    """9.B.34: a failed call does not make every CRD missing."""
    assert missing(None) == []


def test_a_group_whose_discovery_failed_is_no_evidence():
    """9.B.34: nor does one stale group; the other groups are still judged."""
    snapshot = dataclasses.replace(
        snapshot_of(), discovery=Discovery(frozenset(), frozenset({"kaito.sh", "keda.sh"}))
    )
    groups = {each.related.name.partition(".")[2] for each in probe_crds(scope(snapshot, DEFAULTS))}
    assert "gateway.networking.k8s.io" in groups
    assert not groups & {"kaito.sh", "keda.sh"}


def test_every_row_of_the_suppression_table_can_fire():
    """A row for a CRD that is never missed would be dead."""
    rows = {row.crd for row in SUPPRESSION if row.upstream == CLUSTER_CRD_MISSING}
    every = FullEvaluationSettings(stacks=dict.fromkeys(Stack, StackMode.ON))
    assert rows <= {each.name for each in required_crds(every)}
