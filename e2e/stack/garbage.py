"""The garbage collector: objects go when their owner is gone."""

from collections.abc import Iterable
from typing import Final

from e2e.stack.api import Api
from e2e.stack.controller import Controller, Key, deleting, owned_by
from lab.sandbox.objects import Object, meta, name_of, namespace_of

_OWNERS: Final = (
    "deployments.apps", "replicasets.apps", "statefulsets.apps",
    "inferencesets.kaito.sh", "workspaces.kaito.sh", "gateways.gateway.networking.k8s.io",
)  # fmt: skip
_DEPENDENTS: Final = (
    "pods", "deployments.apps", "replicasets.apps", "statefulsets.apps",
    "workspaces.kaito.sh", "scaledobjects.keda.sh",
)  # fmt: skip


class Garbage(Controller):
    """Deletes dependents in the background, for the kinds of the stack.

    Keys are a namespace and the uid of an owner that is gone.
    """

    follows = tuple({*_OWNERS, *_DEPENDENTS})

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self._gone: set[str] = set()

    def keys(self, resource: str, obj: Object, *, exists: bool) -> Iterable[Key]:
        """An owner that is gone, or for which something was created after it had gone."""
        del resource
        if not exists:
            self._gone.add(meta(obj)["uid"])
            return (Key(namespace_of(obj), meta(obj)["uid"]),)
        owners = {each["uid"] for each in meta(obj).get("ownerReferences") or ()}
        return [Key(namespace_of(obj), uid) for uid in owners & self._gone]

    async def reconcile(self, key: Key) -> None:
        """Delete the dependents of an owner that is gone."""
        served = {each.name for each in await self.api.resources()}
        for resource in served.intersection(_DEPENDENTS):
            for obj in await self.api.items(resource, namespace=key.namespace):
                if owned_by(obj, key.name) and not deleting(obj):
                    await self.api.delete(
                        resource, name_of(obj), namespace=key.namespace, uid=meta(obj)["uid"]
                    )
