"""The live cluster, for commands that only look."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

from reporter.cli.configure import ProgramSettings
from reporter.kube.client import KubeClient, connect
from reporter.kube.errors import (
    ConnectionFailed,
    KubeError,
    NotJson,
    ServerError,
    TooManyRequests,
    Unauthorized,
)
from reporter.kube.live import LiveCluster
from reporter.snapshot.snapshot import Snapshot

LISTED_SECONDS: Final = 30.0
"""Longest time for all lists, however large the cluster is."""

PATIENCE_SECONDS: Final = 7.0
"""How long nothing good may come of the API server until that is said; somebody waits for it."""

_TRIES: Final = 7
"""How often a server that says it is not well is asked again, spread over the patience."""

_VERSION: Final = "/version"
_READYZ: Final = "see what the API server says of itself: kubectl get --raw /readyz?verbose"

ResultT = TypeVar("ResultT")


@dataclass(slots=True)
class _Patience:
    """Waits as long as the API server goes on answering well.

    One that refuses or answers 503 goes on answering too, and yet nothing comes of it.
    """

    seconds: float
    _scope: asyncio.Timeout | None = None

    def observe(self, _verb: str, _resource: str, code: str) -> None:
        """Take note of an answer."""
        if code.startswith("2") and self._scope is not None and not self._scope.expired():
            self._scope.reschedule(asyncio.get_running_loop().time() + self.seconds)

    async def first_of(self, *tasks: asyncio.Task[None]) -> None:
        """Return when one of the tasks is done, or nothing good has come for too long."""
        try:
            async with asyncio.timeout(self.seconds) as self._scope:
                await asyncio.wait(
                    tasks, timeout=LISTED_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
        except TimeoutError:
            return
        finally:
            self._scope = None


@asynccontextmanager
async def watched_cluster(
    settings: ProgramSettings,
    on_change: Callable[[], None] = lambda: None,
    *,
    namespace: str = "",
    watch: bool = True,
    patience: float = PATIENCE_SECONDS,
) -> AsyncIterator[LiveCluster]:
    """Read the cluster; it is yielded once each kind is listed or declared unknown.

    Args:
        settings: the way to the cluster, and what is read of it.
        on_change: called whenever a snapshot would differ.
        namespace: read only what is in it; empty for all.
        watch: go on watching; else everything is listed once.
        patience: seconds without a good answer after which nothing more is waited for.

    Raises:
        KubeError: there is no usable configuration, or nobody answers who lets us in.

    """
    waiting = _Patience(patience)
    client = await connect(
        kubeconfig=settings.kubeconfig, context=settings.context, observer=waiting.observe
    )
    async with client:
        await require_answer(client, patience)
        cluster = LiveCluster(
            client, settings, on_change=on_change, namespace=namespace, watch=watch
        )
        reading = asyncio.create_task(cluster.run())
        listed = asyncio.create_task(cluster.wait_listed())
        try:
            await waiting.first_of(reading, listed)
            if reading.done():
                reading.result()
            if not cluster.reads_anything:
                raise KubeError(
                    f"{client.server}: nothing could be listed within {patience:.0f} s; {cluster.awaited()}; "
                    f"{_READYZ}"
                )
            yield cluster
        finally:
            for task in (reading, listed):
                task.cancel()
            await asyncio.gather(reading, listed, return_exceptions=True)


async def require_answer(client: KubeClient, patience: float = PATIENCE_SECONDS) -> None:
    """Ask for what everybody may read: lists and watches would only try again and again.

    Raises:
        KubeError: there is no API server, it is not well, or it does not know us; the message names it,
            and what was tried.

    """
    loop = asyncio.get_running_loop()
    began, tries, pause = loop.time(), 0, patience / _TRIES
    while True:
        left = began + patience - loop.time()
        tries += 1
        try:
            await client.request(
                "GET", _VERSION, verb="get", resource="version", timeout=max(left, pause)
            )
        except Unauthorized as error:
            raise KubeError(
                f"{client.server}: credentials expired or refused ({error}); "
                f"to renew: {client.renewal}"
            ) from None
        except (ServerError, TooManyRequests) as error:
            if left > pause:
                await asyncio.sleep(pause)
                continue
            raise KubeError(_tried(client, error, tries, seconds=loop.time() - began)) from None
        except (ConnectionFailed, NotJson) as error:
            raise KubeError(_tried(client, error, tries, seconds=loop.time() - began)) from None
        except KubeError:
            # It is there; the lists will show what it lets us read.
            return
        return


async def result_of(
    reading: asyncio.Task[ResultT],
    listed: asyncio.Event,
    *,
    server: str,
    patience: float = PATIENCE_SECONDS,
) -> ResultT:
    """Return what comes of a task that lists; `listed` is set with its first good answer.

    Raises:
        KubeError: there was none in time. Later on each list has its own time.

    """
    first = asyncio.create_task(listed.wait())
    try:
        await asyncio.wait((reading, first), timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        if not reading.done() and not listed.is_set():
            raise KubeError(f"{server}: nothing could be listed within {patience:.0f} s; {_READYZ}")
        return await reading
    finally:
        for task in (reading, first):
            task.cancel()
        await asyncio.gather(reading, first, return_exceptions=True)


def _tried(client: KubeClient, error: KubeError, tries: int, *, seconds: float) -> str:
    times = "once" if tries == 1 else f"{tries} times"
    long = f" in {seconds:.0f} s" if seconds >= 1 else ""
    return f"{client.server}: {error} (tried {times}{long}: GET {_VERSION})"


async def as_listed(_cluster: LiveCluster, snapshot: Snapshot) -> Snapshot:
    """Return a snapshot without anything that is read besides."""
    return snapshot


async def read_cluster(
    settings: ProgramSettings,
    *,
    namespace: str = "",
    patience: float = PATIENCE_SECONDS,
    explained: Callable[[LiveCluster, Snapshot], Awaitable[Snapshot]] = as_listed,
) -> Snapshot:
    """Return the cluster as it is now; everything is listed once, and nothing is watched.

    Args:
        settings: the way to the cluster, and what is read of it.
        namespace: read only what is in it; empty for all.
        patience: seconds without a good answer after which nothing more is waited for.
        explained: reads what explains the faults in it.

    Raises:
        KubeError: there is no usable configuration, or nobody answers who lets us in.

    """
    looked = watched_cluster(settings, namespace=namespace, watch=False, patience=patience)
    async with looked as cluster:
        return await explained(cluster, cluster.snapshot())
