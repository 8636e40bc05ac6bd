from datetime import UTC, datetime

from reporter.sinks.report_text import event_table

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def event(name, **changes):
    return {
        "metadata": {"name": name},
        "type": "Warning",
        "reason": "clusterKedaNotReady",
        "involvedObject": {"kind": "Namespace", "name": "keda"},
        "message": " m ",
        "lastTimestamp": "2026-11-20T11:55:00Z",
    } | changes


def test_no_events_no_table():
    """kubectl prints no header for nothing, either."""
    assert event_table([], NOW) == ""


def test_rows_are_aligned_and_sorted_by_name():
    """Columns are as wide as their widest cell and three spaces, the last is not padded."""
    table = event_table(
        [event("b", type="Normal"), event("a", involvedObject={"kind": "Thing"})], NOW
    )
    assert table == (
        "LAST SEEN   TYPE      REASON                OBJECT           MESSAGE\n"
        "5m          Warning   clusterKedaNotReady   thing            m\n"
        "5m          Normal    clusterKedaNotReady   namespace/keda   m\n"
    )
