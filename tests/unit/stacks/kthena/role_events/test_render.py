"""What a role Event looks like, and that the API server takes it."""

import pytest

from lab.sandbox import Sandbox
from reporter.model.subject import ObjectRef
from reporter.stacks.kthena.derived.role_changes import Instance, RoleChange
from reporter.stacks.kthena.role_events import Telling, message_of, tell
from tests.unit.probes.building import at

REF = ObjectRef("workload.serving.volcano.sh/v1alpha1", "ModelServing", "serving", "m", "uid-m")
DELETING = "Role decode/decode-0 in ServingGroup m-0 is now Deleting"


def change(state: str = "Creating", role_id: str = "decode-0", ref: ObjectRef = REF) -> RoleChange:
    return RoleChange(ref, Instance("m-0", "decode", role_id), state)


@pytest.mark.parametrize(
    ("state", "untold", "message"),
    [
        ("Creating", 0, "Role decode/decode-0 in ServingGroup m-0 is now Creating"),
        ("Running", 0, "Role decode/decode-0 in ServingGroup m-0 is now Running"),
        (
            "Deleting",
            1,
            f"{DELETING} (1 earlier role change not told one by one)",
        ),
        (
            "Deleting",
            12,
            f"{DELETING} (12 earlier role changes not told one by one)",
        ),
    ],
)
def test_message(state, untold, message):
    """The words of Kthena's own controller."""
    assert message_of(Telling(change(state), untold)) == message


def test_change_that_had_to_wait_is_told_as_the_past():
    """The instance may be gone for most of a minute by then."""
    burst = [change("Running", f"decode-{number}") for number in range(10)]
    paces, _, _ = tell({}, burst, at(0), instance="replica-0")
    paces, late, _ = tell(paces, [change("Deleting")], at(16), instance="replica-0")
    assert not late
    _, (event,), _ = tell(paces, [], at(60), instance="replica-0")
    assert event["message"] == (
        "Role decode/decode-0 in ServingGroup m-0 became Deleting at 2026-11-20T12:00:16Z"
    )


def events(*changes: RoleChange, second: float = 0):
    return tell({}, changes, at(second), instance="replica-0")[1]


def test_event_is_about_the_modelserving_in_its_namespace():
    """So that `kubectl describe` shows it; and it has no label of our reasons."""
    (event,) = events(change("Running"))
    assert (event["type"], event["reason"]) == ("Normal", "RoleRunning")
    assert event["involvedObject"]["uid"] == "uid-m"
    assert event["metadata"]["namespace"] == event["involvedObject"]["namespace"] == "serving"
    assert "labels" not in event["metadata"]


def test_names_tell_changes_apart_and_repeat_for_the_same():
    """A request that is made again doubles nothing; the same change an hour later is news."""
    changes = (change("Creating"), change("Running"), change("Creating", "decode-1"))
    names = {each["metadata"]["name"] for each in events(*changes)}
    assert len(names) == 3
    assert names == {each["metadata"]["name"] for each in events(*changes)}
    assert names.isdisjoint(each["metadata"]["name"] for each in events(*changes, second=3600))


@pytest.mark.parametrize("name", ["m", "a" * 63, "x.y-z" * 50])
async def test_api_server_takes_it(name):
    """With the longest names too."""
    ref = ObjectRef(REF.api_version, REF.kind, "serving", name, "uid")
    (event,) = events(change("Running", "decode-" + "9" * 40, ref))
    async with Sandbox() as sandbox:
        sandbox.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "serving"}})
        stored = sandbox.create(event)
    assert len(stored["metadata"]["name"]) <= 253
