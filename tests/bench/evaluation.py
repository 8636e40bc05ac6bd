"""How long a pass takes, beside decoding the same objects with the standard library's json."""

import gc
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Final

import msgspec

from lab.sandbox.objects import Object
from lab.sandbox.selectors import parse_labels
from reporter.daemon.one_pass import Before, Pass, RecentWrites, run_pass
from reporter.evaluation import evaluate
from reporter.kube.decode import decode_page
from reporter.model.instant import Instant
from reporter.model.objects import Deployment, KubeObject
from reporter.model.report import Disposition
from reporter.model.resource import Resource
from reporter.resolution import resolve
from reporter.resolution.records import records_of
from reporter.sinks.events.plan import plan_events
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
        full: a pass over tables that are all new, their sorting and indexes included.
        steady: a pass over tables that did not change, all namespaces asked again.
        probes: the part of it that makes findings.
        resolution: the part that decides what becomes of them.
        plan: the part that compares with the Events on record.
        all_broken: a steady pass while every endpoint picker is down.
        findings: how many findings that pass had.

    """

    stdlib_json: float
    decoding: float
    full: float
    steady: float
    probes: float
    resolution: float
    plan: float
    all_broken: float
    findings: int


def measure(documents: Iterable[Object]) -> PassTimes:
    """Measure with the documents of a healthy cluster."""
    pages = pages_of(documents)
    objects = {resource: decode_pages(resource, found) for resource, found in pages.items()}
    served = discovery_of(objects)
    gc.collect()
    # What the daemon does too, once everything is listed.
    gc.freeze()
    whole, parts = _whole_and_parts(objects, served)
    broken, findings = _broken(objects, served)
    result = PassTimes(
        stdlib_json=median(lambda: load_each(chain.from_iterable(pages.values()))),
        decoding=median(lambda: [decode_pages(resource, each) for resource, each in pages.items()]),
        full=whole,
        steady=sum(parts),
        probes=parts[0],
        resolution=parts[1],
        plan=parts[2],
        all_broken=broken,
        findings=findings,
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


def _whole_and_parts(
    objects: Objects, served: Discovery
) -> tuple[float, tuple[float, float, float]]:
    now = clock()
    memory = one_pass(snapshot_of(objects, served), Before(), now()).after.memory
    before = Before(memory)
    snapshot = snapshot_of(objects, served)
    evaluation = evaluate(replace(snapshot), _SETTINGS)
    if evaluation.findings:
        raise RuntimeError(f"the cluster is not healthy: {evaluation.findings[0].message}")
    resolution = resolve(evaluation, snapshot, memory, now=now(), settings=_SETTINGS)
    records = records_of(snapshot)
    parts = (
        # A snapshot is new in each pass, its tables are not.
        median(lambda: evaluate(replace(snapshot), _SETTINGS)),
        median(lambda: resolve(evaluation, snapshot, memory, now=now(), settings=_SETTINGS)),
        median(lambda: plan_events(resolution.report, records, _SETTINGS, instance="bench")),
    )
    return median(lambda: one_pass(snapshot_of(objects, served), before, now())), parts


def _broken(objects: Objects, served: Discovery) -> tuple[float, int]:
    """Return the time of a pass while every endpoint picker is down, and its findings."""
    now = clock()
    broken = {
        resource: {key: _scaled_to_zero(obj) for key, obj in found.items()}
        for resource, found in objects.items()
    }
    snapshot = snapshot_of(broken, served)
    first = one_pass(snapshot, Before(), now())
    firing = sum(each.disposition is Disposition.FIRING for each in first.report.findings)
    before = Before(first.after.memory)
    return median(lambda: one_pass(replace(snapshot), before, now())), firing


def _scaled_to_zero(obj: KubeObject) -> KubeObject:
    if not isinstance(obj, Deployment) or not obj.name.endswith("-epp"):
        return obj
    return msgspec.structs.replace(obj, spec=msgspec.structs.replace(obj.spec, replicas=0))


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
