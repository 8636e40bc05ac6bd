"""The running informers: each in a task of its own, started again if it crashes."""

import asyncio
import random
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from typing import TypeAlias

import structlog

from reporter.kube.client import KubeClient
from reporter.kube.clock import real_now
from reporter.kube.errors import Backoff
from reporter.kube.informer import Informer, Place, Timing
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource

AnyPlace: TypeAlias = Place[KubeObject]
AnyInformer: TypeAlias = Informer[KubeObject]

log = structlog.get_logger(__name__)


class Informers:
    def __init__(
        self,
        client: KubeClient,
        *,
        timing: Timing | None = None,
        watch: bool = True,
        on_change: Callable[[Resource[KubeObject]], None],
        on_missing: Callable[[], None],
    ) -> None:
        self._client = client
        self._timing = timing
        self._watch = watch
        self._chance = random.Random()  # noqa: S311 - jitter is no secret
        # Pages of twenty kinds come at once; decoded in one turn of the loop they would hold it up.
        self._turn = asyncio.Lock()
        self._on_change = on_change
        self._on_missing = on_missing
        self._running: dict[AnyPlace, AnyInformer] = {}
        self._of: dict[Resource[KubeObject], list[AnyInformer]] = {}
        self._tasks: dict[AnyPlace, asyncio.Task[None]] = {}

    def __iter__(self) -> Iterator[AnyInformer]:
        return iter(self._running.values())

    def of(self, resource: Resource[KubeObject]) -> list[AnyInformer]:
        return self._of.get(resource, [])

    def want(self, places: AbstractSet[AnyPlace], tasks: asyncio.TaskGroup) -> None:
        for place in self._running.keys() - places:
            self._tasks.pop(place).cancel()
            del self._running[place]
            log.info("informer_stopped", resource=str(place.resource), version=place.version)
            self._on_change(place.resource)
        for place in places - self._running.keys():
            informer = self._make(place)
            self._running[place] = informer
            name = f"informer {place.resource} {place.namespace}".rstrip()
            self._tasks[place] = tasks.create_task(self._keep_running(informer), name=name)
            log.info("informer_started", resource=str(place.resource), version=place.version)
        self._of = {}
        for place, informer in self._running.items():
            self._of.setdefault(place.resource, []).append(informer)

    def _make(self, place: AnyPlace) -> AnyInformer:
        return Informer(
            self._client,
            place,
            timing=self._timing,
            chance=self._chance,
            turn=self._turn,
            on_change=lambda: self._on_change(place.resource),
            on_missing=self._on_missing,
        )

    async def _keep_running(self, informer: AnyInformer) -> None:
        backoff = Backoff(self._seconds, self._chance)
        while True:
            try:
                if not self._watch:
                    return await informer.look()
                await informer.run()
            except Exception:
                # A bug in one informer must not stop the others, and must be seen.
                log.exception("informer_crashed", resource=str(informer.place.resource))
                informer.unconfirm()
                await asyncio.sleep(backoff.next())

    def _seconds(self) -> float:
        return real_now().boot.total_seconds()
