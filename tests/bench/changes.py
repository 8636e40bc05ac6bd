"""Faults that are made one at a time, and how long their Events take."""

import asyncio
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle
from typing import Final, TypeAlias

from lab.sandbox.objects import JSON, Object
from reporter.model.instant import rfc3339
from tests.bench.api import Api
from tests.bench.cluster import PICKER_PODS, Model, models
from tests.bench.processes import BenchError

_WITHIN_SECONDS: Final = 20.0
_PAUSE_SECONDS: Final = (1.0, 2.0)
"""Pause before the next change, so that each is one change and not churn, at any moment."""

Break: TypeAlias = Callable[[Object], JSON]


@dataclass(frozen=True, slots=True)
class Change:
    """A change that makes one Event due.

    Attributes:
        path: of the object, for requests.
        related: the object that the Event will name, as `<kind>/<namespace>/<name>`.
        part: `spec` or `status`.
        broken: what a sound part is replaced by.

    """

    path: str
    related: str
    part: str
    broken: Break


async def measure_changes(api: Api, sets: int, changes: int) -> list[float]:
    """Return the seconds from sending each change to the arrival of its Event.

    Each is undone as soon as its Event is there, and the next one waits until that is over.
    """
    chance = random.Random(sets)
    times = []
    for change, _ in zip(_changes(sets), range(changes), strict=False):
        times.append(await _measure(api, change))
        await api.wait_quiet(_WITHIN_SECONDS)
        await asyncio.sleep(chance.uniform(*_PAUSE_SECONDS))
    return times


async def _measure(api: Api, change: Change) -> float:
    sound = (await api.get(change.path))[change.part]
    path = change.path if change.part == "spec" else f"{change.path}/status"
    began = time.perf_counter()
    await api.patch(path, {change.part: change.broken(sound)})
    try:
        arrived = await api.wait_firing(1, _WITHIN_SECONDS, change.related)
    except TimeoutError:
        message = f"no Event within {_WITHIN_SECONDS:.0f} s of breaking {change.related}"
        raise BenchError(message) from None
    finally:
        await api.patch(path, {change.part: sound})
    return arrived - began


async def break_picker(api: Api, model: Model) -> None:
    """Scale an endpoint picker to zero."""
    await api.patch(picker(model).path, {"spec": {"replicas": 0}})


async def mend_picker(api: Api, model: Model) -> None:
    """Undo `break_picker`."""
    await api.patch(picker(model).path, {"spec": {"replicas": PICKER_PODS}})


def _changes(sets: int) -> Iterator[Change]:
    """Yield changes of all kinds, each of another InferenceSet as long as there are some."""
    kinds = cycle((picker, pod, route, gateway))
    for model, kind in zip(cycle(models(sets)), kinds, strict=False):
        yield kind(model)


def picker(model: Model) -> Change:
    """Return the change that scales an endpoint picker to zero."""
    path = f"/apis/apps/v1/namespaces/{model.namespace}/deployments/{model.picker}"
    related = f"Deployment/{model.namespace}/{model.picker}"
    return Change(path, related, "spec", lambda _: {"replicas": 0})


def pod(model: Model) -> Change:
    """Return the change that crashes a model pod."""
    name = model.pod(0)
    path = f"/api/v1/namespaces/{model.namespace}/pods/{name}"
    return Change(path, f"Pod/{model.namespace}/{name}", "status", _crashed)


def route(model: Model) -> Change:
    """Return the change that makes the Gateway reject a route."""
    group = "/apis/gateway.networking.k8s.io/v1"
    path = f"{group}/namespaces/{model.namespace}/httproutes/{model.route}"
    return Change(path, f"HTTPRoute/{model.namespace}/{model.route}", "status", _rejected)


def gateway(model: Model) -> Change:
    """Return the change that leaves a Gateway unprogrammed."""
    group = "/apis/gateway.networking.k8s.io/v1"
    path = f"{group}/namespaces/{model.namespace}/gateways/{model.gateway}"
    related = f"Gateway/{model.namespace}/{model.gateway}"
    return Change(path, related, "status", lambda status: _failing(status, {"Programmed"}))


def _failing(status: Object, types: set[str]) -> Object:
    """Return a status with conditions of some types being False since now."""
    false = {"status": "False", "reason": "Invalid", "message": "broken by the benchmark"}
    false["lastTransitionTime"] = rfc3339(datetime.now(UTC))
    conditions = [
        condition | false if condition["type"] in types else condition
        for condition in status["conditions"]
    ]
    return status | {"conditions": conditions}


def _rejected(status: Object) -> Object:
    return {"parents": [_failing(each, {"Accepted"}) for each in status["parents"]]}


def _crashed(status: Object) -> Object:
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off restarting"}}
    crashed = {"ready": False, "started": False, "restartCount": 3, "state": waiting}
    return _failing(status, {"Ready", "ContainersReady"}) | {
        "containerStatuses": [each | crashed for each in status["containerStatuses"]]
    }
