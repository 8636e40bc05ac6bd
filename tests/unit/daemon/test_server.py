"""What the listeners answer."""

import asyncio
import threading

from aiohttp.test_utils import TestClient, TestServer
from aiohttp.web import Application
from prometheus_client import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from reporter.daemon.server import MetricsPage


class Threads(Collector):
    """One metric that notes where it is asked for, and where it is written."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked: list[threading.Thread] = []
        self.written: list[threading.Thread] = []

    def collect(self):
        self.asked.append(threading.current_thread())
        yield Noting(self)


class Noting(Metric):
    """A metric that notes who reads its samples."""

    def __init__(self, owner: Threads) -> None:
        self._owner = owner
        super().__init__(owner.name, "Help.", "gauge")
        self._samples.append(Sample(owner.name, {}, 1.0))

    @property
    def samples(self):
        self._owner.written.append(threading.current_thread())
        return self._samples

    @samples.setter
    def samples(self, samples):
        self._samples = samples


async def test_metrics_are_asked_for_on_the_loop_and_written_off_it():
    """The loop's own state is read where it changes; a long page holds up nobody."""
    own, of_subjects = Threads("own"), Threads("of_subjects")
    app = Application()
    app.router.add_get("/metrics", MetricsPage(own, of_subjects, lambda: None).serve)
    async with TestClient(TestServer(app)) as client:
        response = await client.get("/metrics")
        text = await response.text()
    assert response.status == 200
    assert "own 1.0\n" in text
    assert "of_subjects 1.0\n" in text
    here = threading.current_thread()
    assert own.asked == [here]
    assert own.written
    assert of_subjects.written
    assert here not in own.written + of_subjects.written


class Slow(Collector):
    """A page that is being written until it is let go; it is long."""

    def __init__(self) -> None:
        self.written = 0
        self.go = threading.Event()

    def collect(self):
        self.written += 1
        self.go.wait(20)
        yield Metric("long", "x" * 1000, "gauge")


async def test_who_asks_meanwhile_shares_a_page_and_the_rest_is_told_to_come_again():
    """However many ask, it is written once, and eight are answered at a time."""
    own, of_subjects = Threads("own"), Slow()
    app = Application()
    app.router.add_get("/metrics", MetricsPage(own, of_subjects, lambda: "report").serve)
    async with TestClient(TestServer(app)) as client:
        asked = [asyncio.create_task(client.get("/metrics")) for _ in range(20)]
        refused = [each for each in await first(12, asked) if each.status == 503]
        assert len(refused) == 12
        assert {each.headers["Retry-After"] for each in refused} == {"1"}
        of_subjects.go.set()
        answers = await asyncio.gather(*asked)
        assert [each.status for each in answers].count(200) == 8
        assert (len(own.asked), of_subjects.written) == (1, 1)
        assert (await client.get("/metrics")).status == 200
    assert (len(own.asked), of_subjects.written) == (2, 1)
    assert {each.headers["Server"] for each in answers} == {"status-reporter"}


async def first(count, tasks):
    """The results of the first tasks that end."""
    ended = asyncio.as_completed(tasks)
    return [await next(ended) for _ in range(count)]
