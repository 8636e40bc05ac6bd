"""Plays the acts and holds what is told to what each has to tell."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from tests.engine.acts import LASTS, PATIENCE, Act, Harm
from tests.engine.load import Clients
from tests.engine.server import Server
from tests.engine.watching import Change, Watch


@dataclass
class Played:
    """An act that was played.

    Attributes:
        act: that it was.
        began: seconds since the start.
        changes: what began or ceased to fire.
        wrong: why it failed, if it did.
        outcomes: what became of how many requests.

    """

    act: Act
    began: float
    changes: list[Change] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    outcomes: dict[str, int] = field(default_factory=dict)


async def play(
    acts: tuple[Act, ...], server: Server, watch: Watch, *, say: Callable[[Played], None]
) -> list[Played]:
    """Play all acts; `say` is given each when it is over."""
    played: list[Played] = []
    before: Act | None = None
    for act in acts:
        done = Played(act, watch.now())
        known = len(watch.seen.changes)
        async with AsyncExitStack() as stack:
            clients = Clients(server.url)
            if act.harm is Harm.KILL:
                await server.stop()
            if act.harm is Harm.START:
                watch.pod(ready=False, restarts=server.starts)
                await server.start()
                watch.pod(ready=True, restarts=server.starts - 1)
            await stack.enter_async_context(clients.asking(act.load))
            if act.harm is Harm.HANG:
                await asyncio.sleep(2)
                await stack.enter_async_context(server.hung())
            await _until_told(act, before, watch=watch, done=done)
        done.outcomes = dict(clients.outcomes)
        done.changes = watch.seen.changes[known:]
        played.append(done)
        say(done)
        before = act
    return played


async def _until_told(act: Act, before: Act | None, *, watch: Watch, done: Played) -> None:
    """Wait until what has to fire did so for more than a window, and nothing else."""
    ends, right_since, wrong = watch.now() + PATIENCE, None, set[str]()
    while watch.now() < ends:
        await asyncio.sleep(0.5)
        told = watch.seen.told
        wrong |= act.wrong(told, before)
        if not act.done(told):
            right_since = None
        elif right_since is None:
            right_since = watch.now()
        elif watch.now() - right_since >= LASTS:
            break
    else:
        done.wrong.append(
            f"fires at the end: {_listed(watch.seen.told)}; should: {_listed(act.tells)}"
        )
    if wrong:
        done.wrong.append(f"fired: {_listed(wrong)}")


def _listed(reasons: Iterable[str]) -> str:
    return ", ".join(sorted(reasons)) or "nothing"
