"""What endpoints do wrong: each misbehaviour is a change to the right answer, as data."""

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
    """What a pod does instead of answering well."""

    HANG = "hang"
    """The request is read and never answered."""

    HANG_MIDWAY = "hang-midway"
    RESET_AT_ONCE = "reset-at-once"
    RESET_MIDWAY = "reset-midway"
    CLOSE_AT_ONCE = "close-at-once"
    SLOW_DRIP = "slow-drip"
    """One byte each 0.2 s: every read succeeds, the whole takes hours."""

    ENDLESS_BODY = "endless-body"
    HUGE_PAGE = "huge-page"
    """A right page of 12 MiB."""

    LONG_LINE = "long-line"
    LONG_HEADER = "long-header"
    GZIP = "gzip"
    """Compressed, although the client did not ask for it."""

    GZIP_BOMB = "gzip-bomb"
    """64 MiB in 64 KiB."""

    TRUNCATED = "truncated"
    """Ends before its `Content-Length`."""

    TRUNCATED_CHUNKED = "truncated-chunked"
    CHUNKED = "chunked"
    """Nothing wrong; other servers do so."""

    NO_FINAL_NEWLINE = "no-final-newline"
    CARRIAGE_RETURNS = "carriage-returns"
    BYTE_ORDER_MARK = "byte-order-mark"
    INVALID_UTF8 = "invalid-utf8"
    WRONG_CHARSET = "wrong-charset"
    NUL = "nul"
    BAD_LINE = "bad-line"
    BAD_LINES = "bad-lines"
    DUPLICATE_SERIES = "duplicate-series"
    EMPTY = "empty"
    NOT_HTTP = "not-http"
    NO_CONTENT_TYPE = "no-content-type"
    JSON = "json"
    """What KAITO's transformers runtime serves."""

    HTML = "html"
    SERVER_ERROR = "server-error"
    UNAVAILABLE = "unavailable"
    NOT_FOUND = "not-found"
    REDIRECT = "redirect"
    """To the pod's `location`."""


def misbehave(kind: Misbehaviour, answer: HttpAnswer, location: str) -> HttpAnswer:
    """Return what a pod of this kind sends in place of `answer`."""
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


def _gzip(answer: HttpAnswer, body: bytes) -> HttpAnswer:
    return replace(_body(answer, body), headers=(("Content-Encoding", "gzip"),))


def _chunked(answer: HttpAnswer, end: bytes) -> HttpAnswer:
    body = b"%x\r\n%s\r\n%s" % (len(answer.body), answer.body, end)
    headers = (("Transfer-Encoding", "chunked"),)
    return replace(answer, body=body, content_length=None, headers=headers)


def _bad_lines(answer: HttpAnswer, count: int) -> HttpAnswer:
    bad = b'vllm:num_requests_running{model_name="x} 1_0\n' * count
    return _body(answer, bad + answer.body)


def _invalid_utf8(answer: HttpAnswer) -> HttpAnswer:
    return _body(answer, answer.body.replace(b'model_name="', b'model_name="\xff'))


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
    Misbehaviour.GZIP: lambda right: _gzip(right, gzip.compress(right.body)),
    Misbehaviour.GZIP_BOMB: lambda right: _gzip(right, _bomb()),
    Misbehaviour.TRUNCATED: lambda right: _half(right, ConnectionEnding.CLOSE),
    Misbehaviour.TRUNCATED_CHUNKED: lambda right: _chunked(right, b""),
    Misbehaviour.CHUNKED: lambda right: _chunked(right, b"0\r\n\r\n"),
    Misbehaviour.NO_FINAL_NEWLINE: lambda right: _body(right, right.body.rstrip(b"\n")),
    Misbehaviour.CARRIAGE_RETURNS: lambda right: _body(right, right.body.replace(b"\n", b"\r\n")),
    Misbehaviour.BYTE_ORDER_MARK: lambda right: _body(right, b"\xef\xbb\xbf" + right.body),
    Misbehaviour.INVALID_UTF8: _invalid_utf8,
    Misbehaviour.WRONG_CHARSET: lambda right: replace(
        right, content_type="text/plain; version=0.0.4; charset=utf-16"
    ),
    Misbehaviour.NUL: lambda right: _body(right, right.body.replace(b"\n", b"\n\x00", 1)),
    Misbehaviour.BAD_LINE: lambda right: _bad_lines(right, 1),
    Misbehaviour.BAD_LINES: lambda right: _bad_lines(right, 1000),
    Misbehaviour.DUPLICATE_SERIES: lambda right: _body(right, right.body * 2),
    Misbehaviour.EMPTY: lambda right: _body(right, b""),
    Misbehaviour.NOT_HTTP: lambda right: replace(
        right, raw=b"\x16\x03\x01SSH-2.0-not http\r\n\r\n"
    ),
    Misbehaviour.NO_CONTENT_TYPE: lambda right: replace(right, content_type=None),
    Misbehaviour.JSON: lambda right: _text(right, "application/json", '{"loaded": true}\n'),
    Misbehaviour.HTML: lambda right: _text(right, "text/html", "<!doctype html><p>hello</p>\n"),
    Misbehaviour.SERVER_ERROR: lambda right: _status(right, 500),
    Misbehaviour.UNAVAILABLE: lambda right: _status(right, 503),
    Misbehaviour.NOT_FOUND: lambda right: _status(right, 404),
}
