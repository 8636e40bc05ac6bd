"""Connections that are closed for certain when their owner is done."""

import asyncio
import contextlib
import socket
import weakref
from typing import Final

from aiohttp import AddrInfoType

_END_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.005


class Connections:
    """Makes the sockets of a connector and ends them.

    A cancelled request leaves a TLS connection that waits for the other side to close, which takes
    longer than the event loop of a test.
    """

    def __init__(self) -> None:
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def make(self, address: AddrInfoType) -> socket.socket:
        """Return a socket for an address."""
        family, kind, protocol, *_ = address
        made = socket.socket(family, kind, protocol)
        self._sockets.add(made)
        return made

    async def end(self) -> None:
        """Close all and wait until they are closed."""
        for each in self._open():
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        async with asyncio.timeout(_END_SECONDS):
            while self._open():  # noqa: ASYNC110 - a closed socket tells nobody
                await asyncio.sleep(_POLL_SECONDS)

    def _open(self) -> list[socket.socket]:
        return [each for each in self._sockets if each.fileno() != -1]
