"""Pages of metrics for a dump: several of each pod, so that they make a window."""

import asyncio
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from reporter.catalogue.resources import NODES, PODS
from reporter.kube.client import KubeClient
from reporter.kube.collecting import Collection
from reporter.metrics.looks.target import Target
from reporter.metrics.scraping.attempt import MOST_AT_ONCE, Endpoint, FetchLimits, ProxiedFetch
from reporter.metrics.scraping.pickers import ScrapeFailed
from reporter.metrics.scraping.targets import find_targets, pod_addresses
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.settings import DaemonSettings
from reporter.snapshot.decode import decode_object
from reporter.snapshot.inputs.limits import INPUT_LIMITS
from reporter.snapshot.outputs.archive import Json, Member
from reporter.snapshot.outputs.masking import Redaction
from reporter.snapshot.snapshot import Snapshot
from reporter.snapshot.table import Table

PERIOD_SECONDS: Final = 15.0
_LABEL: Final = re.compile(rb'(?<==")((?:[^"\\\n]|\\.)*)(?=")')


@dataclass(frozen=True, slots=True)
class DumpedPage:
    """A page that a pod served."""

    namespace: str
    pod: str
    seconds: int
    raw: bytes


def targets_of(
    collection: Collection, settings: DaemonSettings, servers: Iterable[str]
) -> tuple[Target, ...]:
    """Return the pods that a daemon would scrape; `servers` are the addresses of the API server."""
    read = [each for each in collection.objects if each in {PODS, NODES} or each.subject_kind]
    tables = {each: _table(each, collection.objects[each]) for each in read}
    snapshot = Snapshot(tables=tables, states=collection.states)
    return find_targets(snapshot, settings, pod_addresses(snapshot, servers)) or ()


def _table(resource: Resource[KubeObject], objects: Iterable[Json]) -> Table[KubeObject]:
    found = (decode_object(resource, msgspec.json.encode(each)) for each in objects)
    return Table(
        {(each.namespace, each.name): each for each in found if isinstance(each, KubeObject)}
    )


async def scrape(
    client: KubeClient, targets: tuple[Target, ...], settings: DaemonSettings, *, seconds: float
) -> list[DumpedPage]:
    """Fetch the pages of pods through the API server, again and again for some time.

    A page that cannot be had is left out: without it nothing is judged, and nothing false is said.
    """
    endpoint = Endpoint(settings.scrape_scheme, settings.scrape_port, settings.scrape_path)
    limits = FetchLimits(settings.scrape_timeout_seconds, settings.scrape_max_bytes)
    fetch = ProxiedFetch(client, endpoint, limits)
    slots = asyncio.Semaphore(MOST_AT_ONCE)
    pages: list[DumpedPage] = []

    async def one(target: Target) -> None:
        async with slots:
            try:
                raw = await fetch(target)
            except ScrapeFailed:
                return
        pages.append(DumpedPage(target.namespace, target.name, int(time.time()), raw))

    end = time.monotonic() + seconds
    while sum(len(each.raw) for each in pages) < INPUT_LIMITS.pages:
        began = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            for target in targets:
                tasks.create_task(one(target))
        wait = began + PERIOD_SECONDS - time.monotonic()
        if time.monotonic() + wait > end:
            break
        await asyncio.sleep(max(0.0, wait))
    return pages


def learn_pages(redaction: Redaction, pages: list[DumpedPage]) -> None:
    """Learn the names in the labels of pages."""
    for page in pages:
        for value in _LABEL.findall(page.raw):
            redaction.learn_text(value.decode("utf-8", "replace"))


def members_of_pages(pages: list[DumpedPage], redaction: Redaction | None) -> list[Member]:
    """Return the files of the pages, with other names if asked for."""

    def other(match: re.Match[bytes]) -> bytes:
        text = match[0].decode("utf-8", "replace")
        return (redaction.text(text) if redaction else text).encode()

    name: Callable[[str], str] = redaction.text if redaction else str
    return [
        Member(
            f"metrics/{name(each.namespace)}/{name(each.pod)}/{each.seconds}.prom",
            _LABEL.sub(other, each.raw) if redaction else each.raw,
        )
        for each in sorted(pages, key=lambda page: (page.namespace, page.pod, page.seconds))
    ]
