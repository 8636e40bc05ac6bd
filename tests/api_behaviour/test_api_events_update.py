"""How Events change, and their two views (rows of 1.1, 1.3 and 1.5)."""

import pytest

from tests.api_behaviour.api_client import CORE_EVENTS, Api, new_event

LATER = "2026-11-20T11:00:00.000000Z"


@pytest.fixture(name="core")
def _core(namespace: str) -> str:
    return CORE_EVENTS.format(namespace)


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
