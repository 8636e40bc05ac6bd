"""Tells a candidate at once that the Lease is free.

A candidate that only polls waits for up to two retry periods after the leader has released the Lease:
seconds in which a new fault is told by nobody. So it watches the Lease too. It still polls: a watch
that is refused or hangs costs those seconds and no more, and only a read decides who may lead.
"""

import asyncio
import random
from typing import Final

import msgspec
import structlog

from reporter.kube.client import KubeClient
from reporter.kube.errors import KubeError, mapped

_SERVER_SECONDS: Final = 300
_IDLE_SECONDS: Final = _SERVER_SECONDS + 30.0
_PAUSE_SECONDS: Final = 30.0

log = structlog.get_logger(__name__)


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None


class _Lease(msgspec.Struct, frozen=True):
    spec: _Spec | None = None


class _Frame(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw

    def frees(self) -> bool:
        """Tell whether nobody holds the Lease any more."""
        if self.type not in ("ADDED", "MODIFIED"):
            return self.type == "DELETED"
        spec = msgspec.json.decode(self.object, type=_Lease).spec
        return spec is None or not spec.holder_identity


class LeaseWatch:
    """Watches one Lease while `run` runs, and sets `free` when nobody holds it.

    Args:
        client: makes the requests.
        path: of all Leases of the namespace.
        name: of the Lease; the right to watch may be granted for it alone.
        chance: keeps candidates out of step.

    """

    def __init__(self, client: KubeClient, path: str, name: str, *, chance: random.Random) -> None:
        self.free = asyncio.Event()
        self._client = client
        self._path = path
        self._name = name
        self._chance = chance

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            pause = 1.0
            try:
                await self._watch()
            except KubeError as error:
                log.debug("lease_not_watched", lease=self._name, cause=str(error))
                pause = _PAUSE_SECONDS
            await asyncio.sleep(pause * (1 + self._chance.random()))

    async def _watch(self) -> None:
        async with self._client.stream(
            self._path,
            resource="leases",
            params={
                "watch": "true",
                "fieldSelector": f"metadata.name={self._name}",
                "timeoutSeconds": str(_SERVER_SECONDS),
            },
            idle_seconds=_IDLE_SECONDS,
        ) as lines:
            async for line in lines:
                with mapped("watching the Lease"):
                    if msgspec.json.decode(line, type=_Frame).frees():
                        self.free.set()
