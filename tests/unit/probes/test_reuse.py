"""Reused answers are the answers that asking again would give."""

from dataclasses import replace
from pathlib import Path

import msgspec

from reporter.catalogue.resources import DEPLOYMENTS, NAMESPACES, NODES, PODS
from reporter.evaluation import evaluate_again
from reporter.probes.reuse import Answered
from reporter.snapshot.dump import load_dump
from reporter.snapshot.table import table_of
from reporter.stacks import BUILT_IN
from reporter.stacks.settings import FullEvaluationSettings

SETTINGS = FullEvaluationSettings()
EXAMPLES = Path(__file__).parents[3] / "examples"
HEALTHY = load_dump([EXAMPLES / "healthy-stack"], BUILT_IN).snapshot
BROKEN = load_dump([EXAMPLES / "broken-stack"], BUILT_IN).snapshot


def changed(snapshot, resource, change):
    """The snapshot with other tables, in which the objects of one resource are changed."""
    objects = [change(each) for each in snapshot[resource]]
    return replace(snapshot, tables={**snapshot.tables, resource: table_of(objects)})


def without_replicas(deployment):
    if deployment.namespace != "chat-models":
        return deployment
    return msgspec.structs.replace(
        deployment, spec=msgspec.structs.replace(deployment.spec, replicas=0)
    )


def made_again(each):
    return msgspec.structs.replace(
        each, metadata=msgspec.structs.replace(each.metadata, uid=f"another {each.name}")
    )


CHANGES = {
    "nothing": (PODS, lambda each: each),
    "one namespace": (DEPLOYMENTS, without_replicas),
    "shared by all": (NODES, lambda each: msgspec.structs.replace(each, status=each.status)),
}


def test_a_finding_refers_to_the_object_that_is_there():
    """Also where its words are the same: an Event of the Namespace before it is not found beside it."""
    _, answered = evaluate_again(BROKEN, SETTINGS, Answered())
    told, _ = evaluate_again(changed(BROKEN, NAMESPACES, made_again), SETTINGS, answered)
    of_namespaces = [each.involved for each in told.findings if each.involved.kind == "Namespace"]
    assert {each.uid for each in of_namespaces} == {
        f"another {each.name}" for each in of_namespaces
    }


def test_only_the_namespace_that_changed_is_asked_again():
    _, before = evaluate_again(HEALTHY, SETTINGS, Answered())
    _, after = evaluate_again(changed(HEALTHY, DEPLOYMENTS, without_replicas), SETTINGS, before)
    kept = {name for name, each in after.answers.items() if each is before.answers[name]}
    assert {subject.namespace for subject in before.answers.keys() - kept} == {"chat-models"}
