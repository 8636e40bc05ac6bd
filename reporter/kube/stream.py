"""The body of a watch: lines of any length, up to a limit, on a connection that is kept alive."""

import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

import aiohttp

from reporter.kube.errors import AnswerTooLarge, mapped

FRAME_BYTES: Final = 8 * 2**20
"""Longest watch frame that is read; etcd takes requests of at most 1.5 MiB (`--max-request-bytes`)."""

_KEEP_ALIVE: Final = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
"""A vanished peer is noticed after a minute; aiohttp sets none of this."""


def keep_alive(response: aiohttp.ClientResponse) -> None:
    """Turn TCP keep-alive on for the connection of an answer that is still being read."""
    connection = response.connection
    transport = connection.transport if connection is not None else None
    sock = transport.get_extra_info("socket") if transport is not None else None
    if sock is None:
        return
    with suppress(OSError):  # the connection may just have been lost, which reading will tell
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEP_ALIVE:
            if hasattr(socket, option):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


class LineStream:
    """The lines of an answer, as they come."""

    def __init__(self, content: aiohttp.StreamReader) -> None:
        self._content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield each line without its end; a clean end of the stream ends the iteration.

        Raises:
            ConnectionFailed: the stream was cut, or nothing came for too long.
            AnswerTooLarge: a line exceeds the limit; what follows cannot be read.

        """
        pending = bytearray()
        with mapped("watching"):
            async for chunk in self._content.iter_any():
                scanned = len(pending)
                pending += chunk
                if pending.find(b"\n", scanned) < 0:
                    _check(len(pending))
                    continue
                *lines, rest = bytes(pending).split(b"\n")
                pending = bytearray(rest)
                for line in lines:
                    _check(len(line))
                    if line.strip():
                        yield line
                _check(len(pending))
        if pending.strip():
            yield bytes(pending)


def _check(size: int) -> None:
    if size > FRAME_BYTES:
        raise AnswerTooLarge(f"watching: a frame has more than {FRAME_BYTES} bytes")
