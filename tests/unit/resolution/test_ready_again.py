"""How long it holds who is ready: what a pass made of the same is handed on as it is."""

from dataclasses import replace

import pytest

from reporter.model.finding import Evaluation, KnownSubject
from reporter.model.subject import CLUSTER
from reporter.resolution import Memory
from reporter.resolution.memory import Steps
from reporter.resolution.ready import find_ready
from reporter.resolution.records import records_of
from reporter.resolution.state import PassState
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.resolution.building import (
    MODEL,
    NOON,
    START,
    Resolver,
    evidence,
    finding,
    seconds,
    snapshot,
)
from tests.unit.resolution.test_ready import ready, warning
from tests.unit.resolution.test_records import due

YOUNG, OLD = NOON - seconds(60), NOON - seconds(7200)
FIRST, WARNED = snapshot(), snapshot(events=warning(0))
TOLD = snapshot(events=ready(1, *warning(0)))


def passing(subject, created, seen):
    """A pass about one subject that works, by the rules before that of being ready."""
    known = KnownSubject(subject, created)
    return PassState(
        evaluation=Evaluation((), (evidence(subject),), (known,)),
        snapshot=seen,
        now=START,
        settings=FullEvaluationSettings(),
        one_look=None,
        memory=Memory(),
        records=records_of(seen),
        known={subject: known},
    )


def later(state, **fields):
    """The same pass after an hour."""
    return replace(state, now=START.after(3600), steps=Steps(state.steps.taken), **fields)


@pytest.mark.parametrize(
    ("subject", "created", "seen", "is_due", "lasts"),
    [
        pytest.param(MODEL, YOUNG, FIRST, True, False, id="a first Ready of what is young"),
        pytest.param(MODEL, OLD, FIRST, False, True, id="what is older without a record"),
        pytest.param(MODEL, YOUNG, WARNED, True, True, id="a Warning calls for it"),
        pytest.param(MODEL, YOUNG, TOLD, False, True, id="told"),
        pytest.param(CLUSTER, None, FIRST, True, True, id="no time of creation"),
    ],
)
def test_who_is_ready_is_found_again_where_time_decides(subject, created, seen, is_due, lasts):
    """What is young grows old; else the same comes of the same."""
    first = passing(subject, created, seen)
    found = find_ready(first, ())
    assert [each.due for each in found.ready] == [is_due]
    again = find_ready(later(first), ())
    assert (again is found) is lasts
    assert [each.due for each in again.ready] == [is_due and lasts]


@pytest.mark.parametrize("created", [YOUNG, OLD])
def test_a_first_ready_is_due_no_more_once_its_subject_is_old(created):
    """Nothing else changed meanwhile."""
    resolver = Resolver(created=created)
    resolver.look(0, ready=[evidence(MODEL)])
    assert due(resolver) == [str(MODEL)] * (created == YOUNG)
    resolver.look(3539, ready=[evidence(MODEL)])
    assert due(resolver) == [str(MODEL)] * (created == YOUNG)
    resolver.look(3540, ready=[evidence(MODEL)])
    assert due(resolver) == []


def test_who_is_ready_is_found_again_for_what_is_listed():
    """The time of day has nothing to do with it."""
    first = passing(MODEL, OLD, FIRST)
    assert [each.subject for each in find_ready(first, ()).ready] == [MODEL]
    resolver = Resolver()
    resolver.look(0, finding("inferencesetEPPNotReady"))
    assert find_ready(later(first), resolver.report.findings).ready == ()


def test_what_was_told_is_handed_on_as_it_is():
    """So the next pass sees at once that it is the same."""
    first = passing(MODEL, OLD, TOLD)
    found = find_ready(first, ())
    assert [len(each) for each in found.told.values()] == [1]
    memory = replace(first.memory, told=dict(found.told))
    assert find_ready(later(first, memory=memory), ()).told is memory.told


def test_what_was_told_of_who_is_gone_is_forgotten():
    """And of no other."""
    first = passing(MODEL, OLD, TOLD)
    found = find_ready(first, ())
    memory = replace(first.memory, told={**found.told, CLUSTER: frozenset()})
    assert find_ready(later(first, memory=memory), ()).told == found.told
