"""A mirror: what an Event of ours says, as an Event on an object of the workload's namespace."""

import hashlib
import json
import re
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final

from reporter.catalogue.resources import COMPONENT, EVENT_NAMESPACE, LABEL_PREFIX
from reporter.model.instant import rfc3339, rfc3339_micro
from reporter.model.subject import ObjectRef
from reporter.resolution.records import Record
from reporter.sinks.events.render import ACTION, Document, reference

MIRROR_LABEL: Final = f"{LABEL_PREFIX}mirror"
"""Its value is `firing` or `over`. It is the only label: no selector of our Events finds a mirror."""

MIRROR_OF_ANNOTATION: Final = f"{LABEL_PREFIX}mirror-of"

FIRING: Final = "firing"
OVER: Final = "over"

_PLACES: Final = re.compile(
    r"\b[A-Z][A-Za-z]{2,60} ([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)/[a-z0-9]"
)
"""How messages name an object: by kind, namespace and name."""

_ELSEWHERE: Final = (
    "something that it needs in another namespace does not work; "
    "who runs the cluster finds what in the Events of kube-system"
)

_HASH_DIGITS: Final = 16
_NAMES_KEPT: Final = 8192
"""Every pass asks for the same names again."""


@dataclass(frozen=True, slots=True)
class Mirror:
    """A mirror of our Event `of` that name. One that `marks` a moment (a subject is ready) is told
    though nothing goes on.
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
    def told(self) -> bool:
        """Whether it should exist; one that is over is only marked so, if it exists."""
        return self.live or self.marks


def mirror_of(record: Record, target: ObjectRef, *, says_ready: bool) -> Mirror:
    """Where the Event speaks of what is in another namespace, the mirror says only that it does not
    work: who may read Events here need not know what is there, what its status says, or who changed
    it.
    """
    event = record.event
    began = event.event_time or event.first_timestamp or record.since
    is_foreign = record.related.namespace not in {"", target.namespace}
    speaks_of_others = is_foreign or any(
        each != target.namespace for each in _PLACES.findall(event.message)
    )
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
    """It has the readable parts of the Event's, and another hash: the workload may be in
    kube-system too. An object that is created again has a mirror of its own.
    """
    digest = hashlib.sha256(json.dumps(["mirror", of, uid]).encode()).hexdigest()
    return f"{of.rpartition('.')[0]}.{digest[:_HASH_DIGITS]}"


def document(mirror: Mirror) -> Document:
    """All of the Event, so that every replica applies the same."""
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
