"""The writer on virtual time: order, pace, and refusals."""

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from reporter.kube.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    TooManyRequests,
)
from reporter.sinks.events.plan import Plan, Purpose, Write
from reporter.sinks.events.writer import EventWriter

pytestmark = pytest.mark.looptime


class Api:
    """Notes when each request came; `faults` holds what the next ones meet."""

    def __init__(self) -> None:
        self.requests: list[tuple[float, str]] = []
        self.faults: list[Exception] = []
        self.seconds = 0.01

    async def create_event(self, body):
        return await self.answer(body["name"])

    async def patch_event(self, name, patch, *, resource_version):
        return await self.answer(f"{name}@{resource_version}")

    async def answer(self, what: str):
        self.requests.append((round(asyncio.get_running_loop().time(), 1), what))
        await asyncio.sleep(self.seconds)
        if self.faults:
            raise self.faults.pop(0)
        return SimpleNamespace(metadata=SimpleNamespace(resource_version="new"))

    @property
    def times(self) -> list[float]:
        return [time for time, _ in self.requests]

    @property
    def names(self) -> list[str]:
        return [name for _, name in self.requests]


def write(name: str, version: str = "", purpose: Purpose = Purpose.FIRE, message: str = "m"):
    return Write(purpose, name, {"name": name, "message": message}, version)


def plan(*writes: Write) -> Plan:
    return Plan(writes, None)


@asynccontextmanager
async def writing():
    api = Api()
    context = SimpleNamespace(api=api, leads=True, outcomes=[], asked=0, doubted=0)

    def ask() -> None:
        context.asked += 1

    def doubt() -> None:
        context.doubted += 1

    context.writer = EventWriter(
        api,
        lambda: context.leads,
        lambda purpose, outcome: context.outcomes.append((purpose.name, outcome)),
        changed=ask,
        outdated=doubt,
    )
    task = asyncio.create_task(context.writer.run())
    yield context
    assert not task.done(), task
    task.cancel()


async def test_refreshes_are_five_a_second_and_others_are_not_held_up():
    """Many Events that keep firing do not load the API server."""
    async with writing() as at:
        refreshes = [write(f"r{number}", "1", Purpose.REFRESH) for number in range(20)]
        at.writer.offer(plan(write("new"), *refreshes))
        await asyncio.sleep(1.05)
        assert at.api.names[0] == "new"
        assert 5 <= len(at.api.names) - 1 <= 6
        await asyncio.sleep(4)
        assert len(at.api.names) == 21


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(Conflict("changed", status=409), "conflict"), (NotFound("expired", status=404), "expired")],
)
async def test_event_that_is_not_as_it_was_asks_for_a_new_plan(error, outcome):
    """The same write is not repeated; the next pass looks at the present state."""
    async with writing() as at:
        at.api.faults = [error]
        at.writer.offer(plan(write("a", "1", Purpose.REFRESH), write("b")))
        await asyncio.sleep(1)
        assert at.api.names == ["a@1", "b"]
        assert at.outcomes[0] == ("REFRESH", outcome)
        assert at.asked == 1


@pytest.mark.parametrize(
    "error", [Conflict("changed", status=409), NotFound("expired", status=404)]
)
async def test_version_that_is_denied_twice_means_that_the_watch_brings_nothing(error):
    """A connection hangs: without a new list each plan would ask for the same write in vain."""
    async with writing() as at:
        at.api.faults = [error] * 2
        for doubted in (0, 1):
            at.writer.offer(plan(write("a", "1", Purpose.REFRESH)))
            await asyncio.sleep(1)
            assert at.doubted == doubted
        at.writer.offer(plan(write("a", "2", Purpose.REFRESH)))
        await asyncio.sleep(1)
        assert at.outcomes[-1] == ("REFRESH", "written")
        assert at.doubted == 1


async def test_denials_of_versions_that_the_watch_brings_are_no_reason_to_list():
    """Somebody else changes an Event again and again."""
    async with writing() as at:
        at.api.faults = [Conflict("changed", status=409)] * 5
        for version in range(5):
            at.writer.offer(plan(write("a", str(version), Purpose.REFRESH)))
            await asyncio.sleep(1)
        assert (at.asked, at.doubted) == (5, 0)


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(NotFound("expired", status=404), id="expired"),
        # A cluster restored from a backup has the very version that our last write replaced.
        pytest.param(Conflict("changed", status=409), id="put-back"),
    ],
)
async def test_own_answer_that_the_server_denies_is_not_taken_for_news(error):
    """Otherwise the next plan would patch a missing Event for two minutes."""
    async with writing() as at:
        at.writer.offer(plan(write("a")))
        await asyncio.sleep(1)
        assert set(at.writer.written()) == {"a"}
        at.api.faults = [error]
        at.writer.offer(plan(write("a", "new", Purpose.REFRESH)))
        await asyncio.sleep(1)
        assert not at.writer.written()
        at.writer.offer(plan(write("a")))
        await asyncio.sleep(1)
        assert at.api.names == ["a", "a@new", "a"]


async def test_refusal_of_a_server_that_just_started_delays_by_seconds():
    """It refuses everybody until it has read its roles; later refusals wait longer."""
    async with writing() as at:
        at.api.faults = [Forbidden("no", status=403)] * 2
        for _ in range(80):
            at.writer.offer(plan(write("a")))
            await asyncio.sleep(1)
        assert at.api.times == pytest.approx([0, 6, 67], abs=1.5)
        assert [outcome for _, outcome in at.outcomes] == ["refused", "refused", "written"]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(Invalid("no", status=422), "refused"), (AlreadyExists("there", status=409), "repeated")],
)
async def test_write_that_is_refused_is_left_alone_for_a_minute(error, outcome):
    """A pass that plans it again causes no request; a patch of the same Event does."""
    async with writing() as at:
        at.api.faults = [error]
        for _ in range(5):
            at.writer.offer(plan(write("a")))
            await asyncio.sleep(10)
        assert at.api.names == ["a"]
        assert at.outcomes == [("FIRE", outcome)]
        at.writer.offer(plan(write("a", "1", Purpose.REFRESH)))
        await asyncio.sleep(1)
        await asyncio.sleep(60)
        at.writer.offer(plan(write("a")))
        await asyncio.sleep(1)
        assert at.api.names == ["a", "a@1", "a"]


async def test_plan_older_than_our_own_answer_writes_nothing_twice():
    """A pass that began before the answer came asks for the same write again."""
    async with writing() as at:
        at.writer.offer(plan(write("a")))
        await asyncio.sleep(1)
        at.writer.offer(plan(write("a")))
        await asyncio.sleep(1)
        assert at.api.names == ["a"]
        await asyncio.sleep(121)
        assert not at.writer.written()


async def test_the_start_of_an_episode_is_told_when_its_event_was_created():
    """Not while the API server refuses it, nor for other writes."""
    since = datetime(2026, 1, 1, tzinfo=UTC)
    async with writing() as at:
        at.writer._created = (created := []).append
        at.api.faults = [TooManyRequests("busy", status=429, retry_after=1.0)]
        first = Write(Purpose.FIRE, "a", {"name": "a"}, since=since)
        at.writer.offer(plan(first, write("b", "1", Purpose.REFRESH)))
        await asyncio.sleep(0.5)
        assert created == []
        await asyncio.sleep(2)
        assert at.api.names == ["a", "b@1", "a"]
        assert created == [since]


async def test_what_was_written_under_an_earlier_lease_is_forgotten():
    """Otherwise a returning leader takes its successor's Events for those of a stranger."""
    async with writing() as at:
        at.writer.offer(plan(write("w0")))
        await asyncio.sleep(0.1)
        assert at.writer.written()
        assert at.writer.versions()
        at.writer.offer(plan(write("w1")))
        await asyncio.sleep(0.001)
        at.writer.forget()
        assert not at.writer.written()
        assert not at.writer.versions()
        await asyncio.sleep(0.1)
        assert at.api.names == ["w0", "w1"]
        assert not at.writer.written()
        assert not at.writer.versions()
