"""The rules hold for the subjects of every stack, whose reasons are rows of the same table."""

import pytest

from reporter.model.finding import KnownSubject, ReadyEvidence
from reporter.model.reason import EventType
from reporter.model.subject import Subject
from tests.tables import REASONS, Stack, subjects_of
from tests.unit.resolution.building import NOON, Resolver, finding, namespace, seconds, snapshot

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
"""What is worth knowing and no fault."""


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
"""What is told of objects, of every stack; what pages tell has a window of its own."""


@pytest.mark.parametrize(("stack", "name"), FAULTS)
def test_a_fault_is_no_older_than_it_was_seen_although_its_subject_is_young(stack, name):
    """A healthy rollout begins when the subject is nearly as old as the budget: its time is its own."""
    created, budget = NOON - seconds(2400), seconds(2700)
    resolver = resolver_of(SUBJECTS[stack], created)
    begun = finding(name, subject=SUBJECTS[stack], created=created, budget=budget)
    assert resolver.look(0) == {}
    for second in (31, 300, 331, 2700):
        assert resolver.look(second, begun) == {name: "pending"}, second
    assert resolver.look(31 + 2700, begun) == {name: "firing"}


@pytest.mark.parametrize(("stack", "name"), FAULTS)
def test_a_fault_of_a_subject_that_was_never_seen_without_it_is_as_old(stack, name):
    """So that a process that is started again does not wait once more."""
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
    """It keeps no subject from being ready, and a Ready that is due is not taken for told."""
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
    """After a Warning that kept it from being ready, and not again."""
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
    """Unknown is neither healthy nor a fault, of whatever stack; the others go on."""
    resolver = resolver_of(SUBJECTS[stack], created=NOON)
    resolver.look(0, ready=[ready(stack)], seen=snapshot(unknown=subjects_of(stack)))
    assert resolver.report.ready == ()
    others = [each for other in Stack if other != stack for each in subjects_of(other)]
    resolver.look(1, ready=[ready(stack)], seen=snapshot(unknown=others))
    assert due(resolver) == [READY[stack]]
