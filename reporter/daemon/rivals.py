"""Somebody else who writes our Events, as a second installation without a common Lease does. Pure.

With other settings each ends the Events that the other one begins. What the cluster shows is an Event
that we wrote and that says something else now, in a version that is none of our writes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from reporter.catalogue.reasons import CLUSTER_STATUS_UNKNOWN
from reporter.model.finding import Finding
from reporter.model.instant import Instant
from reporter.model.objects import Event
from reporter.model.subject import API_RESOURCE, CLUSTER, ObjectRef
from reporter.resolution.records import Records
from reporter.settings import EvaluationSettings
from reporter.sinks.events.render import STATE_LABEL
from reporter.sinks.events.written import OwnWrites
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.namespaces import namespace_ref

_CHANGES: Final = 3
_WITHIN: Final = timedelta(minutes=10)
"""So many changes in that time are another writer: a former leader's last write is one."""

_MESSAGE: Final = (
    "Events: something else changes the Events that this reporter writes, so they may not say what "
    "it found; look for another installation of it: two need one Lease (--leader-election-id and "
    "namespace) and the same settings"
)


@dataclass(frozen=True, slots=True)
class Rivals:
    """What is remembered from pass to pass.

    Attributes:
        doubtful: Events by name and version that may be changed by others: the answer to a write of
            ours may come after the watch has brought it.
        changes: when others changed an Event, by the clock that is never set.

    """

    doubtful: frozenset[tuple[str, str]] = frozenset()
    changes: tuple[timedelta, ...] = ()

    @property
    def are_there(self) -> bool:
        """Whether somebody else writes our Events."""
        return len(self.changes) >= _CHANGES


NO_RIVALS: Final = Rivals()


def look_for_rivals(before: Rivals, records: Records, own: OwnWrites, *, now: Instant) -> Rivals:
    """Return what is known of others after a pass.

    Args:
        before: what was known.
        records: our Events as the watch has them.
        own: what we wrote.
        now: the time of the pass.

    """
    foreign = [each for each in before.doubtful if each[1] not in own.versions]
    recent = (each for each in before.changes if now.boot - each < _WITHIN)
    return Rivals(
        frozenset(_changed_since(records, own)),
        (*recent, *(now.boot for _ in foreign)),
    )


def _changed_since(records: Records, own: OwnWrites) -> Iterator[tuple[str, str]]:
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
    rivals: Rivals, snapshot: Snapshot, settings: EvaluationSettings
) -> tuple[Finding, ...]:
    """Return a finding if somebody else writes our Events."""
    if not rivals.are_there:
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
