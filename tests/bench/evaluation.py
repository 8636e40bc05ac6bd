"""How long a pass takes, beside decoding the same objects with the standard library's json."""

import gc
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Final

import msgspec

from lab.sandbox.lists import parse_labels
from lab.sandbox.objects import Object
from reporter.daemon.one_pass import Before, Pass, RecentWrites, run_pass
from reporter.kube.decode import decode_page
from reporter.model.instant import Instant
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.snapshot.snapshot import Discovery, ResourceState, Served, Snapshot
from reporter.snapshot.table import Table
from reporter.stacks.settings import FullDaemonSettings
from tests.tables import ALL

_RUNS: Final = 9
_PAGE: Final = 500
_SETTINGS: Final = FullDaemonSettings(startup_grace_seconds=0)
Objects = dict[Resource[KubeObject], dict[tuple[str, str], KubeObject]]


@dataclass(frozen=True, slots=True)
class PassTimes:
    """Medians, in seconds of processor time, so that other load of the machine does not count.

    Attributes:
        stdlib_json: decoding the objects once with the standard library.
        decoding: decoding them once as the reporter does.
        full: a pass over tables that are all new, including their sorting and indexes.

    """

    stdlib_json: float
    decoding: float
    full: float


def measure(documents: Iterable[Object]) -> PassTimes:
    """Measure with the documents of a healthy cluster."""
    pages = pages_of(documents)
    objects = {resource: decode_pages(resource, found) for resource, found in pages.items()}
    served = discovery_of(objects)
    gc.collect()
    # What the daemon does too, once everything is listed.
    gc.freeze()
    now = clock()
    first = one_pass(snapshot_of(objects, served), Before(), now())
    if first.report.findings:
        raise RuntimeError(f"the cluster is not healthy: {first.report.findings[0].message}")
    before = Before(first.after.memory)
    result = PassTimes(
        stdlib_json=median(lambda: load_each(chain.from_iterable(pages.values()))),
        decoding=median(lambda: [decode_pages(resource, each) for resource, each in pages.items()]),
        full=median(lambda: one_pass(snapshot_of(objects, served), before, now())),
    )
    gc.unfreeze()
    return result


def load_each(pages: Iterable[bytes]) -> None:
    """Decode page by page and keep nothing, the fastest that the standard library can do."""
    for page in pages:
        json.loads(page)


def pages_of(documents: Iterable[Object]) -> dict[Resource[KubeObject], list[bytes]]:
    """Return the pages of lists that hold the documents."""
    by_kind: dict[tuple[str, str], list[Object]] = defaultdict(list)
    for document in documents:
        group, _, _ = document["apiVersion"].rpartition("/")
        by_kind[group, document["kind"]].append(document)
    pages: dict[Resource[KubeObject], list[bytes]] = {}
    for resource in ALL:
        selector = parse_labels(resource.label_selector)
        found = [
            msgspec.json.encode(document)
            for document in by_kind[resource.group, resource.kind]
            if selector.matches(document["metadata"].get("labels", {}))
        ]
        cuts = range(0, max(len(found), 1), _PAGE)
        pages[resource] = [_page(resource, found[cut : cut + _PAGE]) for cut in cuts]
    return pages


def _page(resource: Resource[KubeObject], items: list[bytes]) -> bytes:
    head = f'{{"kind":"{resource.kind}List","metadata":{{"resourceVersion":"1"}},"items":['
    return head.encode() + b",".join(items) + b"]}"


def decode_pages(
    resource: Resource[KubeObject], pages: Iterable[bytes]
) -> dict[tuple[str, str], KubeObject]:
    """Decode them as the reporter does."""
    return {
        (obj.namespace, obj.name): obj
        for page in pages
        for obj in decode_page(resource, page).objects
    }


def discovery_of(objects: Objects) -> Discovery:
    """Return the discovery of a cluster that serves all kinds."""
    extra = "clustertriggerauthentications.keda.sh"
    return Discovery(frozenset({extra, *(resource.crd_name for resource in objects)}))


def snapshot_of(objects: Objects, served: Discovery) -> Snapshot:
    """Return a snapshot with tables that are all new."""
    return Snapshot(
        tables={resource: Table(found) for resource, found in objects.items()},
        states=dict.fromkeys(objects, ResourceState(Served.SERVED)),
        discovery=served,
    )


def one_pass(snapshot: Snapshot, before: Before, now: Instant) -> Pass:
    """Make a pass of a daemon that has written nothing."""
    return run_pass(snapshot, before, RecentWrites(), now=now, settings=_SETTINGS, instance="bench")


def clock() -> Callable[[], Instant]:
    """Return a clock that goes on by a resync with each look at it."""
    start = datetime.now(UTC)
    looks = iter(range(1_000_000))

    def now() -> Instant:
        passed = timedelta(seconds=5 * next(looks))
        return Instant(start + passed, timedelta(hours=1) + passed)

    return now


def median(work: Callable[[], object]) -> float:
    """Return the median of the processor time that it takes."""
    times = []
    for _ in range(_RUNS):
        began = time.process_time()
        result = work()
        times.append(time.process_time() - began)
        del result
    return statistics.median(times)
