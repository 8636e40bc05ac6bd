"""One control plane with the sample stack for the whole run; replicas and releases per test."""

import asyncio
import dataclasses

import pytest

from e2e.envtest.audit import requests
from e2e.envtest.control_plane import control_plane
from e2e.envtest.release import REPORTER, Release
from e2e.serving import Serving
from e2e.stack.api import Api
from e2e.stack.played import PlayedStack
from e2e.stage import Installed, Stage, named_after


@pytest.fixture(name="plane", scope="session")
def _plane(tmp_path_factory):
    with control_plane(tmp_path_factory.mktemp("plane")) as plane:
        yield plane
    forbidden = [each for each in requests(plane.audit_log) if each.pod and not each.allowed]
    assert forbidden == [], "a replica asked for what the chart does not grant"


@pytest.fixture(name="absent", scope="session")
def _absent(plane):
    """A release in a namespace of its own, not installed yet."""
    return Release.on(plane, "status", "status-system")


@pytest.fixture(name="kubectl", scope="session")
def _kubectl(absent):
    return absent.kubectl


@pytest.fixture(name="helm", scope="session")
def _helm(absent):
    return absent.helm


@pytest.fixture(name="release", scope="session")
def _release(absent):
    """The chart with its own values."""
    asyncio.run(absent.install(REPORTER))
    return absent


@pytest.fixture(name="stage")
async def _stage(plane, kubectl):
    async with Api(plane.admin) as api:
        stage = Stage(api, PlayedStack(api), kubectl)
        await stage.stack.install_shared()
        yield stage
        await stage.forget()


@pytest.fixture(name="workload")
async def _workload(stage, request):
    """A workload namespace of the test's own: two models behind a Gateway."""
    return await stage.workload(named_after(request.node.name))


@pytest.fixture(name="serving")
async def _serving(stage, request):
    """A namespace of the test's own where Kthena's controller manages a ModelServing."""
    return await Serving(stage, named_after(request.node.name)).install()


@pytest.fixture(name="another")
async def _another(release, stage):
    """A function that installs another release: `await another("name", chart, values)` -> notes."""
    made = []

    async def install(name, chart, values=None):
        fresh = dataclasses.replace(release, name=name, namespace=name)
        made.append(fresh)
        stage.namespaces.append(name)
        return fresh, await fresh.install(chart, values)

    yield install
    for each in made:
        await each.uninstall()


@pytest.fixture(name="replica")
async def _replica(stage, release):
    """A function that starts a replica of the release: `await replica("a", resync_seconds=5)`.

    By default it is quick: no grace, a pass per second.
    """
    replicas = []

    async def start(name="replica-a", *, release=release, **settings):
        replica = Installed(release, name, **settings)
        replicas.append(replica)
        return await replica.start()

    yield start
    for replica in replicas:
        await replica.stop()


@pytest.fixture(name="as_account")
def _as_account(plane, kubectl, tmp_path):
    """A function that writes a ServiceAccount's kubeconfig: `as_account("namespace", "name")`."""

    def write(namespace, name):
        token = kubectl("create", "token", name, "-n", namespace).strip()
        access = dataclasses.replace(plane.admin, token=token)
        return access.write_kubeconfig(tmp_path / f"{name}.yaml")

    return write
