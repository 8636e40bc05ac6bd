"""How long a verdict that a subject is ready stands, and how long a fault is remembered."""

from dataclasses import replace

import pytest

from reporter.model.finding import KnownSubject
from reporter.model.instant import rfc3339_micro
from reporter.resolution.memory import StandingReady
from tests.unit.resolution.building import (
    HARNESS,
    MODEL,
    NOON,
    Resolver,
    evidence,
    finding,
    seconds,
    snapshot,
)
from tests.unit.resolution.test_ready import warning
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


def test_who_stands_is_not_decided_again_for_another():
    """There are thousands of subjects, and most passes are about one of them."""
    resolver = standing()
    stands = resolver.memory.standing[MODEL]
    resolver.look(3, ready=[WORKS, evidence(HARNESS)], seen=resolver.told)
    assert resolver.memory.standing[MODEL] is stands
    assert {each.subject for each in resolver.report.ready} == {HARNESS, MODEL}


def test_a_warning_about_who_stands_calls_for_another_ready():
    """It came after all that was told."""
    resolver = standing()
    resolver.look(3, ready=[WORKS], seen=snapshot(events=warning(2)))
    assert due(resolver) == [str(MODEL)]


def test_who_stands_is_told_with_what_its_evidence_says_now():
    """Though its Events are the same."""
    resolver = standing()
    resolver.look(3, ready=[replace(WORKS, message="it works otherwise")], seen=resolver.told)
    assert [each.message for each in resolver.report.ready] == ["it works otherwise"]


def test_who_stands_and_was_made_anew_begins_anew():
    """A Ready of it would be another Event."""
    resolver = standing()
    made = NOON + seconds(3)
    resolver.subjects = [KnownSubject(each.subject, made) for each in resolver.subjects]
    resolver.look(4, ready=[WORKS], seen=resolver.told)
    assert [each.episode for each in resolver.report.ready] == [rfc3339_micro(made)]


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
