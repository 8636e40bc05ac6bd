"""Follow the objects of one resource, whatever happens to the API server."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import aiohttp
import msgspec

from e2e.stack.api import Api
from e2e.stack.errors import ApiError
from lab.sandbox.objects import Object, meta

AWAY: Final = (ApiError, aiohttp.ClientError, TimeoutError, OSError, msgspec.DecodeError)
"""Errors while the API server or a kind is missing; to be retried."""

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
