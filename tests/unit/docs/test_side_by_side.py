"""Our Events beside those of the Go reporter (docs/migrating.md, "Running both side by side")."""

import re
from datetime import UTC, datetime

import msgspec
import pytest

from reporter.model.finding import FindingKey
from reporter.model.objects import Event
from reporter.model.subject import CLUSTER, ObjectRef, Subject
from reporter.resolution.records import record_of
from reporter.sinks.events.plan import event_name
from reporter.stacks.kaito.reasons import INFERENCESET_KIND

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OF_GO = {
    "metadata": {"namespace": "kube-system", "name": "cluster-kaito-system.clusterkaitocontrollernotready"},
    "type": "Warning",
    "reason": "clusterKaitoControllerNotReady",
    "source": {"component": "productionstack-status-reporter"},
    "reportingComponent": "productionstack-status-reporter",
    "involvedObject": {"apiVersion": "v1", "kind": "Namespace", "name": "kaito-system"},
    "eventTime": "2026-01-01T00:00:00.000000Z",
    "count": 8,
}  # fmt: skip


def test_events_of_go_are_not_ours():
    """Same source, no labels: neither taken as memory nor written to."""
    assert record_of(msgspec.convert(OF_GO, Event)) is None


@pytest.mark.parametrize(
    "key",
    [
        FindingKey("clusterKaitoControllerNotReady", CLUSTER, ObjectRef("v1", "Namespace", "", "kaito")),
        FindingKey(
            "inferencesetEPPNotReady",
            Subject(INFERENCESET_KIND, "n" * 63, "s" * 253),
            ObjectRef("v1", "Namespace", "", "n" * 63),
        ),
    ],
    ids=["short", "cut"],
)  # fmt: skip
def test_name_is_none_that_go_gives(key):
    """Go's ends in a reason, or in a hyphen and 16 digits where it was cut."""
    assert re.fullmatch(r"[a-z0-9.-]+\.[0-9a-f]{16}", event_name(key, NOW))
