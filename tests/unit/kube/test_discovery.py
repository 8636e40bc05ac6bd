"""Discovery: what is served, in which versions, and how little it costs to ask again."""

import asyncio
from datetime import timedelta

import pytest
from aiohttp import web

from reporter.catalogue.resources import GATEWAYS, PODS
from reporter.kube.discovery import Discoverer
from reporter.model.instant import Instant
from reporter.snapshot.snapshot import Served
from reporter.stacks.kaito.reasons import WORKSPACES
from tests.unit.kube.collection import START
from tests.unit.kube.scripted import status

CORE = [{"metadata": {}, "versions": [{"version": "v1", "resources": [{"resource": "pods"}]}]}]


def group(name: str, *versions: str, plural: str, freshness: str = "Current"):
    resources = [{"resource": plural, "subresources": [{"subresource": "status"}]}]
    return {
        "metadata": {"name": name},
        "versions": [
            {"version": version, "resources": resources, "freshness": freshness}
            for version in versions
        ],
    }


class Server:
    def __init__(self) -> None:
        self.groups = [
            group("kaito.sh", "v1alpha1", "v1beta1", plural="workspaces"),
            group("gateway.networking.k8s.io", "v1beta1", plural="gateways"),
        ]
        self.answers: list[int] = []
        self.fail = False

    async def __call__(self, request: web.Request) -> web.Response:
        if self.fail:
            return web.Response(status=503, text="<html>")
        assert "APIGroupDiscoveryList" in request.headers["Accept"]
        etag = f'"{len(self.groups)}"'
        if request.headers.get("If-None-Match") == etag:
            self.answers.append(304)
            return web.Response(status=304)
        self.answers.append(200)
        items = CORE if request.path == "/api" else self.groups
        body = {"kind": "APIGroupDiscoveryList", "items": items}
        return web.json_response(body, headers={"ETag": etag})


async def test_what_is_served_and_in_which_version(client_for):
    """The first version of ours that is served is used; what is not listed is absent."""
    async with client_for(Server()) as client:
        discoverer = Discoverer(client)
        assert discoverer.current.discovery.state("pods") is Served.UNKNOWN
        await discoverer.poll()
        found = discoverer.current
        assert found.version(WORKSPACES) == "v1beta1"
        assert found.version(GATEWAYS) == "v1beta1"
        assert found.version(PODS) == "v1"
        assert found.discovery.state("workspaces.kaito.sh") is Served.SERVED
        assert found.discovery.state("workspaces.kaito.sh/status") is not Served.SERVED
        assert found.discovery.state("nothing.kaito.sh") is Served.ABSENT


async def test_an_unchanged_answer_is_not_sent_again(client_for):
    """Asking again costs two empty answers, until something changes."""
    server = Server()
    async with client_for(server) as client:
        discoverer = Discoverer(client)
        for _ in range(3):
            await discoverer.poll()
        assert server.answers == [200, 200, 304, 304, 304, 304]
        server.groups.append(group("keda.sh", "v1alpha1", plural="scaledobjects"))
        await discoverer.poll()
        assert discoverer.current.discovery.state("scaledobjects.keda.sh") is Served.SERVED


async def test_a_stale_group_is_unknown(client_for):
    """The part of an aggregated API that does not answer is unknown, not absent."""
    server = Server()
    server.groups.append(group("metrics.k8s.io", "v1", plural="pods", freshness="Stale"))
    async with client_for(server) as client:
        discoverer = Discoverer(client)
        await discoverer.poll()
        assert discoverer.current.discovery.state("nodes.metrics.k8s.io") is Served.UNKNOWN
        assert discoverer.current.discovery.state("x.kaito.sh") is Served.ABSENT


def clock():
    """Return a moment in seconds that a test sets, and the clock that shows it."""
    moment = [0.0]
    return moment, lambda: Instant(START, timedelta(seconds=moment[0]))


async def test_failures_keep_the_last_answer_for_a_while(client_for):
    """A short failure changes nothing but trust; a long one makes everything unknown."""
    server = Server()
    moment, now = clock()
    async with client_for(server) as client:
        discoverer = Discoverer(client, now=now)
        await discoverer.poll()
        assert discoverer.confirmed
        server.fail = True
        await discoverer.poll()
        moment[0] = 119.0
        await discoverer.poll()
        assert not discoverer.confirmed
        assert discoverer.current.discovery.state("workspaces.kaito.sh") is Served.SERVED
        moment[0] = 121.0
        await discoverer.poll()
        assert discoverer.current.discovery.served is None
        server.fail = False
        await discoverer.poll()
        assert discoverer.confirmed
        assert discoverer.current.version(WORKSPACES) == "v1beta1"


@pytest.mark.parametrize("away", [0, 121], ids=["at once", "after being unknown"])
async def test_what_was_served_is_absent_only_the_second_time(client_for, away):
    """An API server that starts lists no custom kinds until it has read their definitions."""
    server = Server()
    moment, now = clock()
    async with client_for(server) as client:
        discoverer = Discoverer(client, now=now)
        await discoverer.poll()
        before = discoverer.current
        if away:
            server.fail = True
            for moment[0] in (1.0, 1.0 + away):
                await discoverer.poll()
            server.fail = False
        complete, server.groups = server.groups, []
        await discoverer.poll()
        assert discoverer.current.discovery.state("workspaces.kaito.sh") is not Served.ABSENT
        assert not discoverer.confirmed
        server.groups = complete
        await discoverer.poll()
        assert (discoverer.current, discoverer.confirmed) == (before, True)
        server.groups = []
        for _ in range(2):
            await discoverer.poll()
        assert discoverer.current.discovery.state("workspaces.kaito.sh") is Served.ABSENT
        assert discoverer.confirmed


async def test_old_servers_are_asked_group_by_group(client_for):
    """Without aggregated discovery each group is read; one that fails is unknown alone."""

    async def handler(request: web.Request) -> web.Response:
        versions = [{"version": "v1beta1", "groupVersion": "kaito.sh/v1beta1"}]
        broken = [{"version": "v1", "groupVersion": "broken.io/v1"}]
        groups = [
            {"name": "kaito.sh", "versions": versions},
            {"name": "broken.io", "versions": broken},
        ]
        answers = {
            "/api": {"kind": "APIVersions", "versions": ["v1"]},
            "/apis": {"kind": "APIGroupList", "groups": groups},
            "/api/v1": {"resources": [{"name": "pods"}, {"name": "pods/status"}]},
            "/apis/kaito.sh/v1beta1": {"resources": [{"name": "workspaces"}]},
        }
        found = answers.get(request.path)
        return web.json_response(found) if found else status(503, "ServiceUnavailable")

    async with client_for(handler) as client:
        discoverer = Discoverer(client)
        await discoverer.poll()
        found = discoverer.current
        assert found.discovery.served == {"pods", "workspaces.kaito.sh"}
        assert found.version(WORKSPACES) == "v1beta1"
        assert found.discovery.state("x.broken.io") is Served.UNKNOWN


async def test_an_odd_answer_is_no_empty_cluster(client_for):
    """JSON of somebody else does not make every kind absent."""
    async with client_for(lambda _: web.json_response({"kind": "Hello"})) as client:
        discoverer = Discoverer(client)
        await discoverer.poll()
        assert discoverer.current.discovery.served is None
        assert not discoverer.confirmed


@pytest.mark.looptime
@pytest.mark.parametrize(("asks", "seconds", "most"), [(True, 10.5, 12), (False, 100, 4)])
async def test_polls_regularly_and_where_it_is_asked_at_most_once_a_second(asks, seconds, most):
    polls = 0

    class Counting(Discoverer):
        async def poll(self) -> None:
            nonlocal polls
            polls += 1
            if asks:
                self.ask()

    task = asyncio.create_task(Counting(None, interval=30).run())
    await asyncio.sleep(seconds)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert most - 2 * asks <= polls <= most
