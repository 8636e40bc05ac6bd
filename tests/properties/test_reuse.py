"""Whatever changes, and in whatever order, reused answers are those of asking from nothing.

The clusters are the examples of all stacks; what changes is any object of them: it goes, comes back,
is replaced by one of another example, loses its labels, is deleted slowly, or has another status.
"""

from dataclasses import replace

from hypothesis import given

from reporter.evaluation import evaluate_again
from reporter.probes.reuse import Answered
from reporter.snapshot.snapshot import ResourceState, Served
from reporter.stacks.settings import FullEvaluationSettings
from tests.properties.cluster_changes import after, example, stories

SETTINGS = FullEvaluationSettings()


def fresh(snapshot, answered):
    """What is said by somebody who remembers only what was there of shared parts."""
    return evaluate_again(replace(snapshot), SETTINGS, Answered(seen=answered.seen))[0]


@given(stories())
def test_reused_answers_are_those_of_asking_from_nothing(story):
    folder, groups = story
    snapshot = example(folder)
    original = snapshot.tables
    _, answered = evaluate_again(snapshot, SETTINGS, Answered())
    for changes in groups:
        snapshot = after(snapshot, changes, original)
        asked = fresh(snapshot, answered)
        found, answered = evaluate_again(snapshot, SETTINGS, answered)
        assert found == asked


@given(stories())
def test_a_pass_that_is_dropped_leaves_no_trace(story):
    """After a pause of the process its result is forgotten, and the next pass begins where it did."""
    folder, groups = story
    snapshot = example(folder)
    original = snapshot.tables
    _, before = evaluate_again(snapshot, SETTINGS, Answered())
    for changes in groups:
        evaluate_again(after(snapshot, changes, original), SETTINGS, before)
    last = after(snapshot, groups[-1], original)
    assert evaluate_again(last, SETTINGS, before)[0] == fresh(last, before)


def test_a_kind_that_cannot_be_read_any_more_asks_all_again():
    snapshot = example("broken-stack")
    _, answered = evaluate_again(snapshot, SETTINGS, Answered())
    for resource in snapshot.tables:
        states = {**snapshot.states, resource: ResourceState(Served.UNKNOWN)}
        blind = replace(snapshot, states=states)
        assert evaluate_again(blind, SETTINGS, answered)[0] == fresh(blind, answered)
