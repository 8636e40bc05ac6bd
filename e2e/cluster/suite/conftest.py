"""One cluster for the whole run, with the sample stack; releases of the chart for tests."""

import asyncio
import json

import pytest

from e2e.chaos.observer import Observer
from e2e.cluster.__main__ import started
from e2e.cluster.cluster import Cluster
from e2e.cluster.images import REPOSITORY
from e2e.cluster.suite.runnable import COMPONENTS, OWN, RunnableStack
from e2e.envtest.audit import requests
from e2e.envtest.binaries import built
from e2e.envtest.commands import helm, kubectl
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
def _cluster(request):
    suites = {item.path.name.partition("_")[0] for item in request.session.items}
    cluster = Cluster(count=2 if "nodes" in suites else 1)
    started(cluster, reporter=suites != {"engines"})
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(name="kubectl", scope="session")
def _kubectl(cluster):
    return kubectl(built("kubectl") / "kubectl", cluster.kubeconfig)


@pytest.fixture(name="helm", scope="session")
def _helm(cluster):
    return helm(cluster.kubeconfig)


@pytest.fixture(name="uninstall", scope="session")
def _uninstall(cluster, helm, kubectl):
    """A function that ends the release; nothing that its replicas asked for was refused."""
    read = [0]

    def end():
        wrong = [
            each
            for each in requests(cluster.audit_log, since=read[-1])
            if "status-reporter" in each.user
            and (not each.allowed or each.code in (400, INVALID))
            # If two replicas create the Lease at once, one is always too late.
            and not (each.code == INVALID and each.resource == LEASES)
        ]
        helm("uninstall", "status", *IN_NAMESPACE, "--wait")
        of_release = ("pod", "-l", OWN_LABEL, "--field-selector=status.phase=Running")
        kubectl("-n", NAMESPACE, "wait", "--for=delete", *of_release, "--timeout=120s")
        # Its Role was gone before its pods were.
        read.append(cluster.audit_log.stat().st_size)
        assert wrong == [], "a replica asked for what it must not"

    return end


@pytest.fixture(name="sample", scope="session")
def _sample(cluster):
    """The running sample stack, with the models that all tests of their faults share."""

    async def install():
        async with Api(cluster.admin) as api:
            stack = RunnableStack(api)
            await stack.install_shared()
            await stack.install_workload(MODELS)
            await stack.settled(MODELS)

    asyncio.run(install())


@pytest.fixture(name="installed", scope="module")
def _installed(sample, helm, kubectl, uninstall):
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
async def _stage(cluster, kubectl):
    async with Api(cluster.admin) as api:
        stack = RunnableStack(api)
        await stack.install_shared()
        stage = Stage(api, stack, kubectl)
        yield stage
        await asyncio.gather(*map(stack.delete_namespace, stage.namespaces))


@pytest.fixture(name="models")
async def _models(stage):
    """The namespace of these models, restored to its installed state."""
    await stage.stack.install_workload(MODELS)
    return MODELS


@pytest.fixture(name="observer")
async def _observer(stage):
    async with Observer(stage.api) as observer:
        yield observer
