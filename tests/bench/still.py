"""A static cluster: objects with their statuses on a real API server, without controllers."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from e2e.stack import sample
from e2e.stack.api import Api
from e2e.stack.stack import Stack
from lab.demo import sample_stack
from lab.sandbox.objects import JSON, Object, copy_json, dig, meta, name_of, namespace_of

_CRD: Final = "CustomResourceDefinition"


async def install_still(api: Api, objects: Sequence[Object], at_once: int) -> None:
    """Install objects as in a dump, with the CRDs that it has and those of its kinds.

    Owners come before dependents, and a number of each kind is written at once.
    """
    named = {name_of(each) for each in objects if each["kind"] == _CRD}
    objects = [each for each in objects if each["kind"] != _CRD]
    kinds = {(each["apiVersion"].rpartition("/")[0], each["kind"]) for each in objects}
    crds = [
        each
        for each in sample.crds()
        if name_of(each) in named or (each["spec"]["group"], each["spec"]["names"]["kind"]) in kinds
    ]
    await Stack(api).serve(crds)
    for name in {namespace_of(each) for each in objects} - {""}:
        await api.apply(sample_stack.namespace(name))
    uids: dict[str, str] = {}

    async def install(waiting: Iterator[Object]) -> None:
        for each in waiting:
            await _install(api, each, uids)

    for _, group in groupby(_owners_first(objects), key=lambda each: each["kind"]):
        waiting = iter(group)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(at_once):
                tasks.create_task(install(waiting))


async def _install(api: Api, found: Object, uids: dict[str, str]) -> None:
    obj = copy_json(found)
    uid = meta(obj).get("uid")
    # Only controllers would remove them.
    meta(obj).pop("finalizers", None)
    for owner in meta(obj).get("ownerReferences") or ():
        owner["uid"] = uids.get(owner["uid"], owner["uid"])
    if obj["kind"] == "Service" and dig(obj, "spec", "clusterIP") != "None":
        for field in ("clusterIP", "clusterIPs"):
            obj.get("spec", {}).pop(field, None)
    status = obj.pop("status", None)
    if status and obj["kind"] != "Namespace":
        obj["status"] = _observed(status)
    there = await api.install(obj)
    if uid:
        uids[uid] = meta(there)["uid"]


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
