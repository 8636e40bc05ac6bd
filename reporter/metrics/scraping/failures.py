# ruff: noqa: N818 - "scrape failed" says it
"""Everything that can go wrong with a scrape, as one of the failures that messages speak of.

No exception of aiohttp, ssl or the operating system leaves this package: `mapped` is the boundary.
Details hold no addresses, and nothing that a pod wrote.
"""

import errno
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from reporter.kube.errors import Forbidden, KubeError, Unauthorized
from reporter.metrics.looks.scrape import Failure


class ScrapeFailed(Exception):
    """There is no page.

    Attributes:
        failure: why.
        detail: a few more words; may be empty.

    """

    def __init__(self, failure: Failure, detail: str = "") -> None:
        super().__init__(failure, detail)
        self.failure = failure
        self.detail = detail


@contextmanager
def mapped() -> Iterator[None]:
    """Turn what the libraries raise into `ScrapeFailed`.

    Raises:
        ScrapeFailed: in place of each lower exception; cancellation passes.

    """
    try:
        yield
    except ScrapeFailed:
        raise
    except Exception as error:  # noqa: BLE001 - what a pod can make a library raise has no end
        raise _translated(error) from None


_KINDS: Final[tuple[tuple[tuple[type[Exception], ...], Failure, str], ...]] = (
    ((aiohttp.ConnectionTimeoutError,), Failure.TIMEOUT, "no connection"),
    ((TimeoutError,), Failure.TIMEOUT, "no complete answer"),
    (
        (aiohttp.ClientSSLError, ssl.SSLError, ssl.CertificateError),
        Failure.UNREACHABLE,
        "TLS failed",
    ),
    ((aiohttp.ServerDisconnectedError,), Failure.RESET, "no answer"),
    ((aiohttp.ClientPayloadError, EOFError), Failure.TRUNCATED, ""),
    ((aiohttp.TooManyRedirects,), Failure.STATUS, "redirects are not followed"),
    ((aiohttp.ClientResponseError, HttpProcessingError), Failure.UNREADABLE, "not HTTP"),
    ((aiohttp.InvalidURL,), Failure.UNREACHABLE, "not an address"),
    ((Forbidden,), Failure.FORBIDDEN, "no permission to get pods/proxy"),
    ((Unauthorized,), Failure.FORBIDDEN, "the API server refused the credentials"),
    ((KubeError,), Failure.UNREACHABLE, "no answer from the API server"),
)
"""The first row that fits counts, so subclasses stand before their bases."""

_ERRNO: Final = {
    errno.ECONNREFUSED: Failure.REFUSED,
    errno.ECONNRESET: Failure.RESET,
    errno.ECONNABORTED: Failure.RESET,
    errno.EPIPE: Failure.RESET,
    errno.ETIMEDOUT: Failure.TIMEOUT,
}


def _translated(error: Exception) -> ScrapeFailed:
    for kinds, failure, detail in _KINDS:
        if isinstance(error, kinds):
            return ScrapeFailed(failure, detail)
    if isinstance(error, OSError):
        return _of_system(error)
    return ScrapeFailed(Failure.UNREACHABLE, f"unexpected {type(error).__name__}")


def _of_system(error: OSError) -> ScrapeFailed:
    """Map by number: the text of the exception names the address."""
    if isinstance(error, ConnectionResetError | BrokenPipeError | ConnectionAbortedError):
        return ScrapeFailed(Failure.RESET)
    known = _ERRNO.get(error.errno or 0)
    if known is not None:
        return ScrapeFailed(known)
    # Beyond the numbers of the system are those of the resolver, which are negative.
    text = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else ""
    return ScrapeFailed(Failure.UNREACHABLE, text)
