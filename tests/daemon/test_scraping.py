"""The real daemon scrapes model pods: what it reports about them, and what it does not."""

import asyncio
import json
import re
import sys

import pytest
from aiohttp import web

from lab.demo.story import CHAT, SEARCH, ModelPods
from lab.simulation import Phase
from tests.daemon.replica import free_port, passes, until
from tests.daemon.stage import key_of
from tests.tables import of_inferencesets as t
from tests.unit.metrics.pages.reading import PAGES

WINDOW = 2
LLAMA, PHI, MISTRAL = ((CHAT, "llama-3-1-8b"), (CHAT, "phi-4-mini"), (SEARCH, "mistral-7b"))
KV_CACHE = (t.KV_CACHE, f"inferenceset/{CHAT}/phi-4-mini")
PREEMPTION = (t.PREEMPTION, f"inferenceset/{CHAT}/phi-4-mini")
UNKNOWN = ("clusterStatusUnknown", "cluster")


@pytest.fixture(name="pods")
async def _pods(stage):
    async with ModelPods(stage.sandbox, free_port()) as pods:
        yield pods


@pytest.fixture(name="settings")
def _settings(pods):
    """Windows of two seconds, at four scrapes a second in this process."""
    windows = (t.KV_CACHE, t.PREEMPTION, t.SCRAPE_FAILING)
    return {
        "scrape_via": "direct", "scrape_interval_seconds": 1, "scrape_port": pods.port,
        "weight_download_window_seconds": WINDOW,
        "grace": dict.fromkeys(windows, WINDOW),
    }  # fmt: skip


EPP_PAGE = (PAGES / "epp-former-metrics.txt").read_bytes()
NO_ENDPOINTS = ("inferencesetEPPNoEndpoints", f"inferenceset/{CHAT}/phi-4-mini")


@pytest.fixture(name="picker")
async def _picker(stage):
    """Serves what is put in it as the page of a model's picker, on a port that is free."""
    pod = next(
        each
        for each in stage.sandbox.list("pods")
        if each["metadata"]["labels"].get("inferencepool") == "phi-4-mini-inferencepool-epp"
    )
    answer = {"status": 200, "body": EPP_PAGE, "requests": 0, "tokens": 0}

    async def serve(request):
        answer["requests"] += 1
        answer["tokens"] += "Authorization" in request.headers
        return web.Response(status=answer["status"], body=answer["body"], content_type="text/plain")

    app = web.Application()
    app.router.add_get("/metrics", serve)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, pod["status"]["podIP"], 0).start()
        port = {"name": "metrics", "containerPort": runner.addresses[0][1]}
        container = {**pod["spec"]["containers"][0], "ports": [port]}
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        stage.sandbox.patch(
            "pods", name, {"spec": {"containers": [container]}}, namespace=namespace
        )
        yield answer
    finally:
        await runner.cleanup()
    assert answer["tokens"] == 0


async def scraped(pod, more: int) -> None:
    """Wait until a pod has been scraped this many more times."""
    first = pod.requests
    await until(lambda: pod.requests >= first + more, f"{more} further scrapes")


async def disposed(replica, key) -> str | None:
    return (await replica.dispositions()).get(key)


async def verdict(replica, pod, reason: str) -> tuple[str, str]:
    """Return the verdict and details that a replica gives for a reason and a pod."""
    code, text = await replica.get("report", f"/api/v1/pods/{pod}")
    assert code == 200, text
    (entry,) = [each for each in json.loads(text)["reasons"] if each["reason"] == reason]
    return entry["verdict"], entry["detail"]


def name_of_pod(pods, place) -> str:
    namespace, owner = place
    return next(
        f"{each}/{name}" for each, name in pods.all if each == namespace and name.startswith(owner)
    )


def told(stage) -> list[tuple[str, str]]:
    """Return reasons and subjects of all Warnings so far, including closed ones."""
    return [key_of(event) for event in stage.warnings()]


@pytest.mark.quick
async def test_full_kv_cache_explains_preemptions(stage, pods, inside, *, settings):
    """The report shows them as suppressed, and they have no Events of their own."""
    settings["runtime_threshold"] = {"preemptions-per-second": 0.5}
    replica = await inside(**settings).start()
    pod = pods.of(*PHI)
    pod.become(Phase.SATURATED, preemptions=0.0)
    event = await stage.told(KV_CACHE)
    assert "phi-4-mini-dbr9r-0" in event["message"]
    pod.become(Phase.SATURATED, preemptions=40.0)

    async def suppressed() -> list[str]:
        found = (await replica.report())["findings"]
        return [
            each["by"]
            for each in found
            if (each["reason"], each["subject"]) == PREEMPTION
            and each["disposition"] == "suppressed"
        ]

    assert await until(suppressed, "the preemptions are suppressed") == [[t.KV_CACHE]]
    assert told(stage) == [KV_CACHE]


async def test_no_pod_reachable_is_one_event_about_us(stage, pods, inside, *, settings):
    replica = await inside(**settings).start()
    await until(lambda: all(pod.requests for pod in pods.all.values()), "all are scraped")
    for pod in pods.all.values():
        pod.become(Phase.SHUTTING_DOWN)
    event = await stage.told(UNKNOWN)
    assert "Pods: no metrics page of a model pod can be read (refused)" in event["message"]
    await replica.passes()
    for pod in pods.all.values():
        pod.become(Phase.SERVING)
    await stage.told(UNKNOWN, "over")
    await replica.passes()
    assert told(stage) == [UNKNOWN]


async def test_standby_scrapes_and_goes_on_with_the_same_event(stage, pods, inside, *, settings):
    """The new leader keeps the window that it collected as a standby."""
    replicas = [inside(name, **settings) for name in ("replica-a", "replica-b")]
    for replica in replicas:
        await replica.start()
        await replica.ready()
    pods.of(*PHI).become(Phase.SATURATED)
    event = await stage.told(KV_CACHE)

    async def both_see_it() -> bool:
        seen = [await disposed(replica, KV_CACHE) for replica in replicas]
        return seen == ["firing", "firing"]

    await until(both_see_it, "the standby sees it, too")
    (leader,) = [each for each in replicas if await each.leads()]
    (standby,) = [each for each in replicas if each is not leader]
    await leader.stop()
    await until(standby.leads, "the standby leads")
    count = stage.events(KV_CACHE)[0]["count"]
    await until(lambda: stage.events(KV_CACHE)[0]["count"] > count, "it is refreshed")
    assert (await stage.told(KV_CACHE))["metadata"]["name"] == event["metadata"]["name"]
    assert told(stage) == [KV_CACHE]
    pods.of(*PHI).become(Phase.SERVING)
    await stage.told(KV_CACHE, "over")


async def test_restart_neither_ends_nor_doubles_what_fires(stage, pods, inside, *, settings):
    """The new process has no window yet and cannot judge, so the fault keeps firing."""
    first = await inside(**settings).start()
    pods.of(*PHI).become(Phase.SATURATED)
    event = await stage.told(KV_CACHE)
    await first.stop()
    second = await inside(**settings).start()
    await second.ready()
    pod = name_of_pod(pods, PHI)

    async def judged_again() -> bool:
        assert await disposed(second, KV_CACHE) == "firing"
        return (await verdict(second, pod, t.KV_CACHE))[0] == "fault"

    await until(judged_again, "its window is full again")
    await passes([second])
    assert (await stage.told(KV_CACHE))["metadata"]["name"] == event["metadata"]["name"]
    assert told(stage) == [KV_CACHE]


async def test_program_tells_and_shows_a_full_kv_cache(stage, pods, program, *, settings):
    """With flags, at the shortest interval that they allow, and `status --pod`."""
    windows = settings.pop("grace")
    settings["grace"] = ",".join(f"{name}={seconds}" for name, seconds in windows.items())
    replica = await program(**settings).start()
    await replica.ready()
    pods.of(*PHI).become(Phase.SATURATED)
    await stage.told(KV_CACHE)
    code, text, err = await status_of(replica, name_of_pod(pods, PHI))
    assert (code, err) == (0, "")
    assert "In service: its numbers are judged." in text
    assert re.search(rf"{t.KV_CACHE} +fault +engine 0 KV cache at 95% or more", text)
    assert re.search(r"engine 0 kv_usage +0\.98", text)


async def status_of(replica, pod: str, *options: str) -> tuple[int, str, str]:
    """What the program `status --pod` ends with and prints."""
    url = f"http://127.0.0.1:{replica.ports['report']}"
    argv = ("-m", "reporter", "status", "--url", url, "--pod", pod, *options)
    process = await asyncio.create_subprocess_exec(
        sys.executable, *argv, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def test_an_endpoint_picker_without_endpoints(stage, picker, inside, *, settings):
    """The fault is reported for its model and ends once the picker sees a pod; no token is ever sent."""
    settings["grace"]["inferencesetEPPNoEndpoints"] = WINDOW
    picker["body"] = EPP_PAGE.replace(b'{name="pool-a"} 3', b'{name="pool-a"} 0')
    await inside(**settings).start()
    event = await stage.told(NO_ENDPOINTS)
    assert "endpoint picker pod phi-4-mini-inferencepool-epp" in event["message"]
    picker["body"] = EPP_PAGE
    await stage.told(NO_ENDPOINTS, "over")
