"""A leader that goes away while there is a fault."""

from datetime import UTC, datetime

import pytest

from e2e.cluster.suite.conftest import LATE, NAMESPACE
from e2e.cluster.suite.faults import KAITO
from e2e.cluster.suite.story import fires, told_once, until
from e2e.stage import LEASES
from reporter.catalogue.resources import COMPONENT, EVENT_NAMESPACE
from reporter.kube.lease import HANDED_ON_ANNOTATION

SINCE = "status-reporter.io/since"


async def holder(stage) -> str:
    lease = await stage.api.get(LEASES, COMPONENT, namespace=EVENT_NAMESPACE)
    return lease["spec"]["holderIdentity"] if lease else ""


async def handed_on(stage) -> str:
    """Return the faults in their grace that are on the Lease."""
    lease = await stage.api.get(LEASES, COMPONENT, namespace=EVENT_NAMESPACE)
    return lease["metadata"].get("annotations", {}).get(HANDED_ON_ANNOTATION, "")


async def leading_pod(stage) -> dict:
    identity = await holder(stage)
    pods = await stage.api.items("pods", namespace=NAMESPACE)
    (pod,) = (each for each in pods if identity.startswith(each["metadata"]["name"]))
    return pod


def container_of(pod) -> str:
    """Return the identifier that the runtime has for a pod's container."""
    return pod["status"]["containerStatuses"][0]["containerID"].partition("//")[2]


def task(cluster, pod, *command: str) -> None:
    """Do something to the process of a pod's container."""
    cluster.machine.ctr("tasks", *command, container_of(pod))


def delete(stage, cluster, pod) -> None:
    stage.kubectl("-n", NAMESPACE, "delete", "pod", pod["metadata"]["name"], "--wait=false")


def kill(stage, cluster, pod) -> None:
    task(cluster, pod, "kill", "--signal=SIGKILL")


def freeze(stage, cluster, pod) -> None:
    task(cluster, pod, "pause")


@pytest.mark.parametrize("strike", [delete, kill, freeze], ids=lambda each: each.__name__)
async def test_leader_goes(installed, cluster, stage, observer, strike):
    """Another process leads; the Event is written once, with its time, and closed at the end."""
    async with told_once(stage, observer, KAITO, "scaled to zero", ready="clusterReady"):
        await stage.stack.scale(NAMESPACE, "kaito-workspace", 0)
        await fires(stage, KAITO)
        (before,) = await stage.events(KAITO, state="firing")
        identity, pod = await holder(stage), await leading_pod(stage)
        strike(stage, cluster, pod)

        async def another_leads() -> bool:
            return await holder(stage) not in ("", identity)

        try:
            await until(another_leads, "another process leads")
        finally:
            if strike is freeze:
                task(cluster, pod, "resume")
        (after,) = await stage.events(KAITO, state="firing")
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert after["eventTime"] == before["eventTime"]
        await stage.stack.scale(NAMESPACE, "kaito-workspace", 1)


async def test_grace_outlives_the_process(installed, cluster, stage, observer):
    """A leader that is killed in the grace of a fault hands on its start."""
    key = (LATE, "cluster")
    async with told_once(stage, observer, key, "scaled to zero", ready="clusterReady"):
        before = await handed_on(stage)
        await stage.stack.scale(NAMESPACE, "body-based-router", 0)
        try:

            async def changed() -> bool:
                return await handed_on(stage) not in ("", before)

            await until(changed, "the Lease has the start of the fault")
            identity, pod = await holder(stage), await leading_pod(stage)
            killed = datetime.now(UTC)
            kill(stage, cluster, pod)
            await fires(stage, key)
        finally:
            await stage.stack.scale(NAMESPACE, "body-based-router", 2)
        (told,) = await stage.events(key)
        assert await holder(stage) != identity
        assert datetime.fromisoformat(told["metadata"]["annotations"][SINCE]) < killed
