"""Labels and selectors of the objects of a ModelService."""

import pytest

from tests.unit.stacks.otterscale.manifests import labels
from tests.unit.stacks.otterscale.manifests.building import documents, service


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("Deployment", "a.b-decode", labels.role_metadata("a.b", "decode", "devel")),
        ("Deployment", "a.b-prefill", labels.role_metadata("a.b", "prefill", "devel")),
        ("PodMonitor", "a.b-prefill", labels.role_metadata("a.b", "prefill", "devel")),
        ("Deployment", "a-b-epp", labels.epp_metadata("a.b", "devel")),
        ("ConfigMap", "a-b-epp-config", labels.epp_metadata("a.b", "devel")),
        ("Secret", "a-b-epp-sa-metrics-reader-secret", labels.epp_metadata("a.b", "devel")),
        ("ClusterRole", "models-a-b-epp", labels.epp_metadata("a.b", "devel")),
        ("DestinationRule", "a-b-epp", labels.epp_metadata("a.b", "devel")),
        ("ServiceMonitor", "a-b-epp", labels.epp_metadata("a.b", "devel")),
        ("InferencePool", "a.b", labels.routing_metadata("a.b", "devel")),
        ("HTTPRoute", "a.b", labels.routing_metadata("a.b", "devel")),
    ],
)
def test_which_object_has_which(kind, name, expected):
    made = documents(FULL)
    assert made[kind, name]["metadata"]["labels"] == expected


FULL = service(
    "a.b",
    prefill={},
    inferencePool={"endpointPicker": {}},
    monitoring={"podMonitor": {"enabled": True}},
)
