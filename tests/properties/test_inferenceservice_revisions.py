"""Properties of what KServe propagates, over any Knative Service and any history.

Idempotence is true of a pass with the same inputs: `pass(pass(status)) = pass(status)` for each
Knative Service. It is not true of a service's life, where the second pass of a rollback sees the
route that the first one asked for.
"""

from itertools import product

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from reporter.model.finding import Derived
from reporter.model.objects import Deployment
from reporter.model.subject import ObjectRef
from reporter.stacks.kserve.derived.derive import DerivedInferenceService, derive, differs
from reporter.stacks.kserve.derived.facts import InferenceServiceFacts
from reporter.stacks.kserve.derived.revisions import RevisionHistory, read_component, walk
from reporter.stacks.kserve.objects import (
    Component,
    ComponentStatus,
    InferenceService,
    InferenceServiceStatus,
    KnativeService,
    KnativeServiceStatus,
    Mode,
    TrafficEntry,
)
from tests.unit.probes.building import NOW, SINCE
from tests.unit.stacks.kserve.derived.building import predictor_pod, typed

NAMES = st.sampled_from(["", "v1", "v2", "v3"])
PERCENTS = st.one_of(
    st.none(), st.sampled_from([0, 20, 80, 99, 100, 101, -20]), st.integers(-(2**63), 2**63 - 1)
)
ENTRIES = st.builds(
    TrafficEntry,
    revision_name=NAMES,
    latest_revision=st.sampled_from([True, True, False, None]),
    percent=PERCENTS,
    tag=st.sampled_from(["", "prev"]),
)
HISTORIES = st.builds(RevisionHistory, NAMES, NAMES)
STATUSES = st.sampled_from(["True", "False", "Unknown", "odd"])
SERVICES = st.builds(
    KnativeServiceStatus,
    latest_created_revision_name=NAMES,
    latest_ready_revision_name=NAMES,
    traffic=st.one_of(st.none(), st.lists(ENTRIES, max_size=6).map(tuple)),
    observed_generation=st.integers(0, 9),
)
TYPES = st.sampled_from(
    ["Ready", "PredictorReady", "IngressReady", "RoutesReady", "ConfigurationsReady",
     "TransformerReady", "PredictorRouteReady", "Stopped", "Available", "Progressing", "Odd"]
)  # fmt: skip


WORDS = [
    {},
    {"reason": "RevisionFailed", "message": "text"},
    {"reason": "Two words", "message": "50% %s"},
    {"reason": "ReconcileFailed"},
]


@st.composite
def conditions(draw):
    """Conditions of any types and statuses, one for each type."""
    types = draw(st.lists(TYPES, unique=True, max_size=6))
    return [
        {
            "type": each,
            "status": draw(STATUSES),
            **draw(st.sampled_from(WORDS)),
            "lastTransitionTime": draw(st.sampled_from([SINCE, "2026-11-20T11:00:00Z"])),
            "severity": draw(st.sampled_from(["", "Info"])),
        }
        for each in types
    ]


@st.composite
def knative_services(draw):
    status = msgspec.to_builtins(draw(SERVICES))
    return msgspec.convert(
        {"metadata": {"name": "x"}, "status": {**status, "conditions": draw(conditions())}},
        KnativeService,
    )


@st.composite
def deployments(draw):
    return msgspec.convert(
        {
            "metadata": {"name": draw(st.sampled_from(["p", "p-worker"]))},
            "status": {
                "observedGeneration": draw(st.integers(0, 9)),
                "conditions": draw(conditions()),
            },
        },
        Deployment,
    )


PODS = st.lists(
    st.sampled_from([typed(predictor_pod(name="a", ready=True)), typed(predictor_pod(name="b"))]),
    max_size=2,
    unique_by=lambda each: each.name,
).map(tuple)


@st.composite
def facts(draw):
    """Any stored status over any objects."""
    history = draw(HISTORIES)
    part = ComponentStatus(
        latest_rolledout_revision=history.rolled_out, previous_rolledout_revision=history.previous
    )
    doc = {
        "metadata": {
            "name": "llm",
            "annotations": draw(
                st.sampled_from([{}, {}, {"serving.kserve.io/stop": "true"}])
            ),
        },
        "spec": draw(st.sampled_from([{}, {"transformer": {}}, {"transformer": {}, "explainer": {}}])),
        "status": {
            "deploymentMode": draw(st.sampled_from(["Knative", "Standard", "", "Odd"])),
            "conditions": draw(conditions()),
            "components": {"predictor": msgspec.to_builtins(part)},
        },
    }  # fmt: skip
    services = st.dictionaries(st.sampled_from(list(Component)), knative_services())
    several = st.dictionaries(
        st.sampled_from(list(Component)), st.lists(deployments(), max_size=2).map(tuple)
    )
    inferenceservice = msgspec.convert(doc, InferenceService)
    return InferenceServiceFacts(
        inferenceservice=inferenceservice,
        mode=inferenceservice.named_mode or Mode.KNATIVE,
        services=draw(st.one_of(st.none(), services)),
        deployments=draw(st.one_of(st.none(), several)),
        pods=draw(st.one_of(st.none(), PODS)),
    )


def written(facts_, derivation):
    """The same facts after the derived status was stored."""
    reference = ObjectRef("serving.kserve.io/v1beta1", "InferenceService", "models", "llm")
    status = Derived(reference, derivation.status).dated(NOW).status
    before = facts_.inferenceservice
    after = msgspec.structs.replace(before, status=msgspec.convert(status, InferenceServiceStatus))
    return InferenceServiceFacts(
        inferenceservice=after,
        mode=facts_.mode,
        services=facts_.services,
        deployments=facts_.deployments,
        pods=facts_.pods,
    )


@given(HISTORIES, SERVICES)
def test_a_second_pass_over_the_same_knative_service_changes_nothing(history, service):
    once = walk(history, service)
    assert walk(once, service) == once


def test_the_same_of_every_small_case():
    """All histories of two names and all lists of up to three entries."""
    entries = [
        TrafficEntry(revision_name=name, latest_revision=flag, percent=percent)
        for name, flag, percent in product(("v1", "v2"), (True, False), (None, 0, 40, 60, 100))
    ]
    names = ("", "v1", "v2")
    for size in (1, 2):
        for traffic in product(entries, repeat=size):
            for created, rolled_out, previous in product(names, repeat=3):
                service = KnativeServiceStatus(
                    latest_created_revision_name=created,
                    latest_ready_revision_name="v2",
                    traffic=traffic,
                )
                once = walk(RevisionHistory(rolled_out, previous), service)
                assert walk(once, service) == once


@given(HISTORIES, SERVICES)
def test_a_pass_only_moves_names_that_are_there(history, service):
    """The new lr is the old one, the ready revision or the previous one; the new pr likewise."""
    after = walk(history, service)
    ready = service.latest_ready_revision_name
    assert after.rolled_out in {history.rolled_out, history.previous, ready}
    assert after.previous in {history.rolled_out, history.previous, ready}


@given(HISTORIES, SERVICES)
def test_a_failing_newer_revision_never_rolls_back(history, service):
    """Without a ready newest revision the record moves to the ready one or stays."""
    ready = service.latest_ready_revision_name
    if service.latest_created_revision_name != ready:
        assert walk(history, service).rolled_out in {history.rolled_out, ready}


@given(facts())
def test_a_second_pass_over_the_same_objects_changes_nothing(facts_):
    """The status, its conditions and their times are what the first pass left."""
    once = written(facts_, derive(facts_))
    again = derive(once)
    assert again.status == DerivedInferenceService(propagated=once.inferenceservice.status).status
    assert differs(once.inferenceservice.status, again) == ()


@given(facts())
def test_conditions_are_sorted_and_dated_only_if_they_stay(facts_):
    kept = facts_.inferenceservice.status.conditions or ()
    found = derive(facts_).status.get("conditions", [])
    if derive(facts_).decided:
        assert [each["type"] for each in found] == sorted(each["type"] for each in found)
    for each in found:
        before = next((one for one in kept if one.type == each["type"]), None)
        if "lastTransitionTime" in each:
            assert before is not None
            assert (before.status, before.reason or "") == (
                each.get("status", ""),
                each.get("reason", ""),
            )


@given(HISTORIES, SERVICES, PERCENTS)
def test_reading_never_raises(history, service, percent):
    status = ComponentStatus(
        latest_created_revision=service.latest_created_revision_name,
        latest_ready_revision=service.latest_ready_revision_name,
        latest_rolledout_revision=history.rolled_out,
        previous_rolledout_revision=history.previous,
        traffic=service.traffic,
    )
    assert isinstance(read_component(status, percent), tuple)
