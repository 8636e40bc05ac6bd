"""Which changes of role instances are told, as a table of two passes."""

import pytest

from reporter.model.finding import Derived
from reporter.model.subject import ObjectRef
from reporter.stacks.kthena.derived.role_changes import role_changes

REF = ObjectRef("workload.serving.volcano.sh/v1alpha1", "ModelServing", "serving", "m", "uid")


def status(text: str):
    """`g0/r/r-0 Running, g0/r/r-1 Creating ...` as a status; `...` says that more are left out."""
    entries = []
    for each in text.replace("...", "").split(","):
        if each.strip():
            place, state = each.split()
            names = zip(("servingGroupName", "roleName", "roleID"), place.split("/"), strict=True)
            entries.append({**dict(names), "status": state})
    return {"roleStatuses": entries, "roleStatusesOmitted": 5 if "..." in text else 0}


def derived(text: str) -> Derived:
    return Derived(REF, status(text))


def told(*passes: str) -> str:
    """What the last of some passes tells."""
    seen, changes = {}, ()
    for each in passes:
        seen, changes = role_changes(seen, [derived(each)])
    return ", ".join(
        f"{each.instance.group}/{each.instance.role}/{each.instance.role_id} {each.state}"
        for each in changes
    )


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ("g/r/0 Creating", "g/r/0 Creating", ""),
        ("g/r/0 Creating", "g/r/0 Running", "g/r/0 Running"),
        ("g/r/0 Running", "g/r/0 Creating", "g/r/0 Creating"),
        ("g/r/0 Running", "g/r/0 Deleting", "g/r/0 Deleting"),
        ("", "g/r/0 Creating", "g/r/0 Creating"),
        # A pass may be too late to see the state between.
        ("", "g/r/0 Running", "g/r/0 Running"),
        # That an instance is not there yet is nothing that it does.
        ("", "g/r/0 NotFound", ""),
        ("g/r/0 NotFound", "g/r/0 Creating", "g/r/0 Creating"),
        ("g/r/0 Running", "g/r/0 NotFound", "g/r/0 Deleting"),
        ("g/r/0 Deleting", "g/r/0 NotFound", ""),
        ("g/r/0 NotFound", "", ""),
        # A role that is scaled down, and a whole group that goes without a word in the list.
        ("g/r/0 Running, g/r/1 Running", "g/r/0 Running", "g/r/1 Deleting"),
        ("g/r/0 Deleting", "", ""),
        ("g/a/0 Running, g/b/0 Creating", "", "g/a/0 Deleting, g/b/0 Deleting"),
        (
            "g/r/0 Running, h/r/0 Running",
            "g/r/0 Creating, i/r/0 Creating",
            "h/r/0 Deleting, g/r/0 Creating, i/r/0 Creating",
        ),
        # Where instances are left out, coming and going says nothing.
        ("g/r/0 Running, g/r/1 Running", "g/r/0 Running ...", ""),
        ("g/r/0 Running ...", "g/r/0 Running, g/r/1 Running", ""),
        ("g/r/0 Running ...", "g/r/0 Deleting ...", "g/r/0 Deleting"),
        # The same in another order.
        ("g/r/0 Running, g/r/1 Creating", "g/r/1 Creating, g/r/0 Running", ""),
    ],
)
def test_changes(before, after, changes):
    """Told is what an instance does, once."""
    assert told(before, after) == changes
    assert told(before, after, after) == ""


def test_nothing_is_told_at_first_sight():
    """A restart of ours replays nothing, and neither does a ModelServing that is new to us."""
    assert told("g/r/0 Creating, g/r/1 Running") == ""


def test_group_that_comes_back_is_told_again():
    """A recreated ServingGroup has the same names."""
    assert told("g/r/0 Running", "", "g/r/0 Creating") == "g/r/0 Creating"


def test_unconfirmed_statuses_change_nothing():
    """After a lost connection the change is told once the data is confirmed."""
    seen, _ = role_changes({}, [derived("g/r/0 Creating")])
    seen, changes = role_changes(seen, [], trusted=False)
    assert not changes
    _, changes = role_changes(seen, [derived("g/r/0 Running")])
    assert [each.state for each in changes] == ["Running"]


def test_modelserving_that_is_gone_is_forgotten():
    """And one of the same name is another one."""
    seen, _ = role_changes({}, [derived("g/r/0 Running")])
    seen, changes = role_changes(seen, [])
    assert (dict(seen), changes) == ({}, ())
    assert role_changes(seen, [derived("g/r/0 Creating")])[1] == ()
