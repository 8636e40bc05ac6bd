"""HTTP answers as values, so that misbehaviour is a change of such a value."""

import asyncio
import socket
import struct
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from typing import Final

_ENDLESS_PIECE_BYTES: Final = 65_536
_LINGER_NOT: Final = struct.pack("ii", 1, 0)
"""SO_LINGER value with which closing a socket resets the connection."""


class ConnectionEnding(Enum):
    """How the connection ends after the body."""

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
        """Return the status line and the headers."""
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
            writer.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT
            )
            writer.transport.abort()
        case ConnectionEnding.HANG:
            await reader.read()
        case ConnectionEnding.CLOSE:
            pass


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
