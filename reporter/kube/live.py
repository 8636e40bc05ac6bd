"""The live cluster: informers for everything that is read, and snapshots of their objects.

The hard part is to interpret an empty result. A kind without objects may be empty, or not
installed, or not readable, or not read yet, and a probe may draw a conclusion only in the first two
cases. So a resource has one of three states:

- **served**: discovery lists it, and an informer has listed it.
- **absent**: discovery answered and does not list it. It has no objects, so findings about them
  end. A resource that is read only for a stack without subjects counts as absent too.
- **unknown**: RBAC refuses it, or there was no answer for 120 s, or it is served only in versions
  that we do not read. That is neither healthy nor a fault: findings stay, marked stale.

A 404 on a list does not make a kind absent. An API server that starts answers 404 for every custom
kind until it has read the definitions, and behind a load balancer another server may know more. So
a 404 only triggers a discovery poll, and a kind counts as gone when two polls omit it
(`discovery.py`). Discovery is polled rather than derived from a watch of CustomResourceDefinitions:
it also lists the kinds of aggregated API servers, and every client may read it.

The watched places follow from discovery, from the stacks that are switched on or have subjects,
and, for Istio's ConfigMaps, from the namespaces and Deployments that exist. While discovery fails,
existing watches stay. The `DynamicClient` of kubernetes_asyncio 36.1.0 is not used: it takes a 503
for one API version for a version without resources.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Final

import structlog

from reporter.catalogue import resources as r
from reporter.kube.client import KubeClient
from reporter.kube.clock import boot_seconds, real_now
from reporter.kube.discovery import Discovered, Discoverer, ReadPlan
from reporter.kube.errors import Backoff
from reporter.kube.informer import AnyInformer, AnyPlace, Informer, PageTaker, Place, Timing
from reporter.kube.store import Key
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import (
    NOT_ASKED,
    NOT_LISTED,
    OTHER_VERSIONS,
    UNREACHABLE,
    ResourceState,
    Served,
    Snapshot,
    Unserved,
    unserved,
)
from reporter.snapshot.table import Table


@dataclass(eq=False)
class Informers:
    """The running informers; `make` returns the one of a place, `stopped` is told of one that ends.

    Without `watch`, each lists once.
    """

    make: Callable[[AnyPlace], AnyInformer]
    stopped: Callable[[Resource[KubeObject]], None]
    _: KW_ONLY
    watch: bool

    def __post_init__(self) -> None:
        self._running: dict[AnyPlace, AnyInformer] = {}
        self._of: dict[Resource[KubeObject], list[AnyInformer]] = {}
        self._tasks: dict[AnyPlace, asyncio.Task[None]] = {}

    def __iter__(self) -> Iterator[AnyInformer]:
        return iter(self._running.values())

    def of(self, resource: Resource[KubeObject]) -> list[AnyInformer]:
        return self._of.get(resource, [])

    def want(self, places: AbstractSet[AnyPlace], tasks: asyncio.TaskGroup) -> None:
        for place in self._running.keys() - places:
            self._tasks.pop(place).cancel()
            self._running.pop(place).store.close()
            log.info("informer_stopped", resource=str(place.resource), version=place.version)
            self.stopped(place.resource)
        for place in places - self._running.keys():
            informer = self._running[place] = self.make(place)
            name = f"informer {place.resource} {place.namespace}".rstrip()
            self._tasks[place] = tasks.create_task(self._keep_running(informer), name=name)
            log.info("informer_started", resource=str(place.resource), version=place.version)
        self._of = {}
        for place, informer in self._running.items():
            self._of.setdefault(place.resource, []).append(informer)

    async def _keep_running(self, informer: AnyInformer) -> None:
        backoff = Backoff(boot_seconds)
        while True:
            try:
                if not self.watch:
                    return await informer.look()
                await informer.run()
            except Exception:
                # A bug in one informer must not stop the others, and must be seen.
                log.exception("informer_crashed", resource=str(informer.place.resource))
                informer.unconfirm()
                await asyncio.sleep(backoff.next())


LISTED_SECONDS: Final = 30.0
"""After this time nothing waits any more for kinds that are not listed yet."""

_DELIVER_SECONDS: Final = 1.5
"""How long a watch has after a pause to show that it is alive."""

_SPREAD_SECONDS: Final = 2.0
_MOST_SPREAD_SECONDS: Final = 60.0

_PLACES_FOLLOW: Final = (r.NAMESPACES, r.DEPLOYMENTS)
"""Changes of these objects may change where ConfigMaps are read."""


log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class WatchHealth:
    """The health of one resource's watches, for metrics.

    `age_seconds` is the time since the quietest watch received something; None if one never did.
    `relists` includes the first list.
    """

    resource: str
    state: str
    confirmed: bool
    age_seconds: float | None
    objects: int
    relists: int
    failures: int


@dataclass(eq=False)
class LiveCluster:
    """Watches the cluster while `run` runs. Snapshots are cheap: unchanged tables are reused.

    `on_change` is called whenever a snapshot would differ, in addition to setting `changed`. With
    `namespace`, only that namespace is read, with the user's rights there.
    """

    client: KubeClient
    settings: EvaluationSettings
    _: KW_ONLY
    on_change: Callable[[], None] = lambda: None
    on_page: PageTaker = lambda *_: None
    timing: Timing = field(default_factory=Timing)
    discovery_seconds: float = 30.0
    listed_within: float = LISTED_SECONDS
    namespace: str = ""
    watch: bool = True

    def __post_init__(self) -> None:
        self.reading = ReadPlan(self.settings, self.namespace)
        self._started = real_now()
        self._chance = random.Random()  # noqa: S311 - jitter is no secret
        self._pauses = Backoff(
            boot_seconds, self._chance, first=_SPREAD_SECONDS, most=_MOST_SPREAD_SECONDS
        )
        # Pages of twenty kinds arrive together; decoding them in one go would block the loop.
        self._turn = asyncio.Lock()
        self._bytes: Counter[str] = Counter()
        self._places_due = asyncio.Event()
        self._unserved: frozenset[Unserved] = frozenset()
        self._tables: dict[
            Resource[KubeObject], tuple[list[tuple[AnyInformer, int]], Table[KubeObject]]
        ] = {}
        self._discoverer = Discoverer(
            self.client,
            interval=self.discovery_seconds,
            unknown_after=self.timing.unknown_after,
            on_answer=self._discovered,
        )
        self._informers = Informers(self._informer, self._changed, watch=self.watch)
        self.changed = asyncio.Event()

    def _informer(self, place: AnyPlace) -> AnyInformer:
        return Informer(
            self.client,
            place,
            timing=self.timing,
            chance=self._chance,
            turn=self._turn,
            in_all=self._bytes,
            on_change=lambda: self._changed(place.resource),
            on_missing=self._discoverer.ask,
            on_page=partial(self.on_page, place),
        )

    @property
    def discovered(self) -> Discovered:
        return self._discoverer.current

    def informers_of(self, resource: Resource[KubeObject]) -> list[AnyInformer]:
        return self._informers.of(resource)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._discoverer.run(), name="discovery")
            while True:
                self._places_due.clear()
                self._informers.want(self._wanted(), tasks)
                await self._places_due.wait()

    def _changed(self, resource: Resource[KubeObject]) -> None:
        if resource in _PLACES_FOLLOW:
            self._places_due.set()
        self._notify()

    def _discovered(self) -> None:
        self._log_unserved()
        self._places_due.set()
        self._notify()

    def _log_unserved(self) -> None:
        current = self.discovered.discovery
        if current.served is None:
            return
        found = frozenset(
            unserved(
                self.settings.catalogue, current, lambda resource: current.state(str(resource))
            )
        )
        for each in sorted(found - self._unserved):
            write = log.warning if each.near else log.info
            write("declared_kind_not_served", reason=each.reason, cause=str(each))
        self._unserved = found

    def _notify(self) -> None:
        self.changed.set()
        self.on_change()

    def _wanted(self) -> set[AnyPlace]:
        if self.reading.namespace:
            return {*self._wanted_lists()}
        events: AnyPlace = Place(
            resource=r.EVENTS, version=r.EVENTS.versions[0], namespace=r.EVENT_NAMESPACE
        )
        return {events, *self._wanted_configmaps(), *self._wanted_lists()}

    def _wanted_lists(self) -> Iterable[AnyPlace]:
        current = self.discovered
        for resource in self.reading.resources():
            if not self._is_of_use(resource) or self.reading.is_outside(resource):
                continue
            if not self.reading.follows_discovery(resource):
                yield self.reading.place(resource, resource.versions[0])
            elif version := current.version(resource):
                yield self.reading.place(resource, version)
            elif current.discovery.state(resource.crd_name) is Served.UNKNOWN:
                # Existing watches go on while discovery is unknown.
                yield from (informer.place for informer in self._informers.of(resource))

    def _is_of_use(self, resource: Resource[KubeObject]) -> bool:
        watched = bool(self._informers.of(resource))
        discovery = self.discovered.discovery
        return self.reading.is_of_use(resource, discovery, while_unknown=watched)

    def _wanted_configmaps(self) -> Iterable[AnyPlace]:
        deployments = [
            key for informer in self._informers.of(r.DEPLOYMENTS) for key in informer.store.objects
        ]
        for informer in self._informers.of(r.NAMESPACES):
            if informer.state.served is Served.SERVED:
                return self.reading.configmaps(
                    [name for _, name in informer.store.objects], deployments
                )
            if informer.settled:
                return self.reading.configmaps(None, deployments)
        return ()

    def unconfirm_all(self) -> None:
        """Unconfirm everything after a pause of the process.

        Watches that do not deliver soon are listed again, spread over more seconds the more pauses
        there were: with little CPU, listing everything at once would cause the next pause.
        """
        self._discoverer.unconfirm()
        spread = self._pauses.next()
        for informer in self._informers:
            informer.doubt(_DELIVER_SECONDS + self._chance.uniform(0.0, spread))
        self._notify()

    def relist(self, resource: Resource[KubeObject]) -> None:
        for informer in self._informers.of(resource):
            informer.unconfirm()

    def all_listed(self) -> bool:
        if self._seconds_since_start() >= self.listed_within:
            return True
        if self.discovered.discovery.served is None:
            return False
        # New places get their informers only a moment after a discovery answer.
        settled = {informer.place for informer in self._informers if informer.settled}
        return self._wanted() <= settled

    async def wait_listed(self) -> None:
        while not self.all_listed():
            self.changed.clear()
            left = max(0.0, self.listed_within - self._seconds_since_start())
            try:
                async with asyncio.timeout(left):
                    await self.changed.wait()
            except TimeoutError:
                continue

    def awaited(self) -> str:
        """Say what has not been answered yet, and a failure; empty if each kind is listed."""
        if self.discovered.discovery.served is None:
            return f"API discovery: {self._discoverer.failure or 'no answer'}"
        waiting = [informer for informer in self._informers if not informer.settled]
        if not waiting:
            return ""
        failure = next((each.failure for each in waiting if each.failure), "no answer")
        return f"lists of {len(waiting)} kinds: {failure}"

    @property
    def reads_anything(self) -> bool:
        return any(informer.settled for informer in self._informers)

    def _seconds_since_start(self) -> float:
        return (real_now().boot - self._started.boot).total_seconds()

    def snapshot(self) -> Snapshot:
        namespace = self.reading.namespace
        resources = (*self.reading.resources(), *r.BY_PLACE)
        skipped = chain.from_iterable(
            informer.store.skipped.values() for informer in self._informers
        )
        return Snapshot(
            tables={resource: self._table(resource) for resource in resources},
            states={resource: self._state(resource) for resource in resources},
            discovery=replace(self.discovered.discovery, confirmed=self._discoverer.confirmed),
            covered=frozenset({namespace}) if namespace else None,
            skipped=tuple(sorted(skipped)),
        )

    def served_version(self, resource: Resource[KubeObject]) -> str:
        """Return the version in which a kind is read on demand; empty if it is not served."""
        if not resource.custom:
            return resource.versions[0]
        return self.discovered.version(resource) or ""

    def index_again(self) -> None:
        """Let the next snapshot reuse no order and no index of an earlier one."""
        self._tables = {}

    def _table(self, resource: Resource[KubeObject]) -> Table[KubeObject]:
        informers = self._informers.of(resource)
        stamp = [(informer, informer.store.changes) for informer in informers]
        kept = self._tables.get(resource)
        if kept is not None and kept[0] == stamp:
            return kept[1]
        stores = [informer.store.objects for informer in informers]
        together = chain.from_iterable(each.items() for each in stores)
        objects = stores[0] if len(stores) == 1 else dict(together)
        touched = _touched(informers)
        if kept is not None and [informer for informer, _ in kept[0]] == informers:
            table = Table(objects, kept[1], touched)
        else:
            table = Table(objects, kept[1] if kept else None)
        self._tables[resource] = stamp, table
        return table

    def _state(self, resource: Resource[KubeObject]) -> ResourceState:
        informers = self._informers.of(resource)
        if informers:
            state = _merged([informer.state for informer in informers])
            if self.reading.namespace and not resource.namespaced:
                state = replace(state, partial=True)
            return replace(state, lasting=True) if self._is_lasting(state) else state
        if self.reading.is_outside(resource):
            state = self._not_watched(resource)
            if resource.custom and state.served is Served.ABSENT:
                return state
            return ResourceState(Served.UNKNOWN, False, NOT_ASKED)
        if resource is r.CONFIGMAPS:  # no candidate namespace exists
            return self._state(r.NAMESPACES)
        return self._not_watched(resource)

    def _is_lasting(self, state: ResourceState) -> bool:
        """True if a kind stays unreachable although the API server answers.

        Discovery must have succeeded for `unknown_after`: no retry waits for longer than that, so
        every kind has been tried again since the last outage.
        """
        if state.cause != UNREACHABLE:
            return False
        well_since = self._discoverer.confirmed_since
        if well_since is None:
            return False
        well = (real_now().boot - well_since.boot).total_seconds()
        return well >= self.timing.unknown_after

    def _not_watched(self, resource: Resource[KubeObject]) -> ResourceState:
        current = self.discovered
        served = current.discovery.state(resource.crd_name)
        answered = current.discovery.served is not None
        if served is Served.ABSENT or (answered and not self._is_of_use(resource)):
            return ResourceState(Served.ABSENT, confirmed=self._discoverer.confirmed)
        follows = self.reading.follows_discovery(resource)
        if served is Served.SERVED and follows and not current.version(resource):
            others = ", ".join(sorted(current.versions[resource.crd_name]))
            cause = f"{OTHER_VERSIONS} {others}, not in {', '.join(resource.versions)}"
            return ResourceState(Served.UNKNOWN, False, cause, since=self._started)
        late = self._seconds_since_start() >= self.timing.unknown_after
        cause = UNREACHABLE if late else NOT_LISTED
        return ResourceState(Served.UNKNOWN, False, cause, since=self._started)

    def health(self) -> list[WatchHealth]:
        named: dict[str, Resource[KubeObject]] = {}
        for resource in (*self.reading.resources(), *r.BY_PLACE):
            selected = resource.stack or resource in self.reading.declared
            name = resource.selection if selected else str(resource)
            if name in named:  # a declaration reads a kind that is read anyway
                name = f"{name} {resource.versions[0]}"
            named[name] = resource
        return [self._health(name, resource) for name, resource in named.items()]

    def _health(self, name: str, resource: Resource[KubeObject]) -> WatchHealth:
        informers = self._informers.of(resource)
        state = self._state(resource)
        last_frames = [informer.last_frame for informer in informers]
        ages = [(real_now().boot - each.boot).total_seconds() for each in last_frames if each]
        return WatchHealth(
            resource=name,
            state=state.served.value,
            confirmed=state.confirmed,
            age_seconds=max(ages) if ages and len(ages) == len(last_frames) else None,
            objects=sum(len(informer.store.objects) for informer in informers),
            relists=sum(informer.lists for informer in informers),
            failures=sum(informer.failures for informer in informers),
        )


def _touched(informers: Iterable[AnyInformer]) -> AbstractSet[Key] | None:
    # Ask every store, even after a None: the call resets its count.
    every = [informer.store.take_touched() for informer in informers]
    known = [each for each in every if each is not None]
    return frozenset[Key]().union(*known) if len(known) == len(every) else None


def _merged(states: list[ResourceState]) -> ResourceState:
    """Return the combined state of several places: unknown if one of them is unknown."""
    unknown = next((state for state in states if state.served is Served.UNKNOWN), None)
    return unknown or replace(states[0], confirmed=all(state.confirmed for state in states))
