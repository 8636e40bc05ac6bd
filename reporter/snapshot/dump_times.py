"""The times that stand in the documents of a dump."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

_FIELDS: Final = frozenset(
    {
        "creationTimestamp", "lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime",
        "lastProbeTime", "startTime", "startedAt", "finishedAt", "firstTimestamp",
        "lastTimestamp", "eventTime", "lastObservedTime", "time", "acquireTime", "renewTime",
    }
)  # fmt: skip
"""Fields that hold a past time; others, such as `expiresAt`, may lie in the future."""


def newest_time(document: object) -> datetime | None:
    """Return the newest past time that stands anywhere in a document, None if there is none."""
    return max(_times(document), default=None)


def _times(document: object) -> Iterator[datetime]:
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(each for each in value if isinstance(each, (dict, list)))
        elif isinstance(value, dict):
            for key, each in value.items():
                if isinstance(each, (dict, list)):
                    waiting.append(each)
                elif key in _FIELDS and isinstance(each, str) and (moment := _moment(each)):
                    yield moment


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None
