"""Rules 1, 2 and 6, where a sentence is clearer than a random example."""

from datetime import UTC, datetime, timedelta

import pytest

from reporter.catalogue.resources import PODS as PODS_READ
from reporter.model.finding import Evaluation, KnownSubject
from reporter.model.instant import Instant
from reporter.model.subject import ObjectRef
from reporter.resolution import OneLook, resolve
from tests.tables import rows
from tests.unit.resolution.building import (
    HARNESS,
    MODEL,
    NOON,
    START,
    Resolver,
    finding,
    seconds,
    snapshot,
)

PODS, EPP, INFRA = (
    "inferencesetModelPodsNotReady",
    "inferencesetEPPNotReady",
    "inferencesetInfraProvisioningFailed",
)
PROGRAMMING, PRESSURE = "modelharnessGatewayProgrammingFailed", "inferencesetNodeUnderPressure"


def ago(number):
    return NOON - timedelta(seconds=number)


@rows(
    ("fields", "since", "fires"),
    {
        "condition": ({"transition": ago(20)}, -20, 40),
        "not before creation": ({"transition": ago(20), "created": ago(5)}, -5, 55),
        "1970": ({"transition": datetime(1970, 1, 1, tzinfo=UTC)}, 0, 60),
        "1970 of a young object": ({"transition": datetime(1970, 1, 1, tzinfo=UTC), "created": ago(30)}, -30, 30),
        "young": ({"created": ago(59)}, -59, 1),
        "old": ({"created": ago(60)}, 0, 60),
        "nothing": ({}, 0, 60),
        "from the future": ({"transition": ago(-90)}, 0, 60),
        "budget of a young object": ({"created": ago(500), "budget": seconds(900)}, -500, 400),
        "budget": ({"transition": ago(500), "budget": seconds(900)}, -500, 400),
        "budget within grace": ({"budget": seconds(10)}, 0, 60),
    },
)  # fmt: skip
def test_since(fields, since, fires):
    """Where the start of a fault is taken from, and when it fires then."""
    resolver = Resolver()
    resolver.look(0, finding(EPP, **fields))
    assert resolver[EPP].since == NOON + seconds(since)
    assert resolver[EPP].fires_at == NOON + seconds(fires)
    assert resolver.wake_in == seconds(fires)


@pytest.mark.parametrize(
    ("settings", "reason", "fires"),
    [
        ({}, EPP, 60), ({}, PROGRAMMING, 300), ({}, INFRA, 180), ({}, PRESSURE, 30),
        ({"startup_grace_seconds": 200}, EPP, 200),
        ({"startup_grace_seconds": 200}, PROGRAMMING, 300),
        ({"startup_grace_seconds": 1}, PROGRAMMING, 300),
        ({"startup_grace_seconds": 0}, PROGRAMMING, None),
        ({"grace": {PROGRAMMING: 5}}, PROGRAMMING, 5),
        ({"grace": {EPP: 0}}, EPP, None),
        ({"startup_grace_seconds": 0, "grace": {EPP: 7}}, EPP, 7),
    ],
)  # fmt: skip
def test_grace(settings, reason, fires):
    """The default, the reason's own, the one set for it; 0 turns them off."""
    resolver = Resolver(**settings)
    found = resolver.look(0, finding(reason))
    assert found[reason] == ("firing" if fires is None else "pending")
    assert resolver[reason].fires_at == (None if fires is None else NOON + seconds(fires))


def test_an_error_after_a_start_up_has_its_whole_grace():
    """Time under a budget is no part of a grace, and the other way round."""
    resolver = Resolver()
    resolver.look(0, finding(PODS, budget=seconds(1800)))
    resolver.look(600, finding(PODS))
    assert resolver[PODS].fires_at == NOON + seconds(660)
    resolver.look(630, finding(PODS, budget=seconds(1800)))
    assert resolver[PODS].fires_at == NOON + seconds(2430)


def test_error_and_start_up_by_turns_do_not_stay_silent():
    resolver = Resolver()
    for at in range(0, 60, 10):
        resolver.look(at, finding(PODS, budget=seconds(1800) if at % 20 else None))
    assert resolver.look(60, finding(PODS)) == {PODS: "firing"}


def test_a_budget_that_begins_anew_ends_what_was_told():
    """What took too long on one node has not taken too long on the next."""
    resolver = Resolver()
    first = finding(INFRA, budget=seconds(900), transition=NOON)
    resolver.look(0, first)
    assert resolver.look(900, first) == {INFRA: "firing"}
    second = finding(INFRA, budget=seconds(900), transition=NOON + seconds(905))
    assert resolver.look(910, second) == {INFRA: "clearing"}
    assert resolver.look(960, second) == {INFRA: "pending"}
    assert resolver[INFRA].fires_at == NOON + seconds(1805)


def test_two_findings_about_one_object_are_one_fault():
    """The object's fault is as old as the older finding, and the worst that is ripe speaks."""
    resolver = Resolver()
    old = finding(PODS, transition=ago(30), message="old")
    young = finding(PODS, severity=9, message="young")
    resolver.look(0, old, young)
    assert resolver[PODS].fires_at == NOON + seconds(30)
    assert resolver.look(30, young, old) == {PODS: "firing"}
    assert resolver[PODS].message == "young"
    resolver.look(31, old, young)
    assert resolver[PODS].since == ago(30)


def test_the_first_of_two_budgets_that_is_used_up_speaks():
    """Even if the other finding about the object is worse: its time has not come."""
    resolver = Resolver()
    short = finding(PODS, budget=seconds(900), message="short")
    long = finding(PODS, budget=seconds(1800), message="long", severity=9)
    resolver.look(0, short, long)
    assert resolver[PODS].fires_at == NOON + seconds(900)
    assert resolver.wake_in == seconds(900)
    assert resolver.look(900, short, long) == {PODS: "firing"}
    assert resolver[PODS].message == "short"
    assert resolver.wake_in == seconds(900)


def test_of_two_findings_that_are_as_bad_the_same_one_speaks():
    """Else the message would change with the order of a list."""
    pair = [finding(PODS, exempt=True, message=text) for text in "ab"]
    for order in (pair, pair[::-1]):
        resolver = Resolver()
        resolver.look(0, *order)
        assert resolver[PODS].message == "a"


@pytest.mark.parametrize(
    ("first", "second", "since"),
    [
        ({"transition": ago(100)}, {"transition": ago(200)}, -200),
        ({"transition": ago(50), "budget": seconds(900)}, {"transition": ago(10)}, -10),
        ({"transition": ago(30), "budget": seconds(90), "severity": 1}, {"severity": 2}, -30),
    ],
    ids=["both fire", "the first to fire", "the older of two that fire together"],
)
def test_the_start_of_a_finding_with_two_faults(first, second, since):
    """That of the oldest fault that fires, or of the one that will fire first."""
    resolver = Resolver()
    resolver.look(0, finding(PODS, "a", **first), finding(PODS, "b", **second))
    assert resolver[PODS].since == NOON + seconds(since)


def test_a_fault_that_is_gone_before_it_fires_begins_no_episode():
    resolver = Resolver()
    resolver.look(0, finding(PODS, "a"))
    resolver.look(10, finding(PODS, "a"), finding(PODS, "b"))
    assert resolver.look(70, finding(PODS, "b")) == {PODS: "firing"}
    assert resolver[PODS].since == NOON + seconds(10)


def test_of_two_faults_of_an_object_that_say_the_same_the_one_without_a_budget_speaks():
    """Else the cause would change with the order of a list."""
    pair = [
        finding(PODS, exempt=True, cause="error"),
        finding(PODS, exempt=True, cause="slow", budget=seconds(0)),
    ]
    for order in (pair, pair[::-1]):
        resolver = Resolver()
        resolver.look(0, *order)
        assert resolver[PODS].cause == "error"


@pytest.mark.parametrize(("exempt", "gone_for"), [(True, 60), (False, 5)])
def test_recovery_takes_the_shorter_grace_and_the_global_one_of_what_fires_at_once(
    exempt, gone_for
):
    """A grace that is set for the reason says nothing of a fault that has none."""
    resolver = Resolver(grace={EPP: 5})
    resolver.look(0, finding(EPP, exempt=exempt))
    assert resolver.look(5, finding(EPP, exempt=exempt)) == {EPP: "firing"}
    assert resolver.look(4 + gone_for) == {EPP: "clearing"}
    assert resolver.look(5 + gone_for) == {}


def starting(**fields):
    """A pod that is within its start-up budget."""
    return finding(PODS, budget=seconds(300), message="starts", **fields)


def test_what_lingers_goes_on_with_its_words_until_the_next_one_is_due():
    """A crashed container that runs again without being Ready is no better."""
    resolver = Resolver()
    resolver.look(0, finding(PODS, exempt=True, lingers=True, message="crashed"))
    assert resolver.look(10, starting(lingers=True)) == {PODS: "firing"}
    assert resolver[PODS].message == "crashed"
    assert resolver.wake_in == seconds(300)
    assert resolver.look(310, starting(lingers=True)) == {PODS: "firing"}
    assert resolver[PODS].message == "starts"
    assert resolver[PODS].since == NOON


@pytest.mark.parametrize(("before", "after"), [(True, False), (False, True), (False, False)])
def test_only_what_lingers_goes_on_and_only_in_what_does(before, after):
    """Another fault of the same pod has its own time."""
    resolver = Resolver()
    resolver.look(0, finding(PODS, exempt=True, lingers=before))
    assert resolver.look(10, starting(lingers=after)) == {PODS: "clearing"}


def test_a_young_fault_beside_one_that_is_told_of_the_same_pod_has_its_own_time():
    """It neither goes on for that one nor is forgotten: it is told when its time has come."""
    resolver = Resolver()
    crashed = finding(PODS, exempt=True, lingers=True, message="crashed")
    for at in (0, 10, 200):
        resolver.look(at, crashed, starting(lingers=True, severity=9))
        assert resolver[PODS].message == "crashed"
        assert resolver.wake_in == seconds(300 - at)
    resolver.look(300, crashed, starting(lingers=True, severity=9))
    assert resolver[PODS].message == "starts (and 1 more)"


def test_what_lingers_goes_on_beside_a_fault_of_another_pod():
    resolver = Resolver()
    resolver.look(0, finding(PODS, "b", exempt=True, lingers=True))
    young = finding(PODS, "b", budget=seconds(300), lingers=True)
    resolver.look(10, finding(PODS, "a", exempt=True, severity=9), young)
    assert resolver[PODS].message == f"{PODS} of a (and 1 more)"


def test_of_two_young_faults_of_a_pod_one_goes_on_for_what_was_told():
    """The other one keeps its time, and its place among the faults that are awaited."""
    resolver = Resolver()
    resolver.look(0, starting(lingers=True, transition=NOON))
    resolver.look(300, starting(lingers=True, transition=NOON))
    again = starting(lingers=True, transition=NOON + seconds(310))
    other = finding(PODS, lingers=True, message="other", severity=9)
    for at in (310, 340):
        assert resolver.look(at, again, other) == {PODS: "firing"}
        assert resolver[PODS].message == "starts"
        assert resolver.wake_in == seconds(370 - at)
    resolver.look(370, again, other)
    assert resolver[PODS].message == "other"


def test_a_fault_that_is_seen_needs_no_earlier_one_of_its_object():
    """One pod is counted once, though another probe cannot judge it."""
    resolver = Resolver()
    for at in (0, 300):
        resolver.look(at, starting())
    resolver.look(310, finding(PODS, exempt=True, message="error"), finding(PODS, sustains=True))
    assert resolver[PODS].message == "error"


def test_a_budget_that_was_used_up_goes_on_while_its_pod_cannot_be_judged():
    """As any other fault does."""
    resolver = Resolver()
    resolver.look(0, starting())
    assert resolver.look(300, starting()) == {PODS: "firing"}
    assert resolver.look(900, finding(PODS, sustains=True)) == {PODS: "firing"}


def test_of_two_faults_of_a_pod_the_one_that_lingers_goes_on():
    resolver = Resolver()
    error = finding(PODS, exempt=True, message="error")
    slow = finding(PODS, budget=seconds(10), transition=NOON, lingers=True, message="slow")
    resolver.look(0, error, slow)
    resolver.look(60, error, slow)
    again = finding(PODS, budget=seconds(90), transition=NOON + seconds(65), lingers=True)
    assert resolver.look(70, again) == {PODS: "firing"}
    assert resolver[PODS].message == "slow"


def test_a_pod_of_the_same_name_is_another():
    resolver = Resolver()
    first, second = (
        finding(PODS, related=ObjectRef("v1", "Pod", "demo", "p-0", uid)) for uid in "ab"
    )
    resolver.look(0, first)
    resolver.look(50, second)
    assert resolver[PODS].fires_at == NOON + seconds(110)


@pytest.mark.parametrize(
    ("looked", "hidden", "since"),
    [(-10, (), 0), (-10, (PODS_READ,), -40), (-40, (), -40)],
    ids=["seen without it", "not looked", "made in that instant"],
)
def test_a_young_object_has_not_been_at_fault_since_it_was_made(looked, hidden, since):
    """A model that is edited in its first hour is not overdue for what is missing since a moment."""
    resolver = Resolver()
    slow = finding(PODS, created=ago(40), budget=seconds(60))
    resolver.look(looked, seen=snapshot(unknown=hidden))
    resolver.look(0, slow)
    assert resolver[PODS].since == NOON + seconds(since)
    assert resolver.look(59 + since, slow)[PODS] == "pending"
    assert resolver.look(60 + since, slow)[PODS] == "firing"


def test_two_budgets_are_used_up_on_the_clock_that_does_not_jump():
    """Each start keeps the time it was first seen, also once the other one's budget is used up."""
    resolver = Resolver()
    short = finding(INFRA, budget=seconds(100), transition=NOON)
    long = finding(INFRA, budget=seconds(900), transition=NOON + seconds(10))
    resolver.look(10, short, long)
    evaluation = Evaluation((short, long), (), tuple(resolver.subjects))
    for at in (200, 300):
        now = Instant(START.wall - timedelta(hours=1), START.boot + seconds(at))
        resolution = resolve(
            evaluation, snapshot(), resolver.memory, now=now, settings=resolver.settings
        )
        resolver.memory = resolution.memory
        assert resolution.wake_in == seconds(910 - at)


def test_what_fires_at_once_begins_now():
    """The creation of a young object says something of its grace only."""
    resolver = Resolver()
    resolver.look(0, finding(EPP, exempt=True, created=ago(30)))
    assert resolver[EPP].since == NOON


def test_one_look():
    """Without earlier passes a finding without a time counts as old enough, or as told."""
    resolver = Resolver()
    young = finding(PROGRAMMING, transition=ago(10))
    look = OneLook()
    assert resolver.look(0, finding(EPP), young, one_look=look) == {
        EPP: "firing",
        PROGRAMMING: "pending",
    }
    assert resolver[EPP].since == ago(60)
    found = Resolver().look(0, finding(EPP), one_look=OneLook(observed_for=seconds(30)))
    assert found == {EPP: "pending"}


def test_an_episode_does_not_begin_in_the_future():
    """After the wall clock was set back the start of what fires is a time that has been."""
    resolver = Resolver()
    resolver.look(0, finding(EPP))
    back = timedelta(hours=2)
    evaluation = Evaluation((finding(EPP),), (), tuple(resolver.subjects))
    for at in (40, 60):
        now = Instant(START.wall - back + seconds(at), START.boot + seconds(at))
        resolution = resolve(
            evaluation, snapshot(), resolver.memory, now=now, settings=resolver.settings
        )
        resolver.memory = resolution.memory
    (found,) = resolution.report.findings
    assert found.disposition == "firing"
    assert found.since == NOON - back + seconds(40)


def test_a_young_fault_after_a_suppressed_episode_is_another():
    """An episode ends by when its own faults were seen last, not by when others are."""
    resolver = Resolver()
    kaito = finding("clusterKaitoControllerNotReady", exempt=True, governs=True)
    resolver.look(0, finding(PODS, "a", exempt=True))
    resolver.look(10, kaito, finding(PODS, "a", exempt=True))
    for at in (20, 50, 75, 80):
        resolver.look(at, kaito, finding(PODS, "b"))
    assert resolver[PODS].disposition == "suppressed"
    assert resolver[PODS].since == NOON + seconds(20)


@rows(
    ("faults", "since", "known"),
    {
        "nothing tells": ([{}], -60, False),
        "a condition": ([{"transition": ago(500)}], -500, True),
        "the oldest has a time": ([{"transition": ago(500)}, {}], -500, True),
        "one of the oldest has a time": ([{"transition": ago(60)}, {}], -60, True),
        "only a younger one has a time": ([{"transition": ago(30)}, {}], -60, False),
    },
)
def test_of_faults(faults, since, known):
    """The age is that of the oldest fault that fires, and known where one so old has a time."""
    resolver = Resolver()
    several = [finding(PODS, f"pod-{n}", **fields) for n, fields in enumerate(faults)]
    assert resolver.look(0, *several, one_look=OneLook()) == {PODS: "firing"}
    assert (resolver[PODS].since, resolver[PODS].age_known) == (NOON + seconds(since), known)


@pytest.mark.parametrize("dated", [{"severity": 1}, {"severity": 9}], ids=["less bad", "worse"])
def test_of_two_faults_of_an_object(dated):
    """One of them has a time, and the other counts for as old: that time is known."""
    resolver = Resolver()
    timeless = finding(PODS, severity=5, message="timeless")
    resolver.look(0, timeless, finding(PODS, transition=ago(60), **dated), one_look=OneLook())
    assert (resolver[PODS].since, resolver[PODS].age_known) == (ago(60), True)


def test_an_event_on_record_tells():
    """Since when it fires stands in our own Event."""
    daemon = Resolver()
    daemon.look(0, finding(PODS))
    daemon.look(90, finding(PODS))
    events = daemon.events()
    looked = Resolver()
    looked.look(600, finding(PODS), seen=snapshot(events=events), one_look=OneLook())
    assert (looked[PODS].since, looked[PODS].age_known) == (NOON, True)


def test_an_episode_on_record_tells_of_another_fault():
    """The pod of before is gone, the episode goes on: its start is known though the new fault's is not."""
    daemon = Resolver()
    daemon.look(0, finding(PODS, "pod-0"))
    daemon.look(90, finding(PODS, "pod-0"))
    looked = Resolver()
    found = snapshot(events=daemon.events())
    looked.look(600, finding(PODS, "pod-1"), seen=found, one_look=OneLook())
    assert (looked[PODS].since, looked[PODS].age_known) == (NOON, True)


def test_an_episode_that_was_not_told_tells_nothing():
    resolver = Resolver()
    resolver.look(0, finding(PODS, "pod-0"))
    resolver.look(1, finding(PODS, "pod-1"), one_look=OneLook())
    assert not resolver[PODS].age_known


def test_who_says_for_how_long_knows_it():
    """`--observed-for` gives what has no time of its own an age."""
    resolver = Resolver()
    resolver.look(0, finding(PODS), one_look=OneLook(seconds(90)))
    assert (resolver[PODS].since, resolver[PODS].age_known) == (ago(90), True)


@pytest.mark.parametrize("reason", [PODS, "modelharnessGatewayProgrammingFailed"])
@pytest.mark.parametrize("observed_for", [None, seconds(300)])
def test_nothing_is_missing_for_longer_than_its_subject_exists(reason, observed_for):
    """A model, or a namespace, of five seconds has lacked for five seconds what is not there."""
    looked = Resolver(created=ago(5))
    assert looked.look(0, finding(reason), one_look=OneLook(observed_for)) == {reason: "pending"}
    assert (looked[reason].since, looked[reason].age_known) == (ago(5), True)


@pytest.mark.parametrize(("age", "known"), [(59, True), (60, False), (61, False)])
def test_a_subject_says_no_more_once_it_is_as_old_as_a_fault_has_to_be(age, known):
    """Only what is younger than that limits how long the fault lasts."""
    looked = Resolver(created=ago(age))
    looked.look(0, finding(PODS), one_look=OneLook())
    assert (looked[PODS].since, looked[PODS].age_known) == (ago(min(age, 60)), known)


def test_a_subject_of_a_clock_that_is_ahead():
    looked = Resolver(created=NOON + seconds(30))
    assert looked.look(0, finding(PODS), one_look=OneLook()) == {PODS: "pending"}
    assert looked[PODS].since == NOON


def test_only_its_own_subject_makes_a_fault_young():
    """A new model next to one that exists for days changes nothing of that one's faults."""
    looked = Resolver()
    looked.subjects = [KnownSubject(HARNESS, ago(5)), KnownSubject(MODEL, ago(7200))]
    assert looked.look(0, finding(PODS), one_look=OneLook()) == {PODS: "firing"}
    assert not looked[PODS].age_known
