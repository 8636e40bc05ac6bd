"""The demo: a sandbox with a sample stack, the real daemon, faults, and the Events as they come."""

import asyncio
import shlex
import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from lab.demo.control_plane import CONTROL_PLANE, RUNTIME
from lab.demo.daemon import LISTENERS, daemon
from lab.demo.event_stream import EventStream, SeenEvent, say, say_command, say_event, say_header
from lab.demo.inferenceservice import INFERENCESERVICE
from lab.demo.llmisvc import LLMINFERENCESERVICE
from lab.demo.modelservice import MODELSERVICE
from lab.demo.modelserving import MODELSERVING
from lab.demo.sample_stack import load_stack, present
from lab.demo.story import Background, Expected, ModelPods, Scene, Step, Story, StoryCluster
from lab.sandbox.controllers import running
from reporter.catalogue.resources import COMPONENT, EVENT_NAMESPACE

_STEP_SECONDS: Final = 20.0
_LOOK_SECONDS: Final = 0.1
"""Seconds between two checks of the progress of a step."""

STORIES: Final[Mapping[str, Story]] = {
    "control-plane": CONTROL_PLANE,
    "runtime": RUNTIME,
    "modelserving": MODELSERVING,
    "modelservice": MODELSERVICE,
    "inferenceservice": INFERENCESERVICE,
    "llminferenceservice": LLMINFERENCESERVICE,
}


class DemoTiming(NamedTuple):
    """The pace of a story, in seconds.

    Attributes:
        grace: the daemon's grace.
        window: how long a fault of a serving pod must last.
        quiet: how long no further Event may come after a step.

    """

    grace: int
    window: int
    quiet: float


NORMAL: Final = DemoTiming(grace=4, window=15, quiet=2.0)
FAST: Final = DemoTiming(grace=1, window=3, quiet=0.3)


class Onlooker(Protocol):
    """Looks at the daemon's page while a story runs."""

    async def came(self, page: str) -> None:
        """Take the address of the page, before the first step."""

    async def saw(self, step: Step) -> None:
        """Look at the page at the end of a step, when no more Events come."""


async def run_demo(
    scenario: str = "control-plane",
    *,
    fast: bool = False,
    keep: bool = False,
    onlooker: Onlooker | None = None,
) -> int:
    """Run a story; return 0 only if every expected Event came, and no other."""
    story, pace = STORIES[scenario], FAST if fast else NORMAL
    with tempfile.TemporaryDirectory(prefix="status-reporter-demo-") as folder:
        kubeconfig, log = Path(folder, "kubeconfig.yaml"), Path(folder, "daemon.log")
        documents = load_stack(datetime.now(UTC))
        async with AsyncExitStack() as stack:
            sandbox = await stack.enter_async_context(
                running(documents, kubeconfig_path=kubeconfig)
            )
            pods = ModelPods(sandbox)
            flags = _flags(kubeconfig, pace, story)
            if story.scrapes:
                await stack.enter_async_context(pods)
                flags += ["--scrape-via=direct", f"--scrape-port={pods.port}"]
            say(f"# sandbox: {sandbox.url}")
            say(f"# daemon:  status-reporter run {shlex.join(flags)}")
            stream = await stack.enter_async_context(EventStream(sandbox.url))
            made = story.background(sandbox, say) if story.background is not None else Background()
            background = await stack.enter_async_context(made)
            page = await stack.enter_async_context(daemon(flags, log))
            if page is None:
                say("# FAILED: the daemon did not start.")
                _say_log(log)
                return 1
            say(f"# page:    {page}\n")
            if onlooker is not None:
                await onlooker.came(page)
            cluster = StoryCluster(sandbox, present)
            scene = Scene(cluster, pods, background)
            telling = _Telling(stream=stream, pace=pace, background=background, onlooker=onlooker)
            passed = await telling.tell(story, scene)
            if telling.missing or telling.not_over or not background.at_rest:
                _say_log(log)
            if keep and passed:
                await _stay(kubeconfig, page)
    return 0 if passed else 1


def _flags(kubeconfig: Path, pace: DemoTiming, story: Story) -> list[str]:
    graces = ",".join(f"{reason}={pace.grace}" for reason in story.graced)
    return [
        f"--kubeconfig={kubeconfig}",
        f"--startup-grace-seconds={pace.grace}",
        *LISTENERS,
        *([f"--grace={graces}"] if graces else []),
        *(flag.replace("{window}", str(pace.window)) for flag in story.flags),
    ]


async def _stay(kubeconfig: Path, page: str) -> None:
    say(f"\n# It goes on, and so does {page}; stop it with Ctrl-C. In another terminal:")
    say_command(
        f"kubectl --kubeconfig {kubeconfig} get events -n {EVENT_NAMESPACE} "
        f"--field-selector source={COMPONENT}"
    )
    await asyncio.Event().wait()


@dataclass(eq=False, slots=True, kw_only=True)
class _Telling:
    """Runs the steps of a story one by one and compares the Events with the expected ones."""

    stream: EventStream
    pace: DemoTiming
    background: Background
    onlooker: Onlooker | None
    surprises: list[SeenEvent] = field(default_factory=list)
    missing: list[Expected] = field(default_factory=list)
    not_over: list[Expected] = field(default_factory=list)

    async def tell(self, story: Story, scene: Scene) -> bool:
        """Return whether the Events were the expected ones."""
        began = asyncio.get_running_loop().time()
        for number, step in enumerate(story.steps, 1):
            if not await self._step(number, step, scene):
                self._explain()
                return False
        seconds = asyncio.get_running_loop().time() - began
        if self.surprises:
            say("\n# FAILED: Events that nothing explains:")
            for event in self.surprises:
                say_event(event)
            return False
        if verdict := self.background.verdict():
            say(f"# {verdict}")
        say(f"\n# Every expected Event came, and no other, in {seconds:.0f} s.")
        return True

    async def _step(self, number: int, step: Step, scene: Scene) -> bool:
        """Take a step; True if all its expected Events came."""
        say(f"# {number}. {step.told}")
        if number == 1:
            say_header()
        self.missing, self.not_over = list(step.expected), list(step.over)
        step.act(scene)
        now = asyncio.get_running_loop().time
        deadline = now() + self.pace.window + _STEP_SECONDS + step.seconds
        while self.missing or self.not_over or not self.background.at_rest:
            event = await self.stream.next(min(deadline, now() + _LOOK_SECONDS))
            if event is not None:
                self._take(event)
            elif now() >= deadline:
                return False
        quiet_until = now() + self.pace.quiet
        while (event := await self.stream.next(quiet_until)) is not None:
            self._take(event)
        for line in self.background.lines():
            say(line)
        if self.onlooker is not None:
            await self.onlooker.saw(step)
        say("")
        return True

    def _take(self, event: SeenEvent) -> None:
        """Print an Event and cross it off the list; an end of an episode is printed in short."""
        awaited = self.not_over if event.over else self.missing
        fitting = next((each for each in awaited if event.is_(each)), None)
        if fitting is not None:
            awaited.remove(fitting)
        if event.over:
            if fitting is not None:
                say(f"# over: {event.record.event.reason}")
            return
        say_event(event)
        if event.new and fitting is None and not any(map(event.becomes, awaited)):
            self.surprises.append(event)

    def _explain(self) -> None:
        for each in self.missing:
            say(f"# FAILED: did not come: {each.reason} for {each.subject} {each.text}".rstrip())
        for each in self.not_over:
            say(f"# FAILED: did not end: {each.reason} for {each.subject}")
        if not self.background.at_rest:
            say("# FAILED: the status does not say what there is, or it does not settle")


def _say_log(log: Path) -> None:
    say("# The daemon's last log lines:")
    for line in log.read_text("utf-8", "replace").splitlines()[-20:]:
        say(line)
