"""One cluster for the whole run, with the sample stack; releases of the chart for tests."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass

import pytest

from e2e.chaos.observer import Observer
from e2e.cluster.__main__ import started
from e2e.cluster.cluster import Cluster
from e2e.cluster.images import REPOSITORY
from e2e.cluster.suite.runnable import COMPONENTS, OWN, RunnableStack
from e2e.envtest.audit import Request, requests
from e2e.envtest.binaries import built
from e2e.envtest.commands import Command, helm, kubectl
from e2e.envtest.release import REPORTER
from e2e.stack.api import Api
from e2e.stage import LEASES, Stage

NAMESPACE = "kaito-system"
IN_NAMESPACE = ("--namespace", NAMESPACE)
MODELS = "models"
OWN_LABEL = "app.kubernetes.io/instance=status"
INVALID = 422

LATE = "clusterBBRNotReady"
QUICK = {
    "startupGraceSeconds": 5,
    "grace": {LATE: 40, "model-startup": 45},
    "resyncSeconds": 10,
    "mirrorToWorkload": True,
    "priorityClassName": "system-cluster-critical",
}
"""Values for quick reports; pods here take far less to start.

One reason has a long grace. Events are mirrored to the models' namespaces. A node does not evict
the replicas: there is no other node for them.
"""


@pytest.fixture(name="cluster", scope="session")
def _cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    suites = {item.path.name.partition("_")[0] for item in request.session.items}
    cluster = Cluster(count=2 if "nodes" in suites else 1)
    started(cluster, reporter=suites != {"engines"})
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(name="kubectl", scope="session")
def _kubectl(cluster: Cluster) -> Command:
    return kubectl(built("kubectl") / "kubectl", cluster.kubeconfig)


@pytest.fixture(name="helm", scope="session")
def _helm(cluster: Cluster) -> Command:
    return helm(cluster.kubeconfig)


@dataclass
class Refused:
    """What the API server refuses to replicas, except those that outlive their own Role.

    Attributes:
        cluster: that they run on.
    """

    cluster: Cluster
    _read: int = 0

    def requests(self) -> list[Request]:
        """Return the requests. If two replicas create the Lease at once, one is always too late."""
        return [
            each
            for each in requests(self.cluster.audit_log, since=self._read)
            if "status-reporter" in each.user
            and (not each.allowed or each.code in (400, 422))
            and not (each.code == INVALID and each.resource == LEASES)
        ]

    def forget(self) -> None:
        """Ignore what has been refused until now."""
        self._read = self.cluster.audit_log.stat().st_size


@pytest.fixture(name="refused", scope="session")
def _refused(cluster: Cluster) -> Refused:
    return Refused(cluster)


@pytest.fixture(name="uninstall", scope="session")
def _uninstall(helm: Command, kubectl: Command, refused: Refused) -> Callable[[], None]:
    def end() -> None:
        """End the release. Its Role is gone before its pods are."""
        wrong = refused.requests()
        helm("uninstall", "status", *IN_NAMESPACE, "--wait")
        of_release = ("pod", "-l", OWN_LABEL, "--field-selector=status.phase=Running")
        kubectl("-n", NAMESPACE, "wait", "--for=delete", *of_release, "--timeout=120s")
        refused.forget()
        assert wrong == [], "a replica asked for what it must not"

    return end


@pytest.fixture(name="sample", scope="session")
def _sample(cluster: Cluster) -> None:
    """The running sample stack, with the models that all tests of their faults share."""

    async def install() -> None:
        async with Api(cluster.admin) as api:
            stack = RunnableStack(api)
            await stack.install_shared()
            await stack.install_workload(MODELS)
            await stack.settled(MODELS)

    asyncio.run(install())


@pytest.fixture(name="installed", scope="module")
def _installed(
    sample: None, helm: Command, kubectl: Command, uninstall: Callable[[], None]
) -> Iterator[str]:
    """The chart installed by the README's words, except for the times of `QUICK`; its namespace."""
    for obj in OWN:
        kubectl("apply", "-f", "-", stdin=json.dumps(obj))
    values = {"image": {"repository": REPOSITORY}, "customComponents": COMPONENTS, **QUICK}
    helm(
        "install", "status", str(REPORTER), *IN_NAMESPACE, "--create-namespace", "--wait",
        "--values=-", stdin=json.dumps(values),
    )  # fmt: skip
    yield NAMESPACE
    uninstall()


@pytest.fixture(name="stage")
async def _stage(cluster: Cluster, kubectl: Command) -> AsyncIterator[Stage]:
    async with Api(cluster.admin) as api:
        stack = RunnableStack(api)
        await stack.install_shared()
        stage = Stage(api, stack, kubectl)
        yield stage
        await asyncio.gather(*map(stack.delete_namespace, stage.namespaces))


@pytest.fixture(name="models")
async def _models(stage: Stage) -> str:
    """The namespace of these models, restored to its installed state."""
    await stage.stack.install_workload(MODELS)
    return MODELS


@pytest.fixture(name="observer")
async def _observer(stage: Stage) -> AsyncIterator[Observer]:
    async with Observer(stage.api) as observer:
        yield observer
