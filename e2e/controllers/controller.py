"""The common part of controllers: followed objects, a queue of keys, and a pass over one key."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Final, NamedTuple, Self

from e2e.stack.api import AWAY, Api
from lab.sandbox.objects import Object, meta, name_of, namespace_of

RETRY_SECONDS: Final = 0.2
"""Seconds until a failed request is retried."""


async def changes(api: Api, resource: str) -> AsyncIterator[tuple[bool, Object]]:
    """Yield endlessly whether an object exists, and the object: at first, and at each change.

    A missed deletion is reported after the next list.
    """
    known: dict[str, Object] = {}
    while True:
        try:
            served = await api.resource(resource)
            page = await api.page(served)
            listed = {meta(obj)["uid"]: obj for obj in page.items}
            for uid in known.keys() - listed.keys():
                yield False, known.pop(uid)
            for uid, obj in listed.items():
                if known.get(uid) != obj:
                    known[uid] = obj
                    yield True, obj
            async for kind, obj in api.watch(served, page.version):
                exists = kind != "DELETED"
                if exists:
                    known[meta(obj)["uid"]] = obj
                else:
                    known.pop(meta(obj)["uid"], None)
                yield exists, obj
        except AWAY:
            await asyncio.sleep(RETRY_SECONDS)


class Key(NamedTuple):
    """An object by place; the namespace is empty for cluster-scoped ones."""

    namespace: str
    name: str


class Again(Exception):  # noqa: N818 - a wish, not an error
    """Raised by a pass whose work is not done yet."""


class Controller:
    """Brings objects to the state that their spec wants, one key at a time, while entered.

    A change of the resources that it follows causes a pass.
    """

    follows: tuple[str, ...] = ()

    def __init__(self, api: Api) -> None:
        self.api = api
        self._queue: asyncio.Queue[Key] = asyncio.Queue()
        self._waiting: set[Key] = set()
        self._tasks: list[asyncio.Task[None]] = []

    def keys(self, resource: str, obj: Object, *, exists: bool) -> Iterable[Key]:
        raise NotImplementedError

    async def reconcile(self, key: Key) -> None:
        """Do what is to be done for one key.

        Raises:
            Again: to be retried shortly.
        """
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(self._follow(resource)) for resource in self.follows]
        self._tasks.append(asyncio.create_task(self._work()))
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop, and raise any error of its work."""
        for task in self._tasks:
            task.cancel()
        for ended in await asyncio.gather(*self._tasks, return_exceptions=True):
            if not isinstance(ended, asyncio.CancelledError | None):
                raise ended

    def add(self, key: Key) -> None:
        """Request a pass; several requests before it begins are one."""
        if key not in self._waiting:
            self._waiting.add(key)
            self._queue.put_nowait(key)

    async def _follow(self, resource: str) -> None:
        async for exists, obj in changes(self.api, resource):
            for key in self.keys(resource, obj, exists=exists):
                self.add(key)

    async def _work(self) -> None:
        while True:
            key = await self._queue.get()
            self._waiting.discard(key)
            try:
                await self.reconcile(key)
            except (Again, *AWAY):
                asyncio.get_running_loop().call_later(RETRY_SECONDS, self.add, key)


def key_of(obj: Object) -> Key:
    return Key(namespace_of(obj), name_of(obj))
