"""The writer on virtual time: when an alert is sent, to whom, and what a refusal costs."""

import asyncio
import json
import socket
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs

from reporter.kube.errors import ConnectionFailed, Invalid
from reporter.sinks.alerts import Alert, AlertApi, AlertWriter
from reporter.stacks.settings import FullDaemonSettings
from tests.unit.sinks.events.test_plan import NOW

pytestmark = pytest.mark.looptime

A, B = (Alert((("alertname", each),), {"message": "m"}, NOW) for each in "ab")
CHANGED = replace(A, annotations={"message": "n"})
OVER = replace(A, ends_at=NOW)
ONE = ("http://one:9093",)
NAME = ("dns+http://pair:9093",)


@asynccontextmanager
async def writing(monkeypatch, urls=ONE):
    """A writer; `faults` holds what the next requests meet, `sent` when which alerts were sent where."""
    at = SimpleNamespace(sent=[], faults=[], hosts=["10.0.0.1", "10.0.0.2"], outcomes=[])
    loop = asyncio.get_running_loop()

    async def post(_self, _session, address, body):
        names = "".join(each["labels"]["alertname"] for each in json.loads(body))
        at.sent.append((round(loop.time()), address.url.host, names))
        at.ends = json.loads(body)[0]["endsAt"]
        if at.faults and (fault := at.faults.pop(0)):
            raise fault

    async def getaddrinfo(_self, host, _port, **_options):
        if not at.hosts:
            raise socket.gaierror("Name or service not known")
        return [(0, 0, 0, "", (each, 9093)) for each in at.hosts]

    monkeypatch.setattr(AlertApi, "post", post)
    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)
    at.writer = AlertWriter(
        FullDaemonSettings(alertmanager_url=urls),
        may_write=lambda: True,
        observe=at.outcomes.append,
        now=lambda: NOW,
    )
    at.offer = lambda *alerts: at.writer.offer({each.labels: each for each in alerts})
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(at.writer.run())
        await asyncio.sleep(0)
        yield at
        task.cancel()


async def test_an_alert_is_sent_each_minute_for_four(monkeypatch):
    async with writing(monkeypatch) as at:
        at.offer(A)
        await asyncio.sleep(1)
        at.offer(A)
        await asyncio.sleep(149)
        assert [when for when, *_ in at.sent] == [0, 60, 120]
        assert at.ends == (NOW + timedelta(minutes=4)).isoformat().replace("+00:00", ".000000Z")


async def test_news_wait_for_nothing_and_words_that_change_for_a_moment(monkeypatch):
    async with writing(monkeypatch) as at:
        at.offer(A)
        await asyncio.sleep(2)
        at.offer(CHANGED, B)
        await asyncio.sleep(18)
        at.offer(OVER)
        await asyncio.sleep(1)
        assert at.sent == [(0, "one", "a"), (2, "one", "b"), (10, "one", "a"), (20, "one", "a")]
        assert at.ends == NOW.isoformat().replace("+00:00", ".000000Z")


async def test_a_refusal_is_told_once_in_its_own_words_and_asked_for_again_each_minute(monkeypatch):
    async with writing(monkeypatch) as at:
        at.faults += [Invalid("one:9093 answered 400: invalid label set", status=400)] * 2
        with capture_logs() as logs:
            at.offer(A)
            await asyncio.sleep(100)
        assert [each["error"] for each in logs] == ["one:9093 answered 400: invalid label set"]
        assert at.outcomes == ["refused", "refused"]
        assert at.writer.waiting == 0


async def test_what_is_not_true_any_more_is_not_sent_after_a_failure(monkeypatch):
    async with writing(monkeypatch) as at:
        at.faults += [ConnectionFailed("down")] * 3
        at.offer(A)
        await asyncio.sleep(1)
        assert at.writer.waiting == 1
        at.offer(B)
        await asyncio.sleep(10)
        assert [names for *_, names in at.sent] == ["a", "a", "b", "b"]
        assert at.writer.waiting == 0


async def test_each_address_of_a_name_is_told_and_new_ones_at_once(monkeypatch):
    async with writing(monkeypatch, NAME) as at:
        at.offer(A)
        await asyncio.sleep(1)
        at.hosts = ["10.0.0.2", "10.0.0.3"]
        await asyncio.sleep(30)
        at.hosts = []
        with capture_logs() as logs:
            await asyncio.sleep(62)
        assert [each["event"] for each in logs] == ["alertmanagers_not_found"]
        assert at.sent == [
            (0, "10.0.0.1", "a"),
            (0, "10.0.0.2", "a"),
            (30, "10.0.0.3", "a"),
            (60, "10.0.0.2", "a"),
            (90, "10.0.0.3", "a"),
        ]
