"""The writer on virtual time: what it does when it is refused, and when it may not write."""

import asyncio
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from reporter.kube.errors import Conflict, Forbidden, Invalid, NotFound, ServerError
from reporter.stacks.kthena.owning import Method
from reporter.stacks.kthena.reasons import MODELSERVINGS
from tests.unit.stacks.kthena.statuses.building import TellingWriter, modelserving, nothing, plan

pytestmark = pytest.mark.looptime


class Api:
    """Notes when each request came; `faults` holds what the next ones meet."""

    def __init__(self) -> None:
        self.requests: list[tuple[float, str]] = []
        self.faults: list[Exception | None] = []
        self.seconds = 0.01
        self.drops: set[str] = set()

    async def write(self, write):
        ref, version, status = write.object, write.version, write.status
        verb = {Method.REPLACE: "put"}.get(write.method, write.method)
        now = round(asyncio.get_running_loop().time(), 1)
        self.requests.append((now, f"{verb} {ref.name}@{version}"))
        await asyncio.sleep(self.seconds)
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            raise fault
        kept = {name: each for name, each in status.items() if each and name not in self.drops}
        return modelserving(ref.name, f"{version}+", kept)

    @property
    def made(self) -> list[str]:
        return [request for _, request in self.requests]


@asynccontextmanager
async def writing():
    api = Api()
    at = SimpleNamespace(api=api, leads=True, outcomes=[], asked=0, doubted=[])

    def ask() -> None:
        at.asked += 1

    at.writer = TellingWriter(
        api.write, at.outcomes.append, lambda: at.leads, ask, at.doubted.append
    )
    task = asyncio.create_task(at.writer.run())
    yield at
    assert not task.done(), task
    task.cancel()


async def test_answer_says_what_was_written_over_and_what_is_there_now():
    """So that the next pass knows it before the watch brings it."""
    async with writing() as at:
        at.writer.offer(plan(("a", "1"), ("b", "5")))
        assert at.writer.waiting == 2
        await asyncio.sleep(1)
        assert at.api.made == ["apply a@1", "apply b@5"]
        answers = at.writer.answers()
        assert {(each.before, each.version) for each in answers.values()} == {
            ("1", "1+"),
            ("5", "5+"),
        }
        (answer, _) = answers.values()
        assert answer.stored == answer.asked
        assert at.outcomes == ["written", "written"]


async def test_plan_that_is_older_than_the_answer_writes_nothing_twice():
    """A pass that began before the answer came asks for the same write again."""
    async with writing() as at:
        for _ in range(3):
            at.writer.offer(plan(("a", "1"), whole=True))
            await asyncio.sleep(1)
        assert at.api.made == ["put a@1"]
        at.writer.offer(plan(("a", "1+"), whole=True, state="Deleting"))
        await asyncio.sleep(1)
        assert at.api.made == ["put a@1", "put a@1+"]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(Conflict("changed", status=409), "conflict"), (NotFound("gone", status=404), "gone")],
)
async def test_object_that_is_of_another_version_waits_for_the_watch(error, outcome):
    """No failure, no retry, no pause for others: the next frame brings another plan."""
    async with writing() as at:
        at.api.faults = [error]
        for _ in range(5):
            at.writer.offer(plan(("a", "1"), ("b", "1")))
            await asyncio.sleep(1)
        assert at.api.made == ["apply a@1", "apply b@1"]
        at.writer.offer(plan(("a", "2")))
        await asyncio.sleep(1)
        assert at.api.made[2:] == ["apply a@2"]
        assert at.outcomes == [outcome, "written", "written"]
        assert not at.doubted


async def test_watch_that_does_not_bring_the_change_is_listed_anew():
    """A connection that hangs: without a list nothing would be written any more."""
    async with writing() as at:
        at.api.faults = [Conflict("changed", status=409)] * 2
        for _ in range(15):
            at.writer.offer(plan(("a", "1")))
            await asyncio.sleep(1)
        assert at.doubted == [MODELSERVINGS]
        assert at.api.made == ["apply a@1"] * 2


async def test_object_that_always_fails_does_not_keep_others_from_being_written():
    """It goes behind them."""
    async with writing() as at:
        at.api.faults = [ServerError("broken", status=500)]
        at.writer.offer(plan(("a", "1"), ("b", "1"), ("c", "1")))
        await asyncio.sleep(5)
        assert at.api.made == ["apply a@1", "apply b@1", "apply c@1", "apply a@1"]
        assert at.outcomes == ["failed", "written", "written", "written"]


async def test_forbidden_status_is_left_alone_whatever_it_says():
    """5 s after the first refusal, as the server may just have started; then a minute."""
    async with writing() as at:
        at.api.faults = [Forbidden("no", status=403)] * 2
        for second in range(80):
            at.writer.offer(plan(("a", "1"), state=f"S{second}"))
            await asyncio.sleep(1)
        times = [moment for moment, _ in at.api.requests]
        assert times == pytest.approx([0, 6, 67], abs=1.5)
        assert at.outcomes == ["refused", "refused", "written"]


async def test_invalid_status_is_left_alone_until_it_says_something_else():
    """To repeat it would end the same."""
    async with writing() as at:
        at.api.faults = [Invalid("no", status=422)]
        for _ in range(5):
            at.writer.offer(plan(("a", "1"), whole=True))
            await asyncio.sleep(10)
        assert at.api.made == ["put a@1"]
        at.writer.offer(plan(("a", "1"), whole=True, state="Deleting"))
        await asyncio.sleep(1)
        assert at.outcomes == ["refused", "written"]


UNDECLARED = ServerError(".status.roleStatuses: field not declared in schema", status=500)


@pytest.mark.parametrize("fault", [None, UNDECLARED])
async def test_fields_that_are_dropped_are_told_to_the_next_pass(fault):
    """Whether the API server drops them or refuses all for their lack."""
    async with writing() as at:
        at.api.drops = {"roleStatuses"}
        at.api.faults = [fault]
        at.writer.offer(plan(("a", "1")))
        await asyncio.sleep(1)
        (answer,) = at.writer.answers().values()
        assert answer.pruned == ("roleStatuses",)
        assert (answer.stored is None) == (fault is not None)
        assert at.outcomes == ["pruned"]
        assert at.asked == (fault is not None)


async def test_objects_that_are_gone_are_forgotten():
    """Answers are kept for what exists."""
    async with writing() as at:
        at.writer.offer(plan(("a", "1"), ("b", "1")))
        await asyncio.sleep(1)
        at.writer.offer(nothing("b"))
        assert set(at.writer.answers()) == {"uid-b"}
        at.writer.forget()
        assert not at.writer.answers()
