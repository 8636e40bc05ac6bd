"""The scraper on virtual time: who is scraped when, and what the others lose by a bad pod: nothing."""

import asyncio
import itertools
from collections import Counter, defaultdict
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest

from reporter.metrics.samples.sample import Failure, Picked, Scrape
from reporter.metrics.scraping.scraper import CLOSED_SECONDS, Scraper, place
from tests.unit.kube.collection import virtual_now
from tests.unit.metrics.scraping.servers import target

pytestmark = pytest.mark.looptime

PERIOD = 15.0
TIMEOUT = 5.0


def clock() -> float:
    return asyncio.get_running_loop().time()


class World:
    """Pods, what they do, and what came of it. A pod answers after its `delay`."""

    def __init__(self, *names: str) -> None:
        self.targets = [target(name) for name in names]
        self.delay: dict[str, float] = defaultdict(lambda: 0.05)
        self.failure: dict[str, Failure] = {}
        self.began: dict[str, list[float]] = defaultdict(list)
        self.first: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.told: list[tuple[float, str, Failure | None]] = []
        self.under_way: Counter[str] = Counter()
        self.most = 0
        self.skips: Counter[str] = Counter()
        self.number = 0
        self.pauses = 0
        self.stopped = 0.0
        self.broken_tell = False
        self.detail = ""
        self.targets_due = asyncio.Event()

    async def scrape(self, target):
        name = target.name
        self.began[name].append(clock())
        self.first[name].set()
        self.under_way[name] += 1
        assert self.under_way[name] == 1, "never twice at once"
        self.most = max(self.most, self.under_way.total())
        at = virtual_now()
        try:
            await asyncio.sleep(min(self.delay[name], TIMEOUT))
        finally:
            self.under_way[name] -= 1
        failure = Failure.TIMEOUT if self.delay[name] >= TIMEOUT else self.failure.get(name)
        return Scrape(
            at=at, seconds=clock(), failure=failure, detail=self.detail if failure else ""
        )

    def now(self):
        """The time goes on while the process is stopped, and the loop then finds all turns due."""
        return virtual_now().after(self.stopped)

    async def find(self):
        if self.targets is None:
            raise RuntimeError("no snapshot")
        return tuple(self.targets)

    def tell(self, target, scrape) -> None:
        if self.broken_tell:
            raise ValueError(target.name)
        self.told.append((clock(), target.name, scrape.failure))

    def following(self, targets: int) -> None:
        self.number = targets

    def scraped(self, scrape) -> None:
        pass

    def skipped(self, cause: str) -> None:
        self.skips[cause] += 1

    def hang(self, names) -> None:
        for name in names:
            self.delay[name] = TIMEOUT

    def between(self, start: float, end: float, names=None) -> Counter:
        """How often each pod was scraped to its end in that time."""
        return Counter(
            name for when, name, _ in self.told
            if start <= when < end and (names is None or name in names)
        )  # fmt: skip


@asynccontextmanager
async def scraping(world: World, concurrency: int = 32):
    scraper = Scraper(
        world.scrape,
        world.find,
        world.tell,
        period=PERIOD,
        concurrency=concurrency,
        targets_due=world.targets_due,
        observer=world,
        pauses=lambda: world.pauses,
        now=world.now,
    )
    task = asyncio.create_task(scraper.run())
    yield scraper
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert world.under_way.total() == 0


def names(number: int) -> list[str]:
    return [f"pod-{each}" for each in range(number)]


async def test_each_pod_once_in_each_period():
    world = World(*names(100))
    async with scraping(world):
        await asyncio.sleep(4 * PERIOD)
    assert set(map(len, world.began.values())) == {4}
    for times in world.began.values():
        assert [b - a for a, b in itertools.pairwise(times)] == pytest.approx(
            [PERIOD] * 3, abs=0.02
        )
    assert not world.skips


@pytest.mark.parametrize("part", [20, 10, 3])
@pytest.mark.long
async def test_a_thousand_pods_of_which_some_begin_to_hang(part):
    """A twentieth, a tenth, a third from one moment on: every other pod keeps its turns."""
    world = World(*names(1000))
    hanging = set(names(1000)[::part])
    async with scraping(world):
        await asyncio.sleep(2 * PERIOD)
        world.hang(hanging)
        await asyncio.sleep(4 * PERIOD)
    for name in set(names(1000)) - hanging:
        phase = place(name) * PERIOD
        late = [began - phase - number * PERIOD for number, began in enumerate(world.began[name])]
        assert len(late) == 6
        assert min(late) >= 0
        assert max(late) < 1.0
    assert world.most <= 32


async def test_a_scrape_that_lost_its_slot_gets_all_its_time():
    """Slow is not failed: what was cut for others is asked again, and answers."""
    world = World(*names(40))
    for name in names(40):
        world.delay[name] = 3.0
    async with scraping(world, concurrency=4):
        await asyncio.sleep(6 * PERIOD)
    assert world.told
    assert {failure for _, _, failure in world.told} == {None}


async def test_a_pod_that_hung_is_back_in_its_turn():
    world = World(*names(4))
    world.hang(["pod-1"])
    async with scraping(world, concurrency=4):
        await asyncio.sleep(4 * PERIOD)
        world.delay["pod-1"] = 0.05
        await asyncio.sleep(2 * PERIOD)
        start = clock()
        await asyncio.sleep(4 * PERIOD)
    assert world.between(start, start + 4 * PERIOD)["pod-1"] == 4


async def test_a_slow_pod_skips_its_turn():
    """Its last scrape is still under way: nothing queues, and it is counted."""
    world = World("slow", "other")
    world.delay["slow"] = 4.9

    async def scrape(target):
        if target.name == "slow":
            await asyncio.sleep(2.5 * PERIOD)
        return await World.scrape(world, target)

    world.scrape = scrape
    async with scraping(world):
        await asyncio.sleep(6 * PERIOD)
    assert world.skips == {"busy": world.skips["busy"]}
    assert world.skips["busy"] >= 3
    assert len(world.began["other"]) == 6


async def test_a_pod_that_refuses_is_asked_once_a_period():
    """It is never tried again sooner, however often it refused."""
    world = World(*names(10))
    for name in names(10):
        world.failure[name] = Failure.REFUSED
    async with scraping(world):
        await asyncio.sleep(10 * PERIOD + 0.2)
    assert set(map(len, world.began.values())) == {10}


async def test_targets_come_and_go():
    """A new one is scraped within a period; one that is gone is not, not even to the end."""
    world = World("stays", "goes")
    world.hang(["goes"])
    async with scraping(world):
        await world.first["goes"].wait()
        world.targets = [target("stays"), target("comes")]
        world.targets_due.set()
        await asyncio.sleep(1.1)
        assert world.under_way["goes"] == 0
        assert world.number == 2
        await asyncio.sleep(PERIOD + 1)
        count = len(world.began["goes"])
        await asyncio.sleep(2 * PERIOD)
    assert count == len(world.began["goes"]) == 1
    assert len(world.began["comes"]) == 3
    assert "goes" not in world.between(0, clock())


async def test_another_uid_is_another_pod():
    """The scrape of the one before ends, untold; its name does not keep it alive."""
    world = World("pod-0")
    world.hang(["pod-0"])
    async with scraping(world):
        await world.first["pod-0"].wait()
        world.targets = [target("pod-0", uid="another")]
        world.delay["pod-0"] = 0.05
        world.targets_due.set()
        await asyncio.sleep(PERIOD + 1.2)
    assert [failure for _, _, failure in world.told] == [None]


async def test_the_target_is_as_fresh_as_the_snapshot():
    """What becomes Ready between two scrapes is told as Ready with the second one."""
    world = World("pod-0")
    seen = []
    world.tell = lambda target, scrape: seen.append(target.ready)
    async with scraping(world):
        await asyncio.sleep(PERIOD + 0.2)
        world.targets = [replace(world.targets[0], ready=True)]
        world.targets_due.set()
        await asyncio.sleep(PERIOD)
    assert seen == [False, True]


async def test_changes_are_followed_once_a_second():
    world = World("pod-0")
    asked = []

    async def find():
        asked.append(clock())
        return world.targets

    world.find = find
    async with scraping(world):
        for _ in range(100):
            world.targets_due.set()
            await asyncio.sleep(0.1)
    assert 9 <= len(asked) <= 11


async def test_targets_that_cannot_be_found_stay():
    """Neither an error nor not knowing forgets the pods."""
    world = World("pod-0")
    async with scraping(world) as scraper:
        await asyncio.sleep(PERIOD + 0.2)
        world.targets = None
        world.targets_due.set()
        await asyncio.sleep(PERIOD)

        async def unknown():
            return None

        scraper._find = unknown
        world.targets_due.set()
        await asyncio.sleep(PERIOD)
    assert len(world.began["pod-0"]) == 3
    assert world.number == 1


async def test_an_exception_in_the_callback_costs_nothing():
    world = World(*names(3))
    world.broken_tell = True
    async with scraping(world):
        await asyncio.sleep(2 * PERIOD + 0.2)
        world.broken_tell = False
        await asyncio.sleep(PERIOD)
    assert set(map(len, world.began.values())) == {3}
    assert len(world.told) == 3


async def test_an_exception_in_a_scrape_costs_nothing_else():
    world = World(*names(3))

    async def scrape(target):
        if target.name == "pod-1":
            raise ZeroDivisionError
        return await World.scrape(world, target)

    world.scrape = scrape
    async with scraping(world):
        await asyncio.sleep(2 * PERIOD + 0.2)
    assert world.between(0, clock()) == {"pod-0": 2, "pod-2": 2}


async def test_a_scrape_that_a_pause_fell_into_says_nothing():
    world = World("pod-0")
    world.hang(["pod-0"])
    async with scraping(world):
        await world.first["pod-0"].wait()
        world.pauses += 1
        await asyncio.sleep(TIMEOUT + 0.1)
    assert world.told == []
    assert world.skips == {"paused": 1}


@pytest.mark.parametrize(
    ("status", "picks", "turns"),
    [("401", True, 1), ("403", True, 1), ("500", True, 1), ("404", True, 4), ("401", False, 4)],
)
async def test_a_picker_that_wants_a_token_is_left_alone(status, picks, turns):
    """It is asked every ten minutes, and counted; a model pod, or another failure, keeps its turns."""
    world = World("pod-0")
    world.targets = [target("pod-0", picked=Picked() if picks else None)]
    world.failure["pod-0"], world.detail = Failure.STATUS, status
    async with scraping(world):
        await asyncio.sleep(4 * PERIOD)
        assert len(world.began["pod-0"]) == turns
        assert world.skips["closed"] == 4 - turns
        await asyncio.sleep(CLOSED_SECONDS)
    assert turns == 4 or len(world.began["pod-0"]) == 2


@pytest.mark.parametrize(("picks", "turns"), [(True, 2), (False, 5)])
async def test_a_picker_that_hangs_again_is_left_alone(picks, turns):
    """A NetworkPolicy keeps the reporter from all pickers, and the slots for what hangs are few."""
    world = World("pod-0")
    world.targets = [target("pod-0", picked=Picked() if picks else None)]
    world.hang(["pod-0"])
    async with scraping(world):
        await asyncio.sleep(5 * PERIOD)
    assert len(world.began["pod-0"]) == turns


async def test_a_page_that_opens_is_scraped_as_often_as_others():
    """Somebody switched authentication off; the pod would be another one, but who knows."""
    world = World("pod-0")
    world.targets = [target("pod-0", picked=Picked())]
    world.failure["pod-0"], world.detail = Failure.STATUS, "401"
    async with scraping(world):
        await asyncio.sleep(PERIOD)
        del world.failure["pod-0"]
        await asyncio.sleep(CLOSED_SECONDS + 4 * PERIOD)
    assert len(world.began["pod-0"]) >= 4
