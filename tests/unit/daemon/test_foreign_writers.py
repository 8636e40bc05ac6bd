"""A second installation without a common Lease is seen by what becomes of our Events."""

from dataclasses import replace

import msgspec

from reporter.catalogue.reasons import CLUSTER_STATUS_UNKNOWN
from reporter.catalogue.resources import EVENTS
from reporter.daemon.one_pass import Before, RecentWrites, run_pass
from reporter.sinks.events.plan import Written
from reporter.snapshot.table import table_of
from reporter.stacks.settings import FullDaemonSettings
from tests.unit.probes.building import at, snapshot_of
from tests.unit.resolution.building import finding
from tests.unit.resolution.test_records import events_of

SETTINGS = FullDaemonSettings(startup_grace_seconds=0)
FAULT = finding("inferencesetEPPNotReady", exempt=True)


def event(version, **labels):
    """Our Event in a version; `state` is what a write of another reporter changes."""
    (body,) = events_of(FAULT)
    named = {f"status-reporter.io/{key}": each for key, each in labels.items()}
    metadata = body["metadata"] | {
        "labels": body["metadata"]["labels"] | named,
        "resourceVersion": version,
    }
    return msgspec.convert(body | {"metadata": metadata}, EVENTS.type)


class Daemon:
    """One pass after another, with what the watch has and what was written."""

    def __init__(self):
        self.before = Before()
        self.boot = 0

    def passes(self, seen, *, written=None, versions=(), leading=True):
        """Whether a pass says that somebody else writes our Events."""
        self.boot += 30
        snapshot = snapshot_of()
        snapshot = replace(snapshot, tables={**snapshot.tables, EVENTS: table_of([seen])})
        events = {written[0].name: Written(*written)} if written else {}
        done = run_pass(
            snapshot,
            self.before,
            RecentWrites(events=events, versions=frozenset(versions)),
            now=at(self.boot),
            settings=SETTINGS,
            instance="a",
            leading=leading,
        )
        self.before = done.after
        told = [each for each in done.report.findings if each.reason == CLUSTER_STATUS_UNKNOWN]
        return [each.cause for each in told] == ["another writer of its Events"]

    def quarrel(self, rounds):
        """The other one ends the Event, and we begin it again; what each pass says."""
        own = ["0"]
        for number in range(1, rounds + 1):
            last, theirs = event(own[-1]), f"their-{number}"
            yield self.passes(event(theirs, state="over"), written=(last, ""), versions=own)
            own.append(f"our-{number}")
            yield self.passes(event(own[-1]), written=(event(own[-1]), theirs), versions=own)


def test_a_quarrel_about_events_is_told():
    assert [*Daemon().quarrel(3)] == [False] * 5 + [True]


def test_it_ends_when_the_other_one_is_gone():
    """Ten minutes after its last write."""
    daemon = Daemon()
    assert [*daemon.quarrel(3)][-1]
    assert daemon.passes(event("our-3"))
    daemon.boot += 600
    daemon.passes(event("our-3"))
    daemon.boot += 600
    assert not daemon.passes(event("our-3"))


def test_our_own_writes_and_those_of_people_are_no_quarrel():
    """An answer that comes after the watch; a label of somebody's; a write not seen yet."""
    daemon = Daemon()
    for number in range(6):
        mine, next_one = f"{number}", f"{number}-next"
        seen = event(next_one, state="over")
        assert not daemon.passes(seen, written=(event(mine), ""), versions=[mine])
        versions = [mine, next_one]
        assert not daemon.passes(seen, written=(seen, mine), versions=versions)
        assert not daemon.passes(
            event("x", **{"looked-at": "yes"}), written=(event("y"), "z"), versions=["y"]
        )
        assert not daemon.passes(
            event("old", state="over"), written=(event("new"), "old"), versions=["new"]
        )


def test_one_change_counts_once_however_many_passes_see_it():
    """A former leader's last write is one change, though each pass finds it until we write again."""
    daemon = Daemon()
    theirs, own = event("their-1", state="over"), (event("0"), "")
    assert not any(daemon.passes(theirs, written=own, versions=["0"]) for _ in range(6))


def test_a_change_that_turns_out_to_be_ours_is_taken_back():
    """Answers to writes may come passes after the watch."""
    daemon, late = Daemon(), []
    for number in range(4):
        last, ours = (event(f"{number}"), ""), event(f"{number}-ours", state="over")
        for _ in range(3):
            assert not daemon.passes(ours, written=last, versions=[*late, f"{number}"])
        late += [f"{number}", f"{number}-ours"]


def test_who_no_longer_leads_counts_nothing():
    """Its successor changes the Events that it wrote; that is no quarrel."""
    daemon = Daemon()
    for number in range(6):
        theirs, own = event(f"their-{number}", state="over"), (event("0"), "")
        assert not daemon.passes(theirs, written=own, versions=["0"], leading=False)
    assert not daemon.passes(event("their-5"), written=(event("0"), ""), versions=["0"])
