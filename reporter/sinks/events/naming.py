"""Names and label values of our Events: readable, valid, and without collisions."""

import hashlib
import json
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from reporter.model.finding import FindingKey
from reporter.model.instant import rfc3339_micro
from reporter.model.report import ReadySubject
from reporter.model.subject import Subject

NAME_LENGTH: Final = 253
LABEL_LENGTH: Final = 63
_HASH_DIGITS = 16
_LABEL_HASH_DIGITS = 8
_NOT_IN_NAME = re.compile(r"[^a-z0-9-]+")
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")


def event_name(key: FindingKey, since: datetime) -> str:
    """Return the name of the Event of one episode of a key.

    The hash covers the exact key and the start of the episode, so that two keys never share an
    Event and a recurrence is a new object for those who watch creations.
    """
    involved = (key.involved.api_version, key.involved.kind, key.involved.name)
    return _name(key.reason, key.subject, (*involved, rfc3339_micro(since)))


def ready_name(ready: ReadySubject) -> str:
    """Return the name of the Event that tells this recovery."""
    return _name(ready.reason, ready.subject, ("ready", ready.episode))


def _name(reason: str, subject: Subject, exact: Iterable[str]) -> str:
    whole = json.dumps([reason, subject.kind, subject.namespace, subject.name, *exact])
    digest = hashlib.sha256(whole.encode()).hexdigest()[:_HASH_DIGITS]
    tail = f".{_part(reason)}.{digest}"
    parts = (_part(subject.namespace), _part(subject.name)) if subject.namespace else ("cluster",)
    head = ".".join(part for part in parts if part)
    return head[: NAME_LENGTH - len(tail)].rstrip(".-") + tail


def _part(text: str) -> str:
    return _NOT_IN_NAME.sub("-", text.lower()).strip("-")


def label_value(text: str) -> str:
    """Return `text` as a label value; one that does not fit is cut and told apart by a hash."""
    if not text or (len(text) <= LABEL_LENGTH and _LABEL.fullmatch(text)):
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:_LABEL_HASH_DIGITS]
    kept = re.sub(r"[^A-Za-z0-9_.-]+", "-", text)[: LABEL_LENGTH - len(digest) - 1]
    return f"{kept.strip('-_.')}-{digest}".lstrip("-")
