"""A complete record of our Events, kept by an admin's watch."""

import asyncio
import contextlib
import time
from dataclasses import replace
from typing import Final, Self

from e2e.chaos.judges import Key, Version
from e2e.stack.api import AWAY, Api, ApiError
from lab.sandbox.objects import Object, meta
from reporter.catalogue.resources import COMPONENT, EVENT_NAMESPACE

_RETRY_SECONDS: Final = 0.1
_GONE: Final = 410
_SUBJECT: Final = "status-reporter.io/subject"
_STATE: Final = "status-reporter.io/state"


class Observer:
    """Keeps every version of our Events while entered.

    A watch that was cut continues where it was: Events are read from etcd itself, so no version in
    between is missing.

    Attributes:
        versions: the record, the oldest first.
    """

    def __init__(self, api: Api) -> None:
        self.versions: list[Version] = []
        self._api = api
        self._version = ""
        self._history = 0
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._follow())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def begin_again(self) -> None:
        """Note that the cluster was restored: versions start again, and so does the history."""
        self._version = ""
        self._history += 1

    async def _follow(self) -> None:
        while True:
            with contextlib.suppress(*AWAY):
                await self._round()
            await asyncio.sleep(_RETRY_SECONDS)

    async def _round(self) -> None:
        resource = await self._api.resource("events")
        if not self._version:
            page = await self._api.page(resource, EVENT_NAMESPACE)
            self._replace(page.items)
            self._version = page.version
        try:
            async for kind, event in self._api.watch(resource, self._version):
                self._note(event, gone=kind == "DELETED")
                self._version = meta(event)["resourceVersion"]
        except ApiError as error:
            if error.code == _GONE:
                self._version = ""
            raise

    def _replace(self, events: list[Object]) -> None:
        newest = {version.uid: version for version in self.versions}
        listed = {meta(event)["uid"] for event in events}
        for uid, version in newest.items():
            if uid not in listed and not version.gone:
                ended = replace(version, at=time.time(), state="", history=self._history)
                self.versions.append(ended)
        for event in events:
            self._note(event)

    def _note(self, event: Object, *, gone: bool = False) -> None:
        metadata, involved = meta(event), event["involvedObject"]
        mirror = metadata["namespace"] != EVENT_NAMESPACE
        if mirror or event["source"].get("component") != COMPONENT:
            return
        self.versions.append(
            Version(
                at=time.time(),
                name=metadata["name"],
                uid=metadata["uid"],
                key=Key(event["reason"], metadata["annotations"][_SUBJECT]),
                type=event["type"],
                state="" if gone else metadata["labels"][_STATE],
                count=event["count"],
                involved=f"{involved['kind']}/{involved['name']}",
                message=event["message"],
                history=self._history,
            )
        )
