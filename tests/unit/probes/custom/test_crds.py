"""CustomResourceDefinitions that users declare."""

from tests.unit.probes.custom.declared import CRDS, found

CRD = {
    "reason": "clusterWidgetCRDMissing",
    "layer": "cluster",
    "crd": {"name": "widgets.example.com"},
}


def test_one_that_is_served_is_nothing():
    assert found(CRD) == []


def test_one_that_is_not_served_is_told():
    """The Event is about the definition, as for those that the stack needs."""
    (finding,) = found(CRD, served=CRDS - {"widgets.example.com"})
    name = "CustomResourceDefinition widgets.example.com"
    assert (str(finding.subject), str(finding.involved), str(finding.related)) == (
        "cluster", name, name,
    )  # fmt: skip
    assert finding.message == f"{name} is not served: install or repair what provides it"


def test_discovery_that_failed_tells_nothing():
    assert found(CRD, served=None) == []
