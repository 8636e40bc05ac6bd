"""The current time in the API's format."""

from datetime import UTC, datetime

from reporter.model.instant import rfc3339


def now() -> str:
    """Return the current time."""
    return rfc3339(datetime.now(UTC))
