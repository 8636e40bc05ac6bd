"""Which changes are told of a fault: those shortly before it, each once, and the same while it lasts."""

from dataclasses import replace

import pytest

from reporter.catalogue.resources import NODES
from reporter.model.objects import Node
from reporter.model.reason import EventType
from reporter.model.report import BLIND, Disposition
from reporter.stacks import BUILT_IN
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import rows
from tests.unit.resolution.changing import (
    EPP,
    WEB,
    candidate,
    change,
    deployment,
    metadata,
    seen,
    told,
)

OTHER = replace(WEB, name="other")
BY = {"by": "kubectl"}
IMAGE = {"field": "spec.image"}


@pytest.mark.parametrize(
    ("reason", "window", "is_told"),
    [
        (BUILT_IN[EPP], 1800, True),
        (BUILT_IN[EPP], 0, False),
        (replace(BUILT_IN[EPP], type=EventType.NORMAL), 1800, False),
        (BUILT_IN[BLIND], 1800, False),
    ],
    ids=["a fault", "switched off", "no fault", "the reporter sees nothing"],
)
def test_changes_are_told_of_faults_of_the_stack(reason, window, is_told):
    settings = FullEvaluationSettings(change_window_seconds=window)
    found = told(candidate(reason=reason), seen(0), settings=settings)
    assert found == ((change(0),) if is_told else ())


@pytest.mark.parametrize("disposition", Disposition)
def test_changes_are_looked_for_where_a_fault_fires_or_may_fire(disposition):
    one = candidate(change(-5), fired=False, disposition=disposition)
    asked = disposition in {"firing", "pending", "held"}
    assert told(one, seen(-9, OTHER), seen(-7, **IMAGE)) == (
        (change(-5), change(-7, **IMAGE)) if asked else (change(-5),)
    )


@pytest.mark.parametrize("known", [0, 3])
def test_at_most_five_changes_are_told(known):
    names = [f"spec.field{number}" for number in range(6)]
    one = candidate(*(change(-9, field=each) for each in names[:known]), fired=False)
    found = told(one, *(seen(-5, field=each) for each in names[known:]))
    assert [each.field for each in found] == names[:5]


@rows(
    ("other", "is_told"),
    {
        "another field at the same time": (seen(-5, **IMAGE), False),
        "that of another version": (seen(-5, replace(WEB, api_version="apps/v2"), **IMAGE), False),
        "the same at another time": (seen(-3), False),
        "the same by another manager": (seen(-3, by="another"), False),
        "another field": (seen(-3, **IMAGE), True),
        "another value before": (seen(-3, before="2"), True),
        "another value after": (seen(-3, after="3"), True),
    },
)
def test_what_is_known_is_told_once(other, is_told):
    """What is of the same write, or says the same of the same field, is no news."""
    found = told(candidate(change(-5), fired=False), other)
    assert found == ((change(-5), other.change) if is_told else (change(-5),))


@pytest.mark.parametrize("second", [-5, -3])
def test_of_another_object_the_same_change_is_another(second):
    """The object at fault does not exist any more, and its subject was changed alike."""
    (subject,) = BUILT_IN.of_subject("inferenceset")
    ref = subject.ref_named("demo", "qwen")
    found = told(candidate(change(-5), fired=False), seen(second, ref))
    assert found == (change(-5), change(second, ref))


@rows(
    ("known", "fired", "now", "is_told"),
    {
        "never listed": ([], None, 10_000, True),
        "in its grace": ([change(-5)], False, 10_000, True),
        "fires with a change": ([change(-5)], True, 60, False),
        "fires": ([], True, 60, True),
        "fires for ten minutes": ([], True, 600, True),
        "fires for longer": ([], True, 601, False),
    },
)
def test_nobody_looks_for_ever(known, fired, now, is_told):
    """A fault that fires with a change keeps it as it is, and later nothing is looked for."""
    fresh = [change(-3, **IMAGE)] if is_told else []
    assert told(candidate(*known, fired=fired), seen(-3, **IMAGE), now=now) == (*known, *fresh)


@pytest.mark.parametrize(
    ("second", "fired", "stays"),
    [
        (-1801, True, True),
        (2, True, True),
        (-1801, False, False),
        (2, False, False),
        (1, False, True),
    ],
)
def test_what_was_told_stays(second, fired, stays):
    """While a fault is in its grace its start may move, and what is not of its time any more goes."""
    known = change(second)
    assert told(candidate(known, fired=fired)) == ((known,) if stays else ())


@pytest.mark.parametrize(
    ("second", "is_told"),
    [(-1801, False), (-1800, True), (0, True), (1, True), (2, False)],
)
@pytest.mark.parametrize("signed", [True, False], ids=["signed", "not signed"])
def test_only_what_came_shortly_before_is_told_of_what_was_seen(second, is_told, signed):
    """Times of the API are whole seconds, so that a second later may have been before."""
    found = told(candidate(), seen(second, **(BY if signed else {})))
    assert bool(found) is is_told


@pytest.mark.parametrize(
    ("last_without", "fields", "is_told"),
    [(1, {}, True), (2, {}, False), (-30, {}, True), (-30, BY, False)],
    ids=["just before", "after", "long before", "signed after"],
)
def test_what_nobody_signed_counts_from_when_it_may_have_been_made(last_without, fields, is_told):
    """It was seen half a minute after the fault began."""
    assert bool(told(candidate(), seen(30, since=last_without, **fields))) is is_told


def test_what_nobody_signed_is_too_old_by_when_it_was_seen():
    """It may have been made only then."""
    assert told(candidate(), seen(-1799, since=-1900))


@pytest.mark.parametrize(
    ("second", "is_told"),
    [(-1801, False), (-1800, True), (1, True), (2, False)],
)
def test_only_what_came_shortly_before_is_told_of_who_wrote(second, is_told):
    """As what was seen."""
    assert bool(told(candidate(), deployment(written=[second]))) is is_told


@pytest.mark.parametrize(
    ("age_known", "second", "is_told"),
    [(True, -60, True), (True, 2000, False), (False, -60, False), (False, 2000, True)],
)
def test_a_fault_of_unknown_age_may_have_begun_just_now(age_known, second, is_told):
    found = told(candidate(age_known=age_known), deployment(written=[second]), now=3600)
    assert bool(found) is is_told


@pytest.mark.parametrize("seconds", [(-9, -7, -5), (-5, -7, -9), (-7, -9, -5)])
def test_the_newest_that_was_seen_is_told_first(seconds):
    found = told(candidate(), *(seen(each, field=f"f{each}") for each in seconds))
    assert [each.field for each in found] == ["f-5", "f-7", "f-9"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ([-5], [-5]),
        ([-9, -7, -5], [-5]),
        ([-9, -5, 30, 40], [-5]),
        ([-2000, 30], []),
    ],
    ids=["one write", "three writes", "and writes after the fault", "none shortly before it"],
)
def test_who_wrote_last_before_the_fault_is_told(written, expected):
    found = told(candidate(), deployment(written=written))
    assert found == tuple(
        change(each, by=f"writer{written.index(each)}", field="", before="", after="")
        for each in expected
    )


@pytest.mark.parametrize(("second", "is_told"), [(-5, False), (-3, True)])
def test_a_write_is_not_told_next_to_what_was_seen_of_it(second, is_told):
    found = told(candidate(), seen(-5, by="writer0"), deployment(written=[second]))
    assert [each.what for each in found] == [
        "spec.replicas 1 to 0",
        *(["last written"] if is_told else []),
    ]


def test_of_a_node_only_what_was_seen_is_told():
    """Controllers write its taints because of the fault."""
    node = NODES.ref_named("", "gpu-1")
    found = told(
        candidate(related=node),
        (NODES, Node(metadata=metadata("gpu-1", namespace="", written=[-5]))),
        seen(-9, node, **BY),
    )
    assert found == (change(-9, node, **BY),)
