"""Incidents that people had: what is named stays named, nothing untrue is told, one cause a case."""

import pytest

from tests.incidents.page import PAGE, page
from tests.incidents.score import cases, flags, in_a_model, is_plain, key, told_in_a_model, told_of

INCIDENTS = [pytest.param(each, id=each["id"]) for each in cases()]


def test_there_are_enough_and_each_is_one():
    """As many as are promised, each with its own name and a source."""
    assert len(cases()) >= 60
    assert len({key(each) for each in cases()}) == len(cases())
    assert sum(map(is_plain, cases())) >= 25


@pytest.mark.parametrize("case", INCIDENTS)
def test_an_incident(case):
    """It is named if it was; nothing that is told of it is untrue; a cause is told once."""
    told = told_of(case)
    assert told.outcome != "untrue", told.causes
    assert (told.outcome == "named") >= flags()[key(case)], (case["told"], told.causes)


@pytest.mark.parametrize(
    "number", [n for n, each in enumerate(cases()) if is_plain(each) and in_a_model(each)],
    ids=lambda number: cases()[number]["id"],
)  # fmt: skip
def test_plain_pods_in_a_model(number):
    """A diagnosis does not depend on the kind of what its pod belongs to."""
    told = told_in_a_model(number)
    assert told.outcome == told_of(cases()[number]).outcome, told.causes


def test_flags_and_page_are_written():
    """`python -m tests.incidents --write` was run since what is told changed."""
    assert {key(each): told_of(each).outcome == "named" for each in cases()} == flags()
    assert PAGE.read_text() == page()
