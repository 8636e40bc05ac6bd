"""How many role Events are told, and what they say of those that are not."""

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reporter.model.subject import ObjectRef
from reporter.stacks.kthena.derived.role_changes import Instance, RoleChange
from reporter.stacks.kthena.role_events import MOST, paced
from tests.unit.probes.building import at


def change(number: int, uid: str = "uid", state: str = "Running") -> RoleChange:
    ref = ObjectRef("workload.serving.volcano.sh/v1alpha1", "ModelServing", "serving", "m", uid)
    return RoleChange(ref, Instance("m-0", "decode", f"decode-{number}"), state)


def told(result):
    """Numbers of the instances, with how many changes each stands for beside its own."""
    return [
        (int(each.change.instance.role_id.rpartition("-")[2]), each.untold)
        for each in result.tellings
    ]


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, []),
        (10, [(number, 0) for number in range(10)]),
        (11, [*((number, 0) for number in range(9)), (10, 1)]),
        (50, [*((number, 0) for number in range(9)), (49, 40)]),
    ],
)
def test_burst(count, expected):
    """The last Event of a minute tells the newest change and how many it stands for."""
    result = paced({}, [change(number) for number in range(count)], at(0))
    assert told(result) == expected
    assert result.next_in is None


def test_changes_over_the_limit_are_told_together_when_the_minute_is_over():
    """Nothing waits for ever, and a pass is due when it may be told."""
    result = paced({}, [change(number) for number in range(10)], at(0))
    for second in range(1, 30):
        result = paced(result.paces, [change(10 + second)], at(second))
        assert not result.tellings
        assert result.next_in.total_seconds() == 60 - second
    result = paced(result.paces, [change(100)], at(60))
    assert told(result) == [(39, 28), (100, 0)]
    assert result.next_in is None


def test_modelservings_have_limits_of_their_own():
    """One that churns does not silence another."""
    many = [change(number, "noisy") for number in range(30)]
    result = paced({}, [*many, change(7, "quiet")], at(0))
    assert told(result)[-1] == (7, 0)


def test_memory_ends_a_minute_after_the_last_event():
    """ModelServings that are gone cost nothing."""
    result = paced({}, [change(1)], at(0))
    assert paced(result.paces, [], at(59)).paces
    assert not paced(result.paces, [], at(60)).paces


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 25)), max_size=40))
def test_never_more_than_the_limit_and_nothing_uncounted(steps):
    """In any minute, whatever comes when; and each change is told or counted."""
    paces, second, recent, total, accounted = {}, 0, deque(), 0, 0
    for wait, count in [*steps, (61, 0), (61, 0)]:
        second += wait
        total += count
        result = paced(paces, [change(number) for number in range(count)], at(second))
        paces = result.paces
        accounted += sum(1 + each.untold for each in result.tellings)
        recent.extend([second] * len(result.tellings))
        while recent and recent[0] <= second - 60:
            recent.popleft()
        assert len(recent) <= MOST
    assert accounted == total
