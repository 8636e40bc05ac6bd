"""A replica of the release that can be killed and whose network and clock can be disturbed."""

import asyncio
from typing import Any, Self

import aiohttp

from e2e.chaos.faketime import environment, set_clock
from e2e.envtest.release import Release
from e2e.envtest.tcp_proxy import TcpProxy
from e2e.replica import Installed


class Replica(Installed):
    """The real program behind a network of its own.

    Args:
        release: that it belongs to.
        name: of its pod.
        network: between it and the API server.
        moves_clock: its wall clock can be set while it runs.
        settings: of the daemon.
    """

    def __init__(
        self, release: Release, name: str, network: TcpProxy, *, moves_clock: bool, **settings: Any
    ) -> None:
        super().__init__(release, name, by=network.url, **settings)
        self.network = network
        self._clock = release.folder / f"{name}.clock"
        self._environment = environment(self._clock) if moves_clock else {}

    def set_clock(self, seconds: int) -> None:
        """Set its wall clock to so many seconds ahead of the real one."""
        set_clock(self._clock, seconds)

    async def start_with(self, *flags: str, **variables: str) -> Self:
        """Start it with the right time."""
        self.set_clock(0)
        await super().start_with(*flags, **{**variables, **self._environment})
        return self

    async def kill(self) -> None:
        """End it at once, whatever state it is in."""
        if hasattr(self, "process"):
            if self.process.returncode is None:
                self.process.kill()
            await self.process.wait()
            self._log.close()

    async def holds_lease(self) -> bool:
        """Tell whether it runs, answers and leads."""
        if self.process.returncode is not None:
            return False
        try:
            async with asyncio.timeout(2):
                return await self.leads()
        except (TimeoutError, aiohttp.ClientError, OSError, AssertionError):
            return False
