"""A pass after one object changed that a subject owns or that many share, and one with much on record."""

import gc
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count, cycle, islice
from typing import Final

from msgspec import structs

from reporter.catalogue.resources import DEPLOYMENTS, EVENTS, NODES, PODS, SERVICES
from reporter.daemon.one_pass import Before, Pass
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.snapshot.snapshot import ResourceState, Served, Snapshot
from reporter.snapshot.table import Table
from tests.bench.cluster import SETS_PER_NAMESPACE, Model, build, models
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

Find = Callable[[Model, int], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of processor time: the median of many passes, and the longest of them."""

    median: float
    longest: float


@dataclass(frozen=True, slots=True)
class ChangeTimes:
    """A pass after one change, by what changed and how the InferenceSets are spread.

    Attributes:
        pod: a model pod, with few sets in each namespace.
        pod_in_ten: the same where ten namespaces hold all sets.
        pod_in_one: the same where one namespace does.
        pods: `AT_ONCE` model pods of as many sets.
        deployment: the Deployment of an endpoint picker.
        service: the Service of one.
        node: a Node.
        nothing: nothing changed, and no Event of ours is on record.
        on_record: nothing changed, and `ON_RECORD` of them are.

    """

    pod: Spent
    pod_in_ten: Spent
    pod_in_one: Spent
    pods: Spent
    deployment: Spent
    service: Spent
    node: Spent
    nothing: Spent
    on_record: Spent


def measure_one_change(sets: int) -> ChangeTimes:
    """Measure, with a healthy cluster that is spread in three ways."""
    usual = World(sets, SETS_PER_NAMESPACE)
    found = {
        "pod": usual.after_each(PODS, model_pod),
        "pods": usual.after_each(PODS, model_pod, AT_ONCE),
        "deployment": usual.after_each(DEPLOYMENTS, lambda model, _: picker(model)),
        "service": usual.after_each(SERVICES, lambda model, _: picker(model)),
        "node": usual.after_each(NODES, usual.node),
        "nothing": usual.after_nothing(),
    }
    usual.put_on_record(ON_RECORD)
    found["on_record"] = usual.after_nothing()
    del usual
    found["pod_in_ten"] = World(sets, -(-sets // 10)).after_each(PODS, model_pod)
    found["pod_in_one"] = World(sets, sets).after_each(PODS, model_pod)
    return ChangeTimes(**found)


def model_pod(model: Model, _number: int) -> tuple[str, str]:
    """Return a pod that serves a model."""
    return model.namespace, model.pod(0)


def picker(model: Model) -> tuple[str, str]:
    """Return the Deployment of an endpoint picker, and its Service."""
    return model.namespace, model.picker


class World:
    """A cluster that changes object by object, and what the last pass left."""

    def __init__(self, sets: int, per_namespace: int) -> None:
        self._models = models(sets, per_namespace)
        pages = pages_of(build(sets, per_namespace))
        objects = {resource: decode_pages(resource, found) for resource, found in pages.items()}
        self._nodes = sum(name.startswith("gpu-") for _, name in objects[NODES])
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

    def after_each(self, resource: Resource[KubeObject], find: Find, at_once: int = 1) -> Spent:
        """Return what passes cost before each of which so many objects changed in a field that is read."""
        places = (find(model, number) for number, model in zip(count(), cycle(self._models)))
        groups = (set(islice(places, at_once)) for _ in count())
        return self._spent(self._changed(resource, group) for group in groups)

    def node(self, _model: Model, number: int) -> tuple[str, str]:
        """Return a Node, each in turn."""
        return "", f"gpu-{number % self._nodes:04}"

    def after_nothing(self) -> Spent:
        """Return what passes cost before which nothing changed."""
        return self._spent(replace(self._snapshot) for _ in count())

    def put_on_record(self, number: int) -> None:
        """Add Events of ours that call for nothing."""
        events = {(each.namespace, each.name): each for each in events_over(self._models, number)}
        self._snapshot = replace(
            self._snapshot, tables={**self._snapshot.tables, EVENTS: Table(events)}
        )

    def _changed(self, resource: Resource[KubeObject], places: set[tuple[str, str]]) -> Snapshot:
        table = self._snapshot[resource]
        changed = {place: _again(table.objects[place]) for place in places}
        tables = {**self._snapshot.tables}
        tables[resource] = Table({**table.objects, **changed}, table, places)
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
