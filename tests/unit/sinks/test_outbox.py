"""The outbox on virtual time: order, replacement, lease, pauses, several at once, refusals."""

import asyncio
import itertools
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from reporter.kube.errors import ConnectionFailed, Forbidden, Invalid, KubeError, TooManyRequests
from reporter.sinks.outbox import (
    ANYTHING,
    PATIENCE_SECONDS,
    Entry,
    Outbox,
    Pace,
    Refused,
    Retry,
)

pytestmark = pytest.mark.looptime


class Letters(Outbox[str]):
    """Sends letters; `faults` holds what the next ones meet, `made` those that need no request.

    The key of a letter is its first character. One in capitals can wait.
    """

    def __init__(self, concurrency: int) -> None:
        super().__init__("letters", lambda: self.leads, concurrency=concurrency)
        self.leads = True
        self.pace = Pace(2)
        self.seconds = 0.01
        self.retry = Retry.IN_PLACE
        self.faults: list[KubeError | None] = []
        self.made: set[str] = set()
        self.sent: list[tuple[float, str]] = []

    @property
    def letters(self) -> str:
        """What was sent, in order."""
        return " ".join(write for _, write in self.sent)

    @property
    def times(self) -> list[float]:
        return [time for time, _ in self.sent]

    def offer(self, letters: str) -> None:
        self._replace(
            Entry(each[0], each, self.pace if each.isupper() else None) for each in letters.split()
        )

    def offer_later(self, letter: str, *, seconds: float) -> None:
        due = asyncio.get_running_loop().time() + seconds
        self._replace([Entry(letter, letter, not_before=due)])

    def _is_made(self, write: str) -> bool:
        return write in self.made

    async def _send(self, write: str) -> Retry:
        self.sent.append((round(asyncio.get_running_loop().time(), 2), write))
        await asyncio.sleep(self.seconds)
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            self._fail("not_sent", fault)
            return self.retry
        self._backoff.reset()
        return Retry.NO


@asynccontextmanager
async def sending(concurrency: int = 1):
    outbox = Letters(concurrency)
    task = asyncio.create_task(outbox.run())
    yield outbox
    assert not task.done(), task
    task.cancel()


async def test_writes_are_made_in_their_order_one_at_a_time():
    """What is in flight is not made yet, so it counts among those that wait."""
    async with sending() as outbox:
        outbox.seconds = 1.0
        outbox.offer("c a b")
        await asyncio.sleep(1.5)
        assert outbox.waiting == 2
        await asyncio.sleep(5)
        assert outbox.sent == [(0.0, "c"), (1.0, "a"), (2.0, "b")]
        assert outbox.waiting == 0


async def test_a_plan_that_comes_while_a_write_is_in_flight_replaces_those_behind_it():
    async with sending() as outbox:
        outbox.seconds = 1.0
        outbox.faults = [ConnectionFailed("away")]
        outbox.offer("a b")
        await asyncio.sleep(0.5)
        outbox.offer("c")
        await asyncio.sleep(30)
        assert outbox.letters == "a c"


async def test_what_waits_is_dropped_without_the_lease():
    """Somebody else may have written since, so it does not go out once the lease is back."""
    async with sending() as outbox:
        outbox.seconds = 1.0
        outbox.offer("a b")
        await asyncio.sleep(0.5)
        outbox.leads = False
        await asyncio.sleep(5)
        assert outbox.waiting == 0
        outbox.leads = True
        await asyncio.sleep(5)
        outbox.offer("c")
        await asyncio.sleep(5)
        assert outbox.letters == "a c"


@pytest.mark.parametrize(
    ("retry", "expected"),
    [(Retry.NO, "a b c"), (Retry.IN_PLACE, "a a b c"), (Retry.LAST, "a b c a")],
)
async def test_what_failed_is_tried_again_where_its_writer_wants_it(retry, expected):
    async with sending() as outbox:
        outbox.retry = retry
        outbox.faults = [ConnectionFailed("away")]
        outbox.offer("a b c")
        await asyncio.sleep(30)
        assert outbox.letters == expected


async def test_a_write_that_failed_behind_one_that_can_wait_keeps_its_place():
    async with sending() as outbox:
        outbox.faults = [None, ConnectionFailed("away")]
        outbox.offer("A B c d")
        await asyncio.sleep(30)
        assert outbox.letters == "A c B c d"


async def test_pauses_double_up_to_half_a_minute_and_begin_again_after_a_success():
    async with sending() as outbox:
        outbox.faults = [*[ConnectionFailed("away")] * 8, None, ConnectionFailed("away")]
        for _ in range(400):
            outbox.offer("a")
            await asyncio.sleep(0.25)
        gaps = [after - before for before, after in itertools.pairwise(outbox.times)]
        assert gaps[:8] == pytest.approx([0.5, 1, 2, 4, 8, 16, 30, 30], abs=0.3)
        assert gaps[9] == pytest.approx(0.5, abs=0.3)


@pytest.mark.parametrize(("asked", "waited"), [(7.0, 7.0), (0.1, 0.5), (None, 0.5)])
async def test_the_server_may_ask_for_a_longer_pause_but_for_no_shorter_one(asked, waited):
    """Retry-After holds for all writes, also for those that are planned meanwhile."""
    async with sending() as outbox:
        outbox.faults = [TooManyRequests("busy", status=429, retry_after=asked)]
        outbox.offer("a b")
        await asyncio.sleep(0.2)
        outbox.offer("c")
        await asyncio.sleep(20)
        assert outbox.sent == [(0.0, "a"), (pytest.approx(waited, abs=0.05), "c")]


async def test_a_failure_is_logged_once_until_it_changes_or_is_over():
    """A server that is away for an hour fills no log."""
    async with sending() as outbox:
        away, busy = ConnectionFailed("away"), ConnectionFailed("busy")
        outbox.faults = [away, away, busy, away, None, away]
        with capture_logs() as logs:
            outbox.offer("a b")
            await asyncio.sleep(300)
        assert [line["error"] for line in logs] == ["away", "busy", "away", "away"]
        assert [line["wait_seconds"] for line in logs] == [0.5, 2.0, 4.0, 0.5]
        assert {(line["event"], line["log_level"]) for line in logs} == {("not_sent", "warning")}


async def test_what_can_wait_is_spaced_and_holds_up_nobody():
    async with sending() as outbox:
        outbox.offer("A B C d")
        await asyncio.sleep(5)
        assert outbox.letters == "A d B C"
        assert outbox.times == pytest.approx([0.0, 0.01, 0.5, 1.0])


async def test_what_is_made_already_costs_no_request_and_no_time():
    """A plan that is older than the last answer asks for it again."""
    async with sending() as outbox:
        outbox.made = {"A", "b"}
        outbox.offer("A B b c")
        await asyncio.sleep(0.1)
        assert outbox.sent == [(0.0, "B"), (0.01, "c")]
        assert outbox.waiting == 0


async def test_what_is_made_already_does_not_hold_up_the_loop():
    """Of a thousand writes that an older plan asks for, each leaves others their turn."""
    async with sending() as outbox:
        await asyncio.sleep(0.5)
        letters = [f"{number}" for number in range(100)]
        outbox.made = set(letters)
        outbox.offer(" ".join(letters))
        turns = 0
        while outbox.waiting:
            turns += 1
            await asyncio.sleep(0)
        assert turns >= 100
        assert outbox.sent == []


async def test_several_writes_may_be_in_flight_but_one_for_each_object():
    """The writes of one object stay in order, also where a new plan has the next of them."""
    async with sending(concurrency=2) as outbox:
        outbox.seconds = 1.0
        outbox.offer("a1 a2 b1 c1")
        await asyncio.sleep(1.5)
        assert outbox.sent == [(0.0, "a1"), (0.0, "b1"), (1.0, "a2"), (1.0, "c1")]
        outbox.offer("a3 d1")
        await asyncio.sleep(5)
        assert outbox.sent[4:] == [(2.0, "a3"), (2.0, "d1")]


async def test_the_lease_is_asked_for_before_each_of_several():
    async with sending(concurrency=2) as outbox:
        outbox.seconds = 1.0
        outbox.offer("a b c d")
        await asyncio.sleep(0.5)
        outbox.leads = False
        await asyncio.sleep(10)
        assert outbox.letters == "a b"


async def test_several_that_fail_together_are_one_failure():
    """A server that is away for a moment must not cost half a minute because eight asked it."""
    async with sending(concurrency=8) as outbox:
        outbox.faults = [ConnectionFailed("away")] * 8
        outbox.offer("a b c d e f g h")
        await asyncio.sleep(0.2)
        outbox.offer("i")
        await asyncio.sleep(5)
        assert outbox.sent[-1] == (pytest.approx(0.51, abs=0.02), "i")


async def test_nothing_waits_for_ever_behind_what_is_more_important():
    async with sending() as outbox:
        outbox.seconds = 1.0
        for second in range(100):
            outbox.offer(f"a{second} z")
            if "z" in outbox.letters:
                break
            await asyncio.sleep(1.0)
        assert PATIENCE_SECONDS <= second < PATIENCE_SECONDS + 10


async def test_a_write_for_later_is_made_then():
    """It does not count among those that wait before."""
    async with sending() as outbox:
        outbox.offer_later("a", seconds=7)
        outbox.offer_later("a", seconds=5)
        assert outbox.waiting == 0
        await asyncio.sleep(10)
        assert outbox.sent == [(5.0, "a")]


FORBIDDEN = Forbidden("no", status=403)
INVALID = Invalid("no", status=422)


async def left_alone(refused: Refused[str], says: object = "this", most: int = 200) -> int:
    """Return the seconds until a write may be tried again."""
    for second in range(most):
        if not refused.covers("a", says):
            return second
        await asyncio.sleep(1)
    return most


async def test_who_is_forbidden_again_waits_longer_and_is_not_logged_again():
    """Until nothing was refused for two minutes."""
    refused: Refused[str] = Refused()
    assert refused.note("a", "this", FORBIDDEN)
    await asyncio.sleep(10)
    refused.tidy()
    assert not refused.note("a", "this", FORBIDDEN)
    assert await left_alone(refused) == 60
    await asyncio.sleep(61)
    refused.tidy()
    assert refused.note("a", "this", FORBIDDEN)
    assert await left_alone(refused) == 5


async def test_what_says_something_else_may_be_tried_unless_anything_is_refused():
    """What is invalid may be valid in other words; a missing right has nothing to do with words."""
    refused: Refused[str] = Refused()
    refused.note("a", "this", INVALID)
    assert refused.covers("a", "this")
    assert not refused.covers("a", "that")
    assert not refused.covers("b", "this")
    refused.note("a", ANYTHING, FORBIDDEN)
    assert refused.covers("a", "that")


async def test_a_write_without_words_is_not_taken_for_any_write():
    refused: Refused[str] = Refused()
    refused.note("a", None, INVALID)
    assert refused.covers("a", None)
    assert not refused.covers("a", "this")


async def test_what_is_left_alone_for_another_reason_is_no_refusal():
    """So the refusal after it is news."""
    refused: Refused[str] = Refused()
    refused.leave("a", "this")
    assert await left_alone(refused) == 60
    assert refused.note("a", "this", INVALID)
