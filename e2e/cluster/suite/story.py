"""Everything reported about one fault, from its first Event until the subject is Ready again."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Final

from e2e.chaos.judges import Version
from e2e.chaos.observer import Observer
from e2e.stage import Stage
from lab.sandbox.workloads import is_ready
from tests.daemon.stage import key_of

PATIENCE_SECONDS: Final = 240.0
"""How long something may take; only failing tests wait this long."""

_POLL_SECONDS: Final = 0.5

CLUSTER_READY: Final = ("clusterReady", "cluster")
READY: Final = (
    CLUSTER_READY,
    ("modelharnessReady", "namespace/models"),
    ("inferencesetReady", "inferenceset/models/phi-4-mini"),
    ("inferencesetReady", "inferenceset/models/llama-3-1-8b"),
)
"""The subjects that all tests share: the cluster and the models."""


async def until(condition: Callable[[], Awaitable[object]], what: str) -> None:
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                if await condition():
                    return
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError:
        raise AssertionError(f"in vain: {what}") from None


async def fires(stage: Stage, key: tuple[str, str]) -> None:
    async def told() -> bool:
        return key in await stage.firing()

    await until(told, f"{key} fires")


async def has_been_told(stage: Stage, *keys: tuple[str, str]) -> None:
    """Wait until each has an Event: CRDs that were just installed have been found by then."""

    async def told() -> bool:
        events = await stage.events(*keys)
        return {key_of(event) for event in events} == set(keys)

    await until(told, f"{keys} have been told")


async def all_is_well(stage: Stage) -> None:
    async def nothing() -> bool:
        return not await stage.firing()

    await until(nothing, "nothing fires")


async def calm(stage: Stage) -> None:
    """Wait until nothing fires, all pods are Ready, and all watched subjects are reported ready."""

    async def all_ready() -> bool:
        return all(map(is_ready, await stage.api.items("pods", namespace="models")))

    await until(all_ready, "all pods of the models are Ready")
    await has_been_told(stage, *READY)
    await all_is_well(stage)


async def ready_again(observer: Observer, first: int, key: tuple[str, str]) -> None:
    """Wait until Ready is reported for a subject, since a version."""

    async def told() -> bool:
        return any(each.key == key for each in observer.versions[first:])

    await until(told, f"{key} is told")


@asynccontextmanager
async def told_once(
    stage: Stage,
    observer: Observer,
    key: tuple[str, str],
    words: str,
    *,
    ready: str,
    but: Collection[tuple[str, str]] = (),
) -> AsyncIterator[int]:
    """Check all that is reported about a fault that comes and goes while this is entered.

    Args:
        stage: the cluster.
        observer: of our Events; the number of its versions before the fault is yielded.
        key: reason and subject by which it must be reported.
        words: a regular expression that each message must match.
        ready: the reason that reports the subject Ready again; empty if it stays so.
        but: what may be told beside it.
    """
    await calm(stage)
    first = len(observer.versions)
    yield first
    await all_is_well(stage)
    if ready:
        await ready_again(observer, first, (ready, key[1]))
    told = [each for each in observer.versions[first:] if each.key not in but]
    assert "\n".join(complaints(told, key, words, ready=ready)) == ""


def complaints(
    versions: Sequence[Version], key: tuple[str, str], words: str, *, ready: str
) -> list[str]:
    """Return what is wrong with the reports about one fault; empty if all is well."""
    own = [each for each in versions if each.key == key]
    others = {each.key: each for each in reversed(versions) if each.live and each.key != key}
    wrong = [f"told without being so: {each.key}: {each.message}" for each in others.values()]
    wrong += [f"does not say why: {each}" for each in _messages(own) if not re.search(words, each)]
    if (told := _beginnings(own)) != 1:
        wrong.append(f"told {told} times")
    if own and own[-1].live:
        wrong.append("not closed")
    again = [each for each in versions if each.key == (ready, key[1])]
    if ready and (told := len({each.count for each in again})) != 1:
        wrong.append(f"Ready told {told} times")
    return wrong


def _messages(versions: Iterable[Version]) -> list[str]:
    return list(dict.fromkeys(each.message for each in versions))


def _beginnings(versions: Iterable[Version]) -> int:
    states = [False, *(each.live for each in versions)]
    return sum(now and not before for before, now in pairwise(states))
