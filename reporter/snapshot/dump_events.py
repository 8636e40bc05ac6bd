"""The events.k8s.io view of an Event, as the core view that is read."""

from collections.abc import Mapping
from typing import Final

_NAMES: Final = {
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "reportingController": "reportingComponent",
}


def core_event(event: Mapping[str, object]) -> Mapping[str, object]:
    """Return an Event of events.k8s.io/v1 with the field names of core/v1.

    Both are views of one stored object (Kubernetes, pkg/apis/events/v1/conversion.go), so
    nothing is computed.
    """
    return {_NAMES.get(key, key): value for key, value in event.items()}
