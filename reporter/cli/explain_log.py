"""`status-reporter explain --log`: what a container's log says, without any cluster."""

import json
import re
import sys
from pathlib import Path
from typing import Final

from reporter.diagnosis.logs import MOST_LINES, LogReading, read_log
from reporter.diagnosis.signatures import signatures_with
from reporter.errors import UsageError
from reporter.model.text import clean, unseen_escaped

STDIN: Final = "-"
_MOST_BYTES: Final = 4 * 1024 * 1024
_WORD: Final = re.compile(r"\A[a-z]+(?= )")
"""A first word; a name there stays as it is."""

_SURENESS: Final = {
    "certain": "the line alone is the cause",
    "likely": "check one more fact before you rely on it",
    "symptom": "no cause by itself: something before it is",
}


def explain_log(source: str, *, signatures: Path | None, as_json: bool) -> int:
    """Print what a log says; of a long one its end counts.

    Raises:
        UsageError: the file cannot be read, or that of signatures is wrong.

    """
    table = signatures_with(signatures)
    reading = read_log(_text(source), table)
    sys.stdout.write(_document(reading) if as_json else _told(reading))
    return 0


def _text(source: str) -> str:
    try:
        if source == STDIN:
            # A pipe cannot be read from its end.
            raw = b""
            while part := sys.stdin.buffer.read(_MOST_BYTES):
                raw = (raw + part)[-_MOST_BYTES:]
        else:
            with Path(source).open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(0, size - _MOST_BYTES))
                raw = file.read(_MOST_BYTES)
    except OSError as error:
        raise UsageError(f"{clean(source)} cannot be read: {error.strerror}") from None
    return raw.decode("utf-8", "replace")


def _told(reading: LogReading) -> str:
    cause, row = reading.cause, reading.matched
    if row is None:
        lines = [f"No signature matches the last {MOST_LINES:,} lines."]
        if reading.quoted:
            lines.append(
                f"The first exception, line {reading.quoted.number}: {reading.quoted.text}"
            )
        return "\n".join(lines) + "\n"
    lines = [
        f"{_WORD.sub(lambda match: match[0].capitalize(), cause.sentence)}.",
        f"  What to do: {cause.action}",
        f"  Signature:  {row.id} ({cause.kind}); {row.row.sureness}: {_SURENESS[row.row.sureness]}",
    ]
    if reading.quoted:
        lines.append(
            f"  Line {reading.quoted.number}:{' ' * max(1, 6 - len(str(reading.quoted.number)))}"
            f"{reading.quoted.text}"
        )
    return "\n".join(lines) + "\n"


def _document(reading: LogReading) -> str:
    cause, row, line = reading.cause, reading.matched, reading.quoted
    content = {
        "signature": row.id if row else None,
        "class": cause.kind or None,
        "sureness": row.row.sureness if row else None,
        "cause": cause.sentence or None,
        "action": cause.action or None,
        "values": dict(cause.values),
        "line": {"number": line.number, "text": line.text} if line else None,
    }
    return unseen_escaped(json.dumps(content, indent=2, ensure_ascii=False)) + "\n"
