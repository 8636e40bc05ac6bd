"""What others said, in Events, about an object that is not well and does not say why."""

from typing import Final

from reporter.model.subject import ObjectRef
from reporter.model.text import detail
from reporter.snapshot.snapshot import Snapshot

_TEXT_BYTES: Final = 300


def warning_about(snapshot: Snapshot, about: ObjectRef) -> str:
    """Return reason and message of the newest Warning about an object, clean; empty without one."""
    events = snapshot.evidence.events_about(about.namespace, about.kind, about.name)
    warning = next((each for each in events if each.type == "Warning"), None)
    return detail(warning.reason, warning.message, _TEXT_BYTES) if warning else ""
