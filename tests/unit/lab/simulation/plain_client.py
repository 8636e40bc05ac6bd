"""A client that tells exactly what came over the wire."""

import asyncio
from dataclasses import dataclass
from typing import Final

from lab.simulation import ModelPod

_PIECE_BYTES: Final = 65_536


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
    pod: ModelPod, path: str = "/metrics", *, patience: float = 5.0, limit: int = 1 << 27
) -> Received:
    """Ask a pod once, and read until the end, the limit, or `patience` seconds without a byte."""
    reader, writer = await asyncio.open_connection(pod.host, pod.port)
    received, ended = bytearray(), "closed"
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: pod\r\n\r\n".encode())
        while len(received) < limit:
            async with asyncio.timeout(patience):
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
    head, _, body = bytes(received).partition(b"\r\n\r\n")
    return Received(head.decode("latin-1"), body, ended)
