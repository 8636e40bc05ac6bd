"""A static cluster: objects with their statuses on a real API server, without controllers.

That is enough for a single pass, and five operators need not be played.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Final, Self

from e2e.stack import sample
from e2e.stack.api import Api
from e2e.stack.controllers import Namespaces
from e2e.stack.stack import Stack
from lab.demo import sample_stack
from lab.sandbox.objects import JSON, Object, copy_json, dig, meta, name_of, namespace_of

_NOT_OURS: Final = (
    "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "finalizers",
)  # fmt: skip
"""Fields and finalizers of the API server that only controllers would remove."""

_ADDRESSES: Final = ("clusterIP", "clusterIPs")
_OWN: Final = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})


class StillCluster:
    """Has objects while entered; controllers only empty deleted namespaces.

    Args:
        api: the API server with an admin's rights, entered already.
        objects: as in a dump; the CRDs of their kinds are installed too.
    """

    def __init__(self, api: Api, objects: Sequence[Object]) -> None:
        self.api = api
        self._stack = Stack(api, controllers=[Namespaces(api)])
        self._objects = [each for each in objects if each["kind"] != "CustomResourceDefinition"]
        named = {name_of(each) for each in objects} - set(map(name_of, self._objects))
        kinds = {(each["apiVersion"].rpartition("/")[0], each["kind"]) for each in self._objects}
        self._crds = [
            each
            for each in sample.crds()
            if name_of(each) in named
            or (each["spec"]["group"], each["spec"]["names"]["kind"]) in kinds
        ]
        self._uids: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        await self._stack.__aenter__()
        return self

    async def install(self, at_once: int = 1) -> None:
        """Install all objects, owners before dependents, a number of each kind at once."""
        for each in self._crds:
            await self.api.apply(each)
        for name in map(name_of, self._crds):
            await self._stack.until(partial(self._stack.lists, name), f"{name} is served")
        for namespace in self._places():
            await self.api.apply(sample_stack.namespace(namespace))
        for _, group in groupby(_owners_first(self._objects), key=lambda each: each["kind"]):
            waiting = iter(group)
            async with asyncio.TaskGroup() as tasks:
                for _ in range(at_once):
                    tasks.create_task(self._install_each(waiting))

    async def _install_each(self, objects: Iterator[Object]) -> None:
        for obj in objects:
            await self._install(obj)

    async def __aexit__(self, *_: object) -> None:
        for each in self._crds:
            await self._stack.remove_crd(name_of(each))
        for namespace in self._places() - _OWN:
            await self._stack.delete_namespace(namespace)
        for each in self._objects:
            if each["kind"] == "Node":
                await self.api.delete("nodes", name_of(each))
        await self._stack.__aexit__()

    async def take(self, what: str) -> None:
        """Delete an object, `Deployment namespace/name`, or a CRD with its objects."""
        kind, _, place = what.rpartition(" ")
        if kind:
            (obj,) = self._named(kind, place)
            resource = await self.api.resource_of(obj)
            await self.api.delete(resource.name, name_of(obj), namespace=namespace_of(obj))
        else:
            await self._stack.remove_crd(what)
            self._crds = [each for each in self._crds if name_of(each) != what]

    async def put_back(self, what: str) -> None:
        """Install a deleted object again."""
        kind, _, place = what.rpartition(" ")
        (obj,) = self._named(kind, place)
        await self._install(obj)

    def _named(self, kind: str, place: str) -> list[Object]:
        found = (each for each in self._objects if each["kind"] == kind)
        return [each for each in found if f"{namespace_of(each)}/{name_of(each)}" == place]

    def _places(self) -> set[str]:
        made = {name_of(each) for each in self._objects if each["kind"] == "Namespace"}
        return made | {namespace_of(each) for each in self._objects} - {""}

    async def _install(self, found: Object) -> None:
        obj = copy_json(found)
        uid = meta(obj).get("uid")
        for field in _NOT_OURS:
            meta(obj).pop(field, None)
        for owner in meta(obj).get("ownerReferences") or ():
            owner["uid"] = self._uids.get(owner["uid"], owner["uid"])
        if obj["kind"] == "Service" and dig(obj, "spec", "clusterIP") != "None":
            for field in _ADDRESSES:
                obj.get("spec", {}).pop(field, None)
        status = obj.pop("status", None)
        there = await self.api.apply(obj)
        if uid:
            self._uids[uid] = meta(there)["uid"]
        if status and obj["kind"] != "Namespace":
            resource = await self.api.resource_of(obj)
            await self._stack.status(
                resource.name, namespace_of(obj), name_of(obj), status=_observed(status)
            )


def _owners_first(objects: Iterable[Object]) -> list[Object]:
    """Return objects sorted so that owners come before their dependents, if included."""
    by_uid = {meta(each).get("uid"): each for each in objects}

    def depth(obj: Object) -> int:
        owners = (by_uid.get(each["uid"]) for each in meta(obj).get("ownerReferences") or ())
        return max((1 + depth(each) for each in owners if each is not None), default=0)

    return sorted(objects, key=lambda obj: (obj["kind"] != "Namespace", depth(obj)))


def _observed(value: JSON) -> JSON:
    """Return a status that has observed the first generation, which every object starts with."""
    if isinstance(value, list):
        return [_observed(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: 1 if key == "observedGeneration" else _observed(each) for key, each in value.items()
    }
