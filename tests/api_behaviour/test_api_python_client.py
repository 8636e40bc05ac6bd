"""The client library that the reporter builds on."""

import asyncio
import datetime as dt
import os
from collections.abc import AsyncIterator

import pytest

from tests.api_behaviour.api_client import (
    CONFIG_MAPS,
    CORE_EVENTS,
    TIMEOUT_SECONDS,
    Api,
    config_map,
    new_event,
    old_event,
)


@pytest.fixture(name="client")
def _client():
    """The library: a thousand modules, and so imported where it is used."""
    from kubernetes_asyncio import client

    return client


@pytest.fixture(name="library")
async def _library(api: Api, client) -> AsyncIterator[object]:
    configuration = client.Configuration(host=api.url)
    if authority := os.environ.get("STATUS_REPORTER_API_CA"):
        configuration.ssl_ca_cert = authority
    if token := os.environ.get("STATUS_REPORTER_API_TOKEN"):
        configuration.api_key = {"BearerToken": f"Bearer {token}"}
    async with client.ApiClient(configuration) as library:
        yield library


async def test_typed_objects(client, library, namespace: str):
    """Typed objects are made, read, patched and deleted."""
    core = client.CoreV1Api(library)
    body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="a"), data={"x": "1"})
    made = await core.create_namespaced_config_map(namespace, body)
    assert made.metadata.uid
    patched = await core.patch_namespaced_config_map("a", namespace, {"data": {"y": "2"}})
    assert patched.data == {"x": "1", "y": "2"}
    listed = await core.list_namespaced_config_map(namespace, limit=1)
    assert listed.items[0].metadata.name == "a"
    await core.delete_namespaced_config_map("a", namespace)
    with pytest.raises(client.ApiException) as caught:
        await core.read_namespaced_config_map("a", namespace)
    assert (caught.value.status, caught.value.reason) == (404, "Not Found")


async def test_events_of_both_styles(api: Api, client, library, namespace: str):
    """The core API reads all Events; the new one refuses a list with an old one in it."""
    path = CORE_EVENTS.format(namespace)
    await api.made(path, new_event("new", involvedObject={"kind": "Pod", "namespace": "x"}))
    await api.made(path, old_event("old", namespace))
    listed = await client.CoreV1Api(library).list_namespaced_event(namespace)
    assert [item.metadata.name for item in listed.items] == ["new", "old"]
    assert listed.items[0].event_time == dt.datetime(2026, 11, 20, 10, tzinfo=dt.UTC)
    with pytest.raises(ValueError, match="event_time"):
        await client.EventsV1Api(library).list_namespaced_event(namespace)


async def test_leases(client, library, namespace: str):
    """A lease is made and replaced with its version."""
    leases = client.CoordinationV1Api(library)
    body = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a", "leaseDurationSeconds": 1}}
    made = await leases.create_namespaced_lease(namespace, body)
    made.spec.holder_identity = "b"
    replaced = await leases.replace_namespaced_lease("l", namespace, made)
    assert replaced.spec.holder_identity == "b"


async def test_watch(api: Api, client, library, namespace: str):
    """The library's watch, with its own spelling of booleans, sees changes."""
    from kubernetes_asyncio.watch import Watch

    core = client.CoreV1Api(library)
    version = (await core.list_namespaced_config_map(namespace)).metadata.resource_version
    await api.made(CONFIG_MAPS.format(namespace), config_map("a", x="1"))
    async with asyncio.timeout(TIMEOUT_SECONDS), Watch() as stream:
        async for event in stream.stream(
            core.list_namespaced_config_map,
            namespace,
            resource_version=version,
            allow_watch_bookmarks=True,
            timeout_seconds=10,
        ):
            assert (event["type"], event["object"].data) == ("ADDED", {"x": "1"})
            break


async def test_custom_objects(client, library, custom):
    """Custom objects are patched and applied with explicit content types."""
    objects = client.CustomObjectsApi(library)
    plural = custom.definition["spec"]["names"]["plural"]
    where = ("checks.example.com", "v1", custom.namespace, plural)
    await objects.create_namespaced_custom_object(*where, custom.obj("o", spec={"size": 1}))
    merged = await objects.patch_namespaced_custom_object(
        *where, "o", {"spec": {"size": 2}}, _content_type="application/merge-patch+json"
    )
    assert merged["spec"] == {"size": 2}
    applied = await objects.patch_namespaced_custom_object_status(
        *where,
        "o",
        custom.obj("o", status={"phase": "Up"}),
        field_manager="m",
        force=True,
        _content_type="application/apply-patch+yaml",
    )
    assert applied["status"] == {"phase": "Up"}
    with pytest.raises(client.ApiException) as caught:
        await objects.patch_namespaced_custom_object(*where, "o", {"spec": {"size": 3}})
    assert caught.value.status == 400


async def test_access_review(client, library):
    """Rights are asked for through the typed API."""
    review = client.V1SelfSubjectAccessReview(
        spec=client.V1SelfSubjectAccessReviewSpec(
            resource_attributes=client.V1ResourceAttributes(verb="list", resource="pods")
        )
    )
    answer = await client.AuthorizationV1Api(library).create_self_subject_access_review(review)
    assert answer.status.allowed is True
