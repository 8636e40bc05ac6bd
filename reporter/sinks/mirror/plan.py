"""Plans which mirrors to write, on which objects, so that they say what our Events say. Pure."""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import IntEnum
from functools import lru_cache
from typing import Final

from reporter.catalogue.reasons import CLUSTER_SHARED
from reporter.catalogue.resources import COMPONENT, EVENT_NAMESPACE, LABEL_PREFIX, NAMESPACES
from reporter.model.catalogue import Catalogue
from reporter.model.instant import Instant, rfc3339, rfc3339_micro
from reporter.model.objects import KubeObject
from reporter.model.reason import EventType
from reporter.model.resource import Resource
from reporter.model.subject import CLUSTER_KIND, NAMESPACE_KIND, ObjectRef
from reporter.resolution.records import Record
from reporter.sinks.events.plan import (
    ACTION,
    REFRESH_LONGEST,
    REWRITE_INTERVAL,
    Document,
    reference,
)
from reporter.snapshot.snapshot import Snapshot

MIRROR_LABEL: Final = f"{LABEL_PREFIX}mirror"
"""Its value is `firing` or `over`. It is the only label, so no selector for our Events matches."""

MIRROR_OF_ANNOTATION: Final = f"{LABEL_PREFIX}mirror-of"

FIRING: Final = "firing"
OVER: Final = "over"

_PLACES: Final = re.compile(
    r"\b[A-Z][A-Za-z]{2,60} ([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)/[a-z0-9]"
)
"""How messages name an object: kind, namespace and name."""

_NAMED: Final = re.compile(
    r"(?<![\w./:-])(?:(?=[-a-z0-9]{1,63}/[a-z0-9][-a-z0-9.]*+(?!:\w|[@/]))|(?<=\bnamespace ))"
    r"([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)(?![-a-z0-9])"
)
"""What may be the namespace of a named object: no image with a tag and no path."""

_ELSEWHERE: Final = (
    "something that it needs in another namespace does not work; "
    "who runs the cluster finds what in the Events of kube-system"
)

_HASH_DIGITS: Final = 16
_NAMES_KEPT: Final = 8192
"""Every pass asks for the same names again."""


@dataclass(frozen=True, slots=True)
class Mirror:
    """A mirror of our Event named `of`. A mirror that `marks` a moment (a subject is ready) is
    written although nothing goes on.
    """

    name: str
    of: str
    object: ObjectRef
    related: ObjectRef
    type: str
    reason: str
    message: str
    began: datetime
    last: datetime
    count: int
    live: bool
    marks: bool = False

    @property
    def namespace(self) -> str:
        return self.object.namespace

    @property
    def exists(self) -> bool:
        """Whether it should exist; otherwise it is only marked as over, if it exists."""
        return self.live or self.marks


def mirror_of(
    record: Record, target: ObjectRef, *, says_ready: bool, namespaces: Collection[str]
) -> Mirror:
    """Return the mirror of an Event on `target`. If the Event mentions an object in another one of
    the cluster's `namespaces`, the mirror says only that something there does not work: readers of
    Events here may not be allowed to see that object, its status, or who changed it.
    """
    event = record.event
    began = event.event_time or event.first_timestamp or record.since
    is_foreign = record.related.namespace not in {"", target.namespace}
    named = {*_PLACES.findall(event.message)}.union(
        each for each in _NAMED.findall(event.message) if each in namespaces
    )
    speaks_of_others = is_foreign or bool(named - {target.namespace})
    return Mirror(
        name=mirror_name(event.name, target.uid),
        of=event.name,
        object=target,
        related=target if is_foreign else record.related,
        type=event.type,
        reason=event.reason,
        message=f"{target}: {_ELSEWHERE}" if speaks_of_others else event.message,
        began=began,
        last=event.last_timestamp or began,
        count=event.count or 1,
        live=record.live,
        marks=says_ready,
    )


@lru_cache(maxsize=_NAMES_KEPT)
def mirror_name(of: str, uid: str) -> str:
    """Return the name of a mirror: the readable parts of the Event's name, and another hash, as the
    workload may be in kube-system too. A recreated object has its own mirror.
    """
    digest = hashlib.sha256(json.dumps(["mirror", of, uid]).encode()).hexdigest()
    return f"{of.rpartition('.')[0]}.{digest[:_HASH_DIGITS]}"


def document(mirror: Mirror) -> Document:
    """Return the whole Event, so that every replica applies the same fields."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": mirror.name,
            "namespace": mirror.namespace,
            **state_patch(live=mirror.live)["metadata"],
            "annotations": {MIRROR_OF_ANNOTATION: f"{EVENT_NAMESPACE}/{mirror.of}"},
        },
        "type": mirror.type,
        "reason": mirror.reason,
        "message": mirror.message,
        "action": ACTION,
        "involvedObject": reference(mirror.object),
        "related": reference(mirror.related),
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "reportingInstance": COMPONENT,
        "eventTime": rfc3339_micro(mirror.began),
        "firstTimestamp": rfc3339(mirror.began),
        "lastTimestamp": rfc3339(mirror.last),
        "count": mirror.count,
    }


def state_patch(*, live: bool) -> dict[str, dict[str, object]]:
    return {"metadata": {"labels": {MIRROR_LABEL: FIRING if live else OVER}}}


REFRESH_INTERVAL: Final = REFRESH_LONGEST
"""Time between two writes of an unchanged mirror: well below the lifetime of an Event."""

NEWS: Final = timedelta(seconds=60)
"""An older Event was most likely mirrored before we began to lead, and can wait."""

EXPIRED: Final = timedelta(hours=2)
"""A mirror that was not written for this long has expired, or we are not allowed to close it."""


class MirrorPurpose(IntEnum):
    """Why a mirror is written; the smaller goes first."""

    CLOSE = 0
    """Its episode is over."""

    TELL = 1
    """It is new, or fires again."""

    CHANGE = 2
    """Its content has changed."""

    ASSURE = 3
    """An earlier leader may or may not have written it."""

    REFRESH = 4
    """Time and count are old, and the API server would delete it."""


@dataclass(frozen=True, slots=True)
class Applied:
    """A mirror as we last wrote it; `at` is when the write was planned, by the boot clock. Unless
    `sure`, the answer was lost, and the mirror may not exist.
    """

    mirror: Mirror
    at: timedelta
    sure: bool = True


@dataclass(frozen=True, slots=True)
class MirrorWrite:
    purpose: MirrorPurpose
    mirror: Mirror
    planned: timedelta
    due_in: timedelta = timedelta(0)

    @property
    def applies(self) -> bool:
        return self.mirror.exists

    @property
    def applied(self) -> Applied:
        return Applied(self.mirror, self.planned + self.due_in)

    @property
    def doubted(self) -> Applied:
        return Applied(replace(self.mirror, live=True), self.planned + self.due_in, sure=False)


@dataclass(frozen=True, slots=True)
class MirrorPlan:
    """Mirrors that are not in `names` can be forgotten. A further write is due `next_in`."""

    writes: tuple[MirrorWrite, ...] = ()
    names: frozenset[str] = frozenset()
    next_in: timedelta | None = None


def plan_mirrors(
    records: Iterable[Record],
    applied: Mapping[str, Applied],
    snapshot: Snapshot,
    *,
    catalogue: Catalogue,
    now: Instant,
    resync: timedelta,
) -> MirrorPlan:
    """Compare the mirrors that should exist with those we wrote. Only Events on record are
    mirrored: kube-system comes first, and what is muted, disabled or over there is so here.
    A refresh is planned ahead up to the next resync, so that no pass is made for it.
    """
    wanted: dict[str, Mirror] = {}
    kept: set[str] = set()
    namespaces = frozenset(each.name for each in snapshot[NAMESPACES])
    for record in records:
        target = target_of(record, snapshot, catalogue)
        if target is not None:
            reason = record.event.reason
            says_ready = reason in catalogue and catalogue[reason].says_ready
            mirror = mirror_of(record, target, says_ready=says_ready, namespaces=namespaces)
            wanted[mirror.name] = mirror
        elif record.live and may_be_there(record, snapshot, catalogue):
            kept.add(record.event.name)
    writes: list[MirrorWrite] = []
    waits: list[timedelta] = []
    for mirror in wanted.values():
        before = applied.get(mirror.name)
        due = _due(mirror, before, now)
        if due is None:
            continue
        purpose, wait = due
        if wait <= timedelta(0):
            writes.append(MirrorWrite(purpose, mirror, now.boot))
        elif purpose is not MirrorPurpose.REFRESH:
            waits.append(wait)
        elif wait <= resync:
            writes.append(MirrorWrite(purpose, mirror, now.boot, due_in=wait))
    left = [
        each.mirror
        for name, each in applied.items()
        if each.mirror.live
        and name not in wanted
        and each.mirror.of not in kept
        and now.boot - each.at < EXPIRED
    ]
    writes += (
        MirrorWrite(MirrorPurpose.CLOSE, replace(mirror, live=False), now.boot) for mirror in left
    )
    writes.sort(key=lambda each: _order(each, applied.get(each.mirror.name), catalogue))
    names = {name for name, each in applied.items() if each.mirror.of in kept}
    names.update(wanted, (mirror.name for mirror in left))
    return MirrorPlan(tuple(writes), frozenset(names), min(waits, default=None))


def _due(
    mirror: Mirror, before: Applied | None, now: Instant
) -> tuple[MirrorPurpose, timedelta] | None:
    at_once = timedelta(0)
    if before is None or not before.sure:
        is_new = mirror.exists and now.wall - mirror.began < NEWS
        return MirrorPurpose.TELL if is_new else MirrorPurpose.ASSURE, at_once
    if before.mirror.live != mirror.live:
        return MirrorPurpose.TELL if mirror.live else MirrorPurpose.CLOSE, at_once
    age = now.boot - before.at
    if not mirror.exists:
        return None
    if (mirror.message, mirror.related) != (before.mirror.message, before.mirror.related):
        return MirrorPurpose.CHANGE, REWRITE_INTERVAL - age
    if (mirror.last, mirror.count) != (before.mirror.last, before.mirror.count):
        return MirrorPurpose.REFRESH, REFRESH_INTERVAL - age
    return None


def _order(
    write: MirrorWrite, before: Applied | None, catalogue: Catalogue
) -> tuple[MirrorPurpose, float, str]:
    mirror = write.mirror
    if write.purpose is MirrorPurpose.REFRESH and before is not None:
        # The oldest first: otherwise, among thousands, some would be refreshed twice before others.
        return (write.purpose, before.at.total_seconds(), mirror.name)
    return (write.purpose, catalogue.rank(mirror.reason), mirror.name)


def target_of(record: Record, snapshot: Snapshot, catalogue: Catalogue) -> ObjectRef | None:
    """Return the object on which to mirror an Event, if any: the model if the Event is about one,
    the object at fault if it is about a namespace and the object is there, and the shared object if
    several models need it. A terminating namespace takes no new Events. A Ready Event older than
    the model is about an earlier model of that name.
    """
    subject = record.key.subject
    place = record.related.namespace if record.key.reason == CLUSTER_SHARED else subject.namespace
    namespace = snapshot[NAMESPACES].get("", place)
    if not place or (namespace is not None and namespace.deleting):
        return None
    if subject.kind not in {CLUSTER_KIND, NAMESPACE_KIND}:
        for resource in catalogue.of_subject(subject.kind):
            obj = snapshot[resource].get(subject.namespace, subject.name)
            if obj is not None:
                is_ready = record.event.type == EventType.NORMAL
                precedes = obj.created is not None and record.written < obj.created
                return None if is_ready and precedes else resource.ref(obj)
        return None
    ref = record.related
    if ref.namespace != place:
        return None
    resources = _resources_of(ref, snapshot, catalogue)
    for resource in resources:
        obj = snapshot[resource].get(ref.namespace, ref.name)
        if obj is not None:
            return resource.ref(obj)
    # If the kind is not read, only the Event says whether the object exists.
    return ref if ref.uid and not resources else None


def may_be_there(record: Record, snapshot: Snapshot, catalogue: Catalogue) -> bool:
    """Tell whether the object of an Event may exist although the snapshot lacks it."""
    subject = record.key.subject
    resources = catalogue.of_subject(subject.kind) or _resources_of(
        record.related, snapshot, catalogue
    )
    name = subject.name or record.related.name
    place = subject.namespace or record.related.namespace
    return any(not snapshot.absence_known(each, place, name) for each in resources)


def _resources_of(
    ref: ObjectRef, snapshot: Snapshot, catalogue: Catalogue
) -> tuple[Resource[KubeObject], ...]:
    """Return the resources that read all objects of this kind; none if their stack is off."""
    return tuple(
        each
        for each in catalogue.of_kind(ref.kind, ref.group)
        if not each.label_selector and each in snapshot.states
    )
