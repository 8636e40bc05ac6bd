"""What is remembered of an API server that refuses, on virtual time."""

import asyncio

import pytest

from reporter.kube.errors import ConnectionFailed, Forbidden, Invalid, TooManyRequests
from reporter.sinks.outbox import ANYTHING, Refused, retry_after

pytestmark = pytest.mark.looptime

FORBIDDEN = Forbidden("no", status=403)
INVALID = Invalid("no", status=422)


async def left_alone(refused: Refused[str], says: object = "this", most: int = 200) -> int:
    """Return the seconds until a write may be tried again."""
    for second in range(most):
        if not refused.covers("a", says):
            return second
        await asyncio.sleep(1)
    return most


@pytest.mark.parametrize(("error", "seconds"), [(FORBIDDEN, 5), (INVALID, 60)])
async def test_the_first_403_is_doubted(error, seconds):
    """An API server that starts refuses everybody; what is invalid stays so."""
    refused: Refused[str] = Refused()
    refused.note("a", "this", error)
    assert await left_alone(refused) == seconds


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


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (TooManyRequests("busy", status=429, retry_after=7.0), 7.0),
        (TooManyRequests("busy", status=429), 0.0),
        (ConnectionFailed("away"), 0.0),
    ],
)
def test_only_an_answer_can_ask_to_wait(error, seconds):
    assert retry_after(error) == seconds
