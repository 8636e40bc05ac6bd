"""The writer of role Events on virtual time: what is lost is counted, and nobody is hammered."""

import asyncio
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from reporter.kube.errors import (
    AlreadyExists,
    ConnectionFailed,
    Forbidden,
    NotFound,
    TooManyRequests,
)
from reporter.stacks.kthena.role_events import QUEUE, RoleEventWriter

pytestmark = pytest.mark.looptime


def event(name: str, namespace: str = "serving"):
    return {"metadata": {"name": name, "namespace": namespace}}


@asynccontextmanager
async def writing():
    at = SimpleNamespace(leads=True, outcomes=[], made=[], faults=[])

    async def create(namespace, body):
        now = round(asyncio.get_running_loop().time(), 1)
        at.made.append((now, f"{namespace}/{body['metadata']['name']}"))
        await asyncio.sleep(0.01)
        if at.faults:
            raise at.faults.pop(0)

    at.writer = RoleEventWriter(create, lambda: at.leads, at.outcomes.append)
    task = asyncio.create_task(at.writer.run())
    yield at
    assert not task.done(), task
    task.cancel()


async def test_events_are_written_in_order():
    """Each in the namespace of its ModelServing."""
    async with writing() as at:
        at.writer.offer([event("a"), event("b", "other")])
        at.writer.offer([event("c")])
        assert at.writer.waiting == 3
        await asyncio.sleep(1)
        assert [name for _, name in at.made] == ["serving/a", "other/b", "serving/c"]
        assert at.outcomes == ["written"] * 3


async def test_nothing_is_written_without_the_lease():
    """Another replica tells what happens from now on."""
    async with writing() as at:
        at.leads = False
        at.writer.offer([event("a"), event("b")])
        await asyncio.sleep(1)
        at.leads = True
        await asyncio.sleep(10)
        assert not at.made
        assert at.outcomes == ["lost", "lost"]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (AlreadyExists("there", status=409), "repeated"),
        (ConnectionFailed("away"), "lost"),
    ],
)
async def test_what_becomes_of_an_event_that_is_not_created(error, outcome):
    """It is news: it is not tried again, but counted."""
    async with writing() as at:
        at.faults = [error]
        at.writer.offer([event("a"), event("b")])
        await asyncio.sleep(5)
        assert [name for _, name in at.made] == ["serving/a", "serving/b"]
        assert at.outcomes == [outcome, "written"]


async def test_retry_after_is_honoured():
    """The events behind it wait."""
    async with writing() as at:
        at.faults = [TooManyRequests("busy", status=429, retry_after=7.0)]
        at.writer.offer([event("a"), event("b")])
        await asyncio.sleep(20)
        assert [time for time, _ in at.made] == pytest.approx([0, 7], abs=0.1)


@pytest.mark.parametrize("error", [Forbidden("no", status=403), NotFound("gone", status=404)])
async def test_namespace_where_events_are_refused_costs_one_request_a_minute(error):
    """And holds up no other."""
    async with writing() as at:
        at.faults = [error]
        at.writer.offer([event("a"), event("b"), event("c", "other")])
        await asyncio.sleep(1)
        assert [name for _, name in at.made] == ["serving/a", "other/c"]
        await asyncio.sleep(61)
        at.writer.offer([event("d")])
        await asyncio.sleep(1)
        assert at.outcomes == ["lost", "lost", "written", "written"]


async def test_queue_is_bounded():
    """The oldest are lost first."""
    async with writing() as at:
        at.faults = [TooManyRequests("busy", status=429, retry_after=60.0)]
        at.writer.offer([event("first")])
        await asyncio.sleep(1)
        at.writer.offer(event(str(number)) for number in range(QUEUE + 5))
        assert at.writer.waiting == QUEUE
        assert at.outcomes == ["lost"] * 6
