"""Pages of vLLM pods, read directly and through the API server's pod proxy; slow downloads of weights."""

import contextlib
import dataclasses
import json
from pathlib import Path

import pytest

from e2e.envtest.release import REPORTER
from e2e.stack.api import StackError
from e2e.stack.pod_network import own_loopback, pod_network
from lab.simulation.pod_life import Phase
from lab.simulation.server import ModelPod
from tests.daemon.replica import until

pytestmark = pytest.mark.xdist_group("pod-network")  # one of them looks at what other tests leave

MODEL = "llama-3-1-8b"
POD = f"{MODEL}-9t7dl-0"
PORT = 5000
SLOW = "inferencesetWeightDownloadSlow"
QUICK = {"scrape_via": "direct", "scrape_interval_seconds": 1, "weight_download_window_seconds": 4}
DOWNLOADING = "kaito_model_download_speed_bytes_per_second"


async def through_proxy(api, namespace):
    """GET the page of the pod from the API server; return status and text."""
    path = f"/api/v1/namespaces/{namespace}/pods/{POD}:{PORT}/proxy/metrics"
    async with api.session.get(path) as answer:
        return answer.status, await answer.text()


async def test_page_comes_directly_on_loopback(stage):
    async with ModelPod() as pod:
        pod.become(Phase.DOWNLOADING)
        async with stage.api.session.get(pod.url, ssl=False) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=")
            assert DOWNLOADING in await answer.text()
        assert pod.requests == 1


async def test_page_comes_through_the_pod_proxy(stage, workload):
    with pod_network() as network:
        async with ModelPod(listener=network.listen(PORT)) as pod:
            pod.become(Phase.DOWNLOADING)
            await stage.stack.pod_address(workload, POD, network.address)
            status, text = await through_proxy(stage.api, workload)
            assert (status, pod.requests) == (200, 1)
            assert DOWNLOADING in text


async def test_api_server_refuses_loopback_pods(stage, workload):
    """This is why there is a network: the server sends nothing to its own machine."""
    async with ModelPod() as pod:
        await stage.stack.pod_address(workload, POD, "127.0.0.1")
        status, text = await through_proxy(stage.api, workload)
        assert (status, pod.requests) == (400, 0)
        assert "address not allowed" in text


def test_network_is_gone_after_a_failure():
    made = []

    def fail():
        with pod_network() as network:
            made.append(network.name)
            network.listen(PORT)
            raise RuntimeError("the test failed")

    with pytest.raises(RuntimeError, match="the test failed"):
        fail()
    left = [*Path("/run/netns").glob("*"), *Path("/sys/class/net").iterdir()]
    assert made[0] not in [each.name for each in left]


def test_network_asks_for_root(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(StackError, match="run the end-to-end tests as root"), pod_network():
        pass


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
        status, text = await daemon.get("report", f"/api/v1/pods/{workload}/{POD}")
        view = json.loads(text) if status == 200 else {}
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
