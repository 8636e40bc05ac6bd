"""Replicas of the daemon for tests: in this process, or as the real program in one of its own."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import IO, Any, Self

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from reporter.daemon import main
from reporter.daemon.listeners import connected
from reporter.stacks.settings import FullDaemonSettings

PATIENCE_SECONDS = 40.0
"""How long a condition may take to come true; only a failing test ever waits so long."""

SHORT_LEASE = {"lease_duration_seconds": 5.0}
"""For tests in which a leader ends without releasing it."""

LONG_LEASE = {"lease_duration_seconds": 300.0}
"""For tests that must not wait until it has run out, and of what is logged: no try fails because the machine
stutters."""


_inside: set[asyncio.Task[None]] = set()
"""The daemons in this process; should one fail, whoever waits need not wait longer."""


async def until(condition: Callable[[], object], what: str) -> Any:
    """Wait until `condition` holds, and return what it returned.

    It may be a coroutine function; an assertion or connection error in it counts as not yet. It is
    asked less often the longer it takes: a request costs a real API server and this process time that
    the daemon needs as well.
    """
    last: object = None
    pause = 0.02
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                for task in _inside:
                    if task.done():
                        task.result()
                try:
                    last = condition()
                    if isinstance(last, Awaitable):
                        last = await last
                except (AssertionError, aiohttp.ClientError, OSError) as error:
                    last = error
                else:
                    if last:
                        return last
                await asyncio.sleep(pause)
                pause = min(pause * 1.2, 0.1)
    except TimeoutError:
        raise AssertionError(f"in vain: {what}; last: {last!r}") from None


_FIRST_PORT = 20_000 + 100 * (os.getpid() % 120)
"""Below the ports that systems give to outgoing connections; each test process has its own range."""

_next_port = _FIRST_PORT

_kept: deque[socket.socket] = deque()
"""Sockets that keep ports, the last ones that were asked for: no test needs more at a time."""

_MOST_KEPT = 64


def free_port() -> int:
    """Return a port that nobody uses, and keep other test processes from taking it.

    It stays bound by a socket that does not listen. Servers may listen there all the same, as they
    set SO_REUSEADDR; whoever binds without it, as this function does, may not.
    """
    global _next_port  # noqa: PLW0603 - a counter for the whole process
    while True:
        _next_port += 1
        keeper = socket.socket()
        try:
            keeper.bind(("127.0.0.1", _next_port))
        except OSError:
            keeper.close()
            continue
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _kept.append(keeper)
        if len(_kept) > _MOST_KEPT:
            _kept.popleft().close()
        return _next_port


class Replica:
    """What is the same for both kinds: the listeners, and what they say."""

    def __init__(self, kubeconfig: Path, name: str, **settings: object) -> None:
        self.kubeconfig = kubeconfig
        self.name = name
        self.ports = {each: free_port() for each in ("metrics", "health-probe", "report")}
        self.settings: dict[str, Any] = {
            "resync_seconds": 1,
            "startup_grace_seconds": 0,
            "scrape_via": "off",
            **{
                f"{each.replace('-', '_')}_bind_address": f"127.0.0.1:{port}"
                for each, port in self.ports.items()
            },
            **settings,
        }

    async def start(self) -> Self:
        raise NotImplementedError

    async def stop(self) -> None:
        raise NotImplementedError

    async def get(self, listener: str, path: str, **options: Any) -> tuple[int, str]:
        """GET from one of the listeners; return status and text."""
        url = f"http://127.0.0.1:{self.ports[listener]}{path}"
        async with aiohttp.ClientSession() as session, session.get(url, **options) as answer:
            return answer.status, await answer.text()

    async def ready(self) -> Self:
        """Wait until /readyz is well."""

        async def is_ready() -> bool:
            return (await self.get("health-probe", "/readyz"))[0] == 200

        await until(is_ready, f"{self.name} is ready")
        return self

    async def report(self) -> dict[str, Any]:
        """Return the report of the newest pass."""
        status, text = await self.get("report", "/api/v1/report")
        assert status == 200, text
        return json.loads(text)

    async def dispositions(self) -> dict[tuple[str, str], str]:
        """Return the disposition of each finding by reason and subject; stale ones say so."""
        report = await self.report()
        return {
            (each["reason"], each["subject"]): each["disposition"] + " stale" * each["stale"]
            for each in report["findings"]
        }

    async def leads(self) -> bool:
        return bool((await self.report())["leading"])

    async def metric(self, name: str, **labels: str) -> float:
        """Return the sum of the samples of a metric that have these labels."""
        _, text = await self.get("metrics", "/metrics")
        return sum(
            sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == f"status_reporter_{name}" and labels.items() <= sample.labels.items()
        )

    async def passes(self, more: int = 2) -> None:
        """Wait until this many further passes have ended."""
        name = "pass_duration_seconds_count"
        first = await self.metric(name)

        async def have_ended() -> bool:
            return await self.metric(name) >= first + more

        await until(have_ended, f"{more} further passes")

    async def writes(self, **labels: str) -> float:
        """Return how many writes of Events there were, of a purpose or with an outcome."""
        return await self.metric("event_writes_total", **labels)


async def passes(replicas: Iterable[Replica], more: int = 2) -> None:
    """Wait until each replica has made this many further passes."""
    await asyncio.gather(*(replica.passes(more) for replica in replicas))


class Inside(Replica):
    """The daemon in this process."""

    _task: asyncio.Task[None] | None = None

    async def start(self) -> Self:
        self._stop = asyncio.Event()
        self._task = asyncio.create_task(self._run())
        _inside.add(self._task)
        await asyncio.sleep(0)
        return self

    async def _run(self) -> None:
        settings = FullDaemonSettings(**self.settings)
        if settings.resync_seconds == 1:
            # Less than a user may set, so that tests which count passes are quick.
            settings = settings.model_copy(update={"resync_seconds": 0.3})
        if settings.scrape_interval_seconds == 1:
            settings = settings.model_copy(update={"scrape_interval_seconds": 0.25})
        async with connected(kubeconfig=self.kubeconfig) as connection:
            await main.serve(connection, settings, self._stop, instance=self.name)

    async def stop(self) -> None:
        """Stop as SIGTERM does, and let what went wrong in it be seen."""
        if self._task is not None:
            task, self._task = self._task, None
            _inside.discard(task)
            self._stop.set()
            async with asyncio.timeout(PATIENCE_SECONDS):
                await task


class Program(Replica):
    """The real program."""

    process: asyncio.subprocess.Process
    code: Path | None = None
    _log: IO[bytes] | None = None

    async def start(self) -> Self:
        await self.start_with("--kubeconfig", str(self.kubeconfig), *self.flags)
        return self

    @property
    def flags(self) -> list[str]:
        """The settings as flags."""
        settings = {
            name.replace("_", "-"): str(value).lower() if value in (True, False) else value
            for name, value in self.settings.items()
        }
        return [f"--{name}={value}" for name, value in settings.items()]

    async def start_with(self, *flags: str, **variables: str) -> Self:
        """Start with nothing but these flags and environment variables."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith("STATUS_REPORTER_")}
        clean.pop("KUBECONFIG", None)
        if self._log is not None:  # of the process before
            self._log.close()
        self._log = self.kubeconfig.with_name(f"{self.name}.log").open("ab")
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "reporter",
            "run",
            *flags,
            stdout=self._log,
            stderr=self._log,
            cwd=self.code,
            env={**clean, "POD_NAME": self.name, **variables},
        )
        return self

    @property
    def output(self) -> str:
        return self.kubeconfig.with_name(f"{self.name}.log").read_text()

    def lines(self, event: str = "") -> list[dict[str, Any]]:
        """Return the log, of one kind of line or of all."""
        lines = [json.loads(line) for line in self.output.splitlines()]
        return [line for line in lines if not event or line["event"] == event]

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    async def ended(self) -> int:
        """Wait for the end and return the exit status."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.process.wait()

    async def stop(self) -> None:
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                await self.ended()
            except TimeoutError:
                self.process.kill()
                await self.process.wait()
                raise
        self._log.close()
