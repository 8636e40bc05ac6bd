"""Gateways that could not be programmed."""

from datetime import timedelta

import pytest

from reporter.catalogue.resources import GATEWAYS
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.asking import evaluate_harness
from tests.unit.probes.building import (
    CREATED_AT,
    DELETING,
    FORBIDDEN,
    SINCE_AT,
    condition,
    healthy_harness,
    replaced,
    snapshot_of,
    waiting,
)

REASON = "modelharnessGatewayProgrammingFailed"
HEALTHY = healthy_harness("my-models")
ACCEPTED = condition("Accepted", "True", "Accepted")
NOT_READY_POD = {"status": {"conditions": [condition("Ready", "False")]}}
PROGRAMMED = condition("Programmed", "True", "Programmed")
NOT_USABLE = condition("Programmed", "False", "AddressNotUsable", "port 80 not found")
ADDRESS_PENDING = condition(
    "Programmed", "False", "AddressNotAssigned",
    'Assigned to service(s) gw:80, but failed to assign to all requested addresses: address pending for hostname "gw"',
)  # fmt: skip


def probe(docs, settings=None, **options):
    evaluation = evaluate_harness(
        snapshot_of(*docs, **options), settings or FullEvaluationSettings()
    )
    return [each for each in evaluation.findings if each.reason == REASON]


def gateway(programmed, *listener_conditions, name="http"):
    listener = {"name": name, "conditions": list(listener_conditions)}
    status = {"conditions": [ACCEPTED, programmed], "listeners": [listener]}
    return replaced(HEALTHY, "Gateway", {"status": status})


def test_not_programmed():
    (finding,) = probe(gateway(NOT_USABLE))
    assert str(finding.related) == "Gateway my-models/my-models-gw"
    assert finding.message == (
        "Gateway my-models/my-models-gw could not be programmed: "
        "AddressNotUsable: port 80 not found"
    )
    assert (finding.transition, finding.created) == (SINCE_AT, CREATED_AT)
    assert finding.budget is None


def test_a_pending_address_has_a_budget():
    """A cloud takes minutes to build a load balancer."""
    (finding,) = probe(gateway(ADDRESS_PENDING))
    assert (finding.cause, finding.transition) == ("address pending", SINCE_AT)
    assert finding.budget == timedelta(seconds=300)
    settings = FullEvaluationSettings(load_balancer_budget_seconds=20)
    (finding,) = probe(gateway(ADDRESS_PENDING), settings)
    assert finding.budget == timedelta(seconds=20)


def test_a_service_without_endpoints_has_no_budget():
    """The same reason with another text is a fault like any other."""
    (finding,) = probe(
        gateway(condition("Programmed", "False", "AddressNotAssigned", "no instances found"))
    )
    assert finding.budget is None


def test_a_gateway_without_instances_is_told_with_its_pods():
    """Its address is missing because its pods crash: that is what there is to look at."""
    none = {"status": {"readyReplicas": 0, "availableReplicas": 0}}
    crashed = waiting("CrashLoopBackOff")
    docs = gateway(condition("Programmed", "False", "AddressNotAssigned", "no instances found"))
    docs = replaced(replaced(docs, "Deployment", none), "Pod", NOT_READY_POD, crashed)
    (finding,) = probe(docs)
    assert finding.cause == "CrashLoopBackOff"
    assert "AddressNotAssigned: no instances found; Deployment my-models-gw-" in finding.message
    assert "has no ready pod: CrashLoopBackOff (pod my-models-gw-" in finding.message


@pytest.mark.parametrize(
    "bad",
    [
        condition("Conflicted", "True", "HostnameConflict"),
        condition("ResolvedRefs", "False", "InvalidCertificateRef"),
        condition("Programmed", "False", "Invalid"),
    ],
    ids=lambda each: each["type"],
)
def test_a_listener(bad):
    """A listener can fail while the Gateway as a whole is programmed."""
    (finding,) = probe(gateway(PROGRAMMED, bad, name="https"))
    assert f"listener https: {bad['type']} is {bad['status']}, {bad['reason']}" in finding.message
    assert finding.cause == f"listener https: {bad['reason']}"
    assert finding.transition == SINCE_AT


def test_the_worst_condition_is_told_and_the_others_counted():
    """One finding a Gateway; a listener's fault is not hidden behind a pending address."""
    unresolved = condition("ResolvedRefs", "False", "RefNotPermitted")
    invalid = condition("Programmed", "False", "Invalid")
    (finding,) = probe(gateway(NOT_USABLE, unresolved, invalid))
    assert "AddressNotUsable: port 80 not found (and 2 more of its conditions)" in finding.message
    (finding,) = probe(gateway(ADDRESS_PENDING, unresolved))
    assert finding.cause == "listener http: RefNotPermitted"
    assert finding.budget is None
    assert probe(gateway(NOT_USABLE, unresolved, invalid)) == probe(
        gateway(NOT_USABLE, invalid, unresolved)
    )


SILENT = {
    "programmed": HEALTHY,
    "not judged yet": gateway(condition("Programmed", "Unknown", "Pending")),
    "no condition": replaced(HEALTHY, "Gateway", {"status": {"conditions": [ACCEPTED]}}),
    "a listener that is not judged yet": gateway(
        PROGRAMMED, condition("ResolvedRefs", "Unknown"), condition("Programmed", "Unknown")
    ),
    "a listener without conflict": gateway(PROGRAMMED, condition("Conflicted", "False")),
    "being deleted": replaced(gateway(NOT_USABLE), "Gateway", DELETING),
    "in a namespace being deleted": replaced(gateway(NOT_USABLE), "Namespace", DELETING),
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(name):
    """What is programmed, not judged yet, or on its way out."""
    assert probe(SILENT[name]) == []


def test_unknown():
    assert probe(gateway(NOT_USABLE), unknown={GATEWAYS: FORBIDDEN}) == []
