"""The elector on virtual time, against a Lease that obeys the API server's rules."""

import asyncio
import itertools
import json
import math
import random
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from structlog.testing import capture_logs

from reporter.kube.client import Response
from reporter.kube.errors import (
    Conflict,
    ConnectionFailed,
    Forbidden,
    Invalid,
    NotFound,
    NotJson,
    TooManyRequests,
    Unauthorized,
)
from reporter.kube.lease import Elector, LeaseTimes
from tests.unit.kube.collection import virtual_now

pytestmark = pytest.mark.looptime


class LeaseApi:
    """One Lease. `fault` replaces every answer while it is set."""

    def __init__(self) -> None:
        self.lease: dict | None = None
        self.version = 0
        self.requests: list[tuple[float, str]] = []
        self.fault: object = None
        self.may_watch = True
        self.made_between = False
        self.watches: list[asyncio.Queue[bytes]] = []
        self.seconds = 0.001

    @asynccontextmanager
    async def stream(self, path: str, *, resource: str, params, idle_seconds: float):
        assert path.endswith("/namespaces/kube-system/leases")
        assert params["fieldSelector"].startswith("metadata.name=")
        assert idle_seconds > float(params["timeoutSeconds"])
        if not self.may_watch:
            raise Forbidden("no", status=403)
        frames: asyncio.Queue[bytes] = asyncio.Queue()
        self.watches.append(frames)
        try:
            yield _forever(frames)
        finally:
            self.watches.remove(frames)

    async def request(self, method: str, path: str, *, body=None, **options) -> Response:
        assert options["lease"]
        assert 0 < options["timeout"] <= 5.0
        self.requests.append((asyncio.get_running_loop().time(), method))
        seconds = math.inf if self.fault == "hang" else self.seconds
        await asyncio.sleep(min(seconds, options["timeout"]))
        if seconds > options["timeout"]:
            raise ConnectionFailed("no answer in time")
        if isinstance(self.fault, Exception):
            raise self.fault
        if self.fault == "lands but is cut":
            self.answer(method, body)
            raise ConnectionFailed("cut")
        if isinstance(self.fault, bytes):
            return Response(200, {}, self.fault)
        return self.answer(method, body)

    def answer(self, method: str, body: bytes | None) -> Response:
        if self.made_between and method == "PUT":
            self.made_between = False
            self.write(holderIdentity="a")
        if method == "GET":
            if self.lease is None:
                raise NotFound("no lease", status=404)
            return Response(200, {}, json.dumps(self.lease).encode())
        new = json.loads(body)
        version = new["metadata"].get("resourceVersion")
        if self.lease is not None and version is None:
            raise Invalid("metadata.resourceVersion", status=422)
        if self.lease is not None and version != self.lease["metadata"]["resourceVersion"]:
            raise Conflict("changed", status=409)
        for field in ("renewTime", "acquireTime"):
            datetime.strptime(new["spec"][field], "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
            assert len(new["spec"][field]) == len("2026-11-20T12:00:00.000000Z")
        self.store(new)
        return Response(200, {}, json.dumps(self.lease).encode())

    def store(self, lease: dict) -> None:
        self.version += 1
        lease["metadata"]["resourceVersion"] = str(self.version)
        self.lease = lease
        frame = json.dumps({"type": "MODIFIED", "object": lease}).encode()
        for each in self.watches:
            each.put_nowait(frame)

    def write(self, **spec: object) -> None:
        """Store what somebody else writes."""
        self.store({"metadata": {"name": "l"}, "spec": spec})

    @property
    def spec(self) -> dict:
        return self.lease["spec"]


async def _forever(frames: asyncio.Queue[bytes]):
    while True:
        yield await frames.get()


class Drawn(random.Random):
    """A source of jitter that draws the same each time."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def random(self) -> float:
        return self.value


SHORTEST, LONGEST = Drawn(0.0), Drawn(1 - 2**-53)
"""The ends of what a candidate may draw for its pause: 2.0 s and 4.4 s."""


@asynccontextmanager
async def electing(
    api: LeaseApi,
    identity: str,
    times: LeaseTimes | None = None,
    *,
    chance: random.Random = LONGEST,
    hand_on=lambda: None,
):
    elector = Elector(
        api,
        identity=identity,
        now=virtual_now,
        times=times or LeaseTimes(),
        chance=chance,
        hand_on=hand_on,
    )
    elector.test_log = []
    task = asyncio.create_task(
        elector.run(
            started=lambda: elector.test_log.append("started"),
            stopped=lambda: elector.test_log.append("stopped"),
        )
    )
    elector.test_task = task
    try:
        await asyncio.sleep(0.1)
        yield elector
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_creates_the_lease_and_leads():
    """The first candidate creates the Lease by name and keeps renewing it."""
    api = LeaseApi()
    async with electing(api, "a") as elector:
        assert elector.is_leader()
        assert elector.test_log == ["started"]
        assert api.requests[1][1] == "PUT"
        acquired = api.spec["acquireTime"]
        assert (api.spec["leaseTransitions"], api.spec["leaseDurationSeconds"]) == (0, 15)
        await asyncio.sleep(60)
        assert elector.fence_left() > 7.9
        assert api.spec["acquireTime"] == acquired
        assert api.spec["renewTime"] > acquired
        assert elector.test_log == ["started"]
    # One request renews: the version is known.
    assert {method for _, method in api.requests[2:-2]} == {"PUT"}
    assert len(api.requests) < 36


@pytest.mark.parametrize(("may_watch", "seconds"), [(True, 0.1), (False, 4.5)])
async def test_a_release_hands_over_quickly(may_watch, seconds):
    """On stop the holder is cleared, and the next candidate leads at once.

    Without the right to watch the Lease it takes one jittered period.
    """
    api = LeaseApi()
    api.may_watch = may_watch
    async with electing(api, "a") as first, electing(api, "b") as second:
        await asyncio.sleep(20)
        assert not second.is_leader()
        first.test_task.cancel()
        await asyncio.wait([first.test_task])
        assert first.test_log == ["started", "stopped"]
        assert (api.spec["holderIdentity"], api.spec["leaseDurationSeconds"]) == ("", 1)
        await asyncio.sleep(seconds)
        assert second.is_leader()
        assert api.spec["leaseTransitions"] == 1
    assert api.watches == []


async def test_a_silent_leader_is_replaced_after_the_lease_not_before():
    """The record must stand still for a whole lease duration as seen here."""
    api = LeaseApi()
    api.write(holderIdentity="gone", leaseDurationSeconds=15, leaseTransitions=3)
    async with electing(api, "b") as elector:
        await asyncio.sleep(14.8)
        assert not elector.is_leader()
        await asyncio.sleep(4.6)
        assert elector.is_leader()
        assert api.spec["leaseTransitions"] == 4


@pytest.mark.parametrize("late", [0.5, 2.0])
async def test_a_standby_that_has_been_there_leads_before_a_new_process(late):
    """Whoever starts right after a leader was killed knows less than the standby, and waits longer."""
    api = LeaseApi()
    async with electing(api, "pod-1_a") as first, electing(api, "pod-2_a") as standby:
        await asyncio.sleep(60)
        assert first.is_leader()
        api.fault = ConnectionFailed("killed")
        first.test_task.cancel()
        await asyncio.wait([first.test_task])
        api.fault = None
        await asyncio.sleep(late)
        async with electing(api, "pod-1_b", chance=SHORTEST) as fresh:
            await asyncio.sleep(22)
            assert standby.is_leader()
            assert not fresh.is_leader()


async def test_what_a_leader_leaves_is_read_by_the_next():
    """It stands on the Lease while the leader renews it, goes with the release, and can be taken back."""
    api = LeaseApi()
    text: list[str | None] = ["first"]
    async with electing(api, "a", hand_on=lambda: text[0]) as first, electing(api, "b") as second:
        assert second.left_by_another.text == "first"
        text[0] = "second"
        await asyncio.sleep(10)
        assert second.left_by_another.text == "second"
        assert second.left_by_another.renewed.startswith("2026-11-20T12:00:0")
        assert first.left_by_another is None
        first.test_task.cancel()
        await asyncio.wait([first.test_task])
        await asyncio.sleep(10)
        # The second has nothing to say yet: what stands there stays.
        assert second.is_leader()
        assert api.lease["metadata"]["annotations"] == {
            "status-reporter.io/pending-since": "second"
        }
        assert second.left_by_another.text == "second"


async def test_nothing_to_hand_on_leaves_no_annotation():
    api = LeaseApi()
    api.store({"metadata": {"name": "l", "annotations": {"of": "others"}}, "spec": {}})
    text = ["something"]
    async with electing(api, "a", hand_on=lambda: text[0]):
        assert len(api.lease["metadata"]["annotations"]) == 2
        text[0] = ""
        await asyncio.sleep(5)
        assert api.lease["metadata"]["annotations"] == {"of": "others"}


async def test_creating_the_lease_at_the_same_moment_is_no_failure():
    """The API server refuses the second PUT with 422, as it names no version."""
    api = LeaseApi()
    api.made_between = True
    with capture_logs() as lines:
        async with electing(api, "b") as elector:
            assert not elector.is_leader()
    assert [line for line in lines if line["log_level"] == "warning"] == []


async def test_a_release_without_the_right_is_no_warning():
    """An uninstall removes the Role before the pods have ended."""
    api = LeaseApi()
    with capture_logs() as lines:
        async with electing(api, "a"):
            api.fault = Forbidden("no", status=403)
    assert [line["event"] for line in lines if line["log_level"] == "warning"] == []
    assert "lease_not_released" in [line["event"] for line in lines]


async def test_the_duration_in_the_record_counts():
    """Another replica may run with another lease duration; its own is what it can rely on."""
    api = LeaseApi()
    api.write(holderIdentity="gone", leaseDurationSeconds=60)
    async with electing(api, "b") as elector:
        await asyncio.sleep(58)
        assert not elector.is_leader()
        await asyncio.sleep(7)
        assert elector.is_leader()


async def test_what_others_wrote_on_the_lease_stays():
    """Labels, and fields of the spec that are not ours, survive a take-over."""
    api = LeaseApi()
    spec = {"holderIdentity": "", "strategy": "OldestEmulationVersion"}
    api.store({"metadata": {"name": "l", "labels": {"team": "x"}}, "spec": spec})
    async with electing(api, "b") as elector:
        assert elector.is_leader()
        assert api.lease["metadata"]["labels"] == {"team": "x"}
        assert api.spec["strategy"] == "OldestEmulationVersion"


@pytest.mark.parametrize("chance", [SHORTEST, LONGEST], ids=["shortest", "longest"])
@pytest.mark.parametrize(
    "fault",
    [
        "hang",
        "lands but is cut",
        ConnectionFailed("refused"),
        NotJson("html"),
        TooManyRequests("", status=429, retry_after=1),
        Unauthorized("", status=401),
        NotFound("404 page not found", status=404, is_status_object=False),
        b"{}",
        b"[",
        b'{"metadata": {"resourceVersion": "9"}, "spec": {"holderIdentity": 5}}',
        b'{"metadata": {"resourceVersion": "9"}}',
    ],
)
async def test_every_failure_closes_the_fence_in_time(fault, chance):
    """Whatever goes wrong, the leader stops within its renew deadline, and leads again later.

    Later is after a request that hangs still, for 5.0 s, and a pause.
    """
    api = LeaseApi()
    async with electing(api, "a", chance=chance) as elector:
        await asyncio.sleep(10)
        renewed = max(at for at, _ in api.requests)
        api.fault = fault
        await asyncio.sleep(renewed + 10.05 - asyncio.get_running_loop().time())
        if fault != "lands but is cut":
            assert not elector.is_leader()
        sent = len(api.requests)
        await asyncio.sleep(60)
        assert len(api.requests) - sent <= 70
        api.fault = None
        await asyncio.sleep(9.5)
        assert elector.is_leader()
        assert elector.test_log[:2] == ["started", "stopped"] or fault == "lands but is cut"


@pytest.mark.parametrize("chance", [SHORTEST, LONGEST], ids=["shortest", "longest"])
async def test_never_two_leaders(chance):
    """Cut off from the API server, the old leader has stopped before the next one starts."""
    api, cut_off = LeaseApi(), LeaseApi()
    async with (
        electing(api, "a", chance=chance) as first,
        electing(api, "b", chance=chance) as second,
    ):
        await asyncio.sleep(10)
        cut_off.fault = "hang"
        first.client = cut_off
        for _ in range(400):
            assert not (first.is_leader() and second.is_leader())
            await asyncio.sleep(0.1)
        assert second.is_leader()
        assert not first.is_leader()
        first.client = api
        await asyncio.sleep(10)
        assert not first.is_leader()
        assert not first.test_task.done()


async def test_taken_from_us():
    """A Lease that somebody else overwrote is given up at once."""
    api = LeaseApi()
    async with electing(api, "a") as elector:
        api.write(**api.spec | {"holderIdentity": "thief"})
        await asyncio.sleep(2.1)
        assert not elector.is_leader()
        assert elector.holder == "thief"
        assert elector.test_log == ["started", "stopped"]


async def test_a_renewal_that_lands_twice_is_no_loss():
    """A conflict with our own renewal, whose answer was lost, is repaired within the period."""
    api = LeaseApi()
    async with electing(api, "a") as elector:
        api.fault = "lands but is cut"
        await asyncio.sleep(2.0)
        api.fault = None
        await asyncio.sleep(4)
        assert elector.is_leader()
        assert elector.test_log == ["started"]


async def test_a_slow_server_takes_the_lease_from_nobody():
    """Where each answer takes 2.5 s the leader leads on, also after an answer that was lost."""
    api = LeaseApi()
    async with electing(api, "a") as elector:
        api.seconds = 2.5
        await asyncio.sleep(60)
        api.fault = "lands but is cut"
        await asyncio.sleep(2.6)
        api.fault = None
        await asyncio.sleep(60)
        assert elector.is_leader()
        assert elector.test_log == ["started"]


async def test_a_slow_server_is_led_again():
    """A Lease that was lost while nothing answered is taken again although each answer takes 2.5 s."""
    api = LeaseApi()
    async with electing(api, "a") as elector:
        api.fault = "hang"
        await asyncio.sleep(15)
        assert not elector.is_leader()
        api.fault, api.seconds = None, 2.5
        await asyncio.sleep(15)
        assert elector.is_leader()


async def test_suspend_closes_the_fence():
    """Time spent in suspend counts, although the event loop's clock does not show it."""
    api = LeaseApi()
    suspended = 0.0

    def now():
        return virtual_now().after(suspended)

    elector = Elector(api, identity="a", now=now)
    task = asyncio.create_task(elector.run())
    await asyncio.sleep(0.1)
    assert elector.is_leader()
    suspended = 11.0
    assert not elector.is_leader()
    assert elector.fence_left() == 0.0
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_candidates_wait_with_jitter():
    api = LeaseApi()
    api.write(holderIdentity="x")

    async def touch() -> None:
        while True:
            await asyncio.sleep(1)
            api.spec["renewTime"] = str(asyncio.get_running_loop().time())

    toucher = asyncio.create_task(touch())
    async with electing(api, "b", chance=random.Random(1)):
        await asyncio.sleep(300)
    toucher.cancel()
    times = [at for at, _ in api.requests]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert min(gaps) >= 2.0
    assert max(gaps) <= 4.5
    assert max(gaps) - min(gaps) > 1.5


async def test_release_never_touches_a_foreign_lease():
    """If another one holds the Lease by the time we stop, it is left alone."""
    api = LeaseApi()
    async with electing(api, "a") as elector:
        api.write(holderIdentity="b")
        elector.test_task.cancel()
        await asyncio.sleep(0.1)
    assert api.spec == {"holderIdentity": "b"}


async def test_release_of_a_hung_server_ends():
    """A server that hangs delays the end of the process by one retry period at most."""
    api = LeaseApi()
    async with electing(api, "a") as elector:
        api.fault = "hang"
        began = asyncio.get_running_loop().time()
        elector.test_task.cancel()
        await asyncio.gather(elector.test_task, return_exceptions=True)
        assert asyncio.get_running_loop().time() - began <= 2.0


async def test_fractions_of_seconds():
    """Periods need not be whole seconds; what is written is rounded up."""
    api = LeaseApi()
    async with electing(api, "a", LeaseTimes(3.5)) as elector:
        assert api.spec["leaseDurationSeconds"] == 4
        await asyncio.sleep(10)
        assert elector.is_leader()


def test_the_periods_are_those_of_kubernetes():
    times = LeaseTimes(15.0)
    assert (times.renew_deadline, times.retry) == (10.0, 2.0)


async def test_lease_that_somebody_deletes_makes_no_second_leader():
    """The leader may still write, so nobody else takes what he has held before it runs out."""
    api = LeaseApi()
    async with electing(api, "a") as leader, electing(api, "b") as candidate:
        await asyncio.sleep(30)
        for _ in range(20):
            api.lease = None
            for _ in range(100):
                await asyncio.sleep(0.2)
                assert (leader.is_leader(), candidate.is_leader()) == (True, False)


async def test_deleted_lease_of_a_silent_leader_is_made_anew_after_it_would_have_run_out():
    """Not before, for its holder may only be cut off."""
    api = LeaseApi()
    async with electing(api, "a") as leader, electing(api, "b") as candidate:
        await asyncio.sleep(30)
        leader.client = LeaseApi()
        leader.client.fault = "hang"
        api.lease = None
        await asyncio.sleep(10)
        assert not candidate.is_leader()
        await asyncio.sleep(12)
        assert candidate.is_leader()
