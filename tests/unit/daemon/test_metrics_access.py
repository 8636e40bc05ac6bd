"""Who may read the metrics: the API server is asked, and what it says is kept for a while."""

import asyncio

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from lab.sandbox import Sandbox
from lab.sandbox.access import Rule
from reporter.daemon.listeners import ALLOWED_SECONDS, KEPT, REFUSED_SECONDS, MetricsAccess
from reporter.kube.client import connect
from tests.tables import rows

GOOD, STRANGE = "prometheus", "tenant"


class Guarded:
    """A listener whose page is guarded, with a clock of its own and the reviews that were asked for."""

    def __init__(self, sandbox, listener):
        self.sandbox, self._listener = sandbox, listener
        self.now = 0.0
        self.asked: list[str] = []

    async def get(self, token=None, header=None):
        headers = {"Authorization": header or f"Bearer {token}"} if token or header else {}
        answer = await self._listener.get("/metrics", headers=headers)
        return answer.status, await answer.text()


@pytest.fixture(name="guarded")
async def _guarded(tmp_path):
    async with Sandbox() as sandbox:
        sandbox.access.tokens = {GOOD: "system:serviceaccount:m:prometheus", STRANGE: "tenant"}
        sandbox.access.readers = {"system:serviceaccount:m:prometheus"}
        sandbox.write_kubeconfig(tmp_path / "config")
        guarded = Guarded(sandbox, None)

        def observe(_verb, resource, _code):
            guarded.asked.append(resource)

        async with await connect(kubeconfig=tmp_path / "config", observer=observe) as client:
            access = MetricsAccess(client, lambda: guarded.now)

            async def page(_request):
                return web.Response(text="the page")

            app = web.Application()
            app.router.add_get("/metrics", access.guarded(page))
            async with TestClient(TestServer(app)) as listener:
                guarded._listener = listener
                yield guarded


@rows(
    ("request_with", "status", "word"),
    {
        "none": ({}, 401, "bearer token is missing"),
        "basic": ({"header": "Basic eDp5"}, 401, "bearer token is missing"),
        "empty": ({"header": "Bearer "}, 401, "bearer token is missing"),
        "long": ({"token": "x" * 20_000}, 400, ""),
        "unknown": ({"token": "unknown"}, 401, "does not know this token"),
        "no-right": ({"token": STRANGE}, 403, "tenant may not get /metrics: bind it to a ClusterRole"),
        "good": ({"token": GOOD}, 200, "the page"),
        "blanks": ({"header": f"bearer  {GOOD} "}, 200, "the page"),
    },
)  # fmt: skip
async def test_who_may_read(guarded, request_with, status, word):
    got, text = await guarded.get(**request_with)
    assert got == status
    assert word in text


@pytest.mark.parametrize(
    ("token", "seconds", "reviews"),
    [
        (GOOD, ALLOWED_SECONDS, ["tokenreviews", "subjectaccessreviews"]),
        (STRANGE, REFUSED_SECONDS, ["tokenreviews", "subjectaccessreviews"]),
        ("unknown", REFUSED_SECONDS, ["tokenreviews"]),
    ],
)
async def test_an_answer_is_kept_for_a_while(guarded, token, seconds, reviews):
    """A scraper costs the API server two requests a minute, and a right that is taken away ends."""
    first = await guarded.get(token)
    guarded.now = seconds - 1
    assert await guarded.get(token) == first
    assert guarded.asked == reviews
    guarded.now = seconds
    guarded.sandbox.access.tokens.clear()
    assert (await guarded.get(token))[0] == 401


async def test_a_flood_of_tokens_keeps_nobody_out(guarded):
    """What is kept and what is asked at a time have bounds; who was good has a place of its own."""
    assert (await guarded.get(GOOD))[0] == 200
    guarded.now = ALLOWED_SECONDS
    tokens = [f"token-{number}" for number in range(50)]
    *flood, good = await asyncio.gather(*map(guarded.get, [*tokens, GOOD]))
    assert good[0] == 200
    assert {status for status, _ in flood} == {401, 503}
    for number in range(KEPT + 1):
        await guarded.get(f"one-{number}")
    guarded.asked.clear()
    await guarded.get(f"one-{KEPT}")
    assert guarded.asked == []
    await guarded.get(GOOD)
    assert guarded.asked == []
    await guarded.get("one-0")
    assert guarded.asked == ["tokenreviews"]


async def test_without_the_rights_to_ask_it_says_which(guarded):
    """Nobody is let in, and the answer is not kept."""
    guarded.sandbox.access.deny(Rule(resources=("tokenreviews",)))
    status, text = await guarded.get(GOOD)
    assert (status, "`create` on tokenreviews" in text) == (503, True)
    guarded.sandbox.access.reset()
    assert (await guarded.get(GOOD))[0] == 200


async def test_without_an_api_server_nobody_is_let_in(guarded):
    assert (await guarded.get(GOOD))[0] == 200
    await guarded.sandbox.stop()
    assert (await guarded.get(GOOD))[0] == 200
    status, text = await guarded.get(STRANGE)
    assert (status, "could not check the token" in text) == (503, True)
