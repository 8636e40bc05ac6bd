"""Our own Events as recorded in the cluster: the memory that survives the process.

All data to be read back is in labels and annotations of the Event, never parsed from its message,
which is for people. An Event counts as ours only if all of them are present and consistent: others
may write Events with our reasons, and an older version may have written fewer annotations.

An hour of trouble leaves thousands of Events, most of them over, and a pass needs few of them. So
each Event is parsed once, and the indices are updated for changed Events only.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from itertools import chain
from typing import Final

from reporter.catalogue.resources import COMPONENT, EVENTS, LABEL_PREFIX
from reporter.model.finding import FindingKey
from reporter.model.instant import parse_rfc3339
from reporter.model.objects import Event, Reference
from reporter.model.subject import ObjectRef, Subject, SubjectKind
from reporter.snapshot.index import Place
from reporter.snapshot.snapshot import Snapshot
from reporter.snapshot.table import Table

SINCE_ANNOTATION = f"{LABEL_PREFIX}since"
SUBJECT_ANNOTATION = f"{LABEL_PREFIX}subject"
PRIMARY_LABEL = f"{LABEL_PREFIX}primary"
SEVERITY_ANNOTATION = f"{LABEL_PREFIX}severity"
MUTED_ANNOTATION = f"{LABEL_PREFIX}muted"


class RecordState(StrEnum):
    FIRING = "firing"
    STALE = "stale"
    OVER = "over"


_KIND: Final = re.compile(r"[a-z]{1,63}")


@dataclass(frozen=True, slots=True)
class Record:
    """One of our Events as recorded in the cluster.

    `written` is when it was last written, to the microsecond if it was written once. `muted`: it
    is over because of a mute, and its episode, which began at `since`, continues unreported.
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
        return self.state is not RecordState.OVER

    @property
    def primary(self) -> bool:
        """Whether it was recorded as the one to look at first for its subject."""
        return self.event.metadata.label(PRIMARY_LABEL) == "true"

    @property
    def goes_on(self) -> bool:
        """Whether its episode continues, reported or muted."""
        return self.live or self.muted


class Records(Collection[Record]):
    """Our recorded Events, with indices."""

    def __init__(self, records: Iterable[Record] = (), table: Table[Event] | None = None) -> None:
        self.table = table
        self._all: dict[Place, Record] = {}
        self._by_name: dict[str, Record] = {}
        self._by_subject: dict[Subject, tuple[Record, ...]] = {}
        self._going_on: dict[Place, Record] = {}
        for record in records:
            self._put(_place(record), record)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._all.values())

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, record: object) -> bool:
        return record in self._all.values()

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Records) and self._all == other._all)

    __hash__ = None  # type: ignore[assignment]  # compared by contents, which are large

    def after(
        self, changes: Mapping[Place, Record | None], table: Table[Event] | None = None
    ) -> "Records":
        """Return a copy with some records replaced, or removed where None.

        Parsing thousands again for a few would cost more than the lookups of a pass.
        """
        after = Records(table=table)
        after._all = self._all.copy()
        after._by_name = self._by_name.copy()
        after._by_subject = self._by_subject.copy()
        after._going_on = self._going_on.copy()
        for place, record in changes.items():
            after._put(place, record)
        return after

    @property
    def by_name(self) -> Mapping[str, Record]:
        return self._by_name

    @cached_property
    def going_on(self) -> tuple[Record, ...]:
        """The records whose episode continues, oldest first."""
        found = sorted(self._going_on.items(), key=lambda each: (each[1].since, each[0]))
        return tuple(record for _, record in found)

    def of(self, subject: Subject) -> Sequence[Record]:
        return self._by_subject.get(subject, ())

    def _put(self, place: Place, record: Record | None) -> None:
        self._drop(place)
        if record is None:
            return
        self._all[place] = record
        self._by_name[place[1]] = record
        if record.goes_on:
            self._going_on[place] = record
        subject = record.key.subject
        own = self._by_subject.get(subject, ())
        at = bisect_left(own, place, key=_place)
        self._by_subject[subject] = (*own[:at], record, *own[at:])

    def _drop(self, place: Place) -> None:
        record = self._all.pop(place, None)
        if record is None:
            return
        self._going_on.pop(place, None)
        self._by_name.pop(place[1], None)
        subject = record.key.subject
        others = tuple(each for each in self._by_subject.pop(subject) if each is not record)
        # Subjects come and go as long as a process lasts: keep no entries for those without Events.
        if others:
            self._by_subject[subject] = others


NO_RECORDS: Final = Records()


def records_of(snapshot: Snapshot, before: Records = NO_RECORDS) -> Records:
    """Return our Events of a snapshot; Events of others and unreadable ones are left out.

    Events that are unchanged since an earlier snapshot are not parsed again.
    """
    table = snapshot[EVENTS]
    if before.table is None:
        return Records((each for each in map(record_of, table) if each is not None), table)
    if before.table is table:
        return before
    changes: dict[Place, Record | None] = {}
    for each in filter(None, chain.from_iterable(table.changes(before.table))):
        event = table.get(each.namespace, each.name)
        changes[each.namespace, each.name] = record_of(event) if event is not None else None
    return before.after(changes, table)


def _place(record: Record) -> Place:
    return record.event.namespace, record.event.name


def record_of(event: Event) -> Record | None:
    """Parse an Event; return None unless it is one of ours."""
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
