"""Writes of our Events and of their mirrors in workload namespaces, through core/v1.

Events stay mutable there. An update through events.k8s.io/v1 may change only `series` and the
metadata (Kubernetes, pkg/apis/core/validation/events.go, ValidateEventUpdate).

Mirrors are written without being read, by forced server-side apply under our own field manager: it
creates a missing Event, and applying the same again changes nothing, whichever replica did it. RBAC
requires `patch`, and `create` if the Event does not exist.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from reporter.catalogue.resources import COMPONENT, EVENT_NAMESPACE, EVENTS
from reporter.kube.client import JSON, MERGE_PATCH, KubeClient, Response, api_path, encode
from reporter.kube.errors import NotJson
from reporter.model.objects import Event
from reporter.model.report import SkippedObject
from reporter.snapshot.decode import decode_object

APPLY: Final = "application/apply-patch+yaml"

FIELD_MANAGER: Final = COMPONENT
"""Our name in managedFields."""

WRITE_SECONDS: Final = 5.0
"""Timeout of one write; a write that starts within the fence ends before the lease does."""


@dataclass(frozen=True, slots=True)
class KubeEvents:
    client: KubeClient
    seconds: float = WRITE_SECONDS

    async def create_event(self, body: Mapping[str, object]) -> Event:
        return await self._write("POST", _path(EVENT_NAMESPACE), body, content_type=JSON)

    async def patch_event(
        self, name: str, patch: Mapping[str, object], *, resource_version: str
    ) -> Event:
        """Merge-patch an Event if it still has that version, and return it as stored."""
        metadata = patch.get("metadata")
        guarded = {**metadata} if isinstance(metadata, Mapping) else {}
        body = {**patch, "metadata": {**guarded, "resourceVersion": resource_version}}
        path = _path(EVENT_NAMESPACE, name)
        return await self._write("PATCH", path, body, content_type=MERGE_PATCH)

    async def apply_mirror(self, namespace: str, name: str, body: Mapping[str, object]) -> None:
        """Create or update an Event so that it equals `body`."""
        params = {"fieldManager": FIELD_MANAGER, "force": "true"}
        await self._send("PATCH", _path(namespace, name), body, content_type=APPLY, params=params)

    async def patch_mirror(self, namespace: str, name: str, patch: Mapping[str, object]) -> None:
        path, params = _path(namespace, name), {"fieldManager": FIELD_MANAGER}
        await self._send("PATCH", path, patch, content_type=MERGE_PATCH, params=params)

    async def _write(
        self, method: str, path: str, body: Mapping[str, object], *, content_type: str
    ) -> Event:
        response = await self._send(method, path, body, content_type=content_type)
        stored = decode_object(EVENTS, response.body)
        if isinstance(stored, SkippedObject):
            raise NotJson(f"{method} {path}: the answer is not an Event: {stored.cause}")
        return stored

    async def _send(
        self,
        method: str,
        path: str,
        body: Mapping[str, object],
        *,
        content_type: str,
        params: Mapping[str, str] | None = None,
    ) -> Response:
        return await self.client.request(
            method,
            path,
            verb="create" if method == "POST" else "patch",
            resource=EVENTS.plural,
            params=params,
            body=encode(body),
            content_type=content_type,
            timeout=self.seconds,
        )


def _path(namespace: str, *name: str) -> str:
    return api_path("", "v1", "namespaces", namespace, EVENTS.plural, *name)
