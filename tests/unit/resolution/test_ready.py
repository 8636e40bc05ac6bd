"""Rule 7: when a Ready is due, and how long decisions about it are reused."""

from dataclasses import replace

import pytest

from reporter.catalogue.resources import DEPLOYMENTS, EVENTS
from reporter.model.finding import Evaluation, KnownSubject, Unjudged
from reporter.model.instant import rfc3339_micro
from reporter.model.subject import CLUSTER
from reporter.resolution.memory import CachedReady, Steps
from reporter.resolution.ready import find_ready
from reporter.resolution.records import records_of
from reporter.stacks.kaito.reasons import INFERENCESETS, WORKSPACES
from tests.tables import rows
from tests.unit.resolution.building import (
    HARNESS,
    MODEL,
    NOON,
    START,
    Resolver,
    evidence,
    finding,
    pass_state,
    seconds,
    snapshot,
)
from tests.unit.resolution.test_records import due, events_of, of_another_vocabulary, over

EPP, ROUTE = "inferencesetEPPNotReady", "inferencesetRouteNotReady"
KAITO, PRESSURE = "clusterKaitoControllerNotReady", "inferencesetNodeUnderPressure"
READY = [evidence(MODEL)]


def warning(at, reason=EPP):
    """The Event of an episode that is over."""
    return [over(each) for each in events_of(finding(reason, exempt=True), at=at)]


def ready(at, *events):
    """The Event of a Ready that answers these."""
    return events_of(at=at, ready=READY, seen=snapshot(events=events))


WARNED, OF_ROUTE = warning(0), warning(0, ROUTE)
ANSWERED = [*WARNED, *ready(100, *WARNED)]
AGAIN = [WARNED[0] | {"lastTimestamp": "2026-11-20T12:03:00Z"}, *ANSWERED[1:]]
FORMER = [of_another_vocabulary(each) for each in WARNED]
AT_ONCE = {reason: [*each, *ready(0, *each)] for reason, each in ((EPP, WARNED), (ROUTE, OF_ROUTE))}
LONG_AGO = NOON - seconds(2 * 86_400)
AWAITED = snapshot(unconfirmed=[WORKSPACES])


@rows(
    ("created", "passes"),
    {
        "a Warning that is told again calls for another, though its Event is the same": (LONG_AGO, [(101, ANSWERED, False), (200, AGAIN, True)]),
        "two Warnings of one instant are two": (LONG_AGO, [(101, ANSWERED, False), (102, [*WARNED, *OF_ROUTE], True)]),
        "an Event of an older version, or with other declarations, calls for none": (LONG_AGO, [(100, FORMER, False)]),
        "a Warning from when the subject was created": (NOON, [(7200, WARNED, True)]),
        "a Warning about an earlier subject of that name, too old for a first Ready": (NOON + seconds(1), [(7200, WARNED, False)]),
        "a Warning that outlives its Ready calls for no other": (LONG_AGO, [(101, ANSWERED, False), (102, WARNED, False), (103, WARNED, False)]),
        "of one instant a Ready is the newer": (NOON, [(1, AT_ONCE[EPP], False), (2, AT_ONCE[EPP][::-1], False)]),
        "whatever the order of their names": (NOON, [(1, AT_ONCE[ROUTE], False), (2, AT_ONCE[ROUTE][::-1], False)]),
        "a Warning after a Ready calls for another": (LONG_AGO, [(300, [*warning(200), *ANSWERED], True)]),
        "of any reason: the newest decides, not its name": (LONG_AGO, [(300, [*warning(200, ROUTE), *ANSWERED], True)]),
        "a first Ready is due within the lifetime of an Event": (NOON - seconds(60), [(0, [], True), (3539, [], True), (3540, [], False)]),
        "an older one may have been told and expired": (NOON - seconds(3600), [(0, [], False), (3539, [], False)]),
    },
)  # fmt: skip
def test_when_a_ready_is_due(created, passes):
    resolver = Resolver(created=created)
    for second, events, is_due in passes:
        resolver.look(second, ready=READY, seen=snapshot(events=events))
        assert due(resolver) == [str(MODEL)] * is_due, second


def test_two_replicas_answer_the_same_of_two_warnings():
    """The name of the Ready must not depend on the order of the records."""
    both = [*warning(0), *warning(0, ROUTE)]
    episodes = set()
    for order in (both, both[::-1]):
        resolver = Resolver()
        resolver.look(100, ready=READY, seen=snapshot(events=order))
        episodes |= {each.episode for each in resolver.report.ready}
    assert episodes == {max(each["metadata"]["name"] for each in both)}


@pytest.mark.parametrize(
    ("subject", "created", "episode"),
    [
        (MODEL, NOON, rfc3339_micro(NOON)),
        (MODEL, NOON - seconds(60), rfc3339_micro(NOON - seconds(60))),
        (CLUSTER, NOON, "first"),
    ],
    ids=["young", "older", "no time of creation"],
)
def test_a_first_ready_is_named_by_when_its_subject_began(subject, created, episode):
    """So two replicas write the same Event."""
    resolver = Resolver(created=created)
    resolver.look(0, ready=[evidence(subject)])
    assert [each.episode for each in resolver.report.ready] == [episode]


@rows(
    ("passes", "ready"),
    {
        "all is known": ([{}], [MODEL]),
        "one thing is unknown": ([{"seen": snapshot(unknown=[DEPLOYMENTS])}], []),
        "the subjects are unknown": ([{"seen": snapshot(unknown=[INFERENCESETS])}], []),
        "one thing is awaited": ([{"seen": snapshot(unconfirmed=[DEPLOYMENTS])}], []),
        "our Events are awaited": ([{"seen": snapshot(unconfirmed=[EVENTS])}], []),
        "our Events may not be read": ([{"seen": snapshot(unknown=[EVENTS])}], [MODEL]),
        "a reason that blocks it was not judged": ([{"unjudged": [Unjudged(MODEL, "IndexError", reason=EPP)]}], []),
        "one that does not block it was not judged": ([{"unjudged": [Unjudged(MODEL, "IndexError", reason=PRESSURE)]}], [MODEL]),
        "what was ready stays so while data is awaited": ([{}, {"seen": AWAITED}], [MODEL]),
        "data of models is awaited, which says nothing of a namespace": ([{"seen": AWAITED, "ready": [*READY, evidence(HARNESS)]}], [HARNESS]),
    },
)  # fmt: skip
def test_nothing_unknown_decides_about_who_is_ready(passes, ready):
    resolver = Resolver()
    for second, options in enumerate(passes):
        resolver.look(second, **{"ready": READY} | options)
    assert [each.subject for each in resolver.report.ready] == ready


@pytest.mark.parametrize(
    ("fault", "ready"),
    [
        pytest.param(finding(EPP), [CLUSTER, HARNESS], id="in grace"),
        pytest.param(finding(EPP, exempt=True), [CLUSTER, HARNESS], id="firing"),
        pytest.param(finding(PRESSURE, exempt=True), [CLUSTER, MODEL, HARNESS], id="blocks none"),
        pytest.param(finding(KAITO, exempt=True), [MODEL, HARNESS], id="of the first one"),
    ],
)
def test_what_is_listed_of_a_subject_keeps_no_other_from_being_ready(fault, ready):
    works = [evidence(each) for each in (MODEL, CLUSTER, HARNESS)]
    for order in (works, works[::-1]):
        resolver = Resolver()
        resolver.look(0, fault, ready=order)
        assert [each.subject for each in resolver.report.ready] == ready


@pytest.mark.parametrize("events", [[], warning(0)], ids=["no record", "a Warning"])
def test_a_ready_is_due_until_it_is_on_record(events):
    resolver = Resolver(created=NOON - seconds(60))
    for at in (100, 101, 102):
        resolver.look(at, ready=READY, seen=snapshot(events=events))
        assert due(resolver) == [str(MODEL)]
        assert MODEL not in resolver.memory.answered


def test_a_warning_about_the_cluster_calls_for_a_ready():
    """The cluster has no creation time, so all its Events are about it."""
    (event,) = warning(0, KAITO)
    resolver = Resolver()
    resolver.look(100, ready=[evidence(CLUSTER)], seen=snapshot(events=[event]))
    (found,) = resolver.report.ready
    assert (found.due, found.episode) == (True, event["metadata"]["name"])


YOUNG, OLD = NOON - seconds(60), NOON - seconds(7200)
FIRST, SEEN_WARNED = snapshot(), snapshot(events=WARNED)
TOLD = snapshot(events=ready(1, *warning(0)))


def passing(subject, created, seen):
    """A pass about one subject that works, by the rules before that of being ready."""
    known = KnownSubject(subject, created)
    evaluation = Evaluation((), (evidence(subject),), (known,))
    records, known = records_of(seen), {subject: known}
    return pass_state(evaluation=evaluation, snapshot=seen, records=records, known=known)


def later(state, **fields):
    """The same pass after an hour."""
    return replace(state, now=START.after(3600), steps=Steps(state.steps.taken), **fields)


@pytest.mark.parametrize(
    ("subject", "created", "seen", "is_due", "lasts"),
    [
        pytest.param(MODEL, YOUNG, FIRST, True, False, id="a first Ready of what is young"),
        pytest.param(MODEL, OLD, FIRST, False, True, id="what is older without a record"),
        pytest.param(MODEL, YOUNG, SEEN_WARNED, True, True, id="a Warning calls for it"),
        pytest.param(MODEL, YOUNG, TOLD, False, True, id="told"),
        pytest.param(CLUSTER, None, FIRST, True, True, id="no time of creation"),
    ],
)
def test_who_is_ready_is_found_again_where_time_decides(subject, created, seen, is_due, lasts):
    """Young subjects age; otherwise, the same inputs give the same result."""
    first = passing(subject, created, seen)
    found = find_ready(first, ())
    assert [each.due for each in found.ready] == [is_due]
    again = find_ready(later(first), ())
    assert (again is found) is lasts
    assert [each.due for each in again.ready] == [is_due and lasts]


def test_who_is_ready_is_found_again_for_what_is_listed():
    """The time of day does not matter."""
    first = passing(MODEL, OLD, FIRST)
    assert [each.subject for each in find_ready(first, ()).ready] == [MODEL]
    resolver = Resolver()
    resolver.look(0, finding("inferencesetEPPNotReady"))
    assert find_ready(later(first), resolver.report.findings).ready == ()


def test_what_was_told_is_handed_on_as_it_is():
    """So the next pass sees at once that it is the same."""
    first = passing(MODEL, OLD, TOLD)
    found = find_ready(first, ())
    assert [len(each) for each in found.answered.values()] == [1]
    memory = replace(first.memory, answered=dict(found.answered))
    assert find_ready(later(first, memory=memory), ()).answered is memory.answered


def test_what_was_told_of_who_is_gone_is_forgotten():
    """And only about those."""
    first = passing(MODEL, OLD, TOLD)
    found = find_ready(first, ())
    memory = replace(first.memory, answered={**found.answered, CLUSTER: frozenset()})
    assert find_ready(later(first, memory=memory), ()).answered == found.answered


PODS = "inferencesetModelPodsNotReady"
WORKS, KNOWN, ON_RECORD, OWN = (
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
        pytest.param({"answered": None}, False, id="nothing told"),
        pytest.param({"answered": ON_RECORD | {("f", NOON)}}, False, id="more told"),
    ],
)
def test_a_verdict_rests_on_all_that_it_was_made_of(other, holds):
    """Results of probes are the same objects or different ones."""
    stands = CachedReady(evidence=WORKS, known=KNOWN, own=OWN, answered=ON_RECORD, ready=None)
    given = {"evidence": WORKS, "known": KNOWN, "answered": ON_RECORD, "own": OWN} | other
    assert stands.holds(**given) is holds


def cached():
    """A resolver that remembers a model as ready and reported."""
    resolver = Resolver(created=NOON - seconds(60))
    resolver.look(0, ready=[WORKS])
    told = snapshot(events=resolver.events())
    for at in (1, 2):
        resolver.look(at, ready=[WORKS], seen=told)
    assert MODEL in resolver.memory.cached_ready
    assert due(resolver) == []
    resolver.told = told
    return resolver


def test_who_stands_is_not_decided_again_for_another():
    """There are thousands of subjects, and most passes are about one of them."""
    resolver = cached()
    stands = resolver.memory.cached_ready[MODEL]
    resolver.look(3, ready=[WORKS, evidence(HARNESS)], seen=resolver.told)
    assert resolver.memory.cached_ready[MODEL] is stands
    assert {each.subject for each in resolver.report.ready} == {HARNESS, MODEL}


def test_a_warning_about_who_stands_calls_for_another_ready():
    """It came after everything that was reported."""
    resolver = cached()
    resolver.look(3, ready=[WORKS], seen=snapshot(events=warning(2)))
    assert due(resolver) == [str(MODEL)]


def test_who_stands_is_told_with_what_its_evidence_says_now():
    """Although its Events are the same."""
    resolver = cached()
    resolver.look(3, ready=[replace(WORKS, message="it works otherwise")], seen=resolver.told)
    assert [each.message for each in resolver.report.ready] == ["it works otherwise"]


def test_who_stands_and_was_made_anew_begins_anew():
    """A Ready of it would be another Event."""
    resolver = cached()
    made = NOON + seconds(3)
    resolver.subjects = [KnownSubject(each.subject, made) for each in resolver.subjects]
    resolver.look(4, ready=[WORKS], seen=resolver.told)
    assert [each.episode for each in resolver.report.ready] == [rfc3339_micro(made)]


@pytest.mark.parametrize(
    ("again", "message"), [(34, f"{PODS} of a (and 1 more)"), (35, f"{PODS} of b")]
)
def test_a_fault_with_a_grace_is_remembered_for_that_grace(again, message):
    """It was last seen at 30; another fault of its key continued."""
    resolver = Resolver(grace={PODS: 5})
    both = finding(PODS, "a"), finding(PODS, "b")
    for at in (0, 30):
        resolver.look(at, *both)
    resolver.look(again, both[1])
    resolver.look(again, *both)
    assert resolver[PODS].message == message
