"""Gateways of a workload namespace: class, programming, pods, and Ready."""

from datetime import timedelta

import pytest

from reporter.catalogue.resources import DEPLOYMENTS, GATEWAYCLASSES, GATEWAYS, NAMESPACES, PODS
from reporter.model.finding import KnownSubject
from reporter.model.subject import Subject
from reporter.snapshot.snapshot import ResourceState, Served
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import rows
from tests.unit.probes.asking import evaluate_harness
from tests.unit.probes.building import (
    CREATED_AT,
    DELETING,
    FORBIDDEN,
    NOT_IN_DUMP,
    SINCE_AT,
    condition,
    healthy_harness,
    namespace,
    replaced,
    says,
    snapshot_of,
    waiting,
)

CLASS, PROGRAMMING, DATA_PLANE = (
    f"modelharnessGateway{each}" for each in ("ClassMissing", "ProgrammingFailed", "DataPlaneNotReady")
)  # fmt: skip
HEALTHY = healthy_harness("my-models")
GATEWAY, PLANE = "Gateway my-models/my-models-gw", "Deployment my-models/my-models-gw-istio"
EPOCH = "1970-01-01T00:00:00Z"
PENDING = [
    condition(each, "Unknown", "Pending", "Waiting for controller", since=EPOCH)
    for each in ("Accepted", "Programmed")
]
ACCEPTED, PROGRAMMED = condition("Accepted", "True", "Accepted"), condition("Programmed", "True")
NOT_USABLE = condition("Programmed", "False", "AddressNotUsable", "port 80 not found")
NO_INSTANCES = condition("Programmed", "False", "AddressNotAssigned", "no instances found")
ADDRESS_PENDING = condition(
    "Programmed", "False", "AddressNotAssigned",
    'Assigned to service(s) gw:80, but failed to assign to all requested addresses: address pending for hostname "gw"',
)  # fmt: skip
UNRESOLVED = condition("ResolvedRefs", "False", "RefNotPermitted")
INVALID = condition("Programmed", "False", "Invalid")
REFUSED = condition("Accepted", "False", "InvalidParameters", "no such ConfigMap")
NOT_READY_POD = {"status": {"conditions": [condition("Ready", "False")]}}
NONE_READY = {
    "status": {"readyReplicas": 0, "availableReplicas": 0, "conditions": [condition("Available", "False")]}
}  # fmt: skip
TWO = {"spec": {"replicas": 2}, "status": {"replicas": 2, "updatedReplicas": 2}}
UNLABELLED = {"metadata": {"labels": None}}
DISOWNED = {"metadata": {"labels": {"kaito.sh/owned-by": None}}}


def gateway(*conditions, docs=HEALTHY):
    return replaced(docs, "Gateway", {"status": {"conditions": list(conditions)}})


def listening(programmed, *conditions, name="http"):
    """An accepted Gateway with a listener that has these conditions."""
    listener = {"name": name, "conditions": list(conditions)}
    status = {"conditions": [ACCEPTED, programmed], "listeners": [listener]}
    return replaced(HEALTHY, "Gateway", {"status": status})


def without(kind, docs=HEALTHY):
    return [each for each in docs if each["kind"] != kind]


def plane(*patches, docs=HEALTHY):
    return replaced(docs, "Deployment", *patches)


def another_gateway(**patch):
    docs = [each for each in HEALTHY if each["kind"] == "Gateway"]
    return [*HEALTHY, *replaced(docs, "Gateway", patch)]


def evaluate(docs, settings=None, **options):
    return evaluate_harness(snapshot_of(*docs, **options), settings or FullEvaluationSettings())


def told(reason, docs, **options):
    return [each for each in evaluate(docs, **options).findings if each.reason == reason]


NO_PODS = replaced(plane(NONE_READY), "Pod", NOT_READY_POD, waiting("ImagePullBackOff"))
CRASHED = plane(NONE_READY, docs=replaced(listening(NO_INSTANCES), "Pod", NOT_READY_POD, waiting("CrashLoopBackOff")))  # fmt: skip
NOBODY = f"{GATEWAY} has the class istio, which no controller has accepted: "


@rows(
    ("reason", "docs", "cause", "since", "text"),
    {
        "no class: Istio leaves the default conditions": (
            CLASS, without("GatewayClass", gateway(*PENDING)), "GatewayClass missing", None,
            f"{GATEWAY} has the class istio, which does not exist",
        ),
        "no class, of a Gateway made by hand": (CLASS, replaced(without("GatewayClass"), "Gateway", UNLABELLED), "GatewayClass missing", None, ""),
        "a class that is not accepted": (
            CLASS, replaced(HEALTHY, "GatewayClass", {"status": {"conditions": [REFUSED]}}), "GatewayClass not accepted", SINCE_AT,
            "class istio, which is not accepted: InvalidParameters: no such ConfigMap",
        ),
        "no controller: it counts from creation, never from 1970": (
            CLASS, gateway(*PENDING), "Accepted stays Unknown", None, f"{NOBODY}Accepted is Unknown (Pending)",
        ),
        "no controller, no conditions": (CLASS, gateway(), "Accepted stays Unknown", None, f"{NOBODY}..."),
        "no controller, another condition": (CLASS, gateway(PROGRAMMED), "Accepted stays Unknown", None, f"{NOBODY}it has no condition Accepted"),
        **{
            f"not taken: {each}": (CLASS, gateway(condition("Accepted", "False", each, "no")), each, SINCE_AT, "")
            for each in ("NoMatchingParent", "InvalidParameters", "UnsupportedValue")
        },
        "not programmed": (
            PROGRAMMING, listening(NOT_USABLE), "AddressNotUsable", SINCE_AT,
            f"{GATEWAY} could not be programmed: AddressNotUsable: port 80 not found",
        ),
        "no endpoints": (PROGRAMMING, listening(NO_INSTANCES), "AddressNotAssigned", SINCE_AT, "no instances found"),
        "no instances, since its pods crash": (
            PROGRAMMING, CRASHED, "CrashLoopBackOff", SINCE_AT,
            f"...AddressNotAssigned: no instances found; {PLANE.replace(' my-models/', ' ')} has no ready pod: CrashLoopBackOff (pod my-models-gw-...",
        ),
        **{
            f"a listener: {type_}": (
                PROGRAMMING, listening(PROGRAMMED, condition(type_, status, why), name="https"), f"listener https: {why}", SINCE_AT,
                f"listener https: {type_} is {status}, {why}",
            )
            for type_, status, why in (("Conflicted", "True", "HostnameConflict"), ("ResolvedRefs", "False", "InvalidCertificateRef"), ("Programmed", "False", "Invalid"))
        },
        "several": (
            PROGRAMMING, listening(NOT_USABLE, UNRESOLVED, INVALID), "AddressNotUsable", SINCE_AT,
            "AddressNotUsable: port 80 not found (and 2 more of its conditions)",
        ),
        "several, in another order": (
            PROGRAMMING, listening(NOT_USABLE, INVALID, UNRESOLVED), "AddressNotUsable", SINCE_AT, "(and 2 more of its conditions)",
        ),
        "a listener behind a pending address": (PROGRAMMING, listening(ADDRESS_PENDING, UNRESOLVED), "listener http: RefNotPermitted", SINCE_AT, ""),
        "no ready pod": (
            DATA_PLANE, NO_PODS, "ImagePullBackOff", SINCE_AT,
            f"{PLANE} of Gateway my-models-gw has no ready pod: ImagePullBackOff (pod my-models-gw-istio-1: ...",
        ),
        "scaled to zero": (DATA_PLANE, plane(NONE_READY, {"spec": {"replicas": 0}}), "scaled to zero", None, ""),
        "without the label of its owner": (DATA_PLANE, plane(NONE_READY, DISOWNED), "not ready", SINCE_AT, ""),
    },
)  # fmt: skip
def test_told(reason, docs, cause, *, since, text):
    """The subject is the namespace, the object at fault is named, and the grace is usual."""
    (finding,) = told(reason, docs)
    assert str(finding.subject) == "namespace/my-models"
    assert (str(finding.involved), finding.involved.uid) == ("Namespace my-models", "uid-my-models")
    assert str(finding.related) == (PLANE if reason == DATA_PLANE else GATEWAY)
    assert (finding.cause, finding.transition, finding.created) == (cause, since, CREATED_AT)
    assert finding.budget is None
    assert says(finding.message, text)


@rows(
    ("reason", "docs", "options"),
    {
        **{
            f"another reason of Accepted: {each}": (CLASS, gateway(condition("Accepted", "False", each, "no")), {})
            for each in ("UnsupportedAddress", "ListenersNotValid", "Invalid", "DeprecatedField")
        },
        "a class that cannot be read": (CLASS, without("GatewayClass"), {GATEWAYCLASSES: FORBIDDEN}),
        "a class that was not dumped": (CLASS, without("GatewayClass"), {GATEWAYCLASSES: NOT_IN_DUMP}),
        "classes are not served": (CLASS, without("GatewayClass"), {GATEWAYCLASSES: ResourceState(Served.ABSENT)}),
        "Gateways that cannot be read": (CLASS, without("GatewayClass"), {GATEWAYS: FORBIDDEN}),
        "no class, of a Gateway that goes": (CLASS, replaced(without("GatewayClass"), "Gateway", DELETING), {}),
        "no class, in a namespace that goes": (CLASS, replaced(without("GatewayClass"), "Namespace", DELETING), {}),
        "somebody else's beside one of the harness": (
            CLASS, another_gateway(metadata={"name": "foreign", "labels": None}, spec={"gatewayClassName": "x"}), {},
        ),
        "programmed": (PROGRAMMING, HEALTHY, {}),
        "not judged yet": (PROGRAMMING, listening(condition("Programmed", "Unknown", "Pending")), {}),
        "no condition": (PROGRAMMING, gateway(ACCEPTED), {}),
        "a listener that is not judged yet": (
            PROGRAMMING, listening(PROGRAMMED, condition("ResolvedRefs", "Unknown"), condition("Programmed", "Unknown")), {},
        ),
        "a listener without conflict": (PROGRAMMING, listening(PROGRAMMED, condition("Conflicted", "False")), {}),
        "being deleted": (PROGRAMMING, replaced(listening(NOT_USABLE), "Gateway", DELETING), {}),
        "in a namespace being deleted": (PROGRAMMING, replaced(listening(NOT_USABLE), "Namespace", DELETING), {}),
        "not programmed, and cannot be read": (PROGRAMMING, listening(NOT_USABLE), {GATEWAYS: FORBIDDEN}),
        "ready": (DATA_PLANE, HEALTHY, {}),
        "one pod of two is ready": (DATA_PLANE, plane(TWO), {}),
        "not programmed: another reason covers it": (DATA_PLANE, gateway(condition("Programmed", "False"), docs=plane(NONE_READY)), {}),
        "no ready pod of what is not judged yet": (DATA_PLANE, gateway(condition("Programmed", "Unknown"), docs=plane(NONE_READY)), {}),
        "no Deployment with the Gateway's label": (DATA_PLANE, plane(NONE_READY, UNLABELLED), {}),
        "a Gateway being deleted": (DATA_PLANE, replaced(plane(NONE_READY), "Gateway", DELETING), {}),
        "a Deployment being deleted": (DATA_PLANE, plane(NONE_READY, DELETING), {}),
        "Deployments that cannot be read": (DATA_PLANE, plane(NONE_READY), {DEPLOYMENTS: FORBIDDEN}),
    },
)  # fmt: skip
def test_silent(reason, docs, options):
    """Works, is not judged yet, is being deleted, or belongs to another reason."""
    assert told(reason, docs, unknown=options) == []


def test_what_is_seen_is_told_although_something_else_is_unknown():
    assert told(CLASS, gateway(*PENDING), unknown={GATEWAYCLASSES: NOT_IN_DUMP})
    (finding,) = told(DATA_PLANE, plane(NONE_READY), unknown={PODS: FORBIDDEN})
    assert finding.cause == "not ready"


@pytest.mark.parametrize(("settings", "seconds"), [({}, 300), ({"grace": {"load-balancer": 20}}, 20)])  # fmt: skip
def test_a_pending_address_has_a_budget(settings, seconds):
    """A cloud takes minutes to build a load balancer."""
    docs = listening(ADDRESS_PENDING)
    (finding,) = told(PROGRAMMING, docs, settings=FullEvaluationSettings(**settings))
    assert (finding.cause, finding.transition) == ("address pending", SINCE_AT)
    assert finding.budget == timedelta(seconds=seconds)


def test_a_healthy_harness_is_ready():
    """The Gateway is programmed and served; the evidence refers to the Namespace."""
    evaluation = evaluate(HEALTHY)
    (ready,) = evaluation.ready
    assert evaluation.findings == ()
    assert evaluation.subjects == (KnownSubject(Subject.of_namespace("my-models"), CREATED_AT),)
    assert (ready.reason, str(ready.subject)) == ("modelharnessReady", "namespace/my-models")
    assert (str(ready.involved), ready.involved.uid) == ("Namespace my-models", "uid-my-models")
    assert ready.message == (
        "Namespace my-models is ready: Gateway my-models-gw programmed, data plane ready"
    )


@rows(
    ("docs", "unknown", "ready"),
    {
        "no Gateway": ([namespace("my-models", managed=True)], {}, False),
        "not programmed": (gateway(condition("Programmed", "False")), {}, False),
        "not judged yet": (gateway(condition("Programmed", "Unknown")), {}, False),
        "no ready replica": (plane({"status": {"readyReplicas": 0}}), {}, False),
        "no data plane": (without("Deployment"), {}, False),
        "the only Gateway is being deleted": (replaced(HEALTHY, "Gateway", DELETING), {}, False),
        "one Gateway of two": (another_gateway(metadata={"name": "second"}), {}, False),
        "Gateways cannot be read": (HEALTHY, {GATEWAYS: FORBIDDEN}, False),
        "Deployments cannot be read": (HEALTHY, {DEPLOYMENTS: FORBIDDEN}, False),
        "pods only explain faults": (HEALTHY, {PODS: FORBIDDEN}, True),
    },
)
def test_ready(docs, unknown, ready):
    evaluation = evaluate(docs, unknown=unknown)
    assert bool(evaluation.ready) is ready
    assert len(evaluation.subjects) == 1
    assert not (unknown and evaluation.findings)


@rows(
    ("patch", "unknown"),
    {
        "terminating": (DELETING, {}),
        "unlabelled": (UNLABELLED, {}),
        "cannot be read": ({}, {NAMESPACES: FORBIDDEN}),
    },
)
def test_no_subject(patch, unknown):
    found = evaluate(replaced(HEALTHY, "Namespace", patch), unknown=unknown)
    assert (found.findings, found.ready, found.subjects) == ((), (), ())
