"""The faults: what each does to the cluster, and what is promised then."""

import asyncio
import contextlib
import shutil
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Final

import aiohttp
import yaml

from e2e.chaos import bounds
from e2e.chaos.bounds import Form
from e2e.chaos.cluster import Cluster, Replica
from e2e.chaos.judges import Key, Truth
from e2e.envtest.commands import Access
from e2e.envtest.control_plane import ControlPlane, Server
from e2e.envtest.tcp_proxy import Network
from e2e.stack.api import Api
from e2e.stage import EVENT_NAMESPACE, LEASES, OURS
from lab.demo.story import CODE
from lab.sandbox.objects import Object, name_of
from reporter.catalogue.resources import COMPONENT
from tests.daemon.replica import until

# Faults of the servers.

_WRITES: Final = 300
"""The minimum number of versions that the cluster goes back."""


async def _api_server_killed(cluster: Cluster, ending: AsyncExitStack) -> None:
    await asyncio.to_thread(cluster.plane.api_server.kill)
    ending.push_async_callback(_start, cluster.plane, cluster.plane.api_server)


async def _etcd_stopped(cluster: Cluster, ending: AsyncExitStack) -> None:
    await asyncio.to_thread(cluster.plane.etcd.stop)
    ending.push_async_callback(_start, cluster.plane, cluster.plane.etcd)


async def _start(plane: ControlPlane, *servers: Server) -> None:
    # Not in a thread: servers end with the thread that started them.
    for server in servers:
        server.start()
    await asyncio.to_thread(plane.wait)


async def _restored(cluster: Cluster, ending: AsyncExitStack) -> None:
    """The cluster goes back to before many changes, among them one fault of the stack."""
    plane, model = cluster.plane, "qwen2-5-coder-7b"
    key = Key("inferencesetInfraProvisioningFailed", f"inferenceset/{CODE}/{model}")
    # As of one moment, as a killed etcd would leave it.
    plane.etcd.send(signal.SIGSTOP)
    try:
        shutil.copytree(plane.folder / "etcd", plane.folder / "etcd-before")
    finally:
        plane.etcd.send(signal.SIGCONT)
    undone = Truth(key, time.time(), undone=True)
    cluster.truths.append(undone)
    says = ("NodeClaimReady", "False", "SubscriptionQuotaReached", "quota exceeded")
    await cluster.stack.condition("workspaces.kaito.sh", CODE, model, says=says)
    await until(
        lambda: any(each.key == key and each.live for each in cluster.observer.versions),
        "the fault that will be undone is told",
    )
    for number in range(_WRITES):
        patch = {"metadata": {"annotations": {"chaos/number": str(number)}}}
        await cluster.api.patch("namespaces", CODE, patch)
    ending.push_async_callback(_restore, cluster, undone)


async def _restore(cluster: Cluster, undone: Truth) -> None:
    plane = cluster.plane
    for server in (plane.api_server, plane.etcd):
        await asyncio.to_thread(server.kill)
    cluster.ends(undone)
    cluster.observer.begin_again()
    shutil.rmtree(plane.folder / "etcd")
    (plane.folder / "etcd-before").rename(plane.folder / "etcd")
    await _start(plane, plane.etcd, plane.api_server)


# Faults of the leading replica's process.


async def _leader_killed(cluster: Cluster, _: AsyncExitStack) -> None:
    cluster.first.send(signal.SIGKILL)


async def _leader_paused(cluster: Cluster, ending: AsyncExitStack) -> None:
    """The leader does not run, as on a suspended machine, and then continues."""
    cluster.first.send(signal.SIGSTOP)
    ending.callback(cluster.first.send, signal.SIGCONT)


async def _clock_moved(cluster: Cluster, ending: AsyncExitStack, *, seconds: int) -> None:
    cluster.first.set_clock(seconds)
    ending.callback(cluster.first.set_clock, 0)


# Faults of the network between the replicas and the API server.


async def _cut_repeatedly(cluster: Cluster, ending: AsyncExitStack) -> None:
    """Connections are reset once a second, as if a load balancer were being replaced."""

    async def cut() -> None:
        while True:
            cluster.cut()
            await asyncio.sleep(1.0)

    ending.callback(asyncio.create_task(cut()).cancel)


async def _refused(cluster: Cluster, ending: AsyncExitStack) -> None:
    _become(cluster.replicas, Network.REFUSED, ending)
    cluster.cut()


async def _both_partitioned(cluster: Cluster, ending: AsyncExitStack) -> None:
    _become(cluster.replicas, Network.HUNG, ending)


async def _leader_partitioned(cluster: Cluster, ending: AsyncExitStack) -> None:
    _become([cluster.first], Network.HUNG, ending)


async def _stranded(cluster: Cluster, _: AsyncExitStack) -> None:
    """Open connections are never reset, as behind a NAT that forgot them."""
    for replica in cluster.replicas:
        replica.network.strand()


def _become(replicas: Iterable[Replica], fault: Network, ending: AsyncExitStack) -> None:
    for replica in replicas:
        replica.network.become(fault)
        ending.callback(replica.network.become, Network.WELL)


# Objects that somebody deletes, and some that are created again later.


async def _crds_deleted(cluster: Cluster, ending: AsyncExitStack) -> None:
    names = ("scaledobjects.keda.sh", "apikeys.kaito.sh")
    objects = [each for name in names for each in await cluster.api.items(name)]
    missing = Truth(Key("clusterCRDMissing", "cluster"), time.time())
    cluster.truths.append(missing)
    ending.callback(cluster.ends, missing)
    ending.push_async_callback(_create, cluster.api, objects)
    ending.push_async_callback(cluster.stack.install_crds)
    for name in names:
        await cluster.stack.remove_crd(name)


async def _create(api: Api, objects: Sequence[Object]) -> None:
    """Create objects again, with the status that they had."""
    for each in objects:
        await api.install(each)


async def _events_deleted(cluster: Cluster, _: AsyncExitStack) -> None:
    path = f"/api/v1/namespaces/{EVENT_NAMESPACE}/events"
    await cluster.api.request("DELETE", path, labelSelector=OURS)


async def _lease_deleted(cluster: Cluster, _: AsyncExitStack) -> None:
    await cluster.api.delete(LEASES, COMPONENT, namespace=EVENT_NAMESPACE)


# What the API server allows the replicas. Connections end, so that watches are opened again.


async def _reading_forbidden(cluster: Cluster, ending: AsyncExitStack) -> None:
    resource = "clusterrolebindings.rbac.authorization.k8s.io"
    bindings = await cluster.api.items(resource, selector=cluster.selector)
    ending.push_async_callback(_create, cluster.api, bindings)
    for each in bindings:
        await cluster.api.delete(resource, name_of(each))
    cluster.cut()


async def _events_forbidden(cluster: Cluster, ending: AsyncExitStack) -> None:
    resource, place = "roles.rbac.authorization.k8s.io", {"namespace": EVENT_NAMESPACE}
    found = await cluster.api.items(resource, **place, selector=cluster.selector)
    (role,) = [
        each
        for each in found
        if any(
            "events" in rule["resources"] and "create" in rule["verbs"] for rule in each["rules"]
        )
    ]

    async def allow(rules: Sequence[Object]) -> None:
        await cluster.api.patch(resource, name_of(role), {"rules": rules}, **place)

    ending.push_async_callback(allow, role["rules"])
    await allow([rule for rule in role["rules"] if "events" not in rule["resources"]])
    cluster.cut()


_STORM: Final = """
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: chaos-storm}
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 0
    lendablePercent: 0
    borrowingLimitPercent: 0
    limitResponse: {type: Reject}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: chaos-storm}
spec:
  priorityLevelConfiguration: {name: chaos-storm}
  matchingPrecedence: 10
  rules:
  - resourceRules:
    - {apiGroups: ['*'], resources: ['*'], verbs: ['*'], clusterScope: true, namespaces: ['*']}
    nonResourceRules: [{nonResourceURLs: ['*'], verbs: ['*']}]
    subjects:
    - {kind: ServiceAccount, serviceAccount: {namespace: NAMESPACE, name: NAME}}
"""
"""A level without concurrency, and the account NAMESPACE/NAME for which it is."""


async def _throttled(cluster: Cluster, ending: AsyncExitStack) -> None:
    """Priority and fairness rejects every request of the account.

    A level without concurrency still lets one request at a time pass, so one is kept waiting.
    """
    namespace, name = await cluster.account()
    access = await cluster.access()
    storm = _STORM.replace("NAMESPACE", namespace).replace("NAME", name)
    ending.callback(asyncio.create_task(_occupy(cluster.api, access)).cancel)
    for each in yaml.safe_load_all(storm):
        made = await cluster.api.create(each)
        resource = await cluster.api.resource_of(made)
        ending.push_async_callback(cluster.api.delete, resource.name, name_of(made))
    await until(lambda: _is_rejected(cluster.api, access), "the account is throttled")
    cluster.cut()


async def _occupy(api: Api, access: Access) -> None:
    """Keep a request waiting for its own body."""
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    while True:
        with contextlib.suppress(aiohttp.ClientError, TimeoutError):
            async with api.session.post(path, headers=access.headers, data=_endless()) as answer:
                await answer.read()
        await asyncio.sleep(0.1)


async def _endless() -> AsyncIterator[bytes]:
    yield b"{"
    await asyncio.Event().wait()


async def _is_rejected(api: Api, access: Access) -> bool:
    """Tell whether the account is refused with 429 and a time to retry."""
    async with api.session.get("/version", headers=access.headers) as answer:
        return answer.status == HTTPStatus.TOO_MANY_REQUESTS and "Retry-After" in answer.headers


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong around the reporter, and what is promised in that case.

    Attributes:
        name: on the command line.
        text: what is done.
        strikes: starts the fault, and says how it ends.
        seconds: how long it lasts, and in the short form; None if recovery takes too long for that.
        bound: seconds until all is reported again, from the form and the seconds it lasted.
        reached: an admin can write while it lasts, so faults of the stack come and go meanwhile.
        takes_over: the other replica must continue while it lasts: recovery counts from its start.
        allowed: reasons of Warnings that may be reported although nothing of the stack is wrong.
        moves_clock: it needs a first replica whose clock can be set.
    """

    name: str
    text: str
    strikes: Callable[[Cluster, AsyncExitStack], Awaitable[None]]
    seconds: tuple[float, float | None]
    bound: Callable[[Form, float], float]
    reached: bool = True
    takes_over: bool = False
    allowed: Collection[str] = ()
    moves_clock: bool = False

    def lasts(self, form: Form) -> float:
        return self.seconds[form.short] or 0.0


_UNKNOWN: Final = ("clusterStatusUnknown",)

FAULTS: Final = (
    Fault(
        "api-server-killed", "API server SIGKILLed, and started again",
        _api_server_killed, (15, 3), bounds.restarting, reached=False,
    ),
    Fault(
        "etcd-stopped", "etcd stopped, and started again",
        _etcd_stopped, (15, 3), bounds.restarting, reached=False,
    ),
    Fault(
        "restored", "cluster restored from an older copy of etcd",
        _restored, (0, 0), bounds.restarting, reached=False,
    ),
    Fault(
        "connections-cut", "all connections reset, again and again",
        _cut_repeatedly, (15, 4), bounds.reconnecting,
    ),
    Fault(
        "connections-refused", "connections reset and new ones refused",
        _refused, (15, 4), bounds.reconnecting,
    ),
    Fault(
        "connections-stranded", "open connections hang for good, new ones pass",
        _stranded, (0, None), bounds.idling,
    ),
    Fault(
        "both-partitioned", "both replicas partitioned from the API server: packets dropped",
        _both_partitioned, (25, 7), bounds.reconnecting,
    ),
    Fault(
        "leader-partitioned", "the leader partitioned from the API server only",
        _leader_partitioned, (25, 8), bounds.takeover, takes_over=True,
    ),
    Fault(
        "leader-killed", "the leader SIGKILLed",
        _leader_killed, (20, 5), bounds.takeover, takes_over=True,
    ),
    Fault(
        "leader-paused", "the leader SIGSTOPped past its lease, and continued",
        _leader_paused, (25, 8), bounds.takeover, takes_over=True,
    ),
    Fault(
        "throttled", "429 for every request of the reporter (priority and fairness)",
        _throttled, (20, 4), bounds.reconnecting,
    ),
    Fault(
        "reading-forbidden", "the ClusterRoleBinding deleted, and created again",
        _reading_forbidden, (20, 4), bounds.reconnecting, allowed=_UNKNOWN,
    ),
    Fault(
        "events-forbidden", "Events taken out of the Role, and given back",
        _events_forbidden, (20, 4), bounds.refused, allowed=_UNKNOWN,
    ),
    Fault(
        "crds-deleted", "two CRDs deleted with their objects, and both created again",
        _crds_deleted, (20, 4), bounds.rediscovering,
    ),
    Fault(
        "events-deleted", "the reporter's Events deleted by somebody",
        _events_deleted, (0, 0), bounds.refreshing,
    ),
    Fault(
        "lease-deleted", "the Lease deleted by somebody",
        _lease_deleted, (0, 0), bounds.takeover,
    ),
    Fault(
        "clock-ahead", "the leader's clock moved +1 h, and back",
        partial(_clock_moved, seconds=3600), (20, 4), bounds.telling, moves_clock=True,
    ),
    Fault(
        "clock-behind", "the leader's clock moved -1 h, and back",
        partial(_clock_moved, seconds=-3600), (20, 4), bounds.telling, moves_clock=True,
    ),
)  # fmt: skip
"""All faults, in the order of the printed table."""

BY_NAME: Final = {fault.name: fault for fault in FAULTS}

SHORT_FAULTS: Final = tuple(fault for fault in FAULTS if fault.seconds[1] is not None)
"""The faults of the short form."""
