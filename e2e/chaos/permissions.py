"""Faults in what the API server allows the replicas."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

import aiohttp

from e2e.chaos import saved
from e2e.chaos.cluster import Cluster
from e2e.envtest.access import Access
from e2e.stack.api import Api
from e2e.stage import EVENT_NAMESPACE
from lab.sandbox.objects import Object, name_of
from tests.daemon.replica import until

_BINDINGS: Final = "clusterrolebindings.rbac.authorization.k8s.io"
_ROLES: Final = "roles.rbac.authorization.k8s.io"
_FLOW_CONTROL: Final = "flowcontrol.apiserver.k8s.io/v1"
_LEVELS: Final = "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"
_FLOWS: Final = "flowschemas.flowcontrol.apiserver.k8s.io"
_STORM: Final = "chaos-storm"
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_RETRY_SECONDS: Final = 0.1


@asynccontextmanager
async def reading_forbidden(cluster: Cluster) -> AsyncIterator[None]:
    """Somebody deletes the ClusterRoleBinding, and connections end, so watches are opened again."""
    bindings = await cluster.api.items(_BINDINGS, selector=cluster.selector)
    await saved.delete(cluster.api, _BINDINGS, bindings)
    cluster.cut()
    try:
        yield
    finally:
        await saved.create(cluster.api, _BINDINGS, bindings)


@asynccontextmanager
async def events_forbidden(cluster: Cluster) -> AsyncIterator[None]:
    """Somebody removes Events from the Role, and connections end."""
    (role,) = [
        each
        for each in await cluster.api.items(
            _ROLES, namespace=EVENT_NAMESPACE, selector=cluster.selector
        )
        if any(
            "events" in rule["resources"] and "create" in rule["verbs"] for rule in each["rules"]
        )
    ]
    without = [rule for rule in role["rules"] if "events" not in rule["resources"]]
    await _set_rules(cluster, role, without)
    cluster.cut()
    try:
        yield
    finally:
        await _set_rules(cluster, role, role["rules"])


async def _set_rules(cluster: Cluster, role: Object, rules: list[Object]) -> None:
    patch: Object = {"rules": rules}
    await cluster.api.patch(_ROLES, name_of(role), patch, namespace=EVENT_NAMESPACE)


@asynccontextmanager
async def throttled(cluster: Cluster) -> AsyncIterator[None]:
    """Priority and fairness rejects every request of the account with 429, and connections end.

    A level without concurrency still lets one request at a time pass, so one is kept waiting.
    """
    access = await cluster.access()
    await cluster.api.create(_level())
    await cluster.api.create(_flow(await cluster.account()))
    occupying = asyncio.create_task(_occupy(cluster.api, access))
    try:
        await until(lambda: _is_rejected(cluster.api, access), "the account is throttled")
        cluster.cut()
        yield
    finally:
        await cluster.api.delete(_FLOWS, _STORM)
        await cluster.api.delete(_LEVELS, _STORM)
        occupying.cancel()
        await asyncio.wait([occupying])


async def _occupy(api: Api, access: Access) -> None:
    """Keep a request waiting for its own body."""
    while True:
        with contextlib.suppress(aiohttp.ClientError, TimeoutError):
            async with api.session.post(
                _REVIEWS, headers=access.headers, data=_endless()
            ) as answer:
                await answer.read()
        await asyncio.sleep(_RETRY_SECONDS)


async def _endless() -> AsyncIterator[bytes]:
    yield b"{"
    await asyncio.Event().wait()


async def _is_rejected(api: Api, access: Access) -> bool:
    """Tell whether the account is refused with 429 and a time to retry."""
    async with api.session.get("/version", headers=access.headers) as answer:
        return answer.status == HTTPStatus.TOO_MANY_REQUESTS and "Retry-After" in answer.headers


def _level() -> Object:
    limited = {
        "nominalConcurrencyShares": 0,
        "lendablePercent": 0,
        "borrowingLimitPercent": 0,
        "limitResponse": {"type": "Reject"},
    }
    return {
        "apiVersion": _FLOW_CONTROL,
        "kind": "PriorityLevelConfiguration",
        "metadata": {"name": _STORM},
        "spec": {"type": "Limited", "limited": limited},
    }


def _flow(account: tuple[str, str]) -> Object:
    namespace, name = account
    everything = {
        "resourceRules": [
            {
                "apiGroups": ["*"],
                "resources": ["*"],
                "verbs": ["*"],
                "clusterScope": True,
                "namespaces": ["*"],
            }
        ],
        "nonResourceRules": [{"nonResourceURLs": ["*"], "verbs": ["*"]}],
        "subjects": [
            {"kind": "ServiceAccount", "serviceAccount": {"namespace": namespace, "name": name}}
        ],
    }
    return {
        "apiVersion": _FLOW_CONTROL,
        "kind": "FlowSchema",
        "metadata": {"name": _STORM},
        "spec": {
            "priorityLevelConfiguration": {"name": _STORM},
            "matchingPrecedence": 10,
            "rules": [everything],
        },
    }
