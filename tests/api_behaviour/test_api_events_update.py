"""How Events change, and their two views (rows of 1.1, 1.3 and 1.5)."""

import pytest

from tests.api_behaviour.api_client import CORE_EVENTS, NEW_EVENTS, Api, new_event, strict_event
from tests.api_behaviour.servers import only_real

LATER = "2026-11-20T11:00:00.000000Z"


@pytest.fixture(name="core")
def _core(namespace: str) -> str:
    return CORE_EVENTS.format(namespace)


@pytest.fixture(name="new")
def _new(namespace: str) -> str:
    return NEW_EVENTS.format(namespace)


@pytest.mark.parametrize(
    "change",
    [
        {"message": "new"},
        {"count": 7},
        {"type": "Warning"},
        {"reason": "Other"},
        {"action": "Other"},
        {"eventTime": LATER},
        {"lastTimestamp": "2026-11-20T11:00:00Z"},
        {"reportingInstance": "agent-1"},
        {"source": {"component": "c"}},
        {"involvedObject": {"name": "other", "namespace": "x"}},
        {"series": {"count": 1, "lastObservedTime": LATER}},
        {"metadata": {"labels": {"a": "b"}}},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_everything_is_mutable_in_core(api: Api, core: str, change):
    """Through core/v1 every field can be changed."""
    reference = {"kind": "Pod", "name": "p", "namespace": "x"}
    await api.made(core, new_event("e", involvedObject=reference))
    answer = await api.patch(f"{core}/e", change)
    assert answer.status == 200, answer.text


@only_real
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"note": "new"}, "message"),
        ({"reason": "Other"}, "reason"),
        ({"type": "Warning"}, "type"),
        ({"eventTime": LATER}, "eventTime"),
        ({"action": "Other"}, "action"),
        ({"related": {"kind": "Node", "name": "n"}}, "related"),
        ({"regarding": {"name": "other"}}, "involvedObject"),
        ({"reportingController": "other"}, "reportingController"),
        ({"reportingInstance": "agent-1"}, "reportingInstance"),
        ({"deprecatedCount": 2}, "count"),
        ({"deprecatedSource": {"component": "c"}}, "source"),
        ({"deprecatedFirstTimestamp": "2026-11-20T10:00:00Z"}, "firstTimestamp"),
        ({"deprecatedLastTimestamp": "2026-11-20T10:00:00Z"}, "lastTimestamp"),
        ({"series": {"count": 1, "lastObservedTime": LATER}}, "series.count"),
        ({"series": {"count": 2, "lastObservedTime": LATER}}, None),
        ({"metadata": {"labels": {"a": "b"}}}, None),
        ({"metadata": {"annotations": {"a": "b"}}}, None),
    ],
)
async def test_immutable_in_the_new_view(api: Api, new: str, change, *, field):
    """Through events.k8s.io/v1 only series and metadata change (since about 1.24)."""
    await api.made(new, strict_event("e"))
    answer = await api.patch(f"{new}/e", change)
    assert (422 if field else 200) == answer.status, answer.text
    if field:
        assert {cause["field"] for cause in answer.json["details"]["causes"]} == {field}
