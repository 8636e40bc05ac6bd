"""Which requests are planned, and what is in them."""

from datetime import timedelta

import pytest

from reporter.stacks.kthena.derived.ownership import Act, Verdict
from reporter.stacks.kthena.statuses import Method, claims_of, plan_statuses, release_of
from tests.unit.probes.building import NOW
from tests.unit.stacks.kthena.statuses.building import entry, modelserving, roles, target

CONDITION = {"type": "Available", "status": "True", "reason": "R", "message": "m"}
OLD = {**CONDITION, "type": "Progressing", "lastTransitionTime": "2026-11-20T11:00:00Z"}
WANTED = roles("Running", replicas=2, updatedReplicas=0, conditions=[CONDITION, OLD])


def planned(verdict: Verdict, *, whole: bool, wanted=WANTED):
    one = target(modelserving(version="7"), wanted)
    return plan_statuses([one], {one.uid: verdict}, NOW, whole=whole)


def test_whole_status_is_replaced():
    """With the time of conditions that changed; what is zero is left out, as the API does."""
    (write,) = planned(Verdict(Act.WRITE), whole=True).writes
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
    verdict = Verdict(Act.WRITE, left_out=left_out)
    (write,) = planned(verdict, whole=False, wanted=wanted).writes
    assert (write.method, write.status, write.left_out) == (Method.APPLY, applied, left_out)


@pytest.mark.parametrize("act", [act for act in Act if act is not Act.WRITE])
def test_other_verdicts_write_nothing(act):
    """They only say when the next pass is due."""
    plan = planned(Verdict(act, timedelta(seconds=9)), whole=True)
    assert (plan.writes, plan.next_in) == ((), timedelta(seconds=9))
    assert plan.objects == {"uid-m"}


def test_object_that_is_being_deleted_is_not_claimed():
    """Its finalizers may run for minutes; nobody needs its status any more."""
    going = modelserving("going", deletionTimestamp="2026-11-20T12:00:00Z")
    targets = [target(modelserving(), WANTED), target(going, WANTED)]
    assert [claim.uid for claim in claims_of(targets)] == ["uid-m"]
    assert not plan_statuses(targets[1:], {}, NOW, whole=True).writes


def test_release_leaves_what_is_wanted():
    """Whoever owns other roles loses them, over the same version."""
    (write,) = planned(Verdict(Act.WRITE), whole=False).writes
    release = release_of(write)
    assert (release.version, release.object) == (write.version, write.object)
    assert release.status == {**write.status, "roleStatusesOmitted": None}
    assert release.asked == write.asked
