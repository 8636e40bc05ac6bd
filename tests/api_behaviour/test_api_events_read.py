"""Selecting and printing Events (rows of 1.6 and 1.7)."""

import datetime as dt

import pytest

from tests.api_behaviour.api_client import CORE_EVENTS, TABLE, Api, old_event


def ago(**age: int) -> str:
    """A timestamp in the past."""
    moment = dt.datetime.now(dt.UTC) - dt.timedelta(**age)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def ago_micro(**age: int) -> str:
    """The same as a MicroTime."""
    return ago(**age).replace("Z", ".000000Z")


@pytest.mark.parametrize(
    ("fields", "last", "first", "count"),
    [
        ({}, "<unknown>", "<unknown>", 1),
        ({"firstTimestamp": ago(hours=9)}, "9h", "9h", 1),
        ({"firstTimestamp": ago(hours=60), "lastTimestamp": ago(hours=30), "count": 4}, "30h", "2d12h", 4),
        ({"lastTimestamp": ago(days=9)}, "9d", "<unknown>", 1),
        (
            {
                "series": {"count": 6, "lastObservedTime": ago_micro(days=10)},
                "lastTimestamp": ago(days=20),
                "count": 3,
            },
            "10d",
            "<unknown>",
            6,
        ),
    ],
)  # fmt: skip
async def test_table_times(api: Api, namespace: str, fields, *, last: str, first: str, count: int):
    """Series win over timestamps, those over eventTime; a count of none prints as one."""
    path = CORE_EVENTS.format(namespace)
    await api.made(path, old_event("e", namespace, **fields))
    (row,) = (await api.get(path, accept=TABLE)).json["rows"]
    cells = row["cells"]
    assert (cells[0], cells[7], cells[8]) == (last, first, count)
