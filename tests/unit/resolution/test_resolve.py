"""The results of a whole pass, also for the subjects of every stack."""

from dataclasses import replace

import pytest

from reporter.catalogue import resources as r
from reporter.model.finding import Derived, Evaluation, KnownSubject, ReadyEvidence, ServingEvidence
from reporter.model.reason import EventType
from reporter.model.report import Outside, SkippedObject
from reporter.model.subject import CLUSTER, Subject
from reporter.resolution import Memory, resolve
from reporter.resolution.grace import Start, token
from reporter.resolution.records import NO_RECORDS
from reporter.stacks.kaito.reasons import INFERENCESETS, RAGENGINES
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import REASONS, Stack, subjects_of
from tests.unit.resolution.building import (
    MODEL,
    NOON,
    ROUTER,
    START,
    Resolver,
    evidence,
    finding,
    namespace,
    seconds,
    sends,
    snapshot,
)
from tests.unit.resolution.test_looking import ONLY_SOME
from tests.unit.resolution.test_looking import holding as outside
from tests.unit.resolution.test_records import events_of

ISTIO, BBR = "clusterIstioControlPlaneNotReady", "clusterBBRNotReady"
PODS, EPP = "inferencesetModelPodsNotReady", "inferencesetEPPNotReady"
WELL = Subject(MODEL.kind, "demo", "a-well")
SETTINGS = FullEvaluationSettings()


def serves(subject, *, wanted=1, working=1):
    """Evidence that so many replicas of a model work, behind the Gateway of its namespace."""
    entrances = frozenset({(subject.namespace, "gw")})
    return ServingEvidence(subject=subject, wanted=wanted, serving=working, entrances=entrances)


def report_of(*, seen=None, subjects=(), **said):
    """The report of a first pass."""
    known = tuple(KnownSubject(each) for each in subjects)
    evaluation = Evaluation((), (), known, **said)
    done = resolve(evaluation, seen or snapshot(), Memory(), now=START, settings=SETTINGS)
    return done.report


@pytest.mark.parametrize(
    ("serving", "state", "suffix", "due"),
    [
        pytest.param([serves(MODEL)], "serving", "", True, id="serving"),
        pytest.param([serves(MODEL, wanted=2)], "degraded", " (degraded)", True, id="degraded"),
        pytest.param([serves(MODEL, working=0)], "not-serving", " (not serving)", False, id="not serving"),
        pytest.param([serves(MODEL, wanted=0)], "idle", "", True, id="idle"),
        pytest.param([], "unknown", "", True, id="unknown"),
    ],
)  # fmt: skip
def test_who_is_ready_is_told_with_what_is_wrong_all_the_same(serving, state, suffix, due):
    """No Event is due for a model that does not serve; a model without faults has no addition."""
    resolver = Resolver(created=NOON)
    resolver.subjects.append(KnownSubject(WELL, NOON))
    ready = [evidence(each) for each in (MODEL, WELL)]
    resolver.look(0, ready=ready, serving=[serves(WELL), *serving])
    assert [
        (each.subject, str(each.state), each.message, each.due) for each in resolver.report.ready
    ] == [(WELL, "serving", f"{WELL} works", True), (MODEL, state, f"{MODEL} works{suffix}", due)]


def test_what_was_left_out_is_listed_once_and_in_order():
    left_out = [SkippedObject(str(r.PODS), "demo", name, "no spec") for name in "abcdefghijkl"]
    seen = replace(
        snapshot(), skipped=tuple(left_out[::-2]), superseded=(*left_out[::2], left_out[1])
    )
    assert report_of(seen=seen).skipped == tuple(left_out)


def test_statuses_that_are_worked_out_are_listed_in_order():
    worked_out = [Derived(namespace(name), {"name": name}) for name in "abc"]
    assert report_of(derived=tuple(worked_out[::-1])).derived == tuple(worked_out)


LEFT_OUT = FullEvaluationSettings(model_namespaces="team=ml")
ONE = outside(INFERENCESETS, "demo/qwen")


@pytest.mark.parametrize(
    ("then", "found"),
    [
        pytest.param({}, [Outside("InferenceSet", 1, "demo/qwen", ONLY_SOME)], id="nothing"),
        pytest.param({"subjects": (KnownSubject(MODEL),)}, [], id="what is judged"),
        pytest.param(
            {"seen": outside(INFERENCESETS, "demo/qwen", "demo/r")},
            [Outside("InferenceSet", 2, "demo/qwen", ONLY_SOME)],
            id="what there is",
        ),
        pytest.param({"settings": FullEvaluationSettings(stacks={"kaito": "off"}, model_namespaces="team=ml")}, [], id="the settings"),
    ],
)  # fmt: skip
def test_what_is_not_judged_is_counted_again_where_something_changed(then, found):
    memory = Memory()
    for change in ({}, then):
        given = {"subjects": (), "seen": ONE, "settings": LEFT_OUT} | change
        seen = Evaluation((), (), given["subjects"])
        done = resolve(seen, given["seen"], memory, now=START, settings=given["settings"])
        memory = done.memory
    assert done.report.outside == tuple(found)


def test_what_did_not_change_is_the_very_same_as_before():
    """The writer need not compare thousands of subjects."""
    resolver, reports = Resolver(), []
    seen = outside(RAGENGINES, "demo/r")
    for at in (0, 1, 2):
        resolver.look(at, ready=[evidence(CLUSTER)], seen=seen)
        reports.append(resolver.report)
    _, before, after = reports
    for part in ("ready", "subjects", "states", "outside"):
        assert getattr(before, part)
        assert getattr(after, part) is getattr(before, part)


@pytest.mark.parametrize(
    ("given", "found", "since"),
    [
        pytest.param({}, "firing", 0, id="nothing"),
        pytest.param({"records": NO_RECORDS}, "pending", 30, id="that nothing is on record"),
        pytest.param(
            {
                "records": NO_RECORDS,
                "handed": {
                    token(finding(EPP).key, (finding(EPP).related, False)): Start(NOON + seconds(5))
                },
            },
            "pending",
            5,
            id="since when it lasts",
        ),
    ],
)
def test_what_a_pass_is_given_besides_the_cluster_counts(given, found, since):
    """The Event is read from the snapshot only if it has not been read before."""
    resolver = Resolver()
    seen = snapshot(events=events_of(finding(EPP, exempt=True)))
    assert resolver.look(30, finding(EPP), seen=seen, **given) == {EPP: found}
    assert resolver[EPP].since == NOON + seconds(since)


def test_it_is_looked_again_when_another_cause_is_the_one_to_look_at():
    """It came before the other at 10, and must stay there for a grace."""
    resolver = Resolver()
    both = [finding(each, exempt=True) for each in (ISTIO, BBR)]
    resolver.look(0, *both)
    both[1] = replace(both[1], down=True, related=ROUTER)
    for at, primary in ((10, ISTIO), (69, ISTIO), (70, BBR)):
        resolver.look(at, *both, serving=[serves(MODEL)], seen=snapshot(filters=[sends("demo")]))
        assert [each.reason for each in resolver.report.findings if each.primary] == [primary]
        assert resolver.wake_in == (seconds(70 - at) if at < 70 else None)


SUBJECTS = {stack: Subject(subjects_of(stack)[0].subject_kind, "demo", "m") for stack in Stack}


def reasons_of(subject: Subject, **facts):
    """The names of the rows of a kind of subject that have these facts."""
    return [
        each.name
        for each in REASONS
        if each.subject_kind == subject.kind
        and all(getattr(each, name) == value for name, value in facts.items())
    ]


LONG_AGO = NOON - seconds(7200)

READY = {
    stack: name
    for stack, subject in SUBJECTS.items()
    for name in reasons_of(subject, says_ready=True)
}
NOTES = [
    (stack, name)
    for stack, subject in SUBJECTS.items()
    for name in reasons_of(subject, type=EventType.NORMAL, says_ready=False)
]
"""Reasons that are worth knowing but are not faults."""


def resolver_of(subject: Subject, created=LONG_AGO) -> Resolver:
    resolver = Resolver()
    resolver.subjects.append(KnownSubject(subject, created))
    return resolver


def ready(stack: Stack) -> ReadyEvidence:
    subject, place = SUBJECTS[stack], namespace("demo")
    return ReadyEvidence(
        reason=READY[stack],
        subject=subject,
        involved=place,
        related=place,
        message=f"{subject} works",
    )


def fault(stack: Stack, reason: str, pod: str = "p-0"):
    return finding(reason, pod, subject=SUBJECTS[stack], exempt=True)


FAULTS = [
    (stack, name)
    for stack, subject in SUBJECTS.items()
    for name in reasons_of(subject, says_ready=False, window_seconds=None)
]
"""Reasons about objects, of every stack; reasons from pages have a window of their own."""


@pytest.mark.parametrize(("stack", "name"), FAULTS)
def test_a_fault_is_no_older_than_it_was_seen_although_its_subject_is_young(stack, name):
    """A healthy rollout begins when the subject is nearly as old as the budget."""
    created, budget = NOON - seconds(2400), seconds(2700)
    resolver = resolver_of(SUBJECTS[stack], created)
    begun = finding(name, subject=SUBJECTS[stack], created=created, budget=budget)
    assert resolver.look(0) == {}
    for second in (31, 300, 331, 2700):
        assert resolver.look(second, begun) == {name: "pending"}, second
    assert resolver.look(31 + 2700, begun) == {name: "firing"}


@pytest.mark.parametrize(("stack", "name"), FAULTS)
def test_a_fault_of_a_subject_that_was_never_seen_without_it_is_as_old(stack, name):
    """So a restarted process does not wait again."""
    created = NOON - seconds(2400)
    resolver = resolver_of(SUBJECTS[stack], created)
    begun = finding(name, subject=SUBJECTS[stack], created=created, budget=seconds(2700))
    assert resolver.look(0, begun) == {name: "pending"}
    assert resolver.look(300, begun) == {name: "firing"}


def over(event):
    labels = event["metadata"]["labels"] | {"status-reporter.io/state": "over"}
    return event | {"metadata": event["metadata"] | {"labels": labels}}


def due(resolver) -> list[str]:
    return [each.reason for each in resolver.report.ready if each.due]


@pytest.mark.parametrize(("stack", "note"), NOTES)
def test_what_is_normal_and_no_ready_is_told_like_a_finding(stack, note):
    resolver = resolver_of(SUBJECTS[stack])
    assert resolver.look(0, fault(stack, note)) == {note: "firing"}
    (event,) = resolver.events()
    assert (event["reason"], event["type"]) == (note, "Normal")
    assert resolver.look(61) in ({}, {note: "clearing"})


@pytest.mark.parametrize(("stack", "note"), NOTES)
def test_what_is_normal_and_no_ready_does_not_stand_for_it(stack, note):
    """It does not keep its subject from being ready, and does not count as its Ready."""
    (warning, *_) = reasons_of(SUBJECTS[stack], chain=True, blocks_ready=True)
    before = resolver_of(SUBJECTS[stack])
    before.look(0, fault(stack, warning))
    recorded = [over(each) for each in before.events()]
    before = resolver_of(SUBJECTS[stack])
    before.look(50, fault(stack, note))
    recorded += before.events()
    resolver = resolver_of(SUBJECTS[stack])
    resolver.look(100, fault(stack, note), ready=[ready(stack)], seen=snapshot(events=recorded))
    assert due(resolver) == [READY[stack]]


@pytest.mark.parametrize("stack", READY)
def test_ready_is_told_once_for_the_subjects_of_every_stack(stack):
    """After a Warning that blocked it, and not again."""
    (warning, *_) = reasons_of(SUBJECTS[stack], chain=True, blocks_ready=True)
    before = resolver_of(SUBJECTS[stack])
    before.look(0, fault(stack, warning))
    recorded = [over(each) for each in before.events()]
    resolver = resolver_of(SUBJECTS[stack])
    resolver.look(100, ready=[ready(stack)], seen=snapshot(events=recorded))
    assert due(resolver) == [READY[stack]]
    recorded += resolver.events()
    resolver.look(101, ready=[ready(stack)], seen=snapshot(events=recorded))
    assert due(resolver) == []


@pytest.mark.parametrize("stack", READY)
def test_a_subject_is_not_ready_while_its_kind_cannot_be_read(stack):
    """Unknown is neither healthy nor a fault, for any stack; the others continue."""
    resolver = resolver_of(SUBJECTS[stack], created=NOON)
    resolver.look(0, ready=[ready(stack)], seen=snapshot(unknown=subjects_of(stack)))
    assert resolver.report.ready == ()
    others = [each for other in Stack if other != stack for each in subjects_of(other)]
    resolver.look(1, ready=[ready(stack)], seen=snapshot(unknown=others))
    assert due(resolver) == [READY[stack]]
