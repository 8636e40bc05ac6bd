"""Writes of the status subresource.

Two ways, by what is ours. All of it: PUT, for which name, uid, resourceVersion and status are
enough, since spec and labels are taken from what is stored. Some fields: server-side apply with
force, under our own field manager. Both change nothing unless the object is still of the version
that they carry.
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from reporter.kube.client import JSON, MERGE_PATCH, KubeClient, api_path, encode
from reporter.kube.errors import KubeError, NotJson, ServerError
from reporter.kube.writes import APPLY, FIELD_MANAGER, WRITE_SECONDS
from reporter.model.report import SkippedObject
from reporter.model.resource import Resource
from reporter.model.subject import ObjectRef
from reporter.snapshot.decode import decode_object
from reporter.stacks.kthena.objects import ModelServing

_SUBRESOURCE: Final = "status"
_UNDECLARED: Final = re.compile(r"\.status\.(\w++)(?:[^\s:]*+: field not declared in schema)")


class FieldsUndeclared(KubeError):  # noqa: N818 - the API's word says more than a suffix
    """The CustomResourceDefinition lacks fields, so that nothing was applied.

    Attributes:
        fields: names of fields of the status.

    """

    def __init__(self, fields: frozenset[str], message: str) -> None:
        super().__init__(message)
        self.fields = fields


class _Raw(msgspec.Struct, frozen=True):
    status: dict[str, msgspec.Raw] | None = None


class StoredStatus(msgspec.Struct, frozen=True):
    """An answer: the object as stored.

    Attributes:
        object: with the fields that are read.
        fields: names of all fields of its status.

    """

    object: ModelServing
    fields: frozenset[str]


class KubeStatuses:
    """Writes the status of ModelServings."""

    def __init__(self, client: KubeClient, *, seconds: float = WRITE_SECONDS) -> None:
        self._client = client
        self._seconds = seconds

    async def replace_status(
        self,
        resource: Resource[ModelServing],
        ref: ObjectRef,
        status: Mapping[str, object],
        *,
        resource_version: str,
    ) -> StoredStatus:
        """Replace the whole status and return what is stored; unknown fields are dropped silently.

        Raises:
            NotFound: the object is gone.
            Conflict: it has changed, or is another one of that name.
            KubeError: anything else, see `errors`.

        """
        body = _body(ref, status, resource_version, uid=ref.uid)
        return await self._write(
            "PUT", "update", JSON, resource=resource, ref=ref, body=body, params={}
        )

    async def apply_status(
        self,
        resource: Resource[ModelServing],
        ref: ObjectRef,
        status: Mapping[str, object],
        *,
        resource_version: str,
    ) -> StoredStatus:
        """Apply fields of the status with force and return what is stored.

        Raises:
            FieldsUndeclared: the CustomResourceDefinition lacks one of the fields. Servers before
                this check drop such fields silently.
            NotFound: the object is gone.
            Conflict: it has changed.
            Invalid: what others own of an entry that we do not apply any more is no valid entry.
            KubeError: anything else, see `errors`.

        """
        body = _body(ref, status, resource_version)
        try:
            return await self._write(
                "PATCH",
                "patch",
                APPLY,
                resource=resource,
                ref=ref,
                body=body,
                params={"force": "true"},
            )
        except ServerError as error:
            fields = frozenset(_UNDECLARED.findall(str(error)))
            if not fields:
                raise
            raise FieldsUndeclared(fields, str(error)) from None

    async def release_status(
        self,
        resource: Resource[ModelServing],
        ref: ObjectRef,
        status: Mapping[str, object],
        *,
        resource_version: str,
    ) -> StoredStatus:
        """Merge-patch the status; a field that is None is removed, whoever owns it.

        Raises:
            NotFound: the object is gone.
            Conflict: it has changed.
            KubeError: anything else, see `errors`.

        """
        body = {"metadata": {"resourceVersion": resource_version}, "status": status}
        return await self._write(
            "PATCH", "patch", MERGE_PATCH, resource=resource, ref=ref, body=body, params={}
        )

    async def _write(
        self,
        method: str,
        verb: str,
        content_type: str,
        *,
        resource: Resource[ModelServing],
        ref: ObjectRef,
        body: Mapping[str, object],
        params: Mapping[str, str],
    ) -> StoredStatus:
        group, _, version = ref.api_version.rpartition("/")
        path = api_path(
            group, version, "namespaces", ref.namespace, resource.plural, ref.name, _SUBRESOURCE
        )
        response = await self._client.request(
            method,
            path,
            verb=verb,
            resource=f"{resource.plural}/{_SUBRESOURCE}",
            params={"fieldManager": FIELD_MANAGER, **params},
            body=encode(body),
            content_type=content_type,
            timeout=self._seconds,
        )
        stored = decode_object(resource, response.body)
        if isinstance(stored, SkippedObject):
            raise NotJson(f"{method} {path}: the answer is no {resource.kind}: {stored.cause}")
        raw = response.decode(_Raw)
        return StoredStatus(stored, frozenset(raw.status or ()))


def _body(
    ref: ObjectRef, status: Mapping[str, object], version: str, **identity: str
) -> dict[str, object]:
    metadata = {
        "name": ref.name,
        "namespace": ref.namespace,
        "resourceVersion": version,
        **identity,
    }
    return {
        "apiVersion": ref.api_version,
        "kind": ref.kind,
        "metadata": metadata,
        "status": status,
    }
