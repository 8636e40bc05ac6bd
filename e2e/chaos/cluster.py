"""A cluster for faults: the sample stack, two replicas behind a network each, an observer."""

import asyncio
import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self

import aiohttp

from e2e.chaos.bounds import Form
from e2e.chaos.judges import Key, Truth, lost
from e2e.chaos.observer import Observer
from e2e.envtest.binaries import cache, only_one
from e2e.envtest.commands import Access, run
from e2e.envtest.control_plane import ControlPlane, control_plane
from e2e.envtest.release import REPORTER, Release
from e2e.envtest.tcp_proxy import TcpProxy
from e2e.stack.api import Api
from e2e.stack.played import PlayedStack
from e2e.stack.stack import Stack
from e2e.stage import Installed, Stage
from lab.demo.story import CHAT, SEARCH
from locks.pip import WHEELS, command, locked
from tests.daemon.replica import passes, until

_PINNED: Final = Path(__file__).with_name("libfaketime.txt")
_BUILD: Final = Path(__file__).with_name("libfaketime-build.txt")
_LIBRARY: Final = Path("libfaketime/vendor/libfaketime/src/libfaketime.so.1")


def _library() -> Path:
    """Return libfaketime, building it if it is missing."""
    folder = cache() / "libfaketime" / hashlib.sha256(_PINNED.read_bytes()).hexdigest()[:12]
    with only_one(folder.with_suffix(".lock")):
        if not (folder / _LIBRARY).exists():
            _build(folder)
    return folder / _LIBRARY


def _build(folder: Path) -> None:
    print("chaos: building libfaketime, once per machine, some seconds", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        for what in (
            (*locked(_BUILD), WHEELS, "--target", f"{made}/build"),
            (*locked(_PINNED), "--no-build-isolation", "--target", f"{made}/new"),
        ):
            # A C compiler and make are needed.
            env = os.environ | {"MAKEFLAGS": "", "PYTHONPATH": f"{made}/build"}
            run(command("install", *what), env=env)
        Path(made, "new").rename(folder)


class Replica(Installed):
    """The real program behind a network of its own; its wall clock can be set if it `moves_clock`."""

    def __init__(
        self, release: Release, name: str, network: TcpProxy, *, moves_clock: bool, **settings: Any
    ) -> None:
        super().__init__(release, name, by=network.url, **settings)
        self.network = network
        self._clock = release.folder / f"{name}.clock"
        self._environment: dict[str, str] = {}
        if moves_clock:
            # Clocks that are never set, which measure leases and back-off, stay real.
            self._environment = {
                "LD_PRELOAD": str(_library()),
                "FAKETIME_TIMESTAMP_FILE": str(self._clock),
                "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            }

    def set_clock(self, seconds: int) -> None:
        """Set its wall clock to so many seconds ahead of the real one."""
        fresh = self._clock.with_suffix(".fresh")
        fresh.write_text(f"{seconds:+d}")
        fresh.replace(self._clock)

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


KEDA: Final = ("keda", "keda-operator")
GATEWAYS: Final = "gateways.gateway.networking.k8s.io"
GATEWAY: Final = f"{CHAT}-gw"
MODEL: Final = "mistral-7b"

STANDING: Final = Key("clusterKedaNotReady", "cluster")
"""A fault that stops no requests: no Ready is reported for models that do not serve."""
REPAIRED: Final = Key("inferencesetModelPodsNotReady", f"inferenceset/{SEARCH}/{MODEL}")
NEW: Final = Key("modelharnessGatewayProgrammingFailed", f"namespace/{CHAT}")

_READYS: Final = 7
"""Three namespaces and five models, without the one whose pods fail."""

_NAMES: Final = ("replica-a", "replica-b")
_QUIET_PASSES: Final = 2


@dataclass(frozen=True)
class Foundation:
    """The common base of many faults: servers with the chart installed."""

    plane: ControlPlane
    release: Release


@contextmanager
def foundation(logs: Path | None = None) -> Iterator[Foundation]:
    """Start servers, install the chart, and stop and remove everything afterwards.

    Args:
        logs: folder for the logs of servers and replicas at the end.
    """
    with tempfile.TemporaryDirectory(prefix="chaos-") as name:
        folder = Path(name)
        try:
            with control_plane(folder) as plane:
                release = Release.on(plane, "status", "status-system")
                asyncio.run(release.install(REPORTER))
                yield Foundation(plane, release)
        finally:
            if logs is not None:
                logs.mkdir(parents=True, exist_ok=True)
                for log in folder.glob("*.log"):
                    shutil.copy(log, logs)


@dataclass
class Cluster:
    """The cluster of a fault.

    Attributes:
        audited_from: where the entries of these replicas start in the audit log, in bytes.
        replicas: both, the first leader first.
        truths: the real faults of the stack.
    """

    plane: ControlPlane
    release: Release
    api: Api
    stack: Stack
    observer: Observer
    form: Form
    audited_from: int
    replicas: list[Replica] = field(default_factory=list)
    truths: list[Truth] = field(default_factory=list)

    @property
    def first(self) -> Replica:
        """The replica that leads at first."""
        return self.replicas[0]

    @property
    def second(self) -> Replica:
        """The replica that is the standby at first."""
        return self.replicas[1]

    @property
    def selector(self) -> str:
        """Label selector of what the release installed."""
        return f"app.kubernetes.io/instance={self.release.name}"

    async def account(self) -> tuple[str, str]:
        """Return namespace and name of the replicas' ServiceAccount."""
        return self.release.namespace, (await self.release.container()).account

    async def access(self) -> Access:
        _, account = await self.account()
        return await self.release.pod_access("like-a-replica", account)

    async def start_replicas(self) -> None:
        """Start both and wait until one of them leads."""
        await asyncio.gather(*(replica.start() for replica in self.replicas))
        await asyncio.gather(*(replica.ready() for replica in self.replicas))
        await until(self.leaders, "one of them leads")
        if await self.leaders() == [self.second.name]:
            self.replicas.reverse()

    def cut(self) -> None:
        """Reset all connections of both replicas."""
        for replica in self.replicas:
            replica.network.cut()

    async def prepare(self) -> None:
        """Set up the start of each fault: one part is down, and the pods of one model fail."""
        await self.stack.install()
        await self.stack.image_pull(SEARCH, MODEL, fails=True)
        await self.stack.scale(*KEDA, 0)
        self.truths = [Truth(STANDING), Truth(REPAIRED)]

    async def change(self) -> None:
        """Add a new fault to the stack, and repair another one."""
        self.truths.append(Truth(NEW, time.time()))
        await self.stack.condition(
            GATEWAYS, CHAT, GATEWAY, says=("Programmed", "False", "AddressNotUsable", "no port")
        )
        self.ends(Truth(REPAIRED))
        await self.stack.image_pull(SEARCH, MODEL, fails=False)

    def ends(self, truth: Truth) -> None:
        """Note that a fault of the stack has ended."""
        self.truths.remove(truth)
        self.truths.append(replace(truth, until=time.time()))

    async def told(self) -> None:
        """Wait until all initial faults are reported, and everything healthy is ready."""
        await until(lambda: not lost(self.observer.versions, self.truths), "the faults are told")
        await until(lambda: len(self.readys) >= _READYS, "the others are told to be ready")

    @property
    def readys(self) -> set[Key]:
        return {version.key for version in self.observer.versions if version.type == "Normal"}

    async def leaders(self) -> list[str]:
        lead = await asyncio.gather(*(each.holds_lease() for each in self.replicas))
        return [each.name for each, leads in zip(self.replicas, lead, strict=True) if leads]

    async def quiet(self) -> None:
        """Wait until the running replicas have made some more passes."""
        running = [each for each in self.replicas if each.process.returncode is None]
        await passes(running, _QUIET_PASSES)


@asynccontextmanager
async def cluster(
    base: Foundation, form: Form, *, moves_clock: bool = False
) -> AsyncIterator[Cluster]:
    """Return a cluster where everything is reported, and end it afterwards."""
    async with AsyncExitStack() as ending:
        api = await ending.enter_async_context(Api(base.plane.admin))
        stack = PlayedStack(api)
        observer = Observer(api)
        written = base.plane.audit_log.stat().st_size
        made = Cluster(base.plane, base.release, api, stack, observer, form, written)
        await Stage(api, stack, base.release.kubectl).forget()
        await made.prepare()
        await ending.enter_async_context(observer)
        ending.push_async_callback(_kill, made)
        for name in _NAMES:
            network = await ending.enter_async_context(TcpProxy(base.plane.admin.url))
            made.replicas.append(
                Replica(base.release, name, network, moves_clock=moves_clock, **form.settings)
            )
        await made.start_replicas()
        await made.told()
        yield made


async def _kill(made: Cluster) -> None:
    for replica in made.replicas:
        with contextlib.suppress(ProcessLookupError):
            await replica.kill()
