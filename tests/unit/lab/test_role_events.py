"""The demo understands each Event about roles that the daemon writes."""

from datetime import UTC, datetime

import msgspec
import pytest

from lab.demo.kthena import RoleInstance
from lab.demo.role_events import RoleEvents
from reporter.model.objects import Event
from reporter.model.subject import ObjectRef
from reporter.stacks.kthena.derived.role_changes import Instance, RoleChange
from reporter.stacks.kthena.role_events import Telling, role_event

NOW = datetime(2026, 11, 20, 12, 0, 16, 250_000, tzinfo=UTC)
CHANGE = RoleChange(
    ObjectRef("workload.serving.volcano.sh/v1alpha1", "ModelServing", "serving", "m", "uid-m"),
    Instance("m-0", "prefill", "prefill-0"),
    "Running",
)


@pytest.mark.parametrize(
    "telling",
    [Telling(CHANGE), Telling(CHANGE, 1), Telling(CHANGE, 0, NOW), Telling(CHANGE, 36, NOW)],
    ids=["now", "with one untold", "had to wait", "had to wait, with 36 untold"],
)
async def test_what_the_daemon_writes_is_told_or_counted(telling):
    """What the limit of ten a minute held back is told as the past, at the demo's ordinary pace."""
    said = []
    events = RoleEvents("http://127.0.0.1:1", "serving", said.append)
    events._note("ADDED", msgspec.convert(role_event(telling, NOW, "replica-0"), Event))
    changes = [
        (RoleInstance("m-0", f"earlier-{each}"), "Creating") for each in range(telling.untold)
    ]
    assert list(events.faults([*changes, (RoleInstance("m-0", "prefill-0"), "Running")])) == []
    assert (events.told, events.untold, len(said)) == (1, telling.untold, 1)
