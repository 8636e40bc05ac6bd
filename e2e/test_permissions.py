"""The chart grants what the daemon does, and nothing else: by the API server's audit log."""

import pytest

from e2e.envtest.audit import granted, requests, unused
from e2e.envtest.release import REPORTER
from e2e.stack.addresses import proxied_address
from lab.simulation.pod_life import Phase
from lab.simulation.server import ModelPod
from reporter.catalogue.resources import ON_DEMAND
from tests.tables import ALL

BBR = ("clusterBBRNotReady", "cluster")
MODEL = "llama-3-1-8b"
POD = f"{MODEL}-9t7dl-0"
SLOW = "inferencesetWeightDownloadSlow"
VIA = "apiserver-proxy"
UNASKED = {*map(str, ON_DEMAND), *(str(each) for each in ALL if each.stack == "dialects")}
"""Grants that are not used here: nothing waits, and no kind of a dialect is served."""
PROXIED = {"scrape": {"via": VIA, "intervalSeconds": 1}}


@pytest.fixture(name="served")
async def _served(stage, workload):
    """A pod that loads its weights slowly, on an address that the API server can reach."""
    with proxied_address() as address:
        async with ModelPod(host=address, port=5000) as server:
            server.become(Phase.DOWNLOADING, speed=5e6)
            await stage.stack.pod_loading(workload, POD, address)
            yield server


async def life_of_an_event(stage):
    """Let the leader of a new Lease write an Event, count it, and close it."""
    await stage.told("clusterReady", "cluster", state="over")
    await stage.stack.scale("kaito-system", "body-based-router", 0)
    await stage.told(*BBR)
    await stage.stack.install_shared()
    await stage.told(*BBR, state="over")


async def stands_by(replica, release):
    """Let another replica wait for the Lease, which only standbys watch."""
    standby = await replica("standby", release=release)
    await (await standby.ready()).passes(2)


@pytest.fixture(name="grants_used")
def _grants_used(plane, kubectl):
    """Return a function that compares a release's grants with its replica's requests."""
    start = plane.audit_log.stat().st_size

    async def check(release):
        seen = list(requests(plane.audit_log, await release.user(), since=start))
        assert [each for each in seen if not each.allowed] == []
        grants = granted(kubectl, release.name)
        assert len(grants) > 30, "the release's roles were found"
        left = unused(grants, seen)
        assert {each for each in left if each.resource not in UNASKED} == set()
        return {(each.verb, each.resource) for each in grants}

    return check


async def test_every_granted_verb_is_used_and_no_request_is_forbidden(
    stage, release, replica, grants_used
):
    await replica(scrape_via="direct")
    await life_of_an_event(stage)
    await stands_by(replica, release)
    assert ("get", "pods/proxy") not in await grants_used(release)


async def test_scraping_through_the_api_server_is_granted_and_works(
    stage, workload, another, replica, grants_used, served
):
    """A slow download is told, and one good page ends it; only this setting adds the grant."""
    release, _ = await another("proxied", REPORTER, PROXIED)
    assert f"--scrape-via={VIA}" in (await release.container()).args
    quick = {"scrape_via": VIA, "weight_download_window_seconds": 4}
    await replica("proxied-a", release=release, **quick)
    key = (SLOW, f"inferenceset/{workload}/{MODEL}")
    event = await stage.told(*key)
    slow = "has downloaded its weights at 5.0 MB/s at most for 4 s, below 20 MB/s"
    assert slow in event["message"]
    assert event["related"]["name"] == POD
    served.become(Phase.DOWNLOADING, speed=90e6)
    over = await stage.told(*key, state="over")
    assert over["metadata"]["uid"] == event["metadata"]["uid"]
    await life_of_an_event(stage)
    await stands_by(replica, release)
    assert ("get", "pods/proxy") in await grants_used(release)
