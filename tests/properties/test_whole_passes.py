"""Whatever changes, a pass says and writes what one from nothing would, which is what the self-check compares."""

from dataclasses import replace
from functools import partial

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from reporter.catalogue.resources import EVENTS
from reporter.daemon.one_pass import Before, RecentWrites, run_pass
from reporter.daemon.passes import Passed, differences
from reporter.snapshot.decode import decode_object
from reporter.snapshot.snapshot import ResourceState, Served
from reporter.snapshot.table import table_of
from reporter.stacks.settings import FullDaemonSettings
from tests.properties.cluster_changes import after, example, stories
from tests.properties.passes import START
from tests.scenarios.world import World

SETTINGS = [
    FullDaemonSettings(),
    FullDaemonSettings(startup_grace_seconds=0),
    FullDaemonSettings(startup_grace_seconds=0, emit="firing"),
]
"""With graces, without them, and with all that fires told."""

WAITS = [0, 0.3, 20, 90, 4000]
SEEN = ResourceState(Served.SERVED)
STATES = [
    ResourceState(Served.SERVED, confirmed=False),
    ResourceState(Served.UNKNOWN, cause="forbidden"),
]


class Daemon:
    """Passes one after another over a cluster that changes, with a store of their Events."""

    def __init__(self, folder, settings):
        self.snapshot = example(folder)
        self.original = self.snapshot.tables
        self.settings = settings
        self.now = START
        self.before = Before()
        self.store = World(None, START)

    def change(self, changes, seconds):
        self.snapshot = after(self.snapshot, changes, self.original)
        self.now = self.now.after(seconds)
        self.store.catch_up(self.now)

    def run_pass(self, states=()):
        """Run one, write what it planned, and return in what it differs from one from nothing."""
        docs = [doc for doc, _ in self.store.events.values()]
        events = table_of(decode_object(EVENTS, msgspec.json.encode(doc)) for doc in docs)
        known = self.snapshot.tables.get(EVENTS)
        if known is None or known.objects != events.objects:
            self.snapshot = replace(self.snapshot, tables={**self.snapshot.tables, EVENTS: events})
        known = {**self.snapshot.states, EVENTS: SEEN}
        snapshot = replace(self.snapshot, states={**known, **dict(states)})
        ask = partial(
            run_pass,
            recent_writes=RecentWrites(),
            now=self.now,
            settings=self.settings,
            instance="test",
        )
        done = ask(snapshot, self.before)
        found = differences(Passed(ask, snapshot, self.before, done))
        self.before = done.after
        if snapshot.states[EVENTS] == SEEN:  # else the API server tells that they exist
            self.store.write(done.plan, self.now)
        return found


@given(stories(), st.sampled_from(SETTINGS), st.data())
def test_a_pass_says_what_one_from_nothing_does(story, settings, data):
    """Objects change, time goes by, Events come back, and kinds are not confirmed or not readable for a pass."""
    folder, groups = story
    daemon = Daemon(folder, settings)
    kinds = st.sampled_from(sorted(daemon.snapshot.tables, key=str))
    assert daemon.run_pass() == ()
    for changes in groups:
        daemon.change(changes, data.draw(st.sampled_from(WAITS)))
        states = data.draw(st.lists(st.tuples(kinds, st.sampled_from(STATES)), max_size=1))
        assert daemon.run_pass(states) == ()
        # The cluster stands still, and nothing is taken again.
        daemon.change((), data.draw(st.sampled_from(WAITS)))
        assert daemon.run_pass() == ()
