"""A subject that is young, and a fault that is younger: no fault is as old as its subject."""

from datetime import timedelta

import pytest

from reporter.evaluation import evaluate
from reporter.resolution import Memory, SinglePass, resolve
from reporter.stacks import BUILT_IN
from tests.scenarios.test_scenarios import START, Run, line_of
from tests.scenarios.world import SCENARIOS, span

AGE = timedelta(seconds=20)
"""How old all objects are when a scenario begins: younger than nearly every grace."""

TOLD_OF_WRITES = {"modelservingStatusNotOwned"}
"""Told of what becomes of our own writes, which scenarios do not make."""
CASES = [case for cases in SCENARIOS.values() for case in cases]
REASONS = [
    each.name
    for stack in BUILT_IN.stacks
    for each in stack.reasons
    # Dialects have the judges of plain workloads, and tests of their own for each kind.
    if stack.name != "dialects"
    # Those from metrics are told of what pages show within a window, and have no other age.
    and each.window_seconds is None
    and not each.says_ready
    and each.name not in TOLD_OF_WRITES
]


def told_in(case, reason: str) -> int | None:
    """Return the first step that expects a reason; None where a pass has not seen all before it."""
    for number, step in enumerate(case["steps"]):
        if step.keys() & {"restart", "dies", "components"}:
            return None
        if any(line.split()[0] == reason for line in step.get("findings") or ()):
            return number
    return None


def steps_until(reason: str):
    """Return the scenario in which a reason is told soonest, as far as that."""
    cases = [
        {**case, "steps": case["steps"][: last + 1]}
        for case in CASES
        if (last := told_in(case, reason)) is not None
    ]
    assert cases, f"no scenario tells {reason}"
    return min(cases, key=lambda case: span(case["steps"][-1].get("at", "0s")))


def times(case, reason: str, age: timedelta):
    """Return since when a reason lasts and when it fires, where a pass saw all of that age."""
    run = Run(case, start=START.after(-AGE.total_seconds()), age=age)
    run.look()
    for step in case["steps"]:
        run.go_to(span(step.get("at", "0s")))
        run.take(step)
    return {
        line_of(each.key): (each.since, each.fires_at)
        for each in run.report.findings
        if each.reason == reason
    }


@pytest.mark.parametrize("reason", REASONS)
def test_a_fault_is_not_as_old_as_its_young_subject(reason):
    """Every reason of every stack begins and fires as it does where all objects are a week old."""
    case = steps_until(reason)
    young = times(case, reason, timedelta(0))
    assert young
    assert young == times(case, reason, timedelta(days=7))


def single_pass(case, age: timedelta):
    """Return what `check` says at the end of a scenario, and when each subject was created."""
    run = Run(case, start=START.after(-AGE.total_seconds()), age=age)
    for step in case["steps"]:
        run.now = START.after(span(step.get("at", "0s")).total_seconds())
        run.world.change(step.get("change", {}), run.now)
        run.world.mark(step)
    snapshot = run.world.snapshot(run.now)
    evaluation = evaluate(snapshot, run.settings)
    found = resolve(
        evaluation, snapshot, Memory(), now=run.now, settings=run.settings, single_pass=SinglePass()
    )
    return found.report.findings, {each.subject: each.created for each in evaluation.subjects}


@pytest.mark.parametrize("reason", REASONS)
def test_a_single_pass_does_not_make_a_fault_older_than_its_young_subject(reason):
    """`check` believes of no reason of no stack that it lasts for longer than its subject exists."""
    findings, created = single_pass(steps_until(reason), timedelta(0))
    found = [each for each in findings if each.reason == reason and each.subject in created]
    too_old = [
        f"{line_of(each.key)} since {each.since}"
        for each in found
        if created[each.subject] is not None and each.since < created[each.subject]
    ]
    assert too_old == []
