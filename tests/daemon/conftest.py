"""A stack in a sandbox, and replicas of the daemon that are stopped when the test ends."""

import functools
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from reporter.daemon import main as wiring
from reporter.daemon import passes, writers
from reporter.kube.informer import Timing
from reporter.kube.live import LiveCluster
from reporter.kube.writes import KubeEvents
from tests.daemon.replica import Inside, Program, Replica
from tests.daemon.stage import Stage

HERE = Path(__file__).parent
RESERVED = ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HTTP_PROXY", "http_proxy")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Who has a cluster lives in real time: long, but for one or two of each kind of trouble."""
    for item in items:
        with_cluster = item.path.is_relative_to(HERE) and "stage" in item.fixturenames
        if with_cluster and not item.get_closest_marker("quick"):
            item.add_marker("long")


@pytest.fixture(autouse=True)
def _no_cluster_around(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in RESERVED:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Daemons in this process ask, pass and try again sooner, so that tests need not wait for it."""
    monkeypatch.setattr(passes, "SHORTEST_SECONDS", 0.2)
    monkeypatch.setattr(writers, "KubeEvents", functools.partial(KubeEvents, seconds=1.0))
    quick = functools.partial(LiveCluster, timing=Timing(backoff=0.05), discovery_seconds=0.5)
    monkeypatch.setattr(wiring, "LiveCluster", quick)


@pytest.fixture(name="stage")
async def _stage(tmp_path: Path) -> AsyncIterator[Stage]:
    stage = Stage(tmp_path / "kubeconfig.yaml")
    await stage.up()
    yield stage
    await stage.close()


@pytest.fixture(name="replicas")
async def _replicas(stage: Stage) -> AsyncIterator[list[Replica]]:
    """Collects replicas to be stopped before the cluster is."""
    replicas: list[Replica] = []
    yield replicas
    for replica in replicas:
        await replica.stop()


@pytest.fixture(name="inside")
def _inside(stage: Stage, replicas: list[Replica]) -> Callable[..., Inside]:
    """Return what makes a daemon in this process: `await inside("a").start()`."""

    def make(name: str = "replica-a", **settings: object) -> Inside:
        replica = Inside(stage.kubeconfig, name, **settings)
        replicas.append(replica)
        return replica

    return make


@pytest.fixture(name="program")
def _program(stage: Stage, replicas: list[Replica]) -> Callable[..., Program]:
    """Return what makes a daemon in a process of its own: `await program("a").start()`."""

    def make(name: str = "replica-a", **settings: object) -> Program:
        replica = Program(stage.kubeconfig, name, **settings)
        replicas.append(replica)
        return replica

    return make
