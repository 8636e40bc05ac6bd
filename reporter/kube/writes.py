"""Writes of our Events and of their mirrors in workload namespaces, through core/v1.

There Events stay mutable. An update through events.k8s.io/v1 may change nothing but `series` and
the metadata (Kubernetes, pkg/apis/core/validation/events.go, ValidateEventUpdate).

Mirrors are written without reading any. Server-side apply with force under our own field manager:
it creates what is not there, and the same again changes nothing, whoever applied it. RBAC asks for
`patch`, and for `create` where the Event is not there.
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
"""Under which name managedFields list what is ours."""

WRITE_SECONDS: Final = 5.0
"""Limit of one write; a write that began within the fence ends before the lease does."""


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
        """Merge-patch an Event, if it is still of that version, and return it as stored."""
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
        """Make an Event be as `body`, whether it is there or not."""
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
