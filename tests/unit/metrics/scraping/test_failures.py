"""The boundary: nothing that a library raises passes it, and details name no addresses."""

import asyncio
import errno
import inspect
import socket
import ssl

import aiohttp
import pytest
from aiohttp import http_exceptions
from aiohttp.client_reqrep import ConnectionKey
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from reporter.kube.errors import ConnectionFailed
from reporter.metrics.samples.sample import Failure
from reporter.metrics.scraping.targets import ScrapeFailed, mapped

SECRET = "10.244.7.31"
REQUEST = aiohttp.RequestInfo(
    URL(f"http://{SECRET}"), "GET", CIMultiDictProxy(CIMultiDict()), URL(f"http://{SECRET}")
)
KEY = ConnectionKey(SECRET, 5000, False, True, None, None, None)
REFUSED = OSError(errno.ECONNREFUSED, f"Connect call failed ('{SECRET}', 5000)")

ARGUMENTS = {
    aiohttp.ClientResponseError: (REQUEST, ()),
    aiohttp.ClientConnectorError: (KEY, REFUSED),
    aiohttp.client_exceptions.UnixClientConnectorError: (SECRET, KEY, REFUSED),
    aiohttp.ClientConnectorCertificateError: (KEY, ssl.SSLCertVerificationError(SECRET)),
    aiohttp.ServerFingerprintMismatch: (b"a", b"b", SECRET, 5000),
    aiohttp.InvalidURL: (SECRET,),
    http_exceptions.BadHttpMessage: (SECRET,),
    http_exceptions.InvalidHeader: (SECRET,),
    http_exceptions.LineTooLong: (SECRET.encode(), 1),
}
"""How those are made that take arguments; of two bases the nearer one counts."""


def _made(kind: type[Exception]) -> Exception:
    for base in kind.__mro__:
        if base in ARGUMENTS:
            return kind(*ARGUMENTS[base])
    return kind()


def _exceptions_of(*modules: object) -> set[type[Exception]]:
    return {
        each
        for module in modules
        for each in vars(module).values()
        if inspect.isclass(each) and issubclass(each, Exception) and not issubclass(each, Warning)
    }


OF_AIOHTTP = {
    each
    for each in _exceptions_of(aiohttp, aiohttp.client_exceptions, http_exceptions)
    if not each.__name__.startswith(("Web", "WS", "Payload"))
}
OF_PYTHON = [
    ssl.SSLError(1, SECRET), ssl.SSLCertVerificationError(1, SECRET), ssl.CertificateError(SECRET),
    socket.gaierror(-2, SECRET), *(OSError(number, SECRET) for number in errno.errorcode),
    OSError(), TimeoutError(SECRET), asyncio.IncompleteReadError(b"", 1),
    asyncio.LimitOverrunError(SECRET, 1), EOFError(SECRET),
    UnicodeDecodeError("utf-8", b"", 0, 1, SECRET), ValueError(SECRET),
    RuntimeError("Session is closed"), AssertionError(SECRET),
    ConnectionFailed(f"GET https://{SECRET}: no"),
]  # fmt: skip


def test_the_exceptions_of_aiohttp_are_found():
    """Else the test below would be empty."""
    assert len(OF_AIOHTTP) > 30
    assert {aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError} <= OF_AIOHTTP


def failure_of(lower):
    """What an exception becomes at the boundary; itself if it passes."""
    with pytest.raises(Exception) as caught, mapped():  # noqa: PT011 - the tests name what passes
        raise lower
    return caught.value


ALL = [*(_made(kind) for kind in OF_AIOHTTP), *OF_PYTHON]


def test_no_lower_exception_passes():
    """Each one of aiohttp, ssl, sockets and the operating system is a failure."""
    assert [lower for lower in ALL if not isinstance(failure_of(lower), ScrapeFailed)] == []


def test_no_failure_names_an_address():
    failures = [(lower, failure_of(lower)) for lower in ALL]
    assert [lower for lower, failed in failures if SECRET in failed.detail] == []
    assert [
        lower
        for lower, failed in failures
        if failed.__cause__ is not None or not failed.__suppress_context__
    ] == []


@pytest.mark.parametrize(
    ("lower", "failure", "detail"),
    [
        (aiohttp.ConnectionTimeoutError(), Failure.TIMEOUT, "no connection"),
        (aiohttp.SocketTimeoutError(), Failure.TIMEOUT, "no complete answer"),
        (TimeoutError(), Failure.TIMEOUT, "no complete answer"),
        (aiohttp.ClientConnectorError(KEY, REFUSED), Failure.REFUSED, ""),
        (aiohttp.ClientConnectorError(KEY, OSError(errno.EHOSTUNREACH, SECRET)), Failure.UNREACHABLE, "no route to host"),
        (aiohttp.ServerDisconnectedError(), Failure.RESET, "no answer"),
        (aiohttp.ClientConnectionResetError(), Failure.RESET, ""),
        (aiohttp.ClientOSError(errno.ECONNRESET, SECRET), Failure.RESET, ""),
        (aiohttp.ClientPayloadError(), Failure.TRUNCATED, ""),
        (aiohttp.ClientConnectorSSLError(KEY, ssl.SSLError(1, SECRET)), Failure.UNREACHABLE, "TLS failed"),
    ],
    ids=lambda value: repr(value)[:40],
)  # fmt: skip
def test_what_it_is_called(lower, failure, detail):
    with pytest.raises(ScrapeFailed) as caught, mapped():
        raise lower
    assert (caught.value.failure, caught.value.detail) == (failure, detail)


def test_cancellation_passes():
    with pytest.raises(asyncio.CancelledError), mapped():
        raise asyncio.CancelledError
