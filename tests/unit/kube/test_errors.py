"""The boundary: no exception of a library passes it, and waits are bounded."""

import asyncio
import json
import ssl
from datetime import UTC, datetime

import aiohttp
import msgspec
import pytest
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from reporter.kube import errors
from reporter.kube.errors import Backoff, KubeError, mapped, parse_retry_after, status_error

REQUEST = aiohttp.RequestInfo(
    URL("http://h"), "GET", CIMultiDictProxy(CIMultiDict()), URL("http://h")
)
LOWER = [
    aiohttp.ClientError(), aiohttp.ClientPayloadError(), aiohttp.ServerDisconnectedError(),
    aiohttp.ServerTimeoutError(), aiohttp.ClientOSError(), aiohttp.InvalidURL("x"),
    aiohttp.ClientResponseError(REQUEST, ()), aiohttp.http_exceptions.HttpProcessingError(),
    ssl.SSLError("bad"), ssl.SSLCertVerificationError("bad"), OSError(), ConnectionResetError(),
    BrokenPipeError(), TimeoutError(), asyncio.IncompleteReadError(b"", 1), EOFError(),
    json.JSONDecodeError("x", "", 0), msgspec.DecodeError("x"), msgspec.ValidationError("x"),
    UnicodeDecodeError("utf-8", b"", 0, 1, "x"), RecursionError(), ValueError("x"),
    OverflowError("x"), RuntimeError("Session is closed"),
]  # fmt: skip


def mapped_from(lower: Exception) -> Exception:
    """What an exception becomes at the boundary; itself if it passes."""
    with pytest.raises(Exception) as caught, mapped("GET /x"):  # noqa: PT011 - the test names what passes
        raise lower
    return caught.value


def test_no_lower_exception_passes():
    """Whatever a library raises becomes ours, with what was being done in the message."""
    found = [(lower, mapped_from(lower)) for lower in LOWER]
    assert [lower for lower, error in found if not isinstance(error, KubeError)] == []
    assert [lower for lower, error in found if "GET /x: " not in str(error)] == []
    assert [
        lower for lower, error in found if error.__cause__ or not error.__suppress_context__
    ] == []


def test_cancellation_passes():
    with pytest.raises(asyncio.CancelledError), mapped("GET /x"):
        raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("5", 5.0),
        ("0", 0.0),
        ("-3", 0.0),
        ("nan", 0.0),
        ("inf", 120.0),
        ("1e9", 120.0),
        ("Fri, 20 Nov 2026 12:00:30 GMT", 30.0),
        ("Fri, 20 Nov 2026 11:00:00 GMT", 0.0),
        ("Fri, 99 Nov 2026 11:00:00 GMT", None),
        ("Fri, 31 Dec 9999 23:59:59 -2359", None),
        (f"Fri, 20 Nov 2026 {'9' * 30}:00:00 GMT", None),
    ],
)
def test_retry_after(header, seconds):
    """Seconds and dates are read, nonsense is no wait, and no wait is for ever."""
    assert parse_retry_after(header, datetime(2026, 11, 20, 12, tzinfo=UTC)) == seconds


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'{"kind":"Status","details":5}',
        b'{"kind":"Status","code":"x"}',
        b"\xff",
        b"[" * 9999,
    ],
)
def test_unreadable_refusals_keep_their_code(body):
    error = status_error(429, body)
    assert isinstance(error, errors.TooManyRequests)
    assert not error.is_status_object


def test_backoff_doubles_with_jitter_and_forgets():
    """0.8 s doubled to 30 s, up to twice that with jitter; again after two quiet minutes."""

    class Least:
        def random(self) -> float:
            return 0.0

    moment = [0.0]
    backoff = Backoff(lambda: moment[0], Least())
    delays = []
    for _ in range(8):
        delays.append(backoff.next())
        moment[0] += delays[-1]
    assert delays == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]
    moment[0] += 119
    assert backoff.next() == 30.0
    moment[0] += 30 + 121
    assert backoff.next() == 0.8
    assert backoff.next(at_least=50) == 50
