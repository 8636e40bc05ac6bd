"""A client that tells exactly what came over the wire."""

import asyncio
from dataclasses import dataclass
from typing import Final

from lab.simulation import ModelPod

_PIECE_BYTES: Final = 65_536
_HEAD_ENDS: Final = b"\r\n\r\n"


@dataclass(frozen=True)
class Received:
    """What came, and how it ended: `closed`, `reset`, `waiting` or `enough`."""

    head: str
    body: bytes
    ended: str

    @property
    def status(self) -> int:
        """Return the status of the answer."""
        return int(self.head.split(" ", 2)[1])

    def header(self, name: str) -> str | None:
        """Return the value of a header."""
        lines = (line.partition(": ") for line in self.head.split("\r\n")[1:])
        return next((value for found, _, value in lines if found == name), None)


async def get(
    pod: ModelPod,
    path: str = "/metrics",
    *,
    patience: float = 5.0,
    first: float | None = None,
    limit: int = 1 << 27,
) -> Received:
    """Ask a pod once, and read until the end, or to `limit` bytes of the body.

    It waits `patience` seconds for each byte, and for the first one `first` where that is given.
    """
    reader, writer = await asyncio.open_connection(pod.host, pod.port)
    received, ended = bytearray(), "closed"
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: pod\r\n\r\n".encode())
        while _body_bytes(received) < limit:
            async with asyncio.timeout(patience if received or first is None else first):
                piece = await reader.read(_PIECE_BYTES)
            if not piece:
                break
            received += piece
        else:
            ended = "enough"
    except TimeoutError:
        ended = "waiting"
    except ConnectionResetError:
        ended = "reset"
    finally:
        writer.transport.abort()
    head, _, body = bytes(received).partition(_HEAD_ENDS)
    return Received(head.decode("latin-1"), body, ended)


def _body_bytes(received: bytearray) -> int:
    head = received.find(_HEAD_ENDS)
    return 0 if head < 0 else len(received) - head - len(_HEAD_ENDS)
