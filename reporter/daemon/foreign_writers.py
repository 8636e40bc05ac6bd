"""Somebody else who writes our Events, as a second installation without a common Lease does. Pure.

With other settings each ends the Events that the other one begins. What the cluster shows is an Event
that we wrote and that says something else now, in a version that is none of our writes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, TypeAlias

from reporter.catalogue.reasons import CLUSTER_STATUS_UNKNOWN
from reporter.model.finding import Finding
from reporter.model.instant import Instant
from reporter.model.objects import Event
from reporter.model.subject import API_RESOURCE, CLUSTER, ObjectRef
from reporter.resolution.records import Records
from reporter.settings import EvaluationSettings
from reporter.sinks.events.plan import OwnWrites
from reporter.sinks.events.render import STATE_LABEL
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.components import namespace_ref

_CHANGES: Final = 3
_WITHIN: Final = timedelta(minutes=10)
"""So many changes in that time are another writer: a former leader's last write is one."""

_MESSAGE: Final = (
    "Events: something else changes the Events that this reporter writes, so they may not say what "
    "it found; look for another installation of it: two need one Lease (--leader-election-id and "
    "namespace) and the same settings"
)


Change: TypeAlias = tuple[str, str]
"""An Event by its name, and a version of it that may not be ours."""


@dataclass(frozen=True, slots=True)
class ForeignWriters:
    """What is remembered from pass to pass.

    Attributes:
        doubtful: changes that the last pass saw and that may be ours: the answer to a write of
            ours may come after the watch has brought it.
        changes: when each change of others was counted, by the clock that is never set.

    """

    doubtful: frozenset[Change] = frozenset()
    changes: Mapping[Change, timedelta] = field(default_factory=dict)

    @property
    def are_there(self) -> bool:
        """Whether somebody else writes our Events."""
        return len(self.changes) >= _CHANGES


NO_FOREIGN_WRITERS: Final = ForeignWriters()


def look_for_foreign_writers(
    before: ForeignWriters, records: Records, own: OwnWrites, *, now: Instant, leading: bool
) -> ForeignWriters:
    """Return what is known of others after a pass.

    A change counts once, however many passes see it, and no more once an answer says that it was ours.

    Args:
        before: what was known.
        records: our Events as the watch has them.
        own: what we wrote.
        now: the time of the pass.
        leading: whether we write; who does not has a leader who changes our Events.

    """
    recent = {
        change: counted
        for change, counted in before.changes.items()
        if now.boot - counted < _WITHIN and change[1] not in own.versions
    }
    if not leading:
        return ForeignWriters(changes=recent)
    foreign = sorted(each for each in before.doubtful if each[1] not in own.versions)
    return ForeignWriters(
        frozenset(_changed_since(records, own)), dict.fromkeys(foreign, now.boot) | recent
    )


def _changed_since(records: Records, own: OwnWrites) -> Iterator[Change]:
    for name, written in own.events.items():
        record = records.by_name.get(name)
        if record is None:
            continue
        version = record.event.metadata.resource_version
        if version in own.versions or version == written.before:
            continue
        if _says(record.event) != _says(written.event):
            yield name, version


def _says(event: Event) -> tuple[str, str]:
    return event.message, (event.metadata.labels or {}).get(STATE_LABEL, "")


def findings_about(
    foreign_writers: ForeignWriters, snapshot: Snapshot, settings: EvaluationSettings
) -> tuple[Finding, ...]:
    """Return a finding if somebody else writes our Events."""
    if not foreign_writers.are_there:
        return ()
    return (
        Finding(
            reason=CLUSTER_STATUS_UNKNOWN,
            subject=CLUSTER,
            involved=namespace_ref(snapshot, settings.release_namespace),
            related=ObjectRef("v1", API_RESOURCE, "", "events/writers"),
            message=_MESSAGE,
            cause="another writer of its Events",
        ),
    )
