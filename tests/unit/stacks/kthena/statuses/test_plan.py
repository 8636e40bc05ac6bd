"""Which requests are planned, and what is in them."""

import pytest

from reporter.stacks.kthena.output import release_of
from reporter.stacks.kthena.owning import Method
from tests.unit.stacks.kthena.statuses.building import entry, roles
from tests.unit.stacks.kthena.statuses.building import write as written

CONDITION = {"type": "Available", "status": "True", "reason": "R", "message": "m"}
OLD = {**CONDITION, "type": "Progressing", "lastTransitionTime": "2026-11-20T11:00:00Z"}
WANTED = roles("Running", replicas=2, updatedReplicas=0, conditions=[CONDITION, OLD])


def test_whole_status_is_replaced():
    """With the time of conditions that changed; what is zero is left out, as the API does."""
    write = written(WANTED, whole=True, version="7")
    assert (write.method, write.version, write.object.uid) == (Method.REPLACE, "7", "uid-m")
    assert write.status == {
        "roleStatuses": [entry(0, "Running")],
        "replicas": 2,
        "conditions": [{**CONDITION, "lastTransitionTime": "2026-11-20T12:00:00Z"}, OLD],
    }


@pytest.mark.parametrize(
    ("wanted", "left_out", "applied"),
    [
        (WANTED, (), roles("Running")),
        (roles("Running", roleStatusesOmitted=3), (), roles("Running", roleStatusesOmitted=3)),
        # An apply that says nothing at all is refused where nothing else is left of the status.
        ({"replicas": 2}, (), {"roleStatuses": []}),
        (roles("Running", roleStatusesOmitted=3), ("roleStatusesOmitted",), roles("Running")),
        (roles("Running", roleStatusesOmitted=3), ("roleStatuses",), {}),
    ],
)
def test_roles_alone_are_applied(wanted, left_out, applied):
    """Nothing that the other controller owns, and nothing that the API server drops."""
    write = written(wanted, left_out=left_out)
    assert (write.method, write.status, write.left_out) == (Method.APPLY, applied, left_out)


def test_release_leaves_what_is_wanted():
    """Whoever owns other roles loses them, over the same version."""
    write = written(WANTED)
    release = release_of(write)
    assert (release.version, release.object) == (write.version, write.object)
    assert release.status == {**write.status, "roleStatusesOmitted": None}
    assert release.asked == write.asked
