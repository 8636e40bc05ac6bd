"""Misbehaviour of endpoints: each is a change to the right answer, as data."""

import gzip
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import cache
from typing import Final

from lab.simulation.http_answer import ConnectionEnding, HttpAnswer

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
