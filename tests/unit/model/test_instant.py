"""Times as the API writes and reads them."""

from datetime import datetime

import pytest

from reporter.model.instant import parse_rfc3339, rfc3339, rfc3339_micro


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        ("2026-11-20T13:00:00.1234567+01:00", "2026-11-20T12:00:00.123456Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
        ("0001-01-01T00:00:00+05:00", "0001-01-01T00:00:00.000000Z"),
        ("9999-12-31T23:59:59-05:00", "9999-12-31T23:59:59.000000Z"),
    ],
)
def test_times_have_four_digits_of_year_and_never_raise(moment, text):
    """A status may have any time of RFC 3339, including one beyond the calendar in UTC."""
    moment = datetime.fromisoformat(moment)
    assert rfc3339_micro(moment) == text
    assert rfc3339(moment) == text[:19] + "Z"


@pytest.mark.parametrize(
    "text", ["9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+05:00", "2026-11-20T12:00:00", "x"]
)
def test_a_text_that_is_no_moment_is_refused_as_such(text):
    """Annotations can contain anything, and their readers expect one kind of error."""
    with pytest.raises(ValueError, match=r"time|zone|calendar|format"):
        parse_rfc3339(text)
