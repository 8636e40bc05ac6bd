"""Everything that can go wrong with the API server, as exceptions of our own.

No exception of aiohttp, kubernetes_asyncio, ssl, msgspec or the operating system leaves this
package; `mapped` is the boundary. Messages contain no credentials: foreign text is cleaned.
"""

import asyncio
import email.utils
import json
import random
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

import aiohttp
import msgspec

from reporter.model.text import clean, cut

# ruff: noqa: N818 - the words of the API (NotFound, Conflict) say more than a suffix


_TEXT_BYTES: Final = 300
_LONGEST_RETRY_AFTER: Final = 120.0
"""Seconds; longer values are capped. API priority and fairness asks for 32 s at most, and a proxy's
maintenance page must not keep us waiting for an hour after the API server is back."""


class KubeError(Exception):
    """Something went wrong between us and the API server."""


class ConfigurationError(KubeError):
    """There is no usable kubeconfig or service account."""


class ConnectionFailed(KubeError):
    """No answer: name not resolved, refused, TLS, reset, cut, or too slow."""


class CertificateRejected(ConnectionFailed):
    """The TLS handshake failed, most often because the certificate authority is the wrong one."""


class NotJson(KubeError):
    """The answer is not an API server's: a proxy's HTML page, or truncated JSON."""


class AnswerTooLarge(KubeError):
    """The answer exceeds the size limit; smaller pages may fit."""


class ApiStatusError(KubeError):
    """The API server refused the request.

    `reason` comes from the Status object, such as `AlreadyExists`. `is_status_object` is False for
    plain-text answers: `404 page not found` for a group that is not served, and the 429 of API
    priority and fairness.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        reason: str = "",
        retry_after: float | None = None,
        details: tuple[str, ...] = (),
        is_status_object: bool = True,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after
        self.details = details
        self.is_status_object = is_status_object


class NotFound(ApiStatusError):
    """404: no such object, or, without a Status object, no such resource."""


class Forbidden(ApiStatusError):
    """403: RBAC or admission."""


class Unauthorized(ApiStatusError):
    """401: the credentials are not, or no longer, valid."""


class Conflict(ApiStatusError):
    """409: the object has changed since it was read."""


class AlreadyExists(Conflict):
    """409: an object of that name exists."""


class Invalid(ApiStatusError):
    """400 or 422: the request itself is wrong; a retry cannot succeed."""


class Gone(ApiStatusError):
    """410: the resource version or continue token has expired."""


class TooManyRequests(ApiStatusError):
    """429: overload; `retry_after` says how long to wait."""


class ServerError(ApiStatusError):
    """5xx."""


_BY_STATUS: Final[Mapping[int, type[ApiStatusError]]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


class _Cause(msgspec.Struct, frozen=True):
    field: str = ""
    message: str = ""


class _Details(msgspec.Struct, frozen=True, rename="camel"):
    causes: tuple[_Cause, ...] | None = None
    retry_after_seconds: float | None = None


class _Status(msgspec.Struct, frozen=True):
    kind: str
    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


def status_error(status: int, body: bytes, retry_after: str | None = None) -> ApiStatusError:
    """Return the exception for an answer that is not a success.

    Status 0 takes the code from the Status object, as in ERROR frames of a watch.
    """
    try:
        answer = msgspec.json.decode(body, type=_Status)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        answer = None
    if answer is None or answer.kind != "Status":
        answer, is_status_object = _Status(kind=""), False
        text = body[:_TEXT_BYTES].decode("utf-8", "replace")
        # A proxy's HTML page is of no use to the reader; its status code is.
        text = "" if "<" in text else text
    else:
        is_status_object = True
        text = answer.message or ""
    code = status or answer.code or 500
    details = answer.details or _Details()
    wait = parse_retry_after(retry_after)
    if wait is None and details.retry_after_seconds:
        wait = min(details.retry_after_seconds, _LONGEST_RETRY_AFTER)
    reason = cut(clean(answer.reason or ""), 64)
    return _class_of(code, reason)(
        f"the API server answered {code}: {cut(clean(text), _TEXT_BYTES) or 'no explanation'}",
        status=code,
        reason=reason,
        retry_after=wait,
        details=tuple(
            cut(clean(f"{cause.field}: {cause.message}"), _TEXT_BYTES)
            for cause in (details.causes or ())[:20]
        ),
        is_status_object=is_status_object,
    )


def _class_of(code: int, reason: str) -> type[ApiStatusError]:
    if code == HTTPStatus.CONFLICT and reason == "AlreadyExists":
        return AlreadyExists
    if code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ServerError
    return _BY_STATUS.get(code, ApiStatusError)


def parse_retry_after(header: str | None, now: datetime | None = None) -> float | None:
    """Return the seconds that a Retry-After header asks for, capped; None if it is unreadable."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            when = email.utils.parsedate_to_datetime(header).astimezone(UTC)
        except (ValueError, OverflowError):
            return None
        seconds = (when - (now or datetime.now(UTC))).total_seconds()
    # The comparison is written so that NaN counts as no wait.
    return min(seconds, _LONGEST_RETRY_AFTER) if seconds > 0 else 0.0


@contextmanager
def mapped(action: str) -> Iterator[None]:
    """Turn the libraries' exceptions into ours; cancellation passes through."""
    try:
        yield
    except KubeError:
        raise
    except LOWER as error:
        raise _translate(error, action) from None


LOWER: Final = (
    aiohttp.ClientError,
    aiohttp.http_exceptions.HttpProcessingError,
    OSError,
    TimeoutError,
    asyncio.IncompleteReadError,
    asyncio.LimitOverrunError,
    EOFError,
    ValueError,  # json, msgspec, Unicode, and URLs that aiohttp refuses
    OverflowError,  # numbers and times out of range
    RecursionError,
    RuntimeError,  # aiohttp: session or transport is closing
    AssertionError,  # aiohttp, if the connection is lost at a bad moment
)
"""The exceptions that the libraries raise when a request fails."""


def _translate(error: BaseException, action: str) -> KubeError:
    for lower, ours, text in _TRANSLATIONS:
        if isinstance(error, lower):
            return ours(f"{action}: {text}{_os_text(error)}")
    return ConnectionFailed(f"{action}: the connection to the API server was lost")


_TRANSLATIONS: Final[tuple[tuple[tuple[type[BaseException], ...], type[KubeError], str], ...]] = (
    (
        (aiohttp.ClientConnectorCertificateError, ssl.SSLCertVerificationError),
        CertificateRejected,
        (
            "the API server's certificate is not trusted: check certificate-authority in the "
            "kubeconfig, or the mounted ca.crt"
        ),
    ),
    (
        (aiohttp.ClientSSLError, ssl.SSLError),
        CertificateRejected,
        "TLS failed; is this the port of an API server?",
    ),
    ((TimeoutError,), ConnectionFailed, "no answer in time from the API server"),
    (
        (aiohttp.ClientConnectorDNSError,),
        ConnectionFailed,
        "the API server's name cannot be resolved",
    ),
    (
        (aiohttp.ClientConnectorError, ConnectionRefusedError),
        ConnectionFailed,
        "cannot connect to the API server; is it reachable?",
    ),
    (
        (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError),
        ConfigurationError,
        "the server's address in the kubeconfig is not a valid URL",
    ),
    (
        (aiohttp.ClientPayloadError, aiohttp.ClientResponseError),
        ConnectionFailed,
        "the answer was cut or is not proper HTTP",
    ),
    (
        (msgspec.MsgspecError, json.JSONDecodeError, UnicodeError, RecursionError),
        NotJson,
        "the answer is not JSON as an API server writes it",
    ),
)
"""The first matching row wins, so subclasses come before their bases."""


def _os_text(error: BaseException) -> str:
    cause = getattr(error, "os_error", error)
    text = getattr(cause, "strerror", None)
    return f" ({clean(text)})" if isinstance(text, str) else ""


@dataclass(slots=True)
class Backoff:
    """Delays of 0.8 s, doubling up to 30 s, plus up to 100 % jitter; they start over after 2 min
    without a failure (`quiet`). `seconds` is any steady clock.
    """

    seconds: Callable[[], float]
    chance: random.Random = field(default_factory=random.Random)
    first: float = 0.8
    most: float = 30.0
    jitter: float = 1.0
    quiet: float = 120.0
    _failures: int = 0
    _last: float = float("-inf")
    _cause: str = ""

    def reset(self) -> None:
        """Start over with the first delay: earlier failures say nothing about the next one."""
        self._failures, self._cause = 0, ""

    def next(self, at_least: float = 0.0) -> float:
        """Return how many seconds to wait after another failure, no less than `at_least`."""
        now = self.seconds()
        if now - self._last > self.quiet:
            self._failures = 0
        delay = min(self.most, self.first * 2.0**self._failures)
        delay = max(delay * (1 + self.jitter * self.chance.random()), at_least)
        if delay < self.most:
            self._failures += 1
        # Counted from the end of the wait, so that a long wait does not count as quiet.
        self._last = now + delay
        return delay

    def is_new(self, error: KubeError) -> bool:
        """Tell whether an error differs from the last one, so that each is logged once."""
        before, self._cause = self._cause, str(error)
        return before != self._cause
