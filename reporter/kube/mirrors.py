"""Writes of mirrors: Events in workload namespaces, without reading any.

Server-side apply with force under our own field manager: it creates what is not there, and the
same again changes nothing, whoever applied it. RBAC asks for `patch`, and for `create` where the
Event is not there.
"""

from collections.abc import Mapping

from reporter.catalogue.resources import EVENTS
from reporter.kube.client import MERGE_PATCH, KubeClient, api_path, encode
from reporter.kube.writes import APPLY, FIELD_MANAGER, WRITE_SECONDS


class KubeMirrors:
    """Applies and patches Events in any namespace."""

    def __init__(self, client: KubeClient, *, seconds: float = WRITE_SECONDS) -> None:
        self._client = client
        self._seconds = seconds

    async def apply_mirror(self, namespace: str, name: str, body: Mapping[str, object]) -> None:
        """Make an Event be as `body`, whether it is there or not.

        Raises:
            Forbidden: no permission, no quota, or the namespace is being deleted.
            NotFound: there is no such namespace.
            Invalid: the API server's rules refuse it; never worth a repetition.
            KubeError: anything else, see `errors`.

        """
        await self._patch(namespace, name, body, content_type=APPLY, params={"force": "true"})

    async def patch_mirror(self, namespace: str, name: str, patch: Mapping[str, object]) -> None:
        """Merge-patch an Event.

        Raises:
            NotFound: it is not there.
            KubeError: anything else, see `errors`.

        """
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
