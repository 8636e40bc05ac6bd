"""A pass after model pods changed, and one after nothing did."""

import gc
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count, cycle, islice
from typing import Final

from msgspec import structs

from reporter.catalogue.resources import EVENTS, PODS
from reporter.daemon.one_pass import Before, Pass
from reporter.model.objects import KubeObject
from reporter.snapshot.snapshot import ResourceState, Served, Snapshot
from reporter.snapshot.table import Table
from tests.bench.cluster import build, models
from tests.bench.evaluation import (
    clock,
    decode_pages,
    discovery_of,
    one_pass,
    pages_of,
    snapshot_of,
)
from tests.bench.own_events import events_over

_PASSES: Final = 25
_WARM_UP: Final = 2
AT_ONCE: Final = 15
"""What changes between two passes at 50 changes a second."""

ON_RECORD: Final = 3_300
"""About what an hour leaves in which a thousand sets broke and recovered, three Events each."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of processor time: the median of many passes, and the longest of them."""

    median: float
    longest: float


@dataclass(frozen=True, slots=True)
class ChangeTimes:
    """A pass by what changed before it.

    Attributes:
        pod: a model pod.
        pods: `AT_ONCE` model pods of as many sets.
        nothing: nothing changed.

    """

    pod: Spent
    pods: Spent
    nothing: Spent


def measure_one_change(sets: int) -> ChangeTimes:
    """Measure with a healthy cluster."""
    world = World(sets)
    return ChangeTimes(world.after_pods(1), world.after_pods(AT_ONCE), world.after_nothing())


class World:
    """A cluster that changes object by object, and what the last pass left."""

    def __init__(self, sets: int) -> None:
        self._models = models(sets)
        pages = pages_of(build(sets))
        objects = {resource: decode_pages(resource, found) for resource, found in pages.items()}
        self._now = clock()
        # Other stacks are not installed, so that each pass looks for what would need them.
        absent = [each for each, found in objects.items() if each.stack and not found]
        for each in absent:
            del objects[each]
        there = snapshot_of(objects, discovery_of(objects))
        states = there.states | dict.fromkeys(absent, ResourceState(Served.ABSENT))
        self._snapshot = replace(there, states=states)
        self._last = Before()
        self.run_pass()

    def after_pods(self, at_once: int) -> Spent:
        """Return what passes cost before each of which so many pods changed in a field that is read."""
        places = ((model.namespace, model.pod(0)) for model in cycle(self._models))
        groups = (set(islice(places, at_once)) for _ in count())
        return self._spent(self._changed(group) for group in groups)

    def after_nothing(self) -> Spent:
        """Return what passes cost before which nothing changed."""
        return self._spent(replace(self._snapshot) for _ in count())

    def put_on_record(self, number: int) -> None:
        """Add Events of ours that call for nothing."""
        events = {(each.namespace, each.name): each for each in events_over(self._models, number)}
        self._snapshot = replace(
            self._snapshot, tables={**self._snapshot.tables, EVENTS: Table(events)}
        )

    def _changed(self, places: set[tuple[str, str]]) -> Snapshot:
        table = self._snapshot[PODS]
        changed = {place: _again(table.objects[place]) for place in places}
        tables = {**self._snapshot.tables}
        tables[PODS] = Table({**table.objects, **changed}, table, places)
        return replace(self._snapshot, tables=tables)

    def _spent(self, snapshots: Iterator[Snapshot]) -> Spent:
        # What the daemon does too, once everything is listed.
        gc.collect()
        gc.freeze()
        spent = []
        for snapshot in islice(snapshots, _PASSES + _WARM_UP):
            self._snapshot = snapshot
            spent.append(self.run_pass().processor_seconds)
        gc.unfreeze()
        return Spent(statistics.median(spent[_WARM_UP:]), max(spent[_WARM_UP:]))

    def run_pass(self) -> Pass:
        """Run the next pass."""
        done = one_pass(self._snapshot, self._last, self._now())
        self._last = done.after
        return done


def _again(known: KubeObject) -> KubeObject:
    metadata = structs.replace(known.metadata, generation=known.metadata.generation + 1)
    return structs.replace(known, metadata=metadata)
