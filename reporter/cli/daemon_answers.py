"""What a running daemon answers at its report listener."""

from ipaddress import ip_address
from typing import Final

import httpx

from reporter.arguments import PROGRAM
from reporter.errors import UsageError
from reporter.model.text import clean, cut

LOCAL: Final = "http://127.0.0.1:8082"
"""Where it answers on its own machine, and where a forwarded port does."""

REPORT: Final = "/api/v1/report"
HISTORY: Final = "/api/v1/history"

FORWARD: Final = (
    "kubectl -n <namespace> port-forward deploy/<release>-status-reporter 8082:8082, with what "
    "helm list -A says of the release"
)
"""How to forward its port, in words."""

_NOT_FOUND: Final = 404
_UNAVAILABLE: Final = 503
_TIMEOUT: Final = httpx.Timeout(10.0, connect=5.0)
_MAX_BYTES: Final = 64 * 1024 * 1024


def fetch(url: str, path: str) -> bytes:
    """Return what a daemon answers.

    Raises:
        UsageError: it does not answer, or not with what was asked for.

    """
    try:
        with (
            httpx.Client(timeout=_TIMEOUT, trust_env=not _is_loopback(url)) as client,
            client.stream("GET", url + path) as response,
        ):
            body = _read(response, url)
            if response.status_code == _UNAVAILABLE:
                raise UsageError(f"{url}: {_answer(response, body)}; ask again in a moment")
            if response.status_code == _NOT_FOUND and path not in {REPORT, HISTORY}:
                raise UsageError(f"{path.partition('pods/')[2]}: {_text(body)}")
            if not response.is_success:
                raise UsageError(f"{url}: {_answer(response, body)}; is this a {PROGRAM}?")
            return body
    except httpx.ConnectError:
        raise UsageError(
            f"{url}: nothing answers there; start the daemon, or forward its port: {FORWARD}"
        ) from None
    except httpx.TimeoutException:
        raise UsageError(f"{url}: no answer in time") from None
    except (httpx.InvalidURL, httpx.UnsupportedProtocol):
        raise UsageError(
            f"--url: {url!r} is not allowed; allowed: an address such as {LOCAL}"
        ) from None
    except httpx.HTTPError as error:
        raise UsageError(f"{url}: {clean(str(error))}") from None


def _read(response: httpx.Response, url: str) -> bytes:
    body = bytearray()
    for part in response.iter_bytes():
        body += part
        if len(body) > _MAX_BYTES:
            raise UsageError(f"{url}: the answer is larger than {_MAX_BYTES} bytes")
    return bytes(body)


def _text(body: bytes) -> str:
    return cut(clean(body[:400].decode("utf-8", "replace")), 200)


def _answer(response: httpx.Response, body: bytes) -> str:
    text = _text(body)
    return f"it answers {response.status_code}" + (f" ({text})" if text else "")


def _is_loopback(url: str) -> bool:
    """Tell whether it is on this machine, where the proxy of the environment cannot reach it."""
    host = httpx.URL(url).host
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
