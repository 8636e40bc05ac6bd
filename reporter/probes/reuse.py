"""Answers of an earlier pass that still hold: a change costs the answers that rest on it.

What the probes say about a namespace, or about a subject of a stack, follows from what they look up
(`reporter.snapshot.trace`). If all of that is the same as before, so is the answer. This is a matter of
speed only: with or without it an evaluation is the same.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Final

from reporter.metrics.looks.samples import NONE, Samples
from reporter.model.finding import Evaluation
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.model.seen import Seen
from reporter.model.subject import Subject
from reporter.probes.evaluation_parts import contained
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.snapshot.table import Table
from reporter.snapshot.trace import Cell, How, TracedSnapshot, WorkedOut, cells_of

_SMALL: Final = 10_000


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about one namespace or one subject.

    Attributes:
        about: the subject.
        ask: asks the probes.
        rests_on: what was looked up already, as the object that is the subject.

    """

    about: Subject
    ask: Callable[[], Evaluation]
    rests_on: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """What the probes said, and what they looked up for it."""

    said: Evaluation
    cells: frozenset[Cell]


class Readers:
    """Which answers rest on a cell.

    It only grows, until it is made anew: an answer that is named here and rests on the cell no more is
    asked for once too often, which is no fault. So a pass that is dropped need not be taken back.
    """

    def __init__(self, answers: Mapping[Subject, KeptAnswer] = MappingProxyType({})) -> None:
        self._of: dict[Cell, set[Subject]] = {}
        self._added = 0
        self.add(answers)
        self._first = self._added

    def of(self, cell: Cell) -> Collection[Subject]:
        """Return the answers that may rest on a cell."""
        return self._of.get(cell, ())

    def add(self, answers: Mapping[Subject, KeptAnswer]) -> None:
        """Note what new answers rest on."""
        for key, each in answers.items():
            self._added += len(each.cells)
            for cell in each.cells:
                self._of.setdefault(cell, set()).add(key)

    @property
    def is_crowded(self) -> bool:
        """Whether more was added than it began with."""
        return self._added > 2 * self._first + _SMALL


@dataclass(frozen=True, slots=True)
class Answered:
    """What was answered in a pass, and from what.

    Attributes:
        shared: what all answers rest on.
        tables: the objects.
        samples: what was scraped.
        answers: by what they are about.
        readers: which answers rest on a cell.
        found: what was worked out of many objects for many answers.
        seen: what was there of shared parts.

    """

    shared: tuple[object, ...] = ()
    tables: Mapping[Resource[KubeObject], Table[KubeObject]] = field(default_factory=dict)
    samples: Samples = NONE
    answers: Mapping[Subject, KeptAnswer] = field(default_factory=dict)
    readers: Readers = field(default_factory=Readers)
    found: Mapping[Hashable, WorkedOut] = field(default_factory=dict)
    seen: Seen = field(default_factory=Seen)


def answer(
    questions: Iterable[Question],
    snapshot: TracedSnapshot,
    now: Answered,
    *,
    before: Answered,
) -> Answered:
    """Return the answers, those of before where what they rest on is the same.

    Args:
        questions: what is asked.
        snapshot: notes what is looked up.
        now: what is asked of, without answers.
        before: what was answered last.

    """
    same = now.shared == before.shared
    stale = _stale(now, before, snapshot) if same else frozenset()
    kept = before.answers if same else {}
    answers: dict[Subject, KeptAnswer] = {}
    news: dict[Subject, KeptAnswer] = {}
    for question in questions:
        known = kept.get(question.about)
        is_other = known is not None and not known.cells.issuperset(question.rests_on)
        if known is None or is_other or question.about in stale:
            said, cells = snapshot.trace.of(partial(contained, question.ask, question.about))
            known = news[question.about] = KeptAnswer(said, cells.union(question.rests_on))
        answers[question.about] = known
    if not same or before.readers.is_crowded:
        readers = Readers(answers)
    else:
        readers = before.readers
        readers.add(news)
    return replace(now, answers=answers, readers=readers, found=snapshot.found)


def shared_inputs(snapshot: Snapshot, settings: EvaluationSettings) -> tuple[object, ...]:
    """Return what all answers rest on besides objects."""
    return (
        settings,
        snapshot.discovery,
        snapshot.covered,
        snapshot.skipped,
        snapshot.incomplete,
        {resource: (state.served, state.partial) for resource, state in snapshot.states.items()},
    )


def _stale(now: Answered, before: Answered, snapshot: TracedSnapshot) -> frozenset[Subject]:
    """Return which answers may rest on something that changed."""
    changed = set(_changed(now, before))
    changed.update(_found_again(before.found, changed, snapshot))
    return frozenset(key for cell in changed for key in before.readers.of(cell))


def _found_again(
    before: Mapping[Hashable, WorkedOut], changed: Collection[Cell], snapshot: TracedSnapshot
) -> Iterator[Cell]:
    """Work out again what is made of cells that changed; yield what is another than before.

    What others are made of comes before them, as it was found first.
    """
    others: set[Cell] = set()
    for question, known in before.items():
        if known.cells.isdisjoint(changed) and known.cells.isdisjoint(others):
            snapshot.found[question] = known
            continue
        snapshot.once(question, known.find)
        again = snapshot.found[question]
        if again.value == known.value:
            snapshot.found[question] = replace(again, value=known.value)
        else:
            others.add(Cell(None, How.FOUND, question))
    yield from others


def _changed(now: Answered, before: Answered) -> Iterator[Cell]:
    empty: Table[KubeObject] = Table()
    for resource in now.tables.keys() | before.tables.keys():
        table, known = now.tables.get(resource, empty), before.tables.get(resource, empty)
        if table is not known:
            for old, new in table.changes(known):
                yield from cells_of(resource, old, new)
    old_pods, new_pods = before.samples.pods, now.samples.pods
    if old_pods is not new_pods:
        for name in old_pods.keys() | new_pods.keys():
            if old_pods.get(name) is not new_pods.get(name):
                yield Cell(None, How.SAMPLES, name)
