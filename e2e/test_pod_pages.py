"""The metrics page of a vLLM pod: directly, and through the API server's pod proxy."""

from pathlib import Path

import pytest

from e2e.stack.errors import StackError
from e2e.stack.pod_network import pod_network
from lab.simulation.phases import Phase
from lab.simulation.server import ModelPod

pytestmark = pytest.mark.xdist_group("pod-network")  # one of them looks at what other tests leave

POD = "llama-3-1-8b-9t7dl-0"
PORT = 5000
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
