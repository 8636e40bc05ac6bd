"""One control plane with the sample stack for the whole run; replicas and releases per test."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.envtest.audit import requests
from e2e.envtest.binaries import binaries
from e2e.envtest.commands import Command, helm, kubectl
from e2e.envtest.control_plane import ControlPlane
from e2e.envtest.release import REPORTER, Release
from e2e.stack.api import Api
from e2e.stack.stack import Stack
from e2e.stage import Installed, Serving, Stage, named_after
from tests.daemon.replica import Program


@pytest.fixture(name="plane", scope="session")
def _plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    plane = ControlPlane(binaries(), tmp_path_factory.mktemp("plane"))
    plane.start()
    yield plane
    plane.stop()
    forbidden = [each for each in requests(plane.audit_log) if each.pod and not each.allowed]
    assert forbidden == [], "a replica asked for what the chart does not grant"


@pytest.fixture(name="kubeconfig", scope="session")
def _kubeconfig(plane: ControlPlane) -> Path:
    return plane.admin.write_kubeconfig(plane.folder / "admin.yaml")


@pytest.fixture(name="kubectl", scope="session")
def _kubectl(plane: ControlPlane, kubeconfig: Path) -> Command:
    return kubectl(plane.binaries.kubectl, kubeconfig)


@pytest.fixture(name="helm", scope="session")
def _helm(kubeconfig: Path) -> Command:
    return helm(kubeconfig)


@pytest.fixture(name="release", scope="session")
def _release(
    plane: ControlPlane, helm: Command, kubectl: Command, tmp_path_factory: pytest.TempPathFactory
) -> Release:
    """The chart with its own values, in a namespace of its own."""
    folder = tmp_path_factory.mktemp("release")
    release = Release("status", "status-system", helm, kubectl, plane.admin, folder)
    asyncio.run(release.install(REPORTER))
    return release


@pytest.fixture(name="stage")
async def _stage(plane: ControlPlane, kubectl: Command) -> AsyncIterator[Stage]:
    async with Api(plane.admin) as api, Stack(api) as stack:
        await stack.install_shared()
        stage = Stage(api, stack, kubectl)
        yield stage
        await stage.forget()


@pytest.fixture(name="workload")
async def _workload(stage: Stage, request: pytest.FixtureRequest) -> str:
    """A workload namespace of the test's own: two models behind a Gateway."""
    return await stage.workload(named_after(request.node.name))


@pytest.fixture(name="serving")
async def _serving(stage: Stage, request: pytest.FixtureRequest) -> AsyncIterator[Serving]:
    """A namespace of the test's own where Kthena's controller manages ModelServings."""
    async with Serving(stage, named_after(request.node.name)) as serving:
        yield serving


@pytest.fixture(name="another")
async def _another(
    release: Release, stage: Stage
) -> AsyncIterator[Callable[..., Awaitable[tuple[Release, str]]]]:
    """A function that installs another release: `await another("name", chart, values)` -> notes."""
    made: list[Release] = []

    async def install(
        name: str, chart: Path, values: dict[str, object] | None = None
    ) -> tuple[Release, str]:
        fresh = dataclasses.replace(release, name=name, namespace=name)
        made.append(fresh)
        stage.namespaces.append(name)
        return fresh, await fresh.install(chart, values)

    yield install
    for each in made:
        await each.uninstall()


@pytest.fixture(name="replica")
async def _replica(
    stage: Stage, release: Release
) -> AsyncIterator[Callable[..., Awaitable[Installed]]]:
    """A function that starts a replica of the release: `await replica("a", resync_seconds=5)`.

    By default it is quick: no grace, a pass per second.
    """
    replicas: list[Installed] = []

    async def start(
        name: str = "replica-a", *, release: Release = release, **settings: Any
    ) -> Installed:
        replica = Installed(release, name, **settings)
        replicas.append(replica)
        return await replica.start()

    yield start
    for replica in replicas:
        await replica.stop()


@pytest.fixture(name="powerless")
async def _powerless(
    release: Release, tmp_path: Path
) -> AsyncIterator[Callable[..., Awaitable[Program]]]:
    """A function that returns a replica with the release's rights and settings of its own."""
    made: list[Program] = []

    async def make(**settings: Any) -> Program:
        account = (await release.container()).account
        token = release.kubectl("create", "token", account, "-n", release.namespace).strip()
        access = dataclasses.replace(release.admin, token=token)
        kubeconfig = access.write_kubeconfig(tmp_path / "powerless.yaml")
        made.append(Program(kubeconfig, "powerless", **settings))
        return await made[0].start()

    yield make
    for each in made:
        await each.stop()
