"""What the listeners answer."""

import threading

from aiohttp.test_utils import TestClient, TestServer
from aiohttp.web import Application
from prometheus_client import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from reporter.daemon.server import metrics_routes


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
    for path, handler in metrics_routes(own, of_subjects).items():
        app.router.add_get(path, handler)
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
