"""Our own Events as the cluster has them: the memory that survives us.

Everything that has to be read back is written into labels and annotations of the Event and not
parsed from its message, which is for people. An Event counts as ours only if all of them are there
and agree: others may write Events with our reasons, and an older version may have written fewer.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from reporter.catalogue.resources import COMPONENT, EVENTS, LABEL_PREFIX
from reporter.model.finding import FindingKey
from reporter.model.instant import parse_rfc3339
from reporter.model.objects import Event, Reference
from reporter.model.subject import ObjectRef, Subject, SubjectKind
from reporter.snapshot.snapshot import Snapshot

SINCE_ANNOTATION = f"{LABEL_PREFIX}since"
SUBJECT_ANNOTATION = f"{LABEL_PREFIX}subject"
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

    `muted` says that it is over for a mute only: its episode goes on without being told.
    """

    event: Event
    key: FindingKey
    since: datetime
    state: RecordState
    related: ObjectRef
    muted: bool = False

    @property
    def live(self) -> bool:
        """Whether the record says that the fault goes on."""
        return self.state is not RecordState.OVER

    @property
    def goes_on(self) -> bool:
        """Whether its episode goes on, told or muted."""
        return self.live or self.muted

    @property
    def written(self) -> datetime:
        """When it was last written, to the microsecond where it was written once."""
        times = (self.event.event_time, self.event.last_timestamp, self.event.created)
        return max((time for time in times if time is not None), default=self.since)


def records_of(snapshot: Snapshot) -> tuple[Record, ...]:
    """Return our Events of a snapshot; Events of others and unreadable ones are left out."""
    return tuple(_records(snapshot[EVENTS]))


def _records(events: Iterable[Event]) -> Iterable[Record]:
    for event in events:
        record = record_of(event)
        if record is not None:
            yield record


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
