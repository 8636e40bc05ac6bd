"""Informers on virtual time, against a collection that breaks in every way the API can."""

import asyncio
import json
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from reporter.catalogue.resources import PODS
from reporter.kube.decode import decode_page
from reporter.kube.errors import (
    AnswerTooLarge,
    ConnectionFailed,
    Forbidden,
    Gone,
    NotFound,
    NotJson,
    ServerError,
    TooManyRequests,
    Unauthorized,
)
from reporter.kube.informer import Informer, Place, Timing
from reporter.snapshot.snapshot import ResourceState, Served
from tests.unit.kube.collection import Collection, virtual_now

pytestmark = pytest.mark.looptime

FORBIDDEN = Forbidden("no", status=403)
GONE = Gone("old", status=410)
LOST = ConnectionFailed("lost")


@asynccontextmanager
async def informing(api: Collection, timing: Timing | None = None):
    changes: list[float] = []
    missing: list[float] = []
    loop = asyncio.get_running_loop()
    informer = Informer(
        api,
        Place(resource=PODS, version="v1"),
        timing=timing or Timing(),
        now=virtual_now,
        on_change=lambda: changes.append(loop.time()),
        on_missing=lambda: missing.append(loop.time()),
    )
    informer.test_changes, informer.test_missing = changes, missing
    task = asyncio.create_task(informer.run())
    try:
        await asyncio.sleep(0.01)
        yield informer
    finally:
        assert not task.done(), "an informer never ends by itself"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def names(informer: Informer) -> list[str]:
    return sorted(name for _, name in informer.store.objects)


async def test_lists_then_follows_the_watch():
    api = Collection()
    api.put("a")
    async with informing(api) as informer:
        assert names(informer) == ["a"]
        assert informer.state.served is Served.SERVED
        assert informer.state.confirmed
        api.put("b", status={"phase": "Running"})
        api.delete("a")
        await asyncio.sleep(0.01)
        assert names(informer) == ["b"]
        assert informer.store.objects["n", "b"].status.phase == "Running"
        assert informer.test_changes
    assert api.watches[0][1]["resourceVersion"] == "11"
    assert 300 <= int(api.watches[0][1]["timeoutSeconds"]) <= 600


async def test_before_the_first_list_nothing_is_known():
    """A kind that was not listed yet is unknown, and unreachable if that lasts."""
    api = Collection()
    api.list_faults = [LOST] * 1000
    async with informing(api) as informer:
        assert informer.state.served is Served.UNKNOWN
        assert not informer.settled
        await asyncio.sleep(121)
        assert informer.state.cause == "unreachable"


async def test_pages_are_put_together():
    """A list of several pages gives all objects, and the watch starts at its version."""
    api = Collection()
    for number in range(7):
        api.put(f"p{number}")
    async with informing(api, Timing(page=3)) as informer:
        assert len(informer.store.objects) == 7
        assert [call[1].get("continue") for call in api.lists] == [None, "3", "6"]


async def test_one_page_in_a_turn_of_the_loop(monkeypatch):
    """Pages of many kinds that come at once hold up the loop one by one, not together."""
    turn_of_loop, decoded = 0, []

    def decode(resource, body):
        decoded.append(turn_of_loop)
        return decode_page(resource, body)

    monkeypatch.setattr("reporter.kube.decode.decode_page", decode)
    api, turn = Collection(), asyncio.Lock()
    for number in range(4):
        api.put(f"p{number}")
    place, timing = Place(resource=PODS, version="v1"), Timing(page=2)
    informers = [Informer(api, place, timing=timing, turn=turn) for _ in range(5)]
    looks = [asyncio.create_task(each.look()) for each in informers]
    while not all(each.done() for each in looks):
        turn_of_loop += 1
        await asyncio.sleep(0)
    assert [names(each) for each in informers] == [["p0", "p1", "p2", "p3"]] * 5
    assert len(decoded) == len(set(decoded)) == 10


async def test_a_proper_end_continues_where_it_ended():
    """After the server ends a watch, the next one starts at the last frame, without a list."""
    api = Collection()
    async with informing(api) as informer:
        await asyncio.sleep(5)
        api.put("a")
        api.frame("BOOKMARK", {"metadata": {"resourceVersion": "77"}})
        api.send(None)
        await asyncio.sleep(0.01)
        assert informer.state.confirmed
    assert [call[1]["resourceVersion"] for call in api.watches] == ["10", "77"]
    assert len(api.lists) == 1


async def test_a_proper_end_is_a_sign_of_life():
    """Where nothing changes, and no bookmark comes, a watch that ends as it should is not stale."""
    api = Collection()
    async with informing(api) as informer:
        listed = informer.last_frame
        await asyncio.sleep(400)
        assert informer.last_frame == listed
        api.send(None)
        await asyncio.sleep(0.01)
        assert informer.last_frame.boot - listed.boot >= timedelta(seconds=400)


EXPIRED = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}


@pytest.mark.parametrize(
    "fault",
    [
        GONE,
        LOST,
        NotJson("page"),
        ServerError("x", status=503),
        AnswerTooLarge("frame"),
        json.dumps({"type": "ERROR", "object": EXPIRED}).encode(),
    ],
)
async def test_a_broken_watch_is_listed_anew(fault):
    """What was missed during a loss is in the next list; until then nothing is confirmed."""
    api = Collection()
    api.put("a")
    async with informing(api) as informer:
        await asyncio.sleep(5)
        api.send(fault)
        await asyncio.sleep(0.01)
        assert not informer.state.confirmed
        assert informer.state.served is Served.SERVED
        api.objects.clear()
        api.version += 5
        await asyncio.sleep(2)
        assert informer.state.confirmed
        assert names(informer) == []
        assert (informer.lists, informer.failures) == (2, 1)
    assert len(api.lists) == 2


async def test_a_lost_connection_is_unknown_only_after_two_minutes():
    """Short losses keep what was known, unconfirmed; long ones make the kind unknown."""
    api = Collection()
    api.put("a")
    async with informing(api) as informer:
        await asyncio.sleep(60)
        api.list_faults = [LOST] * 1000
        api.send(LOST)
        await asyncio.sleep(0.01)
        assert informer.state == ResourceState(Served.SERVED, confirmed=False)
        await asyncio.sleep(119)
        assert informer.state.served is Served.SERVED
        await asyncio.sleep(2)
        assert (informer.state.served, informer.state.cause) == (Served.UNKNOWN, "unreachable")
        since = informer.state.since.boot.total_seconds()
        assert since == pytest.approx(180, abs=0.1)
        api.list_faults = []
        await asyncio.sleep(61)
        assert informer.state.confirmed


@pytest.mark.parametrize(
    ("error", "permission"),
    [(FORBIDDEN, "list, watch on pods"), (Unauthorized("", status=401), "valid credentials")],
)
async def test_refused_is_unknown_at_once_and_noticed_when_granted(error, permission):
    """A missing permission is named at once; when it is given, the kind is read."""
    api = Collection()
    api.put("a")
    api.list_faults = [error] * 3
    async with informing(api) as informer:
        state = informer.state
        assert (state.served, state.cause) == (Served.UNKNOWN, "forbidden")
        assert state.permission == permission
        assert informer.settled
        await asyncio.sleep(30)
        assert informer.state.confirmed
        assert names(informer) == ["a"]


async def test_refusal_of_a_server_that_just_started_is_not_believed_at_once():
    """It refuses everybody until it has read its roles; asked again soon, it knows better."""
    api = Collection()
    api.put("a")
    async with informing(api) as informer:
        api.list_faults = [LOST] * 5 + [FORBIDDEN]
        api.send(LOST)
        while api.list_faults:
            await asyncio.sleep(0.1)
            assert informer.state.served is Served.SERVED
        await asyncio.sleep(2)
        assert informer.state.confirmed


async def test_refusal_after_a_lost_connection_is_believed_the_second_time():
    api = Collection()
    async with informing(api) as informer:
        api.list_faults = [LOST] * 5 + [FORBIDDEN] * 100
        api.send(LOST)
        while len(api.list_faults) > 99:  # noqa: ASYNC110 - the informer tells nobody
            await asyncio.sleep(0.1)
        await asyncio.sleep(2)
        assert informer.state.cause == "forbidden"


async def test_a_refused_watch_is_not_served_in_between():
    """Where only list is allowed the kind stays unknown, and is not listed again and again."""
    api = Collection()
    api.watch_faults = [FORBIDDEN] * 5
    async with informing(api) as informer:
        for _ in range(20):
            assert informer.state.permission == "watch on pods"
            await asyncio.sleep(0.5)
        api.watch_faults = []
        api.put("missed")
        await asyncio.sleep(60)
        assert informer.state.confirmed
        assert names(informer) == ["missed"]
    assert len(api.lists) == 2


def ends_at_once(api: Collection) -> None:
    asyncio.get_running_loop().call_soon(api.send, None)


def ends_after_an_event(api: Collection) -> None:
    asyncio.get_running_loop().call_soon(api.put, "a")
    asyncio.get_running_loop().call_soon(api.send, None)


def fails(error: Exception):
    def fail(_: Collection) -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    "behaviour",
    [
        ends_at_once,
        ends_after_an_event,
        fails(FORBIDDEN),
        fails(GONE),
        fails(LOST),
        fails(NotFound("404 page not found", status=404, is_status_object=False)),
        fails(AnswerTooLarge("frame")),
        fails(TooManyRequests("", status=429, retry_after=0.0)),
    ],
)
async def test_no_broken_server_makes_a_hot_loop(behaviour):
    """Whatever a watch does for ten minutes, it costs a few requests a minute."""
    api = Collection()
    api.watch_always = lambda: behaviour(api)
    async with informing(api):
        await asyncio.sleep(600)
    assert 10 < len(api.watches) < 50
    assert len(api.lists) <= len(api.watches) + 1


async def test_backoff_starts_anew_after_quiet():
    """After two quiet minutes a failure is answered as quickly as the first one."""
    api = Collection()
    api.list_faults = [LOST] * 6
    async with informing(api):
        await asyncio.sleep(400)
        before = len(api.lists)
        api.send(LOST)
        await asyncio.sleep(1.7)
        assert len(api.lists) == before + 1


async def test_retry_after_is_honoured():
    """A server that asks for 50 s is left alone for 50 s."""
    api = Collection()
    api.list_faults = [TooManyRequests("", status=429, retry_after=50)]
    async with informing(api) as informer:
        await asyncio.sleep(49)
        assert len(api.lists) == 1
        await asyncio.sleep(2)
        assert informer.state.confirmed


async def test_not_found_asks_discovery():
    """A 404 says nothing about objects: discovery is asked, and nothing counts meanwhile."""
    api = Collection()
    async with informing(api) as informer:
        api.list_faults = [NotFound("", status=404, is_status_object=False)] * 9
        api.send(LOST)
        await asyncio.sleep(3)
        assert informer.test_missing
        assert not informer.state.confirmed


async def test_a_pause_is_followed_by_a_list_at_once():
    """After a pause only a new list confirms, even if old frames still wait to be read."""
    api = Collection()
    api.put("a")
    async with informing(api) as informer:
        await asyncio.sleep(30)
        api.put("waits")
        informer.unconfirm()
        informer.unconfirm()
        assert not informer.state.confirmed
        await asyncio.sleep(0)
        assert not informer.state.confirmed
        await asyncio.sleep(0.01)
        assert informer.state.confirmed
        assert names(informer) == ["a", "waits"]
    assert len(api.lists) == 2


async def test_a_watch_that_delivers_after_a_pause_needs_no_list():
    """What is read at once may be older than the pause; what comes later has all before it."""
    api = Collection()
    async with informing(api) as informer:
        await asyncio.sleep(30)
        informer.doubt(5.0)
        api.put("waits")
        await asyncio.sleep(0.5)
        assert not informer.state.confirmed
        await asyncio.sleep(1.0)
        api.put("later")
        await asyncio.sleep(0.01)
        assert informer.state.confirmed
        assert names(informer) == ["later", "waits"]
        await asyncio.sleep(20)
    assert len(api.lists) == 1


async def test_a_watch_that_brings_nothing_after_a_pause_is_listed_again():
    """When its time is over, which is another one for each kind; once, not for each pause."""
    api = Collection()
    async with informing(api) as informer:
        await asyncio.sleep(30)
        informer.doubt(3.0)
        await asyncio.sleep(1)
        informer.doubt(3.0)
        await asyncio.sleep(2.5)
        assert not informer.state.confirmed
        await asyncio.sleep(0.6)
        assert informer.state.confirmed
    assert len(api.lists) == 2


async def test_a_pause_during_back_off_tries_at_once():
    """A pause ends a wait: what the server asked for has most likely passed."""
    api = Collection()
    api.list_faults = [TooManyRequests("", status=429, retry_after=100)]
    async with informing(api) as informer:
        informer.unconfirm()
        await asyncio.sleep(0.01)
        assert informer.state.confirmed


async def test_a_silent_watch_is_checked_without_alarm():
    """A watch that nothing comes of is listed again at once; a quiet kind stays confirmed."""
    api = Collection()
    async with informing(api, Timing(idle=120)) as informer:
        await asyncio.sleep(120)
        api.send(ConnectionFailed("no answer in time"))
        await asyncio.sleep(0.01)
        assert informer.state.confirmed
        assert all(at < 0.01 for at in informer.test_changes), "a pass for nothing"
    assert len(api.lists) == 2


async def test_a_malformed_object_is_skipped_by_name():
    """One bad object leaves its neighbours alone, in a list as in a watch, and may heal."""
    api = Collection()
    api.put("good")
    api.put("bad", status={"conditions": {}})
    async with informing(api) as informer:
        assert names(informer) == ["good"]
        assert informer.store.skipped["n", "bad"].cause == "status.conditions is not a list"
        api.put("good", status={"phase": 5})
        api.put("bad")
        await asyncio.sleep(0.01)
        assert names(informer) == ["bad"]
        assert [each.cause for each in informer.store.skipped.values()] == [
            "status.phase is not a string"
        ]
        api.delete("good")
        await asyncio.sleep(0.01)
        assert not informer.store.skipped


async def test_a_list_that_expires_while_paging_is_taken_whole():
    """When the continue token expires, the next list asks for everything at once."""
    api = Collection()
    for number in range(5):
        api.put(f"p{number}")
    api.list_faults = [None, GONE]
    async with informing(api, Timing(page=2)) as informer:
        await asyncio.sleep(2)
        assert len(informer.store.objects) == 5
    assert "limit" not in api.lists[2][1]


async def test_pages_that_are_too_large_shrink():
    """Where a page exceeds the limit, the next try asks for fewer objects."""
    api = Collection()
    api.put("a")
    api.list_faults = [AnswerTooLarge("page")]
    async with informing(api) as informer:
        await asyncio.sleep(2)
        assert informer.state.confirmed
    assert [call[1]["limit"] for call in api.lists] == ["250", "50"]
