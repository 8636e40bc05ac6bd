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

from reporter.catalogue.resources import ALL, PODS
from reporter.daemon.evaluation import run_pass
from reporter.kube.decode import decode_page
from reporter.model.instant import Instant
from reporter.model.objects import Deployment, KubeObject
from reporter.model.report import Disposition
from reporter.model.resource import Resource
from reporter.probes import Answered, evaluate
from reporter.resolution import Memory, resolve
from reporter.resolution.records import records_of
from reporter.sandbox.objects import Object
from reporter.settings import EvaluationSettings
from reporter.sinks.events.plan import plan_events
from reporter.snapshot.snapshot import Discovery, ResourceState, Served, Snapshot
from reporter.snapshot.table import Table

_RUNS: Final = 9
_PAGE: Final = 500
_SETTINGS: Final = EvaluationSettings(startup_grace_seconds=0)
_Objects = dict[Resource[KubeObject], dict[tuple[str, str], KubeObject]]


@dataclass(frozen=True, slots=True)
class PassTimes:
    """Medians, in seconds of processor time, so that other load of the machine does not count.

    Attributes:
        stdlib_json: decoding the objects once with the standard library.
        decoding: decoding them once as the reporter does.
        full: a pass over tables that are all new, their sorting and indexes included.
        one_change: a pass after one pod changed since the last one.
        steady: a pass over tables that did not change, all namespaces asked anew.
        probes: the part of it that makes findings.
        resolution: the part that decides what becomes of them.
        plan: the part that compares with the Events on record.
        all_broken: a steady pass while every endpoint picker is down.
        findings: how many findings that pass had.

    """

    stdlib_json: float
    decoding: float
    full: float
    one_change: float
    steady: float
    probes: float
    resolution: float
    plan: float
    all_broken: float
    findings: int


def measure(documents: Iterable[Object]) -> PassTimes:
    """Measure with the documents of a healthy cluster."""
    pages = _pages(documents)
    objects = {resource: _decode(resource, found) for resource, found in pages.items()}
    served = _discovery(objects)
    gc.collect()
    # What the daemon does too, once everything is listed.
    gc.freeze()
    whole, parts = _whole_and_parts(objects, served)
    broken, findings = _broken(objects, served)
    result = PassTimes(
        stdlib_json=_median(lambda: _load_each(chain.from_iterable(pages.values()))),
        decoding=_median(lambda: [_decode(resource, each) for resource, each in pages.items()]),
        full=whole,
        one_change=_one_change(objects, served),
        steady=sum(parts),
        probes=parts[0],
        resolution=parts[1],
        plan=parts[2],
        all_broken=broken,
        findings=findings,
    )
    gc.unfreeze()
    return result


def _load_each(pages: Iterable[bytes]) -> None:
    """Decode page by page and keep nothing, the fastest that the standard library can do."""
    for page in pages:
        json.loads(page)


def _pages(documents: Iterable[Object]) -> dict[Resource[KubeObject], list[bytes]]:
    by_kind: dict[str, list[bytes]] = defaultdict(list)
    for document in documents:
        by_kind[document["kind"]].append(msgspec.json.encode(document))
    pages: dict[Resource[KubeObject], list[bytes]] = {}
    for resource in ALL:
        found = by_kind[resource.kind]
        cuts = range(0, max(len(found), 1), _PAGE)
        pages[resource] = [_page(resource, found[cut : cut + _PAGE]) for cut in cuts]
    return pages


def _page(resource: Resource[KubeObject], items: list[bytes]) -> bytes:
    head = f'{{"kind":"{resource.kind}List","metadata":{{"resourceVersion":"1"}},"items":['
    return head.encode() + b",".join(items) + b"]}"


def _decode(
    resource: Resource[KubeObject], pages: Iterable[bytes]
) -> dict[tuple[str, str], KubeObject]:
    return {
        (obj.namespace, obj.name): obj
        for page in pages
        for obj in decode_page(resource, page).objects
    }


def _discovery(objects: _Objects) -> Discovery:
    extra = "clustertriggerauthentications.keda.sh"
    return Discovery(frozenset({extra, *(resource.crd_name for resource in objects)}))


def _snapshot(objects: _Objects, served: Discovery) -> Snapshot:
    return Snapshot(
        tables={resource: Table(found) for resource, found in objects.items()},
        states=dict.fromkeys(objects, ResourceState(Served.SERVED)),
        discovery=served,
    )


def _whole_and_parts(
    objects: _Objects, served: Discovery
) -> tuple[float, tuple[float, float, float]]:
    now = _clock()
    memory = run_pass(
        _snapshot(objects, served), Memory(), Answered(), {}, now(), _SETTINGS, "bench"
    ).memory

    def full() -> None:
        run_pass(_snapshot(objects, served), memory, Answered(), {}, now(), _SETTINGS, "bench")

    snapshot = _snapshot(objects, served)
    evaluation = evaluate(replace(snapshot), _SETTINGS)
    if evaluation.findings:
        raise RuntimeError(f"the cluster is not healthy: {evaluation.findings[0].message}")
    resolution = resolve(evaluation, snapshot, memory, now(), _SETTINGS)
    records = records_of(snapshot)
    parts = (
        # A snapshot is new in each pass, its tables are not.
        _median(lambda: evaluate(replace(snapshot), _SETTINGS)),
        _median(lambda: resolve(evaluation, snapshot, memory, now(), _SETTINGS)),
        _median(lambda: plan_events(resolution.report, records, _SETTINGS, "bench")),
    )
    return _median(full), parts


def _one_change(objects: _Objects, served: Discovery) -> float:
    """Return the time of a pass after one pod changed; its table is sorted and indexed anew."""
    now = _clock()
    snapshot = _snapshot(objects, served)
    last = run_pass(snapshot, Memory(), Answered(), {}, now(), _SETTINGS, "bench")
    pods = iter(objects[PODS].items())

    def changed() -> None:
        key, pod = next(pods)
        metadata = msgspec.structs.replace(pod.metadata, generation=pod.metadata.generation + 1)
        table = Table(objects[PODS] | {key: msgspec.structs.replace(pod, metadata=metadata)})
        after = replace(snapshot, tables={**snapshot.tables, PODS: table})
        run_pass(after, last.memory, last.answered, {}, now(), _SETTINGS, "bench")

    return _median(changed)


def _broken(objects: _Objects, served: Discovery) -> tuple[float, int]:
    """Return the time of a pass while every endpoint picker is down, and its findings."""
    now = _clock()
    broken = {
        resource: {key: _scaled_to_zero(obj) for key, obj in found.items()}
        for resource, found in objects.items()
    }
    snapshot = _snapshot(broken, served)
    first = run_pass(snapshot, Memory(), Answered(), {}, now(), _SETTINGS, "bench")
    firing = sum(each.disposition is Disposition.FIRING for each in first.report.findings)

    def again() -> None:
        run_pass(replace(snapshot), first.memory, Answered(), {}, now(), _SETTINGS, "bench")

    return _median(again), firing


def _scaled_to_zero(obj: KubeObject) -> KubeObject:
    if not isinstance(obj, Deployment) or not obj.name.endswith("-epp"):
        return obj
    return msgspec.structs.replace(obj, spec=msgspec.structs.replace(obj.spec, replicas=0))


def _clock() -> Callable[[], Instant]:
    """Return a clock that goes on by a resync with each look at it."""
    start = datetime.now(UTC)
    looks = iter(range(1_000_000))

    def now() -> Instant:
        passed = timedelta(seconds=5 * next(looks))
        return Instant(start + passed, timedelta(hours=1) + passed)

    return now


def _median(work: Callable[[], object]) -> float:
    times = []
    for _ in range(_RUNS):
        began = time.process_time()
        result = work()
        times.append(time.process_time() - began)
        del result
    return statistics.median(times)
