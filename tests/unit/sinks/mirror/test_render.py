"""What a mirror says, and how it is told from an Event of ours."""

import msgspec
import pytest

from reporter.model.objects import Event
from reporter.resolution.records import record_of
from reporter.sinks.mirror.plan import document, mirror_name
from tests.unit.sinks.mirror.building import fired, planned, ready


def body_of(record):
    (write,) = planned(record).writes
    return document(write.mirror)


def test_a_mirror_says_what_the_event_says():
    """Times and count are the Event's, so that a repeated apply changes nothing."""
    record = fired(first=65, ago=5, count=3)
    body = body_of(record)
    assert body["metadata"] == {
        "name": mirror_name(record.event.name, "uid-llama"),
        "namespace": "chat",
        "labels": {"status-reporter.io/mirror": "firing"},
        "annotations": {"status-reporter.io/mirror-of": f"kube-system/{record.event.name}"},
    }
    assert body["involvedObject"] == {
        "apiVersion": "kaito.sh/v1beta1",
        "kind": "InferenceSet",
        "namespace": "chat",
        "name": "llama",
        "uid": "uid-llama",
    }
    times = ("eventTime", "firstTimestamp", "lastTimestamp", "count")
    assert [body[each] for each in times] == [
        "2026-11-20T11:58:55.000000Z",
        "2026-11-20T11:58:55Z",
        "2026-11-20T11:59:55Z",
        3,
    ]
    assert (body["type"], body["reason"], body["message"]) == (
        "Warning",
        "inferencesetEPPNotReady",
        "the endpoint picker is down",
    )
    component = "productionstack-status-reporter"
    assert body["reportingComponent"] == body["source"]["component"] == component


@pytest.mark.parametrize("record", [fired(), ready()])
def test_a_mirror_is_never_taken_for_an_event_of_ours(record):
    """Workloads may be in kube-system, where our Events are read back."""
    body = body_of(record)
    assert record_of(msgspec.json.decode(msgspec.json.encode(body), type=Event)) is None
    assert body["metadata"]["name"] != record.event.name
    assert "status-reporter.io/reason" not in body["metadata"]["labels"], (
        "what is listed and watched"
    )
    assert "status-reporter.io/state" not in body["metadata"]["labels"], "what people select by"
