"""The live cluster, for commands that only read."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from reporter.cli.configure import ProgramSettings
from reporter.kube import errors
from reporter.kube.client import KubeClient, connect
from reporter.kube.decode import ListBody
from reporter.kube.informer import PageTaker
from reporter.kube.live import LISTED_SECONDS, LiveCluster
from reporter.model.objects import Namespace
from reporter.snapshot.snapshot import Snapshot

PATIENCE_SECONDS: Final = 7.0
"""Time without a successful answer after which a command fails: a user is waiting."""

_TYPING_SECONDS: Final = 2.0
_TRIES: Final = 7
"""Tries of a server that reports that it is unwell, spread over the patience."""

_VERSION: Final = "/version"


@asynccontextmanager
async def watched_cluster(
    settings: ProgramSettings,
    on_change: Callable[[], None] = lambda: None,
    *,
    namespace: str = "",
    watch: bool = True,
    patience: float = PATIENCE_SECONDS,
    longest: float = LISTED_SECONDS,
    on_page: PageTaker = lambda *_: None,
) -> AsyncIterator[LiveCluster]:
    """Read the cluster, and yield it once each kind is listed or declared unknown, after `patience`
    seconds without a successful answer, or after `longest` seconds in all.
    """
    loop = asyncio.get_running_loop()
    answered = 0.0

    def observe(_verb: str, _resource: str, code: str) -> None:
        # A server that refuses or answers 503 keeps answering too, but to no avail.
        nonlocal answered
        answered = loop.time() if code.startswith("2") else answered

    client = await connect(
        kubeconfig=settings.kubeconfig, context=settings.context, observer=observe
    )
    async with client:
        await require_answer(client, patience)
        cluster = LiveCluster(
            client,
            settings,
            on_change=on_change,
            on_page=on_page,
            listed_within=longest,
            namespace=namespace,
            watch=watch,
        )
        reading = asyncio.create_task(cluster.run())
        listed = asyncio.create_task(cluster.wait_listed())
        try:
            answered = loop.time()
            end = answered + longest
            while (left := min(answered + patience, end) - loop.time()) > 0:
                if reading.done() or listed.done():
                    break
                tasks = (reading, listed)
                await asyncio.wait(tasks, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
            if not cluster.reads_anything:
                raise errors.KubeError(
                    f"{client.server}: nothing could be listed within {patience:.0f} s; "
                    f"{cluster.awaited()}; see what the API server says of itself: "
                    "kubectl get --raw /readyz?verbose"
                )
            yield cluster
        finally:
            for task in (reading, listed):
                task.cancel()
            await asyncio.gather(reading, listed, return_exceptions=True)


async def namespaces(kubeconfig: str | None, context: str | None) -> tuple[str, ...]:
    """Return the names of namespaces, with a short timeout: a user is typing."""
    path = Path(kubeconfig) if kubeconfig else None
    client = await connect(kubeconfig=path, context=context)
    async with client, asyncio.timeout(_TYPING_SECONDS):
        answer = await client.request(
            "GET", "/api/v1/namespaces", verb="list", resource="namespaces"
        )
    found = answer.decode(ListBody[Namespace]).items or ()
    return tuple(each.metadata.name for each in found)


async def require_answer(client: KubeClient, patience: float = PATIENCE_SECONDS) -> None:
    """Request the version, which any user may read; lists and watches would retry for ever."""
    loop = asyncio.get_running_loop()
    began, tries, pause = loop.time(), 0, patience / _TRIES
    while True:
        left = began + patience - loop.time()
        tries += 1
        try:
            await client.request(
                "GET", _VERSION, verb="get", resource="version", timeout=max(left, pause)
            )
        except errors.Unauthorized as error:
            raise errors.KubeError(
                f"{client.server}: credentials expired or refused ({error}); "
                f"to renew: {client.renewal}"
            ) from None
        except (
            errors.ServerError,
            errors.TooManyRequests,
            errors.ConnectionFailed,
            errors.NotJson,
        ) as error:
            if isinstance(error, errors.ServerError | errors.TooManyRequests) and left > pause:
                await asyncio.sleep(pause)
                continue
            seconds = loop.time() - began
            times = "once" if tries == 1 else f"{tries} times"
            long = f" in {seconds:.0f} s" if seconds >= 1 else ""
            raise errors.KubeError(
                f"{client.server}: {error} (tried {times}{long}: GET {_VERSION})"
            ) from None
        except errors.KubeError:
            # The server is there; the lists will show what we may read.
            return
        return


async def read_cluster(
    settings: ProgramSettings, *, namespace: str = "", patience: float = PATIENCE_SECONDS
) -> Snapshot:
    looked = watched_cluster(settings, namespace=namespace, watch=False, patience=patience)
    async with looked as cluster:
        return cluster.snapshot()
