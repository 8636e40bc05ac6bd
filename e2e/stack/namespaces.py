"""The namespace controller: a deleted namespace loses its content and then goes."""

import asyncio
from collections.abc import Iterable
from typing import Final

from e2e.stack.api import unless_gone
from e2e.stack.controller import Again, Controller, Key, deleting, key_of
from e2e.stack.resources import Resource
from lab.sandbox.objects import Object, dig

_FINALIZER: Final = "kubernetes"
_NEEDED: Final = frozenset({"list", "deletecollection"})


class Namespaces(Controller):
    """Deletes what is in deleted namespaces, and lets them go once they are empty."""

    follows = ("namespaces",)

    def keys(self, resource: str, obj: Object, *, exists: bool) -> Iterable[Key]:
        """A namespace that is being deleted."""
        del resource
        return (key_of(obj),) if exists and deleting(obj) else ()

    async def reconcile(self, key: Key) -> None:
        """Empty and finalize a namespace."""
        namespace = await self.api.get("namespaces", key.name)
        if namespace is None or not deleting(namespace):
            return
        kinds = [
            each
            for each in await self.api.resources(fresh=True)
            if each.namespaced and each.verbs >= _NEEDED
        ]
        # Objects without finalizers go at once, so the second look usually finds nothing.
        for _ in range(2):
            had = await asyncio.gather(*(self._empty(each, key.name) for each in kinds))
            kinds = [each for each, any_ in zip(kinds, had, strict=True) if any_]
        if kinds:
            raise Again
        spec = namespace["spec"]
        spec["finalizers"] = [each for each in spec["finalizers"] if each != _FINALIZER]
        path = f"/api/v1/namespaces/{key.name}/finalize"
        await unless_gone(self.api.request("PUT", path, body=namespace))

    async def _empty(self, resource: Resource, namespace: str) -> bool:
        """Delete the objects of a kind and tell whether there were any."""
        if not (await self.api.page(resource, namespace, limit="1")).items:
            return False
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
        deleted = await self.api.request("DELETE", resource.path(namespace), body=options)
        return bool(dig(deleted, "items"))
