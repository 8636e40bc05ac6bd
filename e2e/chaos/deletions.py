"""Objects that somebody deletes, and some that are created again later."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

from e2e.chaos import saved
from e2e.chaos.cluster import Cluster
from e2e.chaos.records import Key, Truth
from e2e.stage import EVENT_NAMESPACE, LEASES, OURS
from reporter.catalogue.resources import COMPONENT

_DELETED_CRDS: Final = ("scaledobjects.keda.sh", "apikeys.kaito.sh")
_MISSING: Final = Key("clusterCRDMissing", "cluster")


@asynccontextmanager
async def crds_deleted(cluster: Cluster) -> AsyncIterator[None]:
    """CustomResourceDefinitions are deleted with their objects, and both are created again."""
    objects = {name: await cluster.api.items(name) for name in _DELETED_CRDS}
    missing = Truth(_MISSING, time.time())
    cluster.truths.append(missing)
    for name in _DELETED_CRDS:
        await cluster.stack.remove_crd(name)
    try:
        yield
    finally:
        await cluster.stack.install_crds()
        for name, deleted in objects.items():
            await saved.create(cluster.api, name, deleted)
        cluster.truths.remove(missing)
        cluster.truths.append(replace(missing, until=time.time()))


@asynccontextmanager
async def events_deleted(cluster: Cluster) -> AsyncIterator[None]:
    """Our Events are deleted."""
    path = f"/api/v1/namespaces/{EVENT_NAMESPACE}/events"
    await cluster.api.request("DELETE", path, labelSelector=OURS)
    yield


@asynccontextmanager
async def lease_deleted(cluster: Cluster) -> AsyncIterator[None]:
    """The Lease is deleted, which the replicas are not notified of."""
    await cluster.api.delete(LEASES, COMPONENT, namespace=EVENT_NAMESPACE)
    yield
