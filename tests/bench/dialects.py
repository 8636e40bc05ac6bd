"""What a kind that is read by a page of data costs: a pass over RayServices beside one over as many InferenceSets."""

import gc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from lab.sandbox.objects import Object
from reporter.daemon.one_pass import Before, RecentWrites, run_pass
from reporter.model.instant import rfc3339
from reporter.stacks.settings import FullDaemonSettings
from tests.bench.cluster import AGE, build, models
from tests.bench.evaluation import clock, decode_pages, discovery_of, median, pages_of, snapshot_of

_MODELS: Final = 1000
_WORKERS: Final = 2
_SETTINGS: Final = FullDaemonSettings(startup_grace_seconds=0)


@dataclass(frozen=True, slots=True)
class Kinds:
    """Seconds of processor time of a pass over tables that are all new, and the objects in them."""

    sets: float
    objects_of_sets: int
    services: float
    objects_of_services: int


def measure(number: int = _MODELS) -> Kinds:
    """Measure healthy clusters with so many models of each kind."""
    sets, services = list(build(number)), list(_rayservices(number))
    return Kinds(_full(sets), len(sets), _full(services), len(services))


def render(found: Kinds) -> str:
    """Return the numbers as text."""
    rows = (
        ("InferenceSets", found.sets, found.objects_of_sets),
        ("RayServices, by their page of data", found.services, found.objects_of_services),
    )
    lines = [f"{name:44} {each * 1e3:8.1f}   {count} objects" for name, each, count in rows]
    return "\n".join([f"a pass over {_MODELS} models, ms of processor time", *lines])


def _full(documents: Iterable[Object]) -> float:
    pages = pages_of(documents)
    objects = {resource: decode_pages(resource, each) for resource, each in pages.items()}
    served, now = discovery_of(objects), clock()
    gc.collect()
    gc.freeze()

    def full(before: Before) -> Before:
        snapshot = snapshot_of(objects, served)
        done = run_pass(
            snapshot, before, RecentWrites(), now=now(), settings=_SETTINGS, instance="bench"
        )
        if done.report.findings:
            raise RuntimeError(f"not healthy: {done.report.findings[0].message}")
        return Before(done.after.memory)

    before = full(Before())
    result = median(lambda: full(before))
    gc.unfreeze()
    return result


def _rayservices(number: int) -> Iterator[Object]:
    """Yield healthy RayServices, each with its RayCluster, a head pod and two workers."""
    created = rfc3339(datetime.now(UTC) - AGE)
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": created}

    def made(api: str, kind: str, name: str, namespace: str = "", **more: object) -> Object:
        metadata = {"name": name, "namespace": namespace, "creationTimestamp": created}
        metadata |= {"uid": f"{kind}-{name}", "generation": 1}
        labels = more.pop("labels", {})
        return {"apiVersion": api, "kind": kind, "metadata": metadata | {"labels": labels}, **more}

    yield made("v1", "Node", "gpu", status={"conditions": [ready]})
    for model in models(number):
        name, place, cluster = model.name, model.namespace, f"{model.name}-abc"
        serving = {"rayClusterName": cluster, "applicationStatuses": {"llm": {"status": "RUNNING"}}}
        status = {"conditions": [ready], "activeServiceStatus": serving, "observedGeneration": 1}
        yield made("ray.io/v1", "RayService", name, place, status=status)
        yield made("ray.io/v1", "RayCluster", cluster, place, status={"desiredWorkerReplicas": 2})
        for number_, role in enumerate(("head", "worker", "worker")):
            container = {"name": f"ray-{role}", "image": "ray"}
            running = {
                "ready": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": created}},
            }
            yield made(
                "v1",
                "Pod",
                f"{cluster}-{number_}",
                place,
                labels={"ray.io/cluster": cluster, "ray.io/node-type": role},
                spec={"nodeName": "gpu", "containers": [container]},
                status={
                    "phase": "Running",
                    "conditions": [ready],
                    "containerStatuses": [{**container, **running, "imageID": "ray"}],
                },
            )
