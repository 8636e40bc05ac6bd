"""`status-reporter status`: what a running daemon sees now."""

import re
import sys
from collections.abc import Sequence
from typing import Final

import httpx

from reporter.arguments import PROGRAM, Parser
from reporter.errors import UsageError
from reporter.model.text import clean, cut

_LOCAL: Final = "http://127.0.0.1:8082"
_PATHS: Final = {"json": "/api/v1/report", "text": "/"}
_POD_PATHS: Final = {"json": "/api/v1/pods/{}", "text": "/pods/{}"}
_POD: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_NOT_FOUND: Final = 404
_TIMEOUT: Final = httpx.Timeout(10.0, connect=5.0)
_MAX_BYTES: Final = 64 * 1024 * 1024
_UNAVAILABLE: Final = 503
_FORWARD: Final = "kubectl -n kube-system port-forward deploy/<release>-status-reporter 8082:8082"


def main(argv: Sequence[str]) -> int:
    """Fetch the report of a daemon and print it.

    Raises:
        UsageError: no daemon answers there.

    """
    parser = Parser("status", "Show what a running daemon sees now.")
    parser.add_argument(
        "--url",
        default=_LOCAL,
        help=f"where the daemon serves its report ({_LOCAL}); of one in a cluster: {_FORWARD}",
    )
    parser.add_argument(
        "-o", "--output", choices=tuple(_PATHS), default="text", help="text or json (text)"
    )
    parser.add_argument(
        "--pod",
        metavar="NAMESPACE/NAME",
        help="what was last scraped from a pod, and why it is or is not judged",
    )
    arguments = parser.parse(argv)
    url = arguments.url.rstrip("/")
    sys.stdout.write(_fetch(url, _path(arguments.output, arguments.pod)))
    return 0


def _path(output: str, pod: str | None) -> str:
    if pod is None:
        return _PATHS[output]
    if not _POD.fullmatch(pod):
        raise UsageError(f"--pod: {pod!r} is not allowed; allowed: NAMESPACE/NAME")
    return _POD_PATHS[output].format(pod)


def _fetch(url: str, path: str) -> str:
    try:
        with (
            httpx.Client(timeout=_TIMEOUT) as client,
            client.stream("GET", url + path) as response,
        ):
            body = _read(response, url)
            if response.status_code == _UNAVAILABLE:
                raise UsageError(f"{url}: {_answer(response, body)}; ask again in a moment")
            if response.status_code == _NOT_FOUND and path not in _PATHS.values():
                raise UsageError(f"{path.partition('pods/')[2]}: {_text(body)}")
            if not response.is_success:
                raise UsageError(f"{url}: {_answer(response, body)}; is this a {PROGRAM}?")
            return body.decode(response.encoding or "utf-8", "replace")
    except httpx.ConnectError:
        raise UsageError(
            f"{url}: nothing answers there; start the daemon, or forward its port: {_FORWARD}"
        ) from None
    except httpx.TimeoutException:
        raise UsageError(f"{url}: no answer in time") from None
    except (httpx.InvalidURL, httpx.UnsupportedProtocol):
        raise UsageError(
            f"--url: {url!r} is not allowed; allowed: an address such as {_LOCAL}"
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
