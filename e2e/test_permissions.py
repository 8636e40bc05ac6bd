"""The chart grants what the daemon does, and nothing else: by the API server's audit log."""

from e2e.envtest.audit import requests
from e2e.grants import granted, unused

BBR = ("clusterBBRNotReady", "cluster")


async def test_every_granted_verb_is_used_and_no_request_is_forbidden(
    stage, release, replica, kubectl, plane
):
    """Over the life of an Event: written, counted on, taken back, by the leader of a new Lease."""
    start = plane.audit_log.stat().st_size
    await replica()
    await stage.told("clusterReady", "cluster", state="over")
    await stage.stack.scale("kaito-system", "body-based-router", 0)
    await stage.told(*BBR)
    await stage.stack.install_shared()
    await stage.told(*BBR, state="over")

    account = (await release.container()).account
    user = f"system:serviceaccount:{release.namespace}:{account}"
    seen = list(requests(plane.audit_log, user, since=start))
    assert [each for each in seen if not each.allowed] == []
    grants = granted(kubectl, release.name)
    assert len(grants) > 30, "the release's roles were found"
    assert unused(grants, seen) == set()
