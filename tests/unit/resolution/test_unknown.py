"""What is unknown, and what may be said all the same."""

from dataclasses import replace

import pytest

from reporter.catalogue.resources import DEPLOYMENTS, NAMESPACES, NODES, PODS
from reporter.model.finding import FindingKey
from reporter.model.report import SkippedObject, UnknownResource
from reporter.model.subject import CLUSTER, Subject
from reporter.resolution.unknown import (
    confirmed,
    existence_known,
    reads_unknown,
    skipped_subjects,
    unknown_resources,
    verdict_unknown,
)
from reporter.snapshot.snapshot import Discovery, ResourceState, Served, Snapshot
from reporter.stacks import BUILT_IN
from reporter.stacks.kaito.reasons import INFERENCESETS
from tests.tables import rows
from tests.unit.resolution.building import HARNESS, MODEL, crd, namespace, snapshot

CRD_MISSING, POD_FAULT = "clusterCRDMissing", "inferencesetModelPodsNotReady"
READ = sorted(BUILT_IN[POD_FAULT].reads, key=str)


def skipped(resource, place="demo", name="x"):
    """A malformed object."""
    return SkippedObject(str(resource), place, name, "spec is missing")


def lines(*found, incomplete=(), states=None):
    """What is listed as unknown of a cluster whose nodes and pods are served."""
    states = states or dict.fromkeys((NODES, PODS), ResourceState(Served.SERVED))
    seen = Snapshot(states=states, skipped=found, incomplete=dict(incomplete))
    return [(each.resource, each.cause) for each in unknown_resources(seen)]


@pytest.mark.parametrize(
    ("served", "listed"),
    [(Served.SERVED, False), (Served.ABSENT, False), (Served.UNKNOWN, True)],
    ids=str,
)
def test_what_could_not_be_read_is_listed(served, listed):
    states = {PODS: ResourceState(served, cause="forbidden")}
    assert lines(states=states) == ([("pods", "forbidden")] if listed else [])


def test_what_is_not_all_there_is_listed_with_why():
    letters = "abcdefghij"
    found = lines(incomplete={letter: f"cut {letter}" for letter in reversed(letters)})
    assert found == [(letter, f"cut {letter}") for letter in letters]
    assert unknown_resources(Snapshot(incomplete={"a": "cut"})) == (UnknownResource("a", "cut"),)


@rows(
    ("found", "expected"),
    {
        "without a name": (
            skipped(PODS, name=""),
            [("pods", "an object of namespace demo has no readable name")],
        ),
        "without a name or a namespace": (
            skipped(NODES, "", ""),
            [("nodes", "an object has no readable name")],
        ),
        "with a name": (skipped(PODS), []),
        "of what is not read, without a name": (skipped(DEPLOYMENTS, name=""), []),
        "of what is not read": (skipped(DEPLOYMENTS), []),
    },
)
def test_an_object_without_a_name_may_be_any(found, expected):
    assert lines(found) == expected


def test_what_is_not_all_there_is_listed_once():
    """Objects without names say no more."""
    assert lines(skipped(PODS, name=""), incomplete={"pods": "cut"}) == [("pods", "cut")]


@pytest.mark.parametrize(
    ("found", "subject"),
    [
        (skipped(INFERENCESETS), Subject(MODEL.kind, "demo", "x")),
        (skipped(INFERENCESETS, name=""), None),
        (skipped(DEPLOYMENTS), None),
        (skipped("other.example.com"), None),
        (skipped("other.example.com", name=""), None),
    ],
    ids=["a subject", "without a name", "no subject", "of another kind", "of another, no name"],
)
def test_a_malformed_subject_exists(found, subject):
    seen = replace(snapshot(), skipped=(found,))
    assert skipped_subjects(seen) == ({subject} if subject else set())


def verdict(seen, *at_fault, reason=POD_FAULT, involved=None):
    """Whether something is unknown that a verdict rests on."""
    key = FindingKey(reason, MODEL, involved or namespace("demo"))
    return verdict_unknown(key, at_fault, seen, catalogue=BUILT_IN)


@pytest.mark.parametrize("resource", READ, ids=str)
def test_a_verdict_rests_on_all_that_its_reason_reads(resource):
    pod = PODS.ref_named("demo", "x")
    assert not verdict(snapshot(), pod)
    assert verdict(snapshot(unknown=[resource]), pod)
    assert reads_unknown(BUILT_IN[POD_FAULT], snapshot(unknown=[resource]))
    assert not reads_unknown(BUILT_IN[POD_FAULT], snapshot())


@pytest.mark.parametrize(
    ("names", "unknown"),
    [(["x"], True), (["y"], False), (["y", "x"], True), ([], False)],
    ids=["it", "another", "one of two", "none"],
)
def test_a_verdict_on_what_is_malformed_is_unknown(names, unknown):
    seen = replace(snapshot(), skipped=(skipped(PODS),))
    assert verdict(seen, *(PODS.ref_named("demo", each) for each in names)) is unknown


@pytest.mark.parametrize(
    ("discovery", "unknown"),
    [
        (Discovery(), True),
        (Discovery(frozenset()), False),
        (Discovery(frozenset({"x.example.com"})), False),
        (Discovery(frozenset(), unknown_groups=frozenset({"example.com"})), True),
        (Discovery(frozenset(), unknown_groups=frozenset({"other.com"})), False),
    ],
    ids=["no answer", "absent", "served", "its group is stale", "another group is stale"],
)
@pytest.mark.parametrize("seen", [snapshot(), Snapshot()], ids=["all is read", "nothing is read"])
def test_a_verdict_on_a_definition_rests_on_discovery(seen, discovery, unknown):
    involved = crd("x.example.com")
    seen = replace(seen, discovery=discovery)
    assert verdict(seen, involved, reason=POD_FAULT, involved=involved) is unknown
    assert verdict(seen, involved, reason=CRD_MISSING, involved=involved) is unknown


@rows(
    ("reason", "seen", "expected"),
    {
        "all is confirmed": (POD_FAULT, snapshot(), True),
        "discovery is not, and is not asked": (POD_FAULT, snapshot(discovered=False), True),
        "what it reads is not": (POD_FAULT, snapshot(unconfirmed=[PODS]), False),
        "what its upstreams read is not": (POD_FAULT, snapshot(unconfirmed=[DEPLOYMENTS]), False),
        "discovery is confirmed": (CRD_MISSING, snapshot(), True),
        "discovery is not": (CRD_MISSING, snapshot(discovered=False), False),
    },
)
def test_a_verdict_changes_on_what_is_confirmed(reason, seen, expected):
    """Else a symptom could be told before its cause."""
    assert confirmed(reason, seen, BUILT_IN) is expected


@rows(
    ("subject", "seen", "known"),
    {
        "the cluster is never gone": (CLUSTER, snapshot(), False),
        "a namespace": (HARNESS, snapshot(), True),
        "models are unknown": (HARNESS, snapshot(unknown=[INFERENCESETS]), True),
        "namespaces are unknown": (HARNESS, snapshot(unknown=[NAMESPACES]), False),
        "a model": (MODEL, snapshot(), True),
        "its namespace may exist": (MODEL, snapshot(unknown=[NAMESPACES]), False),
        "it may exist": (MODEL, snapshot(unknown=[INFERENCESETS]), False),
        "its namespace is malformed": (
            MODEL,
            replace(snapshot(), skipped=(skipped(NAMESPACES, "", "demo"),)),
            False,
        ),
        "another namespace is malformed": (
            MODEL,
            replace(snapshot(), skipped=(skipped(NAMESPACES, "", "other"),)),
            True,
        ),
        "it is malformed": (
            MODEL,
            replace(snapshot(), skipped=(skipped(INFERENCESETS, name="qwen"),)),
            False,
        ),
        "another model is malformed": (
            MODEL,
            replace(snapshot(), skipped=(skipped(INFERENCESETS, name="phi"),)),
            True,
        ),
    },
)
def test_a_subject_is_gone_where_its_kind_and_its_namespace_are_known(subject, seen, known):
    assert existence_known(subject, seen, BUILT_IN) is known
