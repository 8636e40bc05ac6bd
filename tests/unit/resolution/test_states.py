"""States of subjects from one pass to the next, and what they do to Ready."""

from dataclasses import replace

from reporter.model.finding import Evaluation, KnownSubject, ServingEvidence
from reporter.model.report import SkippedObject
from reporter.model.subject import CLUSTER, Subject
from reporter.resolution import Memory, resolve
from reporter.stacks.kaito.reasons import INFERENCESETS
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.resolution.building import (
    HARNESS,
    MODEL,
    NOON,
    START,
    finding,
    seconds,
    snapshot,
)

PODS = "inferencesetModelPodsNotReady"
SETTINGS = FullEvaluationSettings()


def known(age):
    return (KnownSubject(CLUSTER), *(KnownSubject(each, NOON - age) for each in (HARNESS, MODEL)))


def test_what_is_broken_at_the_first_look_is_so_since_its_fault_began():
    """Nothing tells it while the fault is in its grace; the fault that fires does."""
    memory, told = Memory(), []
    serving = (ServingEvidence(subject=MODEL, wanted=1, serving=0),)
    for second in (0, 30, 61, 120):
        seen = Evaluation((finding(PODS),), (), known(seconds(7200)), serving=serving)
        done = resolve(seen, snapshot(), memory, now=START.after(second), settings=SETTINGS)
        memory = done.memory
        told += [each.since for each in done.report.states if each.subject == MODEL]
    assert told == [None, None, NOON, NOON]


def test_the_subjects_of_a_report_are_in_order():
    """However they were found, and those that are malformed in their place among the others."""
    models = [Subject(MODEL.kind, "demo", f"m-{n}") for n in range(10)]
    others = [KnownSubject(each) for each in reversed(models) if each.name != "m-4"]
    skipped = (SkippedObject(str(INFERENCESETS), "demo", "m-4", "spec is missing"),)
    seen = Evaluation((), (), (*others, KnownSubject(HARNESS), KnownSubject(CLUSTER)))
    found = replace(snapshot(), skipped=skipped)
    done = resolve(seen, found, Memory(), now=START, settings=SETTINGS)
    assert done.report.subjects == (CLUSTER, *models, HARNESS)
