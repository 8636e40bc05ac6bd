"""Endpoint picker of the Inference Extension.

The objects are those of a ModelService; pods and operator are played. The picker reads a simulated
engine at the pool's port, and the reporter reads the pages of both. `RECORD_PAGES=FOLDER` keeps
each page of the picker once its reason has fired, for the tests of reading.
"""

import asyncio
import contextlib
import os
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from e2e.controllers.programs import PROGRAMS
from e2e.controllers.running import Running
from e2e.stack.addresses import own_loopback
from e2e.stack.otterscale import NAME, OtterScale
from lab.simulation.pod_life import Phase
from lab.simulation.server import ModelPod
from reporter.metrics.scraping.targets import PORT
from tests.daemon.replica import until

POOLS = "inferencepools.inference.networking.k8s.io"
HEAD = "apiVersion: inference.networking.x-k8s.io/v1alpha1\nkind: EndpointPickerConfig\n"
FILTERED = f"""{HEAD}
plugins: [{{type: header-based-testing-filter}}, {{type: max-score-picker}}]
schedulingProfiles:
- name: default
  plugins: [{{pluginRef: header-based-testing-filter}}, {{pluginRef: max-score-picker}}]
"""
QUEUED = f"""{HEAD}
plugins: [{{type: max-score-picker}}]
schedulingProfiles: [{{name: default, plugins: [{{pluginRef: max-score-picker}}]}}]
featureGates: [flowControl]
flowControl: {{maxRequests: "2", defaultRequestTTL: 1s}}
"""
NO_ENDPOINTS, STALE, FAILING, SHEDDING = (
    f"EPP{each}" for each in ("NoEndpoints", "StaleMetrics", "SchedulingFailing", "Shedding")
)
WINDOWS = ",".join(f"inferenceset{each}=6" for each in (NO_ENDPOINTS, STALE, FAILING, SHEDDING))


class Picker:
    """A running picker, the engines that it reads, and the reports about its model."""

    def __init__(self, stage, otterscale, running, engines):
        self.stage = stage
        self.otterscale = otterscale
        self.running = running
        self.engines = engines

    async def asks(self, count=1, *flags):
        """Return the count of each answer."""
        process = await asyncio.create_subprocess_exec(
            PROGRAMS["requests"].built(), f"-address=127.0.0.1:{self.running.webhook}", f"-count={count}", *flags,
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        said, _ = await process.communicate()
        return Counter(said.decode().splitlines())

    async def pool(self, **spec):
        await self.stage.api.patch(POOLS, NAME, {"spec": spec}, namespace=self.otterscale.namespace)

    async def fires(self, reason, *words):
        event = await self.stage.told(f"modelservice{reason}", self.otterscale.subject)
        for each in words:
            assert each in event["message"], event["message"]
        if folder := os.environ.get("RECORD_PAGES"):
            page = f"http://127.0.0.1:{PORT}/metrics"
            async with self.stage.api.session.get(page) as answer:
                text = await answer.text()
            await asyncio.to_thread(Path(folder, f"epp-{reason}.txt").write_text, text)

    async def over(self, reason):
        await self.stage.told(f"modelservice{reason}", self.otterscale.subject, state="over")

    async def firing(self):
        """Return the firing reasons about pickers."""
        return {name for name, _ in await self.stage.firing() if "EPP" in name}


@pytest.fixture(name="picker")
async def _picker(stage, namespace, replica, tmp_path_factory):
    """A function that starts a picker with a configuration, the model and the reporter."""
    async with contextlib.AsyncExitStack() as running:

        async def start(configuration):
            arguments = [f"--pool-name={NAME}", f"--pool-namespace={namespace}"]
            if configuration:
                arguments.append(f"--config-text={configuration}")
            shipped = PROGRAMS["endpoint-picker"]
            program = replace(shipped, arguments=(*shipped.arguments, *arguments))
            process = Running(program, stage.api, tmp_path_factory.mktemp("picker"), health=PORT)
            await running.enter_async_context(process.started())
            otterscale = OtterScale(stage.api, stage.stack, namespace)
            await otterscale.install()
            running.push_async_callback(otterscale.remove)
            hosts = {"decode": own_loopback(1), "prefill": own_loopback(2), "epp": own_loopback(3)}
            for role, host in hosts.items():
                await otterscale.answers_at(role, host)
            engines = {
                (host, port): await running.enter_async_context(ModelPod(host=host, port=port))
                for host, port in (
                    (hosts["decode"], 8200), (hosts["decode"], 8000), (hosts["prefill"], 8000),
                )
            }  # fmt: skip
            await replica(scrape_via="direct", scrape_interval_seconds=1, grace=WINDOWS)
            picker = Picker(stage, otterscale, process, engines)
            await picker.over("Ready")
            return picker

        yield start


async def test_endpoints(picker):
    """A port where nothing listens, an engine that it cannot read, no pod."""
    running = await picker("")
    answers = await running.asks(4)
    assert {each.partition(" ")[0] for each in answers} == {"endpoint"}, answers
    assert await running.firing() == set()

    await running.pool(targetPorts=[{"number": 8999}])
    await running.fires(NO_ENDPOINTS, "metrics")
    await running.pool(targetPorts=[{"number": 8000}])
    await running.over(NO_ENDPOINTS)

    cut = running.engines[own_loopback(1), 8000]
    cut.become(Phase.LOADING_REFUSED)
    await running.fires(STALE)
    cut.become(Phase.SERVING)
    await running.over(STALE)

    await running.pool(selector={"matchLabels": {"llm-d.ai/model": "another"}})
    assert [each.partition(" ")[0] for each in await running.asks()] == ["503"]


async def test_no_endpoint_fits(picker):
    """A filter that nothing passes."""
    running = await picker(FILTERED)

    async def fails():
        answers = await running.asks(20)
        assert {each.partition(" ")[0] for each in answers} == {"429"}, answers
        return f"modelservice{FAILING}" in await running.firing()

    await until(fails, "it fails")
    await running.fires(FAILING)
    assert await running.firing() == {f"modelservice{FAILING}"}

    async def works():
        answers = await running.asks(20, f"-only={own_loopback(1)}")
        assert set(answers) == {f"endpoint {own_loopback(1)}:8000"}, answers
        return not await running.firing()

    await until(works, "it is over")


async def test_a_full_pool(picker):
    """Saturated engines and a full queue."""
    running = await picker(QUEUED)
    for each in running.engines.values():
        each.become(Phase.SATURATED)

    async def shed():
        answers = await running.asks(60, "-together=20")
        assert any(each.startswith("429") for each in answers), answers
        return f"modelservice{SHEDDING}" in await running.firing()

    await until(shed, "it sheds")
    await running.fires(SHEDDING)
