"""Slow downloads of weights on the real API server: scraped directly, and through its pod proxy."""

import contextlib
import dataclasses
import json

import pytest

from e2e.envtest.release import REPORTER
from e2e.stack.pod_network import own_loopback, pod_network
from lab.simulation.phases import Phase
from lab.simulation.server import ModelPod
from tests.daemon.replica import until

POD = "llama-3-1-8b-9t7dl-0"
MODEL = "llama-3-1-8b"
PORT = 5000
SLOW = "inferencesetWeightDownloadSlow"
QUICK = {"scrape_via": "direct", "scrape_interval_seconds": 1, "weight_download_window_seconds": 4}


async def last_scrape(replica, namespace: str) -> dict:
    """The daemon's last look at the pod."""
    status, text = await replica.get("report", f"/api/v1/pods/{namespace}/{POD}")
    return json.loads(text) if status == 200 else {}


async def scrapes(replica, namespace: str, more: int) -> None:
    """Wait until the pod has been scraped so many more times."""

    async def count() -> float:
        return await replica.metric("scrapes_total", outcome="ok")

    first = await count()

    async def enough() -> bool:
        return await count() >= first + more

    await until(enough, f"{more} more scrapes")


@pytest.fixture(name="pod")
async def _pod():
    """A simulated model pod on loopback, on KAITO's port."""
    async with ModelPod(host=own_loopback(1), port=PORT) as pod:
        yield pod


async def test_sustained_slow_download_is_told_and_one_good_scrape_ends_it(
    stage, workload, replica, pod
):
    """The window is its grace; a part of it is not enough."""
    pod.become(Phase.DOWNLOADING, speed=5e6)
    await stage.stack.pod_loading(workload, POD, pod.host)
    daemon = await replica(**QUICK)
    key = (SLOW, f"inferenceset/{workload}/{MODEL}")

    async def partial() -> bool:
        view = await last_scrape(daemon, workload)
        verdicts = {each["reason"]: each["verdict"] for each in view.get("reasons", ())}
        return 1 < view.get("scrapes", 0) <= 3 and verdicts[SLOW] == "not judged"

    await until(partial, "a window that is not full is not judged")
    assert await stage.events(key) == []
    event = await stage.told(*key)
    assert (
        "has downloaded its weights at 5.0 MB/s at most for 4 s, below 20 MB/s" in event["message"]
    )
    assert event["related"]["name"] == POD

    pod.become(Phase.DOWNLOADING, speed=90e6)
    over = await stage.told(*key, state="over")
    assert over["metadata"]["uid"] == event["metadata"]["uid"]


@pytest.mark.xdist_group("pod-network")
async def test_slow_download_is_seen_through_the_pod_proxy(stage, workload, replica, release):
    """With the permission from the chart, and no direct route to the pod."""
    proxied = dataclasses.replace(release, name="proxied", namespace="proxied")
    stage.namespaces.append("proxied")
    async with contextlib.AsyncExitStack() as stack:
        network = stack.enter_context(pod_network())
        pod = await stack.enter_async_context(ModelPod(listener=network.listen(PORT)))
        pod.become(Phase.DOWNLOADING, speed=5e6)
        await stage.stack.pod_loading(workload, POD, network.address)
        await proxied.install(REPORTER, {"scrape": {"via": "apiserver-proxy"}})
        stack.push_async_callback(proxied.uninstall)
        daemon = await replica(
            "proxied-a", release=proxied, **{**QUICK, "scrape_via": "apiserver-proxy"}
        )
        event = await stage.told(SLOW, f"inferenceset/{workload}/{MODEL}")
        assert event["reportingInstance"] == "proxied-a"
        await daemon.stop()
