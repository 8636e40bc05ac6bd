"""Our own Events as the cluster has them: the memory that survives us.

Everything that has to be read back is written into labels and annotations of the Event and not
parsed from its message, which is for people. An Event counts as ours only if all of them are there
and agree: others may write Events with our reasons, and an older version may have written fewer.

An hour of trouble leaves thousands of Events, most of them over, and a pass asks for few of them. So
each Event is read back once, and the records keep what they are looked up by.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Final

from reporter.catalogue.resources import COMPONENT, EVENTS, LABEL_PREFIX
from reporter.model.finding import FindingKey
from reporter.model.instant import parse_rfc3339
from reporter.model.objects import Event, Reference
from reporter.model.subject import ObjectRef, Subject, SubjectKind
from reporter.snapshot.snapshot import Snapshot
from reporter.snapshot.table import Table

SINCE_ANNOTATION = f"{LABEL_PREFIX}since"
SUBJECT_ANNOTATION = f"{LABEL_PREFIX}subject"
PRIMARY_LABEL = f"{LABEL_PREFIX}primary"
MUTED_ANNOTATION = f"{LABEL_PREFIX}muted"


class RecordState(StrEnum):
    """The `state` label of an Event of ours."""

    FIRING = "firing"
    STALE = "stale"
    OVER = "over"


_KIND: Final = re.compile(r"[a-z]{1,63}")


@dataclass(frozen=True, slots=True)
class Record:
    """One Event of ours as it stands in the cluster.

    Attributes:
        event: as it was read.
        key: what it is about.
        since: start of its episode.
        state: what it says.
        related: the object at fault.
        written: when it was last written, to the microsecond where it was written once.
        muted: it is over for a mute only: its episode goes on without being told.

    """

    event: Event
    key: FindingKey
    since: datetime
    state: RecordState
    related: ObjectRef
    written: datetime
    muted: bool = False

    @property
    def live(self) -> bool:
        """Whether the record says that the fault goes on."""
        return self.state is not RecordState.OVER

    @property
    def primary(self) -> bool:
        """Whether the record says that it is the one to look at first for its subject."""
        return self.event.metadata.label(PRIMARY_LABEL) == "true"

    @property
    def goes_on(self) -> bool:
        """Whether its episode goes on, told or muted."""
        return self.live or self.muted


class Records(Collection[Record]):
    """Our Events on record; what they are looked up by is made when it is first asked for.

    Args:
        records: each of them.
        table: the Events that they were read from.

    """

    def __init__(self, records: Iterable[Record] = (), table: Table[Event] | None = None) -> None:
        self._all = tuple(records)
        self.table = table

    def __iter__(self) -> Iterator[Record]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, record: object) -> bool:
        return record in self._all

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Records) and self._all == other._all)

    def __hash__(self) -> int:
        return hash(self._all)

    @cached_property
    def by_name(self) -> Mapping[str, Record]:
        """Each by the name of its Event."""
        return {record.event.name: record for record in self._all}

    @cached_property
    def going_on(self) -> tuple[Record, ...]:
        """Those whose episode goes on, the oldest first."""
        found = (record for record in self._all if record.goes_on)
        return tuple(sorted(found, key=lambda each: each.since))

    def of(self, subject: Subject) -> Sequence[Record]:
        """Return those about a subject."""
        return self._by_subject.get(subject, ())

    @cached_property
    def _by_subject(self) -> Mapping[Subject, Sequence[Record]]:
        found: dict[Subject, list[Record]] = {}
        for record in self._all:
            found.setdefault(record.key.subject, []).append(record)
        return found


NO_RECORDS: Final = Records()


def records_of(snapshot: Snapshot, before: Records = NO_RECORDS) -> Records:
    """Return our Events of a snapshot; Events of others and unreadable ones are left out.

    Args:
        snapshot: the cluster.
        before: those of an earlier snapshot; what is the same is not read again.

    """
    table = snapshot[EVENTS]
    if before.table is table:
        return before
    known = before.by_name

    def again(event: Event) -> Record | None:
        record = known.get(event.name)
        return record if record is not None and record.event is event else record_of(event)

    return Records((each for each in map(again, table) if each is not None), table)


def record_of(event: Event) -> Record | None:
    """Read an Event back, None unless it is one of ours."""
    meta = event.metadata
    if event.source.component != COMPONENT:
        return None
    if meta.label(f"{LABEL_PREFIX}reason") != event.reason:
        return None
    subject = _subject(meta.annotation(SUBJECT_ANNOTATION))
    since = meta.annotation(SINCE_ANNOTATION)
    state = meta.label(f"{LABEL_PREFIX}state")
    if subject is None or since is None or state not in set(RecordState):
        return None
    try:
        began = parse_rfc3339(since)
    except ValueError:
        return None
    involved = _ref(event.involved_object)
    return Record(
        event=event,
        key=FindingKey(event.reason, subject, involved),
        since=began,
        state=RecordState(state),
        related=_ref(event.related) if event.related else involved,
        written=max(
            (each for each in (event.event_time, event.last_timestamp, event.created) if each),
            default=began,
        ),
        muted=state == RecordState.OVER and meta.annotation(MUTED_ANNOTATION) == "true",
    )


def _ref(reference: Reference) -> ObjectRef:
    return ObjectRef(
        reference.api_version, reference.kind, reference.namespace, reference.name, reference.uid
    )


def _subject(text: str | None) -> Subject | None:
    kind, _, rest = (text or "").partition("/")
    if not _KIND.fullmatch(kind):
        return None
    namespace, _, name = rest.partition("/")
    return Subject(SubjectKind(kind), namespace, name)
