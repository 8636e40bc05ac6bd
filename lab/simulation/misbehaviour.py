"""HTTP answers as values, and misbehaviour of endpoints: changes to the right answer, as data."""

import asyncio
import gzip
import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, StrEnum, auto
from functools import cache
from http import HTTPStatus
from typing import Final

_ENDLESS_PIECE_BYTES: Final = 65_536
_LINGER_NOT: Final = struct.pack("ii", 1, 0)
"""SO_LINGER value with which closing a socket resets the connection."""


class ConnectionEnding(Enum):
    CLOSE = auto()
    RESET = auto()
    HANG = auto()
    """Keep it open until the client closes it."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An HTTP answer.

    Attributes:
        content_length: value of the header; None for no header.
        raw: sent in place of everything else.
        piece_bytes: how much is sent at once, with `pause_seconds` in between.
        endless: the body is repeated without end.
    """

    body: bytes
    content_type: str
    content_length: int | None
    version: str = "HTTP/1.1"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    raw: bytes | None = None
    piece_bytes: int | None = None
    pause_seconds: float = 0.0
    endless: bool = False
    ending: ConnectionEnding = ConnectionEnding.CLOSE

    def head(self) -> bytes:
        lines = [f"{self.version} {self.status} {HTTPStatus(self.status).phrase}"]
        lines.append(f"Content-Type: {self.content_type}")
        if self.content_length is not None:
            lines.append(f"Content-Length: {self.content_length}")
        lines += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join([*lines, "Connection: close", "", ""]).encode()


def page_answer(text: str, content_type: str, version: str = "HTTP/1.1") -> HttpAnswer:
    """Return the answer of a well-behaved server."""
    body = text.encode()
    return HttpAnswer(body, content_type, len(body), version)


async def send(
    answer: HttpAnswer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Send an answer and end the connection as it says.

    Raises:
        ConnectionError: the client disconnected before the end.
    """
    if answer.raw is not None:
        writer.write(answer.raw)
    else:
        writer.write(answer.head())
        await _send_body(answer, writer)
    await writer.drain()
    match answer.ending:
        case ConnectionEnding.RESET:
            open_socket = writer.get_extra_info("socket")
            open_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
            writer.transport.abort()
        case ConnectionEnding.HANG:
            await reader.read()


async def _send_body(answer: HttpAnswer, writer: asyncio.StreamWriter) -> None:
    if answer.endless:
        piece = answer.body * (_ENDLESS_PIECE_BYTES // len(answer.body) + 1)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
    size = answer.piece_bytes or max(1, len(answer.body))
    for start in range(0, len(answer.body), size):
        writer.write(answer.body[start : start + size])
        await writer.drain()
        if answer.pause_seconds:
            await asyncio.sleep(answer.pause_seconds)


_BOMB_BYTES: Final = 64 * 1024 * 1024
_HUGE_PAGE_BYTES: Final = 12 * 1024 * 1024
_LONG_LINE_BYTES: Final = 1024 * 1024
_DRIP_SECONDS: Final = 0.2


class Misbehaviour(StrEnum):
    """The ways in which a pod can fail to answer properly."""

    HANG = "hang"
    """The request is read and never answered."""

    HANG_MIDWAY = "hang-midway"
    RESET_AT_ONCE = "reset-at-once"
    RESET_MIDWAY = "reset-midway"
    CLOSE_AT_ONCE = "close-at-once"
    SLOW_DRIP = "slow-drip"
    """One byte every 0.2 s: every read succeeds, but the page takes hours."""

    ENDLESS_BODY = "endless-body"
    HUGE_PAGE = "huge-page"
    """A valid page of 12 MiB."""

    LONG_LINE = "long-line"
    LONG_HEADER = "long-header"
    GZIP_BOMB = "gzip-bomb"
    """64 MiB in 64 KiB, although the client does not accept compression."""

    TRUNCATED = "truncated"
    """The body ends before its `Content-Length`."""

    TRUNCATED_CHUNKED = "truncated-chunked"
    NUL = "nul"
    BAD_LINES = "bad-lines"
    EMPTY = "empty"
    NOT_HTTP = "not-http"
    HTML = "html"
    UNAVAILABLE = "unavailable"
    NOT_FOUND = "not-found"
    REDIRECT = "redirect"
    """To the pod's `location`."""


def misbehave(kind: Misbehaviour, answer: HttpAnswer, location: str) -> HttpAnswer:
    """Return the answer that a pod sends in place of `answer`."""
    if kind is Misbehaviour.REDIRECT:
        return replace(_status(answer, 302), headers=(("Location", location),))
    return _CHANGES[kind](answer)


def _body(answer: HttpAnswer, body: bytes) -> HttpAnswer:
    return replace(answer, body=body, content_length=len(body))


def _text(answer: HttpAnswer, content_type: str, text: str) -> HttpAnswer:
    return replace(_body(answer, text.encode()), content_type=content_type)


def _status(answer: HttpAnswer, status: int) -> HttpAnswer:
    return replace(_text(answer, "text/plain", f"status {status}\n"), status=status)


def _half(answer: HttpAnswer, ending: ConnectionEnding) -> HttpAnswer:
    return replace(answer, body=answer.body[: len(answer.body) // 2], ending=ending)


def _silent(answer: HttpAnswer, ending: ConnectionEnding) -> HttpAnswer:
    return replace(answer, raw=b"", ending=ending)


def _huge(answer: HttpAnswer) -> HttpAnswer:
    lines = b'vllm:lora_requests_info{running_lora_adapters="%d"} 1.7e+09\n'
    count = _HUGE_PAGE_BYTES // len(lines) + 1
    return _body(answer, answer.body + b"".join(lines % number for number in range(count)))


def _long_line(answer: HttpAnswer) -> HttpAnswer:
    line = b'vllm:num_requests_running{model_name="%s"} 1.0\n' % (b"x" * _LONG_LINE_BYTES)
    return _body(answer, line + answer.body)


@cache
def _bomb() -> bytes:
    return gzip.compress(b"\n" * _BOMB_BYTES)


def _without_last_chunk(answer: HttpAnswer) -> HttpAnswer:
    body = b"%x\r\n%s\r\n" % (len(answer.body), answer.body)
    headers = (("Transfer-Encoding", "chunked"),)
    return replace(answer, body=body, content_length=None, headers=headers)


def _bad_lines(answer: HttpAnswer) -> HttpAnswer:
    bad = b'vllm:num_requests_running{model_name="x} 1_0\n' * 1000
    return _body(answer, bad + answer.body)


_CHANGES: Final[Mapping[Misbehaviour, Callable[[HttpAnswer], HttpAnswer]]] = {
    Misbehaviour.HANG: lambda right: _silent(right, ConnectionEnding.HANG),
    Misbehaviour.HANG_MIDWAY: lambda right: _half(right, ConnectionEnding.HANG),
    Misbehaviour.RESET_AT_ONCE: lambda right: _silent(right, ConnectionEnding.RESET),
    Misbehaviour.RESET_MIDWAY: lambda right: _half(right, ConnectionEnding.RESET),
    Misbehaviour.CLOSE_AT_ONCE: lambda right: _silent(right, ConnectionEnding.CLOSE),
    Misbehaviour.SLOW_DRIP: lambda right: replace(
        right, piece_bytes=1, pause_seconds=_DRIP_SECONDS
    ),
    Misbehaviour.ENDLESS_BODY: lambda right: replace(right, content_length=None, endless=True),
    Misbehaviour.HUGE_PAGE: _huge,
    Misbehaviour.LONG_LINE: _long_line,
    Misbehaviour.LONG_HEADER: lambda right: replace(
        right, headers=(("X-Long", "x" * _LONG_LINE_BYTES),)
    ),
    Misbehaviour.GZIP_BOMB: lambda right: replace(
        _body(right, _bomb()), headers=(("Content-Encoding", "gzip"),)
    ),
    Misbehaviour.TRUNCATED: lambda right: _half(right, ConnectionEnding.CLOSE),
    Misbehaviour.TRUNCATED_CHUNKED: _without_last_chunk,
    Misbehaviour.NUL: lambda right: _body(right, right.body.replace(b"\n", b"\n\x00", 1)),
    Misbehaviour.BAD_LINES: _bad_lines,
    Misbehaviour.EMPTY: lambda right: _body(right, b""),
    Misbehaviour.NOT_HTTP: lambda right: replace(
        right, raw=b"\x16\x03\x01SSH-2.0-not http\r\n\r\n"
    ),
    Misbehaviour.HTML: lambda right: _text(right, "text/html", "<!doctype html><p>hello</p>\n"),
    Misbehaviour.UNAVAILABLE: lambda right: _status(right, 503),
    Misbehaviour.NOT_FOUND: lambda right: _status(right, 404),
}
