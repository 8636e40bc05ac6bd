"""Objects that are deleted and created again as they were."""

from collections.abc import Iterable, Sequence
from typing import Final

from e2e.stack.api import Api
from lab.sandbox.objects import Object, copy_json, meta, name_of, namespace_of

_BY_SERVER: Final = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")


async def delete(api: Api, resource: str, objects: Iterable[Object]) -> None:
    """Delete objects of one resource."""
    for obj in objects:
        await api.delete(resource, name_of(obj), namespace=namespace_of(obj))


async def create(api: Api, resource: str, objects: Sequence[Object]) -> None:
    """Create objects of one resource again, with the status that they had."""
    for saved in objects:
        obj = copy_json(saved)
        for field in _BY_SERVER:
            meta(obj).pop(field, None)
        status = obj.pop("status", None)
        await api.create(obj)
        if status is not None:
            await api.patch(
                resource,
                name_of(obj),
                {"status": status},
                namespace=namespace_of(obj),
                subresource="status",
            )
