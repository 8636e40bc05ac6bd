"""A change of a role instance as a core/v1 Event, in the words of Kthena's controller."""

import hashlib
import json
import re
from datetime import datetime
from typing import Final

from reporter.catalogue.resources import COMPONENT
from reporter.model.instant import rfc3339, rfc3339_micro
from reporter.model.reason import EventType
from reporter.model.text import clean, with_suffix
from reporter.sinks.events.render import Document
from reporter.stacks.kthena.derived.role_changes import RoleChange
from reporter.stacks.kthena.role_events.pacing import Telling

ACTION: Final = "ObserveRole"
_NAME_LENGTH: Final = 253
_HASH_DIGITS: Final = 16
_INSTANCE_CHARACTERS: Final = 128
_NOT_IN_NAME: Final = re.compile(r"[^a-z0-9.-]+")


def reason_of(change: RoleChange) -> str:
    """Return RoleCreating, RoleRunning or RoleDeleting."""
    return f"Role{change.state}"


def message_of(telling: Telling) -> str:
    """Return what Kthena's controller says, and how many changes are not told one by one.

    What had to wait is told as the past, with its time: the instance may be gone since.
    """
    change, each = telling.change, telling.change.instance
    state = f"is now {change.state}"
    if telling.at is not None:
        state = f"became {change.state} at {rfc3339(telling.at)}"
    text = f"Role {each.role}/{each.role_id} in ServingGroup {each.group} {state}"
    if not telling.untold:
        return with_suffix(clean(text), "")
    plural = "s" if telling.untold > 1 else ""
    suffix = f" ({telling.untold} earlier role change{plural} not told one by one)"
    return with_suffix(clean(text), suffix)


def role_event(telling: Telling, now: datetime, instance: str) -> Document:
    """Return the Event on the ModelServing itself.

    It has none of the labels of our reasons: it is no record of an episode, and is not read back.

    Args:
        telling: what is told.
        now: the time of the pass; with the change it makes the name, so that a repeated request
            doubles nothing.
        instance: which replica tells it.

    """
    ref = telling.change.object
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": _name(telling.change, now), "namespace": ref.namespace},
        "type": str(EventType.NORMAL),
        "reason": reason_of(telling.change),
        "message": message_of(telling),
        "action": ACTION,
        "involvedObject": {
            "apiVersion": ref.api_version,
            "kind": ref.kind,
            "namespace": ref.namespace,
            "name": ref.name,
            "uid": ref.uid,
        },
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "reportingInstance": instance[:_INSTANCE_CHARACTERS],
        "eventTime": rfc3339_micro(now),
        "firstTimestamp": rfc3339(now),
        "lastTimestamp": rfc3339(now),
        "count": 1,
    }


def _name(change: RoleChange, now: datetime) -> str:
    each = change.instance
    exact = (change.object.uid, each.group, each.role, each.role_id, change.state)
    whole = json.dumps([*exact, rfc3339_micro(now)])
    tail = f".{hashlib.sha256(whole.encode()).hexdigest()[:_HASH_DIGITS]}"
    head = _NOT_IN_NAME.sub("-", change.object.name.lower()).strip("-.")
    return head[: _NAME_LENGTH - len(tail)].rstrip(".-") + tail
