"""Rules 1, 2 and 6, where a sentence is clearer than a random example."""

from datetime import UTC, datetime, timedelta

import pytest

from reporter.catalogue.resources import PODS as PODS_READ
from reporter.model.finding import KnownSubject
from reporter.model.subject import ObjectRef
from reporter.resolution import SinglePass
from tests.tables import rows
from tests.unit.resolution.building import (
    HARNESS,
    MODEL,
    NOON,
    Resolver,
    at,
    finding,
    noon,
    seconds,
    snapshot,
    tell,
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
    """Where the start of a fault comes from, and when it fires."""
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


def says(text, **fields):
    return {PODS: {"message": text} | fields}


def starting(**fields):
    """A pod within its start-up budget."""
    return finding(PODS, budget=seconds(300), message="starts", **fields)


ERROR, LOADS = finding(PODS), finding(PODS, budget=seconds(1800))
FIRST, SECOND = (finding(INFRA, budget=seconds(900), transition=noon(each)) for each in (0, 905))
OLD, BAD = (
    finding(PODS, transition=ago(30), message="old"),
    finding(PODS, severity=9, message="young"),
)
SHORT = finding(PODS, budget=seconds(900), message="short")
LONG = finding(PODS, budget=seconds(1800), message="long", severity=9)
ALIKE = [finding(PODS, exempt=True, message=text) for text in "ab"]
NAMED = [
    finding(PODS, exempt=True, cause="error"),
    finding(PODS, exempt=True, cause="slow", budget=seconds(0)),
]
CRASHED = finding(PODS, exempt=True, lingers=True, message="crashed")
SLOW = starting(lingers=True, severity=9)
BEGUN, AGAIN = (starting(lingers=True, transition=noon(each)) for each in (0, 310))
OTHER = finding(PODS, lingers=True, message="other", severity=9)
TOLD, SLOW_TOLD = (
    finding(PODS, exempt=True, message="error"),
    finding(PODS, budget=seconds(10), transition=NOON, lingers=True, message="slow"),
)
ONE, ANOTHER = (finding(PODS, related=ObjectRef("v1", "Pod", "demo", "p-0", uid)) for uid in "ab")
UNJUDGED = finding(PODS, sustains=True)
TIMELESS, HOUR = finding(EPP), timedelta(hours=1)
BUDGETS = (
    finding(INFRA, budget=seconds(100), transition=NOON),
    finding(INFRA, budget=seconds(900), transition=noon(10)),
)
KAITO = finding("clusterKaitoControllerNotReady", exempt=True, governs=True)
FIRES = {PODS: "firing"}


@rows(
    "passes",
    {
        "time under a budget is no part of a grace, and the other way round": [
            at(0, LOADS), at(600, ERROR, lines={PODS: {"fires_at": noon(660)}}), at(630, LOADS, lines={PODS: {"fires_at": noon(2430)}}),
        ],
        "error and start-up by turns do not stay silent": [
            *(at(second, LOADS if second % 20 else ERROR) for second in range(0, 60, 10)), at(60, ERROR, found=FIRES),
        ],
        "a budget that begins again ends what was told: what was slow on one node is not slow on the next": [
            at(0, FIRST), at(900, FIRST, found={INFRA: "firing"}), at(910, SECOND, found={INFRA: "clearing"}),
            at(960, SECOND, found={INFRA: "pending"}, lines={INFRA: {"fires_at": noon(1805)}}),
        ],
        "two findings about one object are one fault, as old as the older, and the worst that is ripe speaks": [
            at(0, OLD, BAD, lines={PODS: {"fires_at": noon(30)}}), at(30, BAD, OLD, found=FIRES, lines=says("young")),
            at(31, OLD, BAD, lines={PODS: {"since": ago(30)}}),
        ],
        "the first of two budgets that is used up speaks, even if the other finding is worse": [
            at(0, SHORT, LONG, lines={PODS: {"fires_at": noon(900)}}, wakes=900), at(900, SHORT, LONG, found=FIRES, lines=says("short"), wakes=900),
        ],
        "of two that are as bad the same one speaks": [at(0, *ALIKE, lines=says("a"))],
        "whatever the order of a list": [at(0, *ALIKE[::-1], lines=says("a"))],
        "of two that say the same the one without a budget": [at(0, *NAMED, lines={PODS: {"cause": "error"}})],
        "without a budget, in another order": [at(0, *NAMED[::-1], lines={PODS: {"cause": "error"}})],
        "a fault that is gone before it fires begins no episode": [
            at(0, finding(PODS, "a")), at(10, finding(PODS, "a"), finding(PODS, "b")),
            at(70, finding(PODS, "b"), found=FIRES, lines={PODS: {"since": noon(10)}}),
        ],
        "a pod of the same name is another": [at(0, ONE), at(50, ANOTHER, lines={PODS: {"fires_at": noon(110)}})],
        "what fires at once begins now: creation says something of the grace only": [
            at(0, finding(EPP, exempt=True, created=ago(30)), lines={EPP: {"since": NOON}}),
        ],
        "a young fault after a suppressed episode is another: it ends by when its own faults were seen last": [
            at(0, finding(PODS, "a", exempt=True)), at(10, KAITO, finding(PODS, "a", exempt=True)),
            *(at(second, KAITO, finding(PODS, "b")) for second in (20, 50, 75)),
            at(80, KAITO, finding(PODS, "b"), lines={PODS: {"disposition": "suppressed", "since": noon(20)}}),
        ],
        "two budgets are used up on the clock that does not jump, each by when it was seen first": [
            at(10, *BUDGETS), *(at(second, *BUDGETS, set_back=HOUR, wakes=910 - second) for second in (200, 300)),
        ],
        "an episode does not begin in the future once the wall clock was set back": [
            at(0, TIMELESS), at(40, TIMELESS, set_back=HOUR),
            at(60, TIMELESS, set_back=HOUR, found={EPP: "firing"}, lines={EPP: {"since": noon(40) - HOUR}}),
        ],
        "without earlier passes, a finding without a time is old enough": [
            at(
                0, TIMELESS, finding(PROGRAMMING, transition=ago(10)), single_pass=SinglePass(),
                found={EPP: "firing", PROGRAMMING: "pending"}, lines={EPP: {"since": ago(60)}},
            ),
        ],
        "or as old as given": [at(0, TIMELESS, single_pass=SinglePass(seconds(30)), found={EPP: "pending"})],
    },
)  # fmt: skip
def test_when_a_fault_begins_and_fires(passes):
    tell(*passes)


@rows(
    "passes",
    {
        "with its words until the next one is due: a crashed container that runs again is no better": [
            at(0, CRASHED), at(10, starting(lingers=True), found=FIRES, lines=says("crashed"), wakes=300),
            at(310, starting(lingers=True), found=FIRES, lines=says("starts", since=NOON)),
        ],
        "a young fault beside one that is told of the same pod has its own time": [
            *(at(second, CRASHED, SLOW, lines=says("crashed"), wakes=300 - second) for second in (0, 10, 200)),
            at(300, CRASHED, SLOW, lines=says("starts (and 1 more)")),
        ],
        "beside a fault of another pod": [
            at(0, finding(PODS, "b", exempt=True, lingers=True)),
            at(10, finding(PODS, "a", exempt=True, severity=9), finding(PODS, "b", budget=seconds(300), lingers=True), lines=says(f"{PODS} of a (and 1 more)")),
        ],
        "of two young faults of a pod one goes on; the other one keeps its time": [
            at(0, BEGUN), at(300, BEGUN),
            *(at(second, AGAIN, OTHER, found=FIRES, lines=says("starts"), wakes=370 - second) for second in (310, 340)),
            at(370, AGAIN, OTHER, lines=says("other")),
        ],
        "a fault that is seen needs no earlier one of its object: one pod is counted once": [
            at(0, starting()), at(300, starting()), at(310, TOLD, UNJUDGED, lines=says("error")),
        ],
        "a budget that was used up, while its pod cannot be judged": [
            at(0, starting()), at(300, starting(), found=FIRES), at(900, UNJUDGED, found=FIRES),
        ],
        "of two faults of a pod the one that lingers": [
            at(0, TOLD, SLOW_TOLD), at(60, TOLD, SLOW_TOLD),
            at(70, finding(PODS, budget=seconds(90), transition=noon(65), lingers=True), found=FIRES, lines=says("slow")),
        ],
    },
)  # fmt: skip
def test_what_lingers_goes_on(passes):
    tell(*passes)


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
    """It is that of the oldest firing fault, or of the one that will fire first."""
    resolver = Resolver()
    resolver.look(0, finding(PODS, "a", **first), finding(PODS, "b", **second))
    assert resolver[PODS].since == NOON + seconds(since)


@pytest.mark.parametrize(("exempt", "gone_for"), [(True, 60), (False, 5)])
def test_recovery_takes_the_shorter_grace_and_the_global_one_of_what_fires_at_once(
    exempt, gone_for
):
    """A grace that is set for the reason does not apply to an exempt fault."""
    resolver = Resolver(grace={EPP: 5})
    resolver.look(0, finding(EPP, exempt=exempt))
    assert resolver.look(5, finding(EPP, exempt=exempt)) == {EPP: "firing"}
    assert resolver.look(4 + gone_for) == {EPP: "clearing"}
    assert resolver.look(5 + gone_for) == {}


@pytest.mark.parametrize(("before", "after"), [(True, False), (False, True), (False, False)])
def test_only_what_lingers_goes_on_and_only_in_what_does(before, after):
    """Another fault of the same pod has its own time."""
    resolver = Resolver()
    resolver.look(0, finding(PODS, exempt=True, lingers=before))
    assert resolver.look(10, starting(lingers=after)) == {PODS: "clearing"}


@pytest.mark.parametrize(
    ("looked", "hidden", "since"),
    [(-10, (), 0), (-10, (PODS_READ,), -40), (-40, (), -40)],
    ids=["seen without it", "not looked", "made in that instant"],
)
def test_a_young_object_has_not_been_at_fault_since_it_was_made(looked, hidden, since):
    """A model that is edited in its first hour is not overdue because of a missing object."""
    resolver = Resolver()
    slow = finding(PODS, created=ago(40), budget=seconds(60))
    resolver.look(looked, seen=snapshot(unknown=hidden))
    resolver.look(0, slow)
    assert resolver[PODS].since == NOON + seconds(since)
    assert resolver.look(59 + since, slow)[PODS] == "pending"
    assert resolver.look(60 + since, slow)[PODS] == "firing"


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
    """It is that of the oldest firing fault, and known if a fault of that age has a time."""
    resolver = Resolver()
    several = [finding(PODS, f"pod-{n}", **fields) for n, fields in enumerate(faults)]
    assert resolver.look(0, *several, single_pass=SinglePass()) == {PODS: "firing"}
    assert (resolver[PODS].since, resolver[PODS].age_known) == (NOON + seconds(since), known)


POD_0, POD_1 = (finding(PODS, f"pod-{number}") for number in (0, 1))
RECORD = snapshot(events=tell(at(0, POD_0), at(90, POD_0)).events())


def aged(since, *findings, second=0, **options):
    """A single pass that knows since when a fault lasts."""
    line = {PODS: {"since": noon(since), "age_known": True}}
    return at(second, *findings, lines=line, **{"single_pass": SinglePass()} | options)


@rows(
    "passes",
    {
        **{
            f"one of two about an object has a time, and the other one counts as just as old: {severity}": [
                aged(-60, finding(PODS, severity=5, message="timeless"), finding(PODS, transition=ago(60), severity=severity)),
            ]
            for severity in (1, 9)
        },
        "our own Event contains the start": [aged(0, POD_0, second=600, seen=RECORD)],
        "also once its pod is gone, since the episode continues": [aged(0, POD_1, second=600, seen=RECORD)],
        "an episode that was not told tells nothing": [
            at(0, POD_0), at(1, POD_1, single_pass=SinglePass(), lines={PODS: {"age_known": False}}),
        ],
        "--observed-for sets the age of faults without a time": [aged(-90, POD_0, single_pass=SinglePass(seconds(90)))],
    },
)  # fmt: skip
def test_whose_age_is_known(passes):
    tell(*passes)


@pytest.mark.parametrize("observed_for", [None, seconds(300)])
@pytest.mark.parametrize(
    ("reason", "age", "found", "since"),
    [
        (PODS, 5, "pending", -5), (PROGRAMMING, 5, "pending", -5), (PODS, -30, "pending", 0),
        (PODS, 59, "pending", -59),
    ],
    ids=["a model", "a namespace", "a clock that is ahead", "nearly as old as a fault has to be"],
)  # fmt: skip
def test_nothing_is_missing_for_longer_than_its_subject_exists(
    reason, age, found, since, observed_for
):
    """A model or namespace of five seconds has lacked an object for five seconds."""
    looked = Resolver(created=ago(age))
    assert looked.look(0, finding(reason), single_pass=SinglePass(observed_for)) == {reason: found}
    assert (looked[reason].since, looked[reason].age_known) == (noon(since), True)


@pytest.mark.parametrize("age", [60, 61])
def test_a_subject_says_no_more_once_it_is_as_old_as_a_fault_has_to_be(age):
    """Only a younger subject limits the age of a fault."""
    line = {PODS: {"since": ago(60), "age_known": False}}
    tell(at(0, POD_0, single_pass=SinglePass(), lines=line), created=ago(age))


def test_only_its_own_subject_makes_a_fault_young():
    """A new model next to an old one does not change the old one's faults."""
    looked = Resolver()
    looked.subjects = [KnownSubject(HARNESS, ago(5)), KnownSubject(MODEL, ago(7200))]
    assert looked.look(0, finding(PODS), single_pass=SinglePass()) == {PODS: "firing"}
    assert not looked[PODS].age_known
