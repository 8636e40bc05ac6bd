"""What one pass hands on to the next."""

from dataclasses import replace

import pytest

from reporter.catalogue.resources import PODS as PODS_READ
from reporter.model.subject import CLUSTER
from reporter.resolution.memory import Primary
from tests.unit.resolution.building import (
    MODEL,
    NOON,
    Resolver,
    evidence,
    finding,
    seconds,
    snapshot,
)
from tests.unit.resolution.test_mutes import holding, muted

KAITO, PODS = "clusterKaitoControllerNotReady", "inferencesetModelPodsNotReady"


def test_a_pass_hands_on_what_it_decided():
    """Who is ready and was told so, what is muted, the states, what may have changed, and the primary cause."""
    resolver = Resolver(created=NOON - seconds(60))
    fault = finding(KAITO, exempt=True)
    resolver.look(0, fault, ready=[evidence(MODEL)])
    recorded = snapshot(events=resolver.events())
    seen = replace(recorded, tables={**recorded.tables, **holding(muted()).tables})
    for at in (1, 2):
        resolver.look(at, fault, ready=[evidence(MODEL)], seen=seen)
    memory, report = resolver.memory, resolver.report
    assert list(memory.told) == [MODEL]
    assert list(memory.standing) == [MODEL]
    assert [each.object.name for each in memory.mutes] == ["demo"]
    assert memory.states == {each.subject: each for each in report.states}
    assert memory.changes.at == report.now
    assert memory.primaries == {CLUSTER: Primary(fault.key)}


@pytest.mark.parametrize(
    ("passes", "since"),
    [
        pytest.param([snapshot()], 0, id="all could be seen"),
        pytest.param([snapshot(), snapshot(unknown=[PODS_READ])], 0, id="first all, then less"),
        pytest.param([snapshot(unknown=[PODS_READ])], -40, id="could not be read"),
        pytest.param([snapshot(unconfirmed=[PODS_READ])], -40, id="was not confirmed"),
        pytest.param([], -40, id="no pass"),
    ],
)
def test_a_pass_hands_on_of_which_reasons_it_saw_no_fault(passes, since):
    """A fault of a young object is as old as the object, unless it was seen without it."""
    resolver = Resolver()
    for number, seen in enumerate(passes):
        resolver.look(number - 10, seen=seen)
    resolver.look(0, finding(PODS, created=NOON - seconds(40), budget=seconds(60)))
    assert resolver[PODS].since == NOON + seconds(since)
