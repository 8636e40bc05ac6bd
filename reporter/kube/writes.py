"""Writes of our Events and of their mirrors in workload namespaces, through core/v1.

Events stay mutable there. An update through events.k8s.io/v1 may change only `series` and the
metadata (Kubernetes, pkg/apis/core/validation/events.go, ValidateEventUpdate).

Mirrors are written without being read, by forced server-side apply under our own field manager: it
creates a missing Event, and applying the same again changes nothing, whichever replica did it. RBAC
requires `patch`, and `create` if the Event does not exist.
"""

from collections.abc import Mapping
from typing import Final

from reporter.catalogue.resources import COMPONENT, EVENT_NAMESPACE, EVENTS
from reporter.kube.client import JSON, MERGE_PATCH, KubeClient, api_path, encode
from reporter.kube.errors import NotJson
from reporter.model.objects import Event
from reporter.model.report import SkippedObject
from reporter.snapshot.decode import decode_object

APPLY: Final = "application/apply-patch+yaml"

FIELD_MANAGER: Final = COMPONENT
"""Our name in managedFields."""

WRITE_SECONDS: Final = 5.0
"""Timeout of one write; a write that starts within the fence ends before the lease does."""


class KubeEvents:
    def __init__(self, client: KubeClient, *, seconds: float = WRITE_SECONDS) -> None:
        self._client = client
        self._path = ("namespaces", EVENT_NAMESPACE, EVENTS.plural)
        self._seconds = seconds

    async def create_event(self, body: Mapping[str, object]) -> Event:
        return await self._write(
            "POST", api_path("", "v1", *self._path), "create", body=body, content_type=JSON
        )

    async def patch_event(
        self, name: str, patch: Mapping[str, object], *, resource_version: str
    ) -> Event:
        """Merge-patch an Event if it still has that version, and return it as stored."""
        metadata = patch.get("metadata")
        guarded = {**metadata} if isinstance(metadata, Mapping) else {}
        guarded["resourceVersion"] = resource_version
        path = api_path("", "v1", *self._path, name)
        return await self._write(
            "PATCH", path, "patch", body={**patch, "metadata": guarded}, content_type=MERGE_PATCH
        )

    async def _write(
        self, method: str, path: str, verb: str, *, body: Mapping[str, object], content_type: str
    ) -> Event:
        response = await self._client.request(
            method,
            path,
            verb=verb,
            resource=EVENTS.plural,
            body=encode(body),
            content_type=content_type,
            timeout=self._seconds,
        )
        stored = decode_object(EVENTS, response.body)
        if isinstance(stored, SkippedObject):
            raise NotJson(f"{method} {path}: the answer is not an Event: {stored.cause}")
        return stored


class KubeMirrors:
    def __init__(self, client: KubeClient, *, seconds: float = WRITE_SECONDS) -> None:
        self._client = client
        self._seconds = seconds

    async def apply_mirror(self, namespace: str, name: str, body: Mapping[str, object]) -> None:
        """Create or update an Event so that it equals `body`."""
        await self._patch(namespace, name, body, content_type=APPLY, params={"force": "true"})

    async def patch_mirror(self, namespace: str, name: str, patch: Mapping[str, object]) -> None:
        await self._patch(namespace, name, patch, content_type=MERGE_PATCH, params={})

    async def _patch(
        self,
        namespace: str,
        name: str,
        body: Mapping[str, object],
        *,
        content_type: str,
        params: Mapping[str, str],
    ) -> None:
        await self._client.request(
            "PATCH",
            api_path("", "v1", "namespaces", namespace, EVENTS.plural, name),
            verb="patch",
            resource=EVENTS.plural,
            params={"fieldManager": FIELD_MANAGER, **params},
            body=encode(body),
            content_type=content_type,
            timeout=self._seconds,
        )
