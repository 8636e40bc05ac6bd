"""Gateways that no controller has accepted."""

import pytest

from reporter.catalogue.resources import GATEWAYCLASSES, GATEWAYS
from reporter.snapshot.snapshot import ResourceState, Served
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.asking import evaluate_harness
from tests.unit.probes.building import (
    CREATED_AT,
    DELETING,
    FORBIDDEN,
    NOT_IN_DUMP,
    SINCE_AT,
    condition,
    healthy_harness,
    replaced,
    snapshot_of,
)

REASON = "modelharnessGatewayClassMissing"
EPOCH = "1970-01-01T00:00:00Z"
PENDING = [
    condition("Accepted", "Unknown", "Pending", "Waiting for controller", since=EPOCH),
    condition("Programmed", "Unknown", "Pending", "Waiting for controller", since=EPOCH),
]
HEALTHY = healthy_harness("my-models")


def probe(docs, **options):
    evaluation = evaluate_harness(snapshot_of(*docs, **options), FullEvaluationSettings())
    return [each for each in evaluation.findings if each.reason == REASON]


def gateway(*conditions):
    return replaced(HEALTHY, "Gateway", {"status": {"conditions": list(conditions)}})


def without_class(docs=HEALTHY):
    return [each for each in docs if each["kind"] != "GatewayClass"]


def test_a_class_that_does_not_exist():
    """Istio leaves the default conditions, so the class itself is looked for."""
    (finding,) = probe(without_class(gateway(*PENDING)))
    assert str(finding.subject) == "namespace/my-models"
    assert (str(finding.involved), finding.involved.uid) == (
        "Namespace my-models",
        "uid-my-models",
    )
    assert str(finding.related) == "Gateway my-models/my-models-gw"
    assert finding.message == (
        "Gateway my-models/my-models-gw has the class istio, which does not exist"
    )
    assert (finding.transition, finding.created) == (None, CREATED_AT)


def test_a_class_that_is_not_accepted():
    """The class's own condition is the fault, since it changed."""
    refused = condition("Accepted", "False", "InvalidParameters", "no such ConfigMap")
    docs = replaced(HEALTHY, "GatewayClass", {"status": {"conditions": [refused]}})
    (finding,) = probe(docs)
    assert finding.message.endswith(
        "class istio, which is not accepted: InvalidParameters: no such ConfigMap"
    )
    assert finding.transition == SINCE_AT


@pytest.mark.parametrize("conditions", [PENDING, [], [condition("Programmed", "True")]])
def test_a_gateway_that_no_controller_took_up(conditions):
    """A default or missing Accepted counts from creation, never from 1970."""
    (finding,) = probe(gateway(*conditions))
    assert finding.cause == "Accepted stays Unknown"
    assert (finding.transition, finding.created) == (None, CREATED_AT)


@pytest.mark.parametrize(
    ("conditions", "says"),
    [
        (PENDING, "Accepted is Unknown (Pending)"),
        ([condition("Programmed", "True")], "it has no condition Accepted"),
    ],
)
def test_what_is_not_there_is_not_called_unknown(conditions, says):
    """Who looks at the Gateway finds what the message says."""
    (finding,) = probe(gateway(*conditions))
    assert finding.message.endswith(f"class istio, which no controller has accepted: {says}")


@pytest.mark.parametrize("reason", ["NoMatchingParent", "InvalidParameters", "UnsupportedValue"])
def test_a_gateway_that_its_class_does_not_take(reason):
    (finding,) = probe(gateway(condition("Accepted", "False", reason, "no")))
    assert (finding.cause, finding.transition) == (reason, SINCE_AT)


@pytest.mark.parametrize(
    "reason", ["UnsupportedAddress", "ListenersNotValid", "Invalid", "DeprecatedField"]
)
def test_other_reasons_are_about_the_gateway_itself(reason):
    """Accepted=False for another reason says nothing about the class."""
    assert probe(gateway(condition("Accepted", "False", reason, "no"))) == []


def test_unknown_classes():
    """A class that cannot be looked for is not missing; the Gateway's condition still counts."""
    assert probe(without_class(), unknown={GATEWAYCLASSES: FORBIDDEN}) == []
    assert probe(without_class(), unknown={GATEWAYCLASSES: NOT_IN_DUMP}) == []
    assert probe(gateway(*PENDING), unknown={GATEWAYCLASSES: NOT_IN_DUMP}) != []


def test_unknown_gateways():
    assert probe(without_class(), unknown={GATEWAYS: FORBIDDEN}) == []


def test_on_its_way_out():
    """Neither a Gateway nor a Namespace that is being deleted raises anything."""
    docs = without_class()
    assert probe(replaced(docs, "Gateway", DELETING)) == []
    assert probe(replaced(docs, "Namespace", DELETING)) == []


def test_somebody_elses_gateway_is_left_alone():
    """Beside a Gateway of the harness, one without its label is not judged."""
    foreign = {"metadata": {"name": "foreign", "labels": None}, "spec": {"gatewayClassName": "x"}}
    second = replaced([each for each in HEALTHY if each["kind"] == "Gateway"], "Gateway", foreign)
    assert probe([*HEALTHY, *second]) == []


def test_a_gateway_made_by_hand_is_judged():
    docs = replaced(without_class(), "Gateway", {"metadata": {"labels": None}})
    assert len(probe(docs)) == 1


def test_a_class_is_not_missed_where_the_kind_is_not_served():
    """Without the GatewayClass CRD nothing can be said of a class; accepted Gateways go on."""
    absent = {GATEWAYCLASSES: ResourceState(Served.ABSENT)}
    assert probe(without_class(), unknown=absent) == []
    assert len(probe(without_class())) == 1
