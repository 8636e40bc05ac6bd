"""Answers of an earlier pass that still hold: a change costs the answers that rest on it.

What the probes say about a namespace, or about a subject of a stack, follows from what they look up
(`reporter.snapshot.trace`). If all of that is the same as before, so is the answer. This is a
matter of speed only: with or without it an evaluation is the same.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter, is_
from types import MappingProxyType
from typing import Final

from reporter.metrics.looks.window import NONE, Samples
from reporter.model.evidence import NO_EVIDENCE, Evidence
from reporter.model.finding import Evaluation
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource, Seen
from reporter.model.subject import Subject
from reporter.probes.scope import NOTHING_SAID, Scope, contained, joined
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.snapshot.table import Table
from reporter.snapshot.trace import Cell, How, TracedSnapshot, WorkedOut, cells_of, evidence_cells

_SMALL: Final = 10_000

_READ: Final = attrgetter("served", "partial", "cause", "permission", "since", "lasting")
"""What probes may read of the state of a resource: nothing rests on whether it is confirmed."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about one namespace or one subject.

    `ask` is given the cluster, so that a question outlives it. `rests_on` was looked up already, as
    the object that is the subject.
    """

    about: Subject
    ask: Callable[[Scope], Evaluation]
    rests_on: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """What the probes said, and what they looked up for it."""

    said: Evaluation
    cells: frozenset[Cell]


@dataclass(frozen=True, slots=True)
class KeptQuestions:
    """What is asked, by what it is about, and what was looked up to know it.

    Of two questions about the same the later one counts. While the cells stay the same, the same is
    asked.
    """

    of: Mapping[Subject, Question] = field(default_factory=dict)
    cells: frozenset[Cell] = frozenset()


class Readers:
    """Which answers rest on a cell.

    It only grows, until it is made again: an answer that is named here and no longer depends on the
    cell is asked for once too many times, which costs little. So a pass that is dropped need not be
    taken back.
    """

    def __init__(self, answers: Mapping[Subject, KeptAnswer] = MappingProxyType({})) -> None:
        # On nearly each cell one answer rests: a set for each took half of what all answers take.
        self._one: dict[Cell, Subject] = {}
        self._others: dict[Cell, set[Subject]] = {}
        self._added = 0
        self.add(answers)
        self._first = self._added

    def of(self, cell: Cell) -> Collection[Subject]:
        """Return the answers that may rest on a cell."""
        one = self._one.get(cell)
        return () if one is None else (one, *self._others.get(cell, ()))

    def add(self, answers: Mapping[Subject, KeptAnswer]) -> None:
        """Note what new answers rest on."""
        for key, each in answers.items():
            self._added += len(each.cells)
            for cell in each.cells:
                if self._one.setdefault(cell, key) != key:
                    self._others.setdefault(cell, set()).add(key)

    @property
    def is_crowded(self) -> bool:
        """Whether more was added than it began with."""
        return self._added > 2 * self._first + _SMALL


@dataclass(frozen=True, slots=True)
class Answered:
    """What was answered in a pass, and from what.

    All answers rest on what is `shared`, and on the shared parts `seen` among it. `said` is all of
    them together. `found` was worked out of many objects for many answers.
    """

    shared: tuple[object, ...] = ()
    tables: Mapping[Resource[KubeObject], Table[KubeObject]] = field(default_factory=dict)
    samples: Samples = NONE
    evidence: Evidence = NO_EVIDENCE
    asked: KeptQuestions = field(default_factory=KeptQuestions)
    answers: Mapping[Subject, KeptAnswer] = field(default_factory=dict)
    said: Evaluation = NOTHING_SAID
    readers: Readers = field(default_factory=Readers)
    found: Mapping[Hashable, WorkedOut] = field(default_factory=dict)
    seen: Seen = field(default_factory=Seen)


def answer(
    find: Callable[[], Iterable[Question]],
    scope: Scope,
    snapshot: TracedSnapshot,
    *,
    now: Answered,
    before: Answered,
    changed: Collection[Cell],
) -> Answered:
    """Return the answers, those of before where what they rest on is the same.

    An answer that is the same as before stays the very object, and so does what all say together:
    who goes on from there need not look at what did not change. `find` finds out what is asked;
    `changed` are the cells that may be another answer now.
    """
    same = now.shared == before.shared
    if same and before.asked.cells and before.asked.cells.isdisjoint(changed):
        asked, kept = before.asked, before.answers
    else:
        questions, cells = snapshot.trace.of(lambda: {each.about: each for each in find()})
        asked, kept = KeptQuestions(questions, cells), dict[Subject, KeptAnswer]()
        if same:  # what is asked again about the same objects
            kept = {
                about: known
                for about, known in before.answers.items()
                if about in questions and known.cells.issuperset(questions[about].rests_on)
            }
    stale = {each for cell in changed for each in before.readers.of(cell)}
    news: dict[Subject, KeptAnswer] = {}
    differs = asked is not before.asked
    for about in (stale & asked.of.keys()) | (asked.of.keys() - kept.keys()):
        question = asked.of[about]
        said, cells = snapshot.trace.of(partial(contained, partial(question.ask, scope), about))
        known = before.answers.get(about)
        if known is not None and known.said == said:
            said = known.said
        else:
            differs = True
        news[about] = KeptAnswer(said, cells.union(question.rests_on))
    if not same or before.readers.is_crowded:
        readers = Readers({**kept, **news})
    else:
        readers = before.readers
        readers.add(news)
    answers = before.answers
    if asked is not before.asked:
        answers = {about: news.get(about) or kept[about] for about in asked.of}
    elif news:
        answers = {**kept, **news}
    return replace(
        now,
        asked=asked,
        answers=answers,
        said=_said(answers, before) if differs else before.said,
        readers=readers,
        found=snapshot.found,
    )


def _said(answers: Mapping[Subject, KeptAnswer], before: Answered) -> Evaluation:
    parts = [each.said for each in answers.values()]
    known = [each.said for each in before.answers.values()]
    if len(parts) == len(known) and all(map(is_, parts, known)):
        return before.said
    return joined(parts, before.said)


def shared_inputs(snapshot: Snapshot, settings: EvaluationSettings) -> tuple[object, ...]:
    """Return what all answers depend on apart from objects."""
    return (
        settings,
        snapshot.discovery,
        snapshot.covered,
        snapshot.skipped,
        snapshot.incomplete,
        snapshot.evidence.events_read is None,
        {resource: _READ(state) for resource, state in snapshot.states.items()},
    )


def changed_cells(now: Answered, before: Answered, snapshot: TracedSnapshot) -> frozenset[Cell]:
    """Return what may be another answer now, of what was looked up before."""
    return frozenset(_found_again(before.found, frozenset(_changed(now, before)), snapshot))


def _found_again(
    before: Mapping[Hashable, WorkedOut], changed: Collection[Cell], snapshot: TracedSnapshot
) -> set[Cell]:
    """Work out again what rests on changed cells; return these, and what differs from before.

    What others are made of comes before them, as it was found first.
    """
    moved = set(changed)
    for question, known in before.items():
        if known.cells.isdisjoint(moved):
            snapshot.found[question] = known
            continue
        snapshot.once(question, known.find)
        again = snapshot.found[question]
        if again.value == known.value:
            snapshot.found[question] = replace(again, value=known.value)
        else:
            moved.add(Cell(None, How.FOUND, question))
    return moved


def _changed(now: Answered, before: Answered) -> Iterator[Cell]:
    empty: Table[KubeObject] = Table()
    for resource in now.tables.keys() | before.tables.keys():
        table, known = now.tables.get(resource, empty), before.tables.get(resource, empty)
        if table is not known:
            for old, new in table.changes(known):
                yield from cells_of(resource, old, new)
    yield from evidence_cells(before.evidence, now.evidence)
    old_pods, new_pods = before.samples.pods, now.samples.pods
    if old_pods is not new_pods:
        for name in old_pods.keys() | new_pods.keys():
            if old_pods.get(name) is not new_pods.get(name):
                yield Cell(None, How.SAMPLES, name)
