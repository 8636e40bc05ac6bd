"""Slots are shared fairly among namespaces."""

import asyncio

import pytest

from reporter.metrics.scraping.scraper import FairSlots


async def hold(slots, namespace, order, *, seconds=0.01):
    """Wait for a slot, note who got it, and give it back a moment later."""
    async with slots.of(namespace):
        order.append(namespace)
        await asyncio.sleep(seconds)


async def test_a_namespace_with_many_pods_waits_for_itself():
    """Ten pods of one wait already; the one of the other comes next but one, not last."""
    slots, order = FairSlots(2), []
    async with asyncio.TaskGroup() as tasks:
        for namespace in ("many",) * 10 + ("few",):
            tasks.create_task(hold(slots, namespace, order))
    assert order.index("few") <= 3
    assert len(order) == 11
    assert not slots.locked()


@pytest.mark.looptime
async def test_namespaces_share_the_time_not_the_turns():
    """Ten quick ones wait for one slow one at most, however many slow ones wait."""
    slots, order = FairSlots(1), []
    async with asyncio.TaskGroup() as tasks:
        for namespace, seconds in (("slow", 1.0),) * 6 + (("quick", 0.01),) * 10:
            tasks.create_task(hold(slots, namespace, order, seconds=seconds))
    assert order == ["slow"] + ["quick"] * 10 + ["slow"] * 5


@pytest.mark.looptime
async def test_time_that_a_namespace_did_not_ask_for_is_not_made_up_for():
    """One that comes late takes no more than its share, and keeps nobody waiting for its past."""
    slots, order = FairSlots(1), []
    for _ in range(5):
        await hold(slots, "old", [], seconds=1.0)
    async with asyncio.TaskGroup() as tasks:
        for namespace in ("new",) * 4 + ("old",) * 4:
            tasks.create_task(hold(slots, namespace, order, seconds=1.0))
    assert order.index("old") <= 2
    assert order.index("new") <= 1


async def test_nobody_who_waits_means_all_slots():
    slots = FairSlots(3)
    async with slots.of("a"), slots.of("a"):
        assert not slots.locked()
        async with slots.of("a"):
            assert slots.locked()


@pytest.mark.parametrize("granted", [False, True])
async def test_who_gives_up_waiting_leaves_the_slot_to_others(granted):
    slots = FairSlots(1)
    async with slots.of("a"):
        waiting = asyncio.create_task(hold(slots, "b", []))
        await asyncio.sleep(0)
        if not granted:
            waiting.cancel()
            await asyncio.wait([waiting])
    if granted:
        waiting.cancel()
        await asyncio.wait([waiting])
    assert not slots.locked()


async def test_who_gives_up_while_a_slot_becomes_free_harms_nobody():
    """The slot passes those who have just been cancelled by."""
    slots, order = FairSlots(1), []
    async with slots.of("a"):
        gone = asyncio.create_task(hold(slots, "b", []))
        waits = asyncio.create_task(hold(slots, "b", order))
        await asyncio.sleep(0)
        gone.cancel()
    await asyncio.wait([gone, waits])
    assert gone.cancelled()
    assert order == ["b"]
    assert not slots.locked()
