"""The demo: a sandbox with a sample stack, the real daemon, faults, and the Events as they come."""

import asyncio
import os
import shlex
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from reporter.catalogue.resources import COMPONENT, EVENT_NAMESPACE
from reporter.demo.stack import load_stack
from reporter.demo.story import GRACED, STORY, Cluster, Expected, Step
from reporter.demo.stream import EventStream, SeenEvent
from reporter.model.instant import rfc3339
from reporter.sandbox.serve import running

_STEP_SECONDS: Final = 20.0
_STOP_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast the story is told, in seconds.

    `grace` is the daemon's grace, `quiet` how long after a step no further Event may come.
    """

    grace: int
    quiet: float


NORMAL: Final = Pace(grace=4, quiet=2.0)
FAST: Final = Pace(grace=1, quiet=0.3)


async def run_demo(*, fast: bool = False, keep: bool = False) -> int:
    """Tell the story and return 0 only if every expected Event came, and no other."""
    pace = FAST if fast else NORMAL
    with tempfile.TemporaryDirectory(prefix="status-reporter-demo-") as folder:
        kubeconfig, log = Path(folder, "kubeconfig.yaml"), Path(folder, "daemon.log")
        documents = load_stack(datetime.now(UTC))
        async with running(documents, kubeconfig_path=kubeconfig) as sandbox:
            flags = _flags(kubeconfig, pace)
            _say(f"# sandbox: {sandbox.url}")
            _say(f"# daemon:  status-reporter run {shlex.join(flags)}\n")
            async with EventStream(sandbox.url) as stream, _daemon(flags, log):
                cluster = Cluster(sandbox, lambda: rfc3339(datetime.now(UTC)))
                story = _Story(stream, pace, log)
                told = await story.tell(cluster)
                if keep and told:
                    await _stay(kubeconfig)
    return 0 if told else 1


def _flags(kubeconfig: Path, pace: Pace) -> list[str]:
    graces = ",".join(f"{reason}={pace.grace}" for reason in GRACED)
    return [
        f"--kubeconfig={kubeconfig}",
        f"--startup-grace-seconds={pace.grace}",
        f"--grace={graces}",
        "--metrics-bind-address=0",
        "--health-probe-bind-address=0",
        "--report-bind-address=0",
    ]


@asynccontextmanager
async def _daemon(flags: list[str], log: Path) -> AsyncIterator[None]:
    """Run the real program while the context is open; its log lines go to a file."""
    clean = {name: each for name, each in os.environ.items() if not _is_setting(name)}
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "reporter", "run", *flags, stderr=output, env=clean
        )
        try:
            yield
        finally:
            if process.returncode is None:
                process.terminate()
            try:
                async with asyncio.timeout(_STOP_SECONDS):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


def _is_setting(name: str) -> bool:
    return name.startswith("STATUS_REPORTER_")


async def _stay(kubeconfig: Path) -> None:
    _say("\n# It goes on; stop it with Ctrl-C. In another terminal:")
    _say(
        f"kubectl --kubeconfig {kubeconfig} get events -n {EVENT_NAMESPACE} "
        f"--field-selector source={COMPONENT}"
    )
    await asyncio.Event().wait()


class _Story:
    """Tells the steps one by one and compares what comes with what must come."""

    def __init__(self, stream: EventStream, pace: Pace, log: Path) -> None:
        self._stream = stream
        self._pace = pace
        self._log = log
        self._surprises: list[SeenEvent] = []

    async def tell(self, cluster: Cluster) -> bool:
        """Return whether the Events were the expected ones."""
        began = asyncio.get_running_loop().time()
        for number, step in enumerate(STORY, 1):
            missing = await self._step(number, step, cluster)
            if missing:
                self._explain(missing)
                return False
        seconds = asyncio.get_running_loop().time() - began
        if self._surprises:
            _say("\n# FAILED: Events that nothing explains:")
            for event in self._surprises:
                _say(event.line())
            return False
        _say(f"\n# Every expected Event came, and no other, in {seconds:.0f} s.")
        return True

    async def _step(self, number: int, step: Step, cluster: Cluster) -> list[Expected]:
        _say(f"# {number}. {step.told}")
        if number == 1:
            _say(SeenEvent.header())
        missing = list(step.expected)
        step.act(cluster)
        deadline = asyncio.get_running_loop().time() + _STEP_SECONDS
        while missing:
            event = await self._stream.next(deadline)
            if event is None:
                return missing
            self._take(event, missing)
        quiet_until = asyncio.get_running_loop().time() + self._pace.quiet
        while (event := await self._stream.next(quiet_until)) is not None:
            self._take(event, missing)
        _say("")
        return []

    def _take(self, event: SeenEvent, missing: list[Expected]) -> None:
        """Print an Event and cross it off; one that only ends what was told before is no news."""
        if event.over:
            return
        _say(event.line())
        fitting = next((each for each in missing if event.is_(each)), None)
        if fitting is not None:
            missing.remove(fitting)
        elif event.new:
            self._surprises.append(event)

    def _explain(self, missing: list[Expected]) -> None:
        _say("\n# FAILED: these Events did not come:")
        for each in missing:
            _say(f"{each.reason} for {each.subject} {each.text}".rstrip())
        _say("# The daemon's last log lines:")
        for line in self._log.read_text("utf-8", "replace").splitlines()[-20:]:
            _say(line)


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201  # this is the demo's output
