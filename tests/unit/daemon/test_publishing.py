"""What becomes of the result of a pass, and that the loop goes on meanwhile."""

import asyncio
import threading
from types import SimpleNamespace

from reporter.daemon.main import Daemon
from reporter.daemon.one_pass import Before, RecentWrites, run_pass
from reporter.stacks.settings import FullDaemonSettings
from tests.unit.resolution.building import START, snapshot


class Told:
    """Stands for everything that is told of a pass; notes in which turn of the loop."""

    outdated = False

    def __init__(self, name, note):
        self._name = name
        self._note = note

    def __getattr__(self, what):
        return lambda *_, **__: self._note(f"{self._name}.{what}")


async def published():
    """What is told of a pass, in order, each with the turn of the loop and its thread."""
    done = run_pass(
        snapshot(), Before(), RecentWrites(), now=START, settings=FullDaemonSettings(), instance="a"
    )
    turn, calls = 0, []

    async def count():
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    names = ("state", "page", "metrics", "gate", "writers", "evidence", "changes")
    parts = {
        name: Told(name, lambda what: calls.append((what, turn, threading.get_ident())))
        for name in names
    }
    await Daemon.publish(SimpleNamespace(**parts), done)
    counting.cancel()
    return calls


async def test_what_takes_long_is_in_turns_of_its_own():
    """A thousand new faults make plan, page and log take milliseconds each; the Lease must not wait for all."""
    turns = {what: turn for what, turn, _ in await published()}
    assert turns["writers.offer"] < turns["page.passed"]


async def test_the_log_is_written_in_a_thread():
    """Five thousand changed findings would hold up the loop."""
    threads = {what: thread for what, _, thread in await published()}
    assert threads["changes.note"] != threads["page.passed"] == threading.get_ident()


async def test_nothing_comes_between_a_plan_and_its_gate():
    """What a pause of the process makes void must not be offered as new."""
    calls = await published()
    at = [what for what, *_ in calls].index("gate.planned")
    assert calls[at + 1] == ("writers.offer", *calls[at][1:])
