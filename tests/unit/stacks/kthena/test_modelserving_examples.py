"""The dumps of a ModelServing: one that serves, one with a role that does not come up."""

import json
from pathlib import Path

import pytest
import yaml

FOLDER = Path(__file__).parents[4] / "examples" / "modelserving"


@pytest.mark.parametrize(
    ("name", "fault", "code"),
    [
        ("healthy", {}, 0),
        (
            "stuck-role",
            {
                "modelservingRoleStuckCreating": "firing",
                "modelservingGroupNotReady": "pending",
            },
            1,
        ),
    ],
)
def test_check_tells_what_is_wrong_and_derives_the_status(run, name, fault, *, code):
    """The status in the dump is the one that is derived of the rest of it."""
    status, out, _ = run("check", "--from", FOLDER / name, "-o", "json")
    found = json.loads(out)
    assert status == code
    assert {each["reason"]: each["disposition"] for each in found["findings"]} == fault
    (stored,) = yaml.safe_load((FOLDER / name / "modelservings.yaml").read_text())["items"]
    (derived,) = found["derived"]
    assert derived["status"] == stored["status"]
