"""Events as `kubectl get events` prints them.

The API server makes that table: Kubernetes, pkg/printers/internalversion/printers.go.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from reporter.model.instant import parse_rfc3339
from reporter.model.text import clean
from reporter.sinks.age import age

_COLUMNS: Final = ("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")
_PADDING: Final = 3


def event_table(events: Iterable[Mapping[str, object]], now: datetime) -> str:
    """Return core/v1 Events as a table, in the order of their names; empty where there are none."""
    rows = [_row(event, now) for event in sorted(events, key=_name)]
    if not rows:
        return ""
    table = [_COLUMNS, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(_COLUMNS))]
    return "".join(
        "".join(f"{cell:{width + _PADDING}}" for cell, width in zip(row[:-1], widths, strict=False))
        + row[-1]
        + "\n"
        for row in table
    )


def _row(event: Mapping[str, object], now: datetime) -> tuple[str, ...]:
    involved = event["involvedObject"]
    target = involved if isinstance(involved, dict) else {}
    kind, name = str(target.get("kind", "")).lower(), clean(str(target.get("name", "")))
    last_seen = age(now - parse_rfc3339(str(event["lastTimestamp"])))
    return (
        last_seen,
        str(event["type"]),
        str(event["reason"]),
        f"{kind}/{name}" if name else kind,
        clean(str(event["message"])),
    )


def _name(event: Mapping[str, object]) -> str:
    metadata = event["metadata"]
    return str(metadata["name"]) if isinstance(metadata, dict) else ""
