"""The writer on virtual time: after our Events, each namespace for itself, and nobody is hammered."""

import asyncio
import itertools
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs

from reporter.kube.errors import (
    ConnectionFailed,
    Forbidden,
    Invalid,
    NotFound,
    ServerError,
    TooManyRequests,
)
from reporter.sinks.mirror.plan import MirrorPlan, MirrorPurpose, MirrorWrite
from reporter.sinks.mirror.writer import MirrorWriter
from tests.unit.sinks.mirror.building import fired, planned

pytestmark = pytest.mark.looptime

QUOTA = Forbidden('events "x" is forbidden: exceeded quota: count', status=403)
NO_RIGHT = Forbidden(
    'events "x" is forbidden: User "u" cannot patch resource "events" in API group "" in the '
    'namespace "a"',
    status=403,
)
GONE = NotFound('namespaces "a" not found', status=404)
(SAMPLE,) = planned(fired()).writes


def write(name, namespace="a", purpose=MirrorPurpose.TELL, message="m", *, live=True):
    ref = replace(SAMPLE.mirror.object, namespace=namespace)
    mirror = replace(SAMPLE.mirror, name=name, object=ref, message=message, live=live)
    return MirrorWrite(purpose, mirror, SAMPLE.planned)


def plan(*writes, also=()):
    return MirrorPlan(writes, frozenset((*(each.mirror.name for each in writes), *also)))


@asynccontextmanager
async def writing():
    """A writer; `faults` holds what the next requests meet, `refusing` what namespaces answer."""
    at = SimpleNamespace(
        leads=True,
        events=False,
        outcomes=[],
        made=[],
        faults=[],
        refusing={},
        slow={},
        seconds=0.01,
    )

    async def answer(verb, namespace, name):
        at.made.append((round(asyncio.get_running_loop().time(), 1), f"{verb} {namespace}/{name}"))
        await asyncio.sleep(at.slow.get(namespace, at.seconds))
        fault = at.faults.pop(0) if at.faults else at.refusing.get(namespace)
        if fault is not None:
            raise fault

    class Api:
        async def apply_mirror(self, namespace, name, body):
            assert body["metadata"]["name"] == name
            await answer("apply", namespace, name)

        async def patch_mirror(self, namespace, name, patch):
            assert patch == {"metadata": {"labels": {"status-reporter.io/mirror": "over"}}}
            await answer("patch", namespace, name)

    at.writer = MirrorWriter(
        Api(),
        lambda: at.leads,
        lambda purpose, outcome: at.outcomes.append(f"{purpose.name.lower()} {outcome}"),
        events_wait=lambda: at.events,
    )
    task = asyncio.create_task(at.writer.run())
    with capture_logs() as at.logs:
        yield at
    assert not task.done(), task
    task.cancel()


def requests(at):
    return [request for _, request in at.made]


def times(at):
    return [time for time, _ in at.made]


async def test_events_in_kube_system_go_first():
    async with writing() as at:
        at.events = True
        at.writer.offer(plan(write("x")))
        await asyncio.sleep(30)
        assert not at.made
        at.events = False
        await asyncio.sleep(1)
        assert requests(at) == ["apply a/x"]


async def test_an_answer_that_comes_after_the_lease_was_lost_is_not_remembered():
    """The next leader may have written by the time that this one leads again."""
    async with writing() as at:
        at.seconds = 5
        at.writer.offer(plan(write("x")))
        await asyncio.sleep(1)
        at.writer.forget()
        await asyncio.sleep(10)
        assert requests(at) == ["apply a/x"]
        assert at.writer.applied() == {}
        at.faults = [ConnectionFailed("lost")]
        at.writer.offer(plan(write("x")))
        await asyncio.sleep(1)
        at.writer.forget()
        await asyncio.sleep(10)
        assert at.writer.applied() == {}


async def test_who_lost_the_lease_counts_no_namespace_as_refusing():
    """Whether it still refuses is for the next leader to say; an answer that comes late is none."""
    async with writing() as at:
        at.refusing = {"a": NO_RIGHT}
        at.writer.offer(plan(write("x")))
        await asyncio.sleep(1)
        assert at.writer.refusing == 1
        at.writer.forget()
        assert at.writer.refusing == 0
        at.seconds = 5
        at.writer.offer(plan(write("x")))
        await asyncio.sleep(1)
        at.writer.forget()
        await asyncio.sleep(10)
        assert at.writer.refusing == 0
        assert at.outcomes == ["tell refused"] * 2


@pytest.mark.parametrize("error", [QUOTA, NO_RIGHT, GONE, ServerError("webhook", status=500)])
async def test_a_namespace_that_refuses_is_left_alone_longer_each_time(error):
    """The others are written, it is told once, and once it takes them again all is well."""
    async with writing() as at:
        at.refusing = {"a": error}
        at.writer.offer(plan(write("x"), write("y"), write("z", "b")))
        await asyncio.sleep(3600)
        refused = [time for time, request in at.made if " a/" in request]
        gaps = [round(later - former) for former, later in itertools.pairwise(refused)]
        assert gaps[:5] == [5, 20, 80, 320, 1280]
        assert [request for request in requests(at) if " b/" in request] == ["apply b/z"]
        assert at.writer.refusing == 1
        assert len(at.logs) == 1
        assert at.logs[0]["namespace"] == "a"
        at.refusing = {}
        await asyncio.sleep(1800)
        assert at.writer.refusing == 0
        assert at.writer.waiting == 0


async def test_a_right_that_is_missing_everywhere_costs_a_request_a_minute():
    """Once each namespace was tried; each is named once, with what to grant."""
    async with writing() as at:
        at.refusing = {f"n{number}": NO_RIGHT for number in range(100)}
        at.writer.offer(plan(*(write(f"x{n}", f"n{n}") for n in range(100))))
        await asyncio.sleep(1200)
        assert len(set(requests(at)[:100])) == 100
        assert times(at)[99] >= 95, "at most one a second"
        assert len([time for time in times(at) if time > 300]) <= 16
        assert {line["event"] for line in at.logs} == {"mirrors_forbidden"}
        assert "create and patch on events" in at.logs[0]["hint"]
        assert len(at.logs) == len({line["namespace"] for line in at.logs})


async def test_who_was_not_tried_yet_does_not_wait_long_for_those_who_refuse():
    """A new leader knows of nobody; a fifth of the namespaces refuses, and they come first."""
    async with writing() as at:
        at.refusing = {f"a{number}": NO_RIGHT for number in range(100)}
        good = [f"b{number}" for number in range(400)]
        at.writer.offer(plan(*(write(f"x{name}", name) for name in (*at.refusing, *good))))
        await asyncio.sleep(180)
        assert {f"apply {name}/x{name}" for name in good} <= set(requests(at))


async def test_who_takes_mirrors_does_not_wait_for_those_who_refuse():
    """Also after many refusals, with nothing written in between."""
    async with writing() as at:
        at.writer.offer(plan(write("x", "good")))
        await asyncio.sleep(1)
        bad = {f"n{number}": QUOTA for number in range(20)}
        at.refusing = bad
        at.writer.offer(plan(*(write(f"x{n}", n) for n in bad), also=["x"]))
        await asyncio.sleep(300)
        news = write("y", "good")
        at.writer.offer(plan(*(write(f"x{n}", n) for n in bad), news, also=["x"]))
        before = len(at.made)
        await asyncio.sleep(1.5)
        assert "apply good/y" in requests(at)[before:]


async def test_what_is_not_there_need_not_be_closed():
    async with writing() as at:
        at.faults = [NotFound('events "x" not found', status=404)]
        at.writer.offer(plan(write("x", purpose=MirrorPurpose.ASSURE, live=False), write("y")))
        await asyncio.sleep(1)
        assert at.outcomes == ["assure gone", "tell written"]
        assert at.writer.refusing == 0


@pytest.mark.parametrize("error", [ConnectionFailed("lost"), ServerError("late", status=504)])
async def test_after_a_lost_answer_either_may_be_there(error):
    """So that the next plan makes sure, whatever it wants."""
    async with writing() as at:
        at.faults = [error]
        at.writer.offer(plan(write("x", purpose=MirrorPurpose.CLOSE, live=False)))
        await asyncio.sleep(0.1)
        doubted = at.writer.applied()["x"]
        assert (doubted.sure, doubted.mirror.live) == (False, True)
        await asyncio.sleep(10)
        made = at.writer.applied()["x"]
        assert (made.sure, made.mirror.live) == (True, False)


async def test_a_close_that_is_answered_by_nobody_does_not_make_its_mirror_younger():
    """Else it would be tried again after it has expired."""
    async with writing() as at:
        at.writer.offer(plan(write("x")))
        await asyncio.sleep(1)
        at.refusing = {"a": ServerError("webhook", status=500)}
        later = replace(
            write("x", purpose=MirrorPurpose.CLOSE, live=False),
            planned=SAMPLE.planned + timedelta(hours=1),
        )
        at.writer.offer(plan(later))
        await asyncio.sleep(1)
        doubted = at.writer.applied()["x"]
        assert (doubted.sure, doubted.at) == (False, SAMPLE.planned)


@pytest.mark.parametrize("error", [QUOTA, GONE, TooManyRequests("busy", status=429)])
async def test_after_a_refusal_nothing_was_written(error):
    async with writing() as at:
        at.faults = [error]
        at.writer.offer(plan(write("x")))
        await asyncio.sleep(0.1)
        assert at.writer.applied() == {}


async def test_one_that_breaks_a_rule_is_left_alone_until_it_says_something_else():
    async with writing() as at:
        at.faults = [Invalid("no", status=422)]
        at.writer.offer(plan(write("x"), write("y")))
        await asyncio.sleep(60)
        at.writer.offer(plan(write("x"), also=["y"]))
        await asyncio.sleep(60)
        at.writer.offer(plan(write("x", message="other"), also=["y"]))
        await asyncio.sleep(60)
        assert requests(at) == ["apply a/x", "apply a/y", "apply a/x"]
        assert at.outcomes == ["tell refused", "tell written", "tell written"]
        assert [line["event"] for line in at.logs] == ["mirror_not_written"]


async def test_a_namespace_that_answers_late_holds_up_itself_alone():
    """Its writes go one by one, those of others beside them; quick ones go in their order."""
    async with writing() as at:
        at.slow = {"slow": 3.0}
        slow = [write(f"s{number}", "slow") for number in range(3)]
        others = [write(f"o{number}", f"n{number}") for number in range(3)]
        at.writer.offer(plan(*slow, *others))
        await asyncio.sleep(10)
        when = {request.partition("/")[2]: time for time, request in at.made}
        assert [when[f"s{number}"] for number in range(3)] == [0.0, 3.0, 6.0]
        assert max(when[f"o{number}"] for number in range(3)) < 1
