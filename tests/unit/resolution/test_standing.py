"""How long a verdict that a subject is ready stands, and how long a fault is remembered."""

import pytest

from reporter.model.finding import KnownSubject
from reporter.resolution.memory import StandingReady
from tests.unit.resolution.building import (
    MODEL,
    NOON,
    Resolver,
    evidence,
    finding,
    seconds,
    snapshot,
)
from tests.unit.resolution.test_records import due

PODS = "inferencesetModelPodsNotReady"
WORKS, KNOWN, TOLD, OWN = (
    evidence(MODEL),
    KnownSubject(MODEL, NOON),
    frozenset({("e", NOON)}),
    ["r"],
)


@pytest.mark.parametrize(
    ("other", "holds"),
    [
        pytest.param({}, True, id="all the same"),
        pytest.param({"own": ["r"]}, True, id="records that are equal"),
        pytest.param({"own": ["r", "s"]}, False, id="another record"),
        pytest.param({"evidence": evidence(MODEL)}, False, id="other evidence"),
        pytest.param({"known": KnownSubject(MODEL, NOON)}, False, id="another subject"),
        pytest.param({"told": None}, False, id="nothing told"),
        pytest.param({"told": TOLD | {("f", NOON)}}, False, id="more told"),
    ],
)
def test_a_verdict_rests_on_all_that_it_was_made_of(other, holds):
    """What the probes said is the same object, or it is another."""
    stands = StandingReady(evidence=WORKS, known=KNOWN, own=OWN, told=TOLD, ready=None)
    given = {"evidence": WORKS, "known": KNOWN, "told": TOLD, "own": OWN} | other
    assert stands.holds(**given) is holds


def standing():
    """A resolver that remembers of a model that it is ready and was told so."""
    resolver = Resolver(created=NOON - seconds(60))
    resolver.look(0, ready=[WORKS])
    told = snapshot(events=resolver.events())
    for at in (1, 2):
        resolver.look(at, ready=[WORKS], seen=told)
    assert MODEL in resolver.memory.standing
    assert due(resolver) == []
    resolver.told = told
    return resolver


@pytest.mark.parametrize(
    ("again", "message"), [(34, f"{PODS} of a (and 1 more)"), (35, f"{PODS} of b")]
)
def test_a_fault_with_a_grace_is_remembered_for_that_grace(again, message):
    """It was last seen at 30; beside it another one of its key went on."""
    resolver = Resolver(grace={PODS: 5})
    both = finding(PODS, "a"), finding(PODS, "b")
    for at in (0, 30):
        resolver.look(at, *both)
    resolver.look(again, both[1])
    resolver.look(again, *both)
    assert resolver[PODS].message == message
