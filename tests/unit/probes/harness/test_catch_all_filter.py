"""The filter that answers requests for unknown models."""

import pytest

from reporter.catalogue.resources import ENVOYFILTERS, GATEWAYS, PODS
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.asking import evaluate_harness
from tests.unit.probes.building import (
    CREATED_AT,
    DELETING,
    FORBIDDEN,
    document,
    healthy_harness,
    replaced,
    snapshot_of,
)

REASON = "modelharnessCatchAllFilterRejected"
HEALTHY = healthy_harness("my-models")
GATEWAY_NAME = "gateway.networking.k8s.io/gateway-name"
MATCHING = {GATEWAY_NAME: "my-models-gw"}
WRONG = {GATEWAY_NAME: "my-modles-gw"}


def envoy_filter(labels, *patches, name="model-not-found-direct"):
    spec = {"spec": {"workloadSelector": {"labels": labels}}}
    return document("EnvoyFilter", name, "my-models", spec, *patches)


def errors(*levels):
    url = "https://istio.io/latest/docs/reference/config/analysis/ist0{}/"
    messages = [
        {"type": {"code": "x"}, "level": level, "documentationUrl": url.format(133 + n)}
        for n, level in enumerate(levels)
    ]
    return {"status": {"validationMessages": messages}}


def probe(*docs, **options):
    evaluation = evaluate_harness(snapshot_of(*docs, **options), FullEvaluationSettings())
    return [each for each in evaluation.findings if each.reason == REASON]


def test_a_generation_that_istio_wrote_as_text_is_no_fault_of_the_object():
    """Its CRDs allow both (`x-kubernetes-int-or-string`); the filter must not be skipped for it."""
    condition = {"type": "Reconciled", "status": "True", "observedGeneration": "1"}
    odd = envoy_filter(WRONG, {"status": {"conditions": [condition]}})
    assert len(probe(*HEALTHY, odd)) == 1


def test_a_selector_that_matches_no_gateway_pod():
    """The usual signal: a typing error in the Gateway's name."""
    (finding,) = probe(*HEALTHY, envoy_filter(WRONG))
    assert str(finding.related) == "EnvoyFilter my-models/model-not-found-direct"
    assert finding.message == (
        "EnvoyFilter my-models/model-not-found-direct selects no pod of the Gateway: its "
        "workloadSelector is gateway.networking.k8s.io/gateway-name=my-modles-gw"
    )
    assert (finding.transition, finding.created) == (None, CREATED_AT)


def test_all_labels_of_the_selector_count():
    assert len(probe(*HEALTHY, envoy_filter({**MATCHING, "app": "x"}))) == 1


def test_an_error_of_istio():
    """With Istio's analysis on, its code is told, without the link it comes from."""
    (finding,) = probe(*HEALTHY, envoy_filter(MATCHING, errors("ERROR", "WARNING")))
    assert finding.message.endswith("was rejected by Istio (IST0133)")
    assert finding.cause == "rejected"


SILENT = {
    "a matching selector and an empty status": [*HEALTHY, envoy_filter(MATCHING)],
    "a warning": [*HEALTHY, envoy_filter(MATCHING, errors("WARNING", "INFO"))],
    "no selector: all pods": [*HEALTHY, envoy_filter({}, {"spec": {"workloadSelector": None}})],
    "no such filter": HEALTHY,
    "another filter": [*HEALTHY, envoy_filter(WRONG, name="bbr-ext-proc")],
    "being deleted": [*HEALTHY, envoy_filter(WRONG, DELETING)],
    "a Gateway without pods": [
        *(each for each in HEALTHY if each["kind"] != "Pod"), envoy_filter(WRONG),
    ],
    "pods of the Gateway on their way out": [
        *replaced(HEALTHY, "Pod", DELETING), envoy_filter(WRONG),
    ],
    "no Gateway": [*(each for each in HEALTHY if each["kind"] != "Gateway"), envoy_filter(WRONG)],
}  # fmt: skip


@pytest.mark.parametrize("name", SILENT)
def test_silent(name):
    """A filter in effect, one that is not there, and one that has nothing to select yet."""
    assert probe(*SILENT[name]) == []


@pytest.mark.parametrize("resource", [ENVOYFILTERS, GATEWAYS, PODS])
def test_unknown(resource):
    """Without Gateways or pods it cannot be told what the selector misses."""
    assert probe(*HEALTHY, envoy_filter(WRONG), unknown={resource: FORBIDDEN}) == []


def test_an_error_is_told_without_pods():
    """What is seen is told, even if another resource is unknown."""
    docs = [*HEALTHY, envoy_filter(MATCHING, errors("ERROR"))]
    assert len(probe(*docs, unknown={PODS: FORBIDDEN})) == 1


def test_one_gateway_of_two_is_enough():
    """The filter belongs to one Gateway; another one has another filter or none."""
    second = [
        *replaced([each for each in HEALTHY if each["kind"] == "Gateway"], "Gateway", {"metadata": {"name": "b"}}),
        *replaced([each for each in HEALTHY if each["kind"] == "Pod"], "Pod", {"metadata": {"name": "b-1", "labels": {GATEWAY_NAME: "b"}}}),
    ]  # fmt: skip
    assert probe(*HEALTHY, *second, envoy_filter(MATCHING)) == []
    assert len(probe(*HEALTHY, *second, envoy_filter(WRONG))) == 1
