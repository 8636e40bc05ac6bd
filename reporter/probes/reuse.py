"""Reuse the answers of an earlier pass: a change invalidates only the answers that depend on it.

The answer of the probes about a namespace, or about a subject of a stack, depends on what they look
up (`reporter.snapshot.trace`). If all of that is unchanged, so is the answer. This only affects
speed: an evaluation is the same with and without it.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter, is_
from types import MappingProxyType
from typing import Final

from reporter.metrics.samples.window import NONE, PodSamples
from reporter.model.evidence import NO_EVIDENCE, Evidence
from reporter.model.finding import Evaluation
from reporter.model.objects import KubeObject
from reporter.model.resource import AnyResource, Seen
from reporter.model.subject import Subject
from reporter.probes.scope import EMPTY, Scope, contained, joined
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.snapshot.table import Table
from reporter.snapshot.trace import Cell, How, TracedSnapshot, WorkedOut, cells_of, evidence_cells

_SMALL: Final = 10_000

_READ: Final = attrgetter("served", "partial", "cause", "permission", "since", "lasting")
"""The fields of a resource's state that probes may read; no answer depends on `confirmed`."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one namespace or one subject.

    `ask` takes the cluster as an argument, so that a question outlives a snapshot. `rests_on` are
    cells that were looked up already, such as the subject's own object.
    """

    about: Subject
    ask: Callable[[Scope], Evaluation]
    rests_on: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer of the probes, and the cells that they looked up."""

    evaluation: Evaluation
    cells: frozenset[Cell]


@dataclass(frozen=True, slots=True)
class KeptQuestions:
    """The questions by subject, and the cells that were looked up to find them.

    The later of two questions about the same subject counts. While the cells are unchanged, so are
    the questions.
    """

    of: Mapping[Subject, Question] = field(default_factory=dict)
    cells: frozenset[Cell] = frozenset()


class Readers:
    """An index from cells to the answers that depend on them.

    It only grows, until it is rebuilt: an answer that no longer depends on a cell is evaluated once
    more than needed, which costs little. So a pass that is dropped need not be undone.
    """

    def __init__(self, answers: Mapping[Subject, KeptAnswer] = MappingProxyType({})) -> None:
        # Nearly all cells have one dependent answer; a set for each took half the memory of all
        # answers.
        self._one: dict[Cell, Subject] = {}
        self._others: dict[Cell, set[Subject]] = {}
        self._added = 0
        self.add(answers)
        self._first = self._added

    def of(self, cell: Cell) -> Collection[Subject]:
        """Return the answers that may depend on a cell."""
        one = self._one.get(cell)
        return () if one is None else (one, *self._others.get(cell, ()))

    def add(self, answers: Mapping[Subject, KeptAnswer]) -> None:
        for key, each in answers.items():
            self._added += len(each.cells)
            for cell in each.cells:
                if self._one.setdefault(cell, key) != key:
                    self._others.setdefault(cell, set()).add(key)

    @property
    def is_crowded(self) -> bool:
        """Whether more entries were added than it started with."""
        return self._added > 2 * self._first + _SMALL


@dataclass(frozen=True, slots=True)
class Answered:
    """The answers of a pass, and their inputs.

    All answers depend on `shared`, which includes the shared parts `seen`. `evaluation` is all
    answers joined. `found` are intermediate results from many objects, for many answers.
    """

    shared: tuple[object, ...] = ()
    tables: Mapping[AnyResource, Table[KubeObject]] = field(default_factory=dict)
    samples: PodSamples = NONE
    evidence: Evidence = NO_EVIDENCE
    asked: KeptQuestions = field(default_factory=KeptQuestions)
    answers: Mapping[Subject, KeptAnswer] = field(default_factory=dict)
    evaluation: Evaluation = EMPTY
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
    """Return the answers, reusing those of `before` whose inputs are unchanged.

    An answer that is equal to the one before stays the same object, and so does the joined
    evaluation, so later steps can skip what did not change. `find` returns the questions; `changed`
    are the cells that may have changed.
    """
    same = now.shared == before.shared
    if same and before.asked.cells and before.asked.cells.isdisjoint(changed):
        asked, kept = before.asked, before.answers
    else:
        questions, cells = snapshot.trace.of(lambda: {each.about: each for each in find()})
        asked, kept = KeptQuestions(questions, cells), dict[Subject, KeptAnswer]()
        if same:  # keep answers about objects that still have a question
            kept = {
                about: known
                for about, known in before.answers.items()
                if about in questions and known.cells.issuperset(questions[about].rests_on)
            }
    stale = {each for cell in changed for each in before.readers.of(cell)}
    fresh: dict[Subject, KeptAnswer] = {}
    differs = asked is not before.asked
    for about in (stale & asked.of.keys()) | (asked.of.keys() - kept.keys()):
        question = asked.of[about]
        ask = partial(contained, partial(question.ask, scope), about)
        evaluation, cells = snapshot.trace.of(ask)
        known = before.answers.get(about)
        if known is not None and known.evaluation == evaluation:
            evaluation = known.evaluation
        else:
            differs = True
        fresh[about] = KeptAnswer(evaluation, cells.union(question.rests_on))
    if not same or before.readers.is_crowded:
        readers = Readers({**kept, **fresh})
    else:
        readers = before.readers
        readers.add(fresh)
    answers = before.answers
    if asked is not before.asked:
        answers = {about: fresh.get(about) or kept[about] for about in asked.of}
    elif fresh:
        answers = {**kept, **fresh}
    return replace(
        now,
        asked=asked,
        answers=answers,
        evaluation=_joined(answers, before) if differs else before.evaluation,
        readers=readers,
        found=snapshot.found,
    )


def _joined(answers: Mapping[Subject, KeptAnswer], before: Answered) -> Evaluation:
    parts = [each.evaluation for each in answers.values()]
    known = [each.evaluation for each in before.answers.values()]
    if len(parts) == len(known) and all(map(is_, parts, known)):
        return before.evaluation
    return joined(parts, before.evaluation)


def shared_inputs(snapshot: Snapshot, settings: EvaluationSettings) -> tuple[object, ...]:
    """Return the inputs other than objects that all answers depend on."""
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
    """Return the cells looked up before that may have changed."""
    return frozenset(_found_again(before.found, frozenset(_changed(now, before)), snapshot))


def _found_again(
    before: Mapping[Hashable, WorkedOut], changed: Collection[Cell], snapshot: TracedSnapshot
) -> set[Cell]:
    """Compute the intermediate results again that depend on changed cells; return these cells, and
    the results that differ. A result precedes those that are made of it, as it was computed first.
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
