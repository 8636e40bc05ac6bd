"""Lists as the API server answers them, kept as the daemon keeps them, and a pass over them."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from reporter.catalogue.resources import EVENTS
from reporter.daemon.one_pass import Before, RecentWrites, run_pass
from reporter.kube.decode import decode_page
from reporter.kube.store import Store
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.snapshot.snapshot import ResourceState, Served, Snapshot
from reporter.snapshot.table import Table
from reporter.stacks.kaito.stack import KAITO
from reporter.stacks.settings import FullDaemonSettings
from tests.bench.evaluation import clock, discovery_of, snapshot_of
from tests.bench.memory_process import OWN_EVENTS
from tests.tables import ALL

READ: Final = tuple(each for each in ALL if each.stack in ("", KAITO.name))
"""What is read where only KAITO is installed."""


class World:
    """What a folder of lists holds, and what was made of it.

    Args:
        folder: with the pages of each resource, by its name and their numbers.

    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._settings = FullDaemonSettings(startup_grace_seconds=0)
        self._now = clock()
        self._stores: list[Store[KubeObject]] = []
        self._snapshot: Snapshot
        self._last = Before()

    def list_all(self) -> None:
        """List each resource that is read."""
        there = {each: self._listed(each, f"{each.crd_name}-*.json") for each in READ}
        absent = dict.fromkeys(set(ALL) - set(READ), ResourceState(Served.ABSENT))
        snapshot = snapshot_of(there, discovery_of(there))
        self._snapshot = replace(snapshot, states=snapshot.states | absent)

    def list_own_events(self) -> None:
        """List the Events of ours, and run a pass that reads them."""
        events = Table(self._listed(EVENTS, OWN_EVENTS))
        tables = {**self._snapshot.tables, EVENTS: events}
        self._snapshot = replace(self._snapshot, tables=tables)
        self.run_pass()

    def run_pass(self) -> None:
        """Run a pass, and keep what the next one needs."""
        self._last = run_pass(
            self._snapshot,
            self._last,
            RecentWrites(),
            now=self._now(),
            settings=self._settings,
            instance="bench",
        ).after

    def _listed(
        self, resource: Resource[KubeObject], pattern: str
    ) -> dict[tuple[str, str], KubeObject]:
        store = Store[KubeObject]()
        self._stores.append(store)
        objects: dict[tuple[str, str], KubeObject] = {}
        for path in sorted(self._folder.glob(pattern)):
            objects.update(store.known(decode_page(resource, path.read_bytes()).objects))
        store.replace(objects, {})
        return store.objects
