"""The present, as the API writes it."""

from datetime import UTC, datetime

from reporter.model.instant import rfc3339


def now() -> str:
    """Return this moment."""
    return rfc3339(datetime.now(UTC))
