"""Turns on a grid: even, stable, each once, and none made up for."""

from dataclasses import dataclass

import pytest

from reporter.metrics.scraping.scraper import Schedule, place


@dataclass(frozen=True)
class Pod:
    key: str


PODS = [Pod(f"6f1c-{number}") for number in range(1000)]


def turns(schedule, until, step=0.1, *, start=0.0):
    """Walk the clock, and return when each pod had its turns."""
    found = {}
    for tick in range(round((until - start) / step) + 1):
        now = start + tick * step
        for turn in schedule.due(now):
            found.setdefault(turn.what, []).append(now - turn.late)
    return found


def filled(pods=PODS, now=0.0):
    schedule = Schedule(15.0)
    for pod in pods:
        schedule.add(pod, now)
    return schedule


def test_the_load_is_spread_over_the_period():
    """No second of the fifteen has more than twice its part of a thousand pods."""
    tally = [0] * 15
    for first, *_ in turns(filled(), 15.0).values():
        tally[int(first) % 15] += 1
    assert min(tally) > 33
    assert max(tally) < 134


def test_the_place_is_stable():
    """It follows from the uid alone, in every process: Python's own hash would not do."""
    assert place("6f1c-0") == pytest.approx(0.8657849251328573)
    early, late = filled(now=0.0), filled(now=100.0)
    first = {pod: times[0] % 15 for pod, times in turns(early, 15).items()}
    later = {pod: times[0] % 15 for pod, times in turns(late, 120, start=100.0).items()}
    assert first == pytest.approx(later)


def test_what_was_missed_is_not_made_up_for():
    """After an hour in which nobody asked, each pod has one turn, which knows that it is late."""
    schedule = filled(PODS[:10])
    missed = list(schedule.due(3600.0))
    assert len(missed) == 10
    assert all(turn.late > 3500 for turn in missed)
    assert list(schedule.due(3600.0)) == []
    assert all(len(times) == 1 for times in turns(schedule, 3615, start=3600.01).values())


def test_nobody_has_a_turn_that_is_gone():
    schedule = filled(PODS[:10])
    schedule.remove(PODS[:5])
    assert turns(schedule, 15).keys() == set(PODS[5:10])


def test_the_wait_ends_at_the_next_turn():
    """None without pods, never negative."""
    schedule = Schedule(15.0)
    assert schedule.wait(0.0) is None
    schedule.add(PODS[0], 0.0)
    wait = schedule.wait(0.0)
    assert wait == pytest.approx(place(PODS[0].key) * 15)
    assert list(schedule.due(wait - 0.001)) == []
    assert schedule.wait(wait + 1) == 0.0
    assert len(list(schedule.due(wait + 0.001))) == 1
