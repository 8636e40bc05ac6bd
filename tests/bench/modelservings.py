"""What owning the status of ModelServings costs: passes, and from a changed pod to the status."""

import asyncio
import gc
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Self

import aiohttp
import msgspec

from lab.sandbox.objects import Object
from reporter.catalogue.resources import PODS
from reporter.daemon.one_pass import Before, Pass, RecentWrites, run_pass
from reporter.model.instant import rfc3339
from reporter.snapshot.snapshot import Snapshot
from reporter.snapshot.table import Table
from reporter.stacks.kthena.objects import ModelServing, ModelServingStatus
from reporter.stacks.kthena.owning import StatusPlan
from reporter.stacks.kthena.reasons import MODELSERVINGS, STACK
from reporter.stacks.kthena.settings import StatusOwnership as Ownership
from reporter.stacks.settings import FullDaemonSettings
from tests.bench.api import Api, Metrics
from tests.bench.daemon_process import RESYNC_SECONDS
from tests.bench.evaluation import (
    Objects,
    clock,
    decode_pages,
    discovery_of,
    load_each,
    median,
    pages_of,
    snapshot_of,
)
from tests.bench.live import RESYNCS
from tests.bench.modelserving_cluster import CHANGED_ROLE, build_modelservings, place, pod_name
from tests.bench.modelserving_cluster import PODS as PODS_OF_ONE
from tests.bench.processes import BenchError, Daemon, daemon, sandbox

NUMBER: Final = 500
_CHANGES: Final = 10
_WITHIN_SECONDS: Final = 120.0
_PAUSE_SECONDS: Final = (4.0, 5.0)
"""Pause before the next change: a change makes four passes, two for its statuses and two for ours."""

_SETTINGS: Final = FullDaemonSettings(startup_grace_seconds=0, modelserving_status=Ownership.FULL)
_LONGEST_CHANGE_MS: Final = 1000.0


@dataclass(frozen=True, slots=True)
class Owning:
    """Seconds, of processor time where it is about passes.

    Attributes:
        stdlib_json: decoding the objects once with the standard library.
        first: a pass over tables that are all new, with no status written yet.
        one_change: a pass after one pod changed since the last one.
        planned: statuses that the first pass wants to be written.
        written: from starting the daemon until each status is there.
        writes: requests in the steady state but those for the lease and discovery.
        passes: how many passes there were meanwhile.
        changes: from a changed pod to the status that says so.
        memory: resident memory of the daemon at the end, in bytes.

    """

    stdlib_json: float
    first: float
    one_change: float
    planned: int
    written: float
    writes: int
    passes: int
    changes: list[float]
    memory: int


async def measure(tell: Callable[[str], None]) -> Owning:
    """Measure; takes about two minutes.

    Raises:
        BenchError: something could not be measured.

    """
    tell(f"{NUMBER} ModelServings with {NUMBER * PODS_OF_ONE} pods: passes")
    json, first, one_change, planned = _passes()
    try:
        with TemporaryDirectory() as folder:
            live = await _live(Path(folder), tell)
    except (OSError, aiohttp.ClientError) as error:
        raise BenchError(str(error) or "it took too long") from error
    return Owning(json, first, one_change, planned, *live)


def render(found: Owning) -> str:
    """Return the numbers as text."""
    times = sorted(each * 1000 for each in found.changes)
    per_pass = found.writes / max(found.passes, 1)
    return "\n".join(
        [
            f"{NUMBER} ModelServings of 2 groups of 2 roles of 4 pods, {NUMBER * PODS_OF_ONE} pods",
            _line("decoding once, json", found.stdlib_json * 1000),
            _line("first pass", found.first * 1000),
            _line("first pass / json", found.first / found.stdlib_json, "", 1.0),
            _line("pass after one changed pod", found.one_change * 1000),
            _line("statuses that the first pass writes", found.planned, ""),
            _line("start until all statuses are written", found.written * 1000),
            _line("changed pod to status, p50", statistics.median(times)),
            _line("changed pod to status, max", times[-1], "ms", _LONGEST_CHANGE_MS),
            _line("nothing changes: writes per pass", per_pass, "", 0),
            _line("resident memory at the end", found.memory / 1e6, "MB"),
        ]
    )


def _line(name: str, value: float, unit: str = "ms", most: float | None = None) -> str:
    verdict = "" if most is None else f"  <= {most:g}  {'met' if value <= most else 'NOT met'}"
    shown = f"{value:10.0f}" if value == int(value) or value >= 100 else f"{value:10.2f}"
    return f"{name:44} {unit:3}{shown}{verdict}"


def _passes() -> tuple[float, float, float, int]:
    pages = pages_of(build_modelservings(NUMBER))
    objects = {resource: decode_pages(resource, found) for resource, found in pages.items()}
    served = discovery_of(objects)
    gc.collect()
    gc.freeze()
    now = clock()

    def first() -> Pass:
        snapshot = snapshot_of(objects, served)
        return run_pass(
            snapshot, Before(), RecentWrites(), now=now(), settings=_SETTINGS, instance="bench"
        )

    made = first()
    planned = _planned(made).writes
    statuses = {each.object.name: each.status for each in planned}
    objects[MODELSERVINGS] = {
        key: _with_status(each, statuses[each.name])
        for key, each in objects[MODELSERVINGS].items()
        if isinstance(each, ModelServing)
    }
    snapshot = snapshot_of(objects, served)
    settled = run_pass(
        snapshot, Before(), RecentWrites(), now=now(), settings=_SETTINGS, instance="bench"
    )
    if _planned(settled).writes:
        raise BenchError("a status that was written as planned is not what the next pass wants")
    one_change = _one_change(objects, snapshot, settled)
    result = (
        median(lambda: load_each(chain.from_iterable(pages.values()))),
        median(first),
        one_change,
        len(planned),
    )
    gc.unfreeze()
    return result


def _planned(made: Pass) -> StatusPlan:
    plan = made.outputs[STACK]
    if not isinstance(plan, StatusPlan):
        raise BenchError("a pass says nothing of statuses")
    return plan


def _with_status(modelserving: ModelServing, status: Object) -> ModelServing:
    return msgspec.structs.replace(modelserving, status=msgspec.convert(status, ModelServingStatus))


def _one_change(objects: Objects, snapshot: Snapshot, last: Pass) -> float:
    now = clock()
    keys = iter([(place(number)[0], pod_name(number)) for number in range(NUMBER)])

    def changed() -> None:
        key = next(keys)
        pod = objects[PODS][key]
        metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp=datetime.now(UTC))
        table = Table(objects[PODS] | {key: msgspec.structs.replace(pod, metadata=metadata)})
        after = replace(snapshot, tables={**snapshot.tables, PODS: table})
        made = run_pass(
            after, last.after, RecentWrites(), now=now(), settings=_SETTINGS, instance="bench"
        )
        if len(_planned(made).writes) != 1:
            raise BenchError("one changed pod does not make one write")

    return median(changed)


async def _live(
    folder: Path, tell: Callable[[str], None]
) -> tuple[float, int, int, list[float], int]:
    kubeconfig = folder / "kubeconfig"
    tell("starting the sandbox")
    async with sandbox(NUMBER, kubeconfig, "modelservings") as url, Api(url) as api:
        tell("starting the daemon")
        async with _Roles(url) as roles:
            began = time.perf_counter()
            async with daemon(kubeconfig, folder, Ownership.FULL) as running:
                await roles.until(lambda: len(roles.complete) == NUMBER)
                written = time.perf_counter() - began
                tell("steady")
                writes, passes = await _steady(api, running)
                tell("changed pods")
                changes = [await _change(api, roles, number) for number in range(_CHANGES)]
                memory = running.memory().resident
    return written, writes, passes, changes, memory


async def _steady(api: Api, running: Daemon) -> tuple[int, int]:
    async def metrics() -> Metrics:
        running.check()
        return await api.metrics(running.metrics_url)

    # What the statuses that were just written bring is no part of the steady state.
    await asyncio.sleep(RESYNC_SECONDS)
    before = await metrics()
    await asyncio.sleep(RESYNCS * RESYNC_SECONDS)
    after = (await metrics()).since(before)
    due = {("update", "leases"), ("get", "discovery")}
    writes = sum(count for key, count in after.requests.items() if key not in due)
    return writes, int(after["pass_duration_seconds_count"])


async def _change(api: Api, roles: "_Roles", number: int) -> float:
    """Return how long a pod that is not ready any more takes to be in the status; mend it again."""
    namespace, name = place(number)
    path = f"/api/v1/namespaces/{namespace}/pods/{pod_name(number)}"
    sound = (await api.get(path))["status"]["conditions"]
    broken = [
        {**each, "status": "False", "lastTransitionTime": rfc3339(datetime.now(UTC))}
        if each["type"] == "Ready"
        else each
        for each in sound
    ]
    began = time.perf_counter()
    await api.patch(f"{path}/status", {"status": {"conditions": broken}})
    arrived = await roles.until(lambda: roles.states.get(name) == "Creating")
    await api.patch(f"{path}/status", {"status": {"conditions": sound}})
    await roles.until(lambda: roles.states.get(name) == "Running")
    await asyncio.sleep(random.Random(number).uniform(*_PAUSE_SECONDS))
    return arrived - began


class _Roles:
    """Follows the statuses of all ModelServings.

    Attributes:
        complete: names of those that say that all is available.
        states: of one instance of each, by the name of the ModelServing.

    """

    def __init__(self, url: str) -> None:
        self.complete: set[str] = set()
        self.states: dict[str, str] = {}
        self._url = f"{url}/apis/workload.serving.volcano.sh/v1alpha1/modelservings?watch=true"
        self._changed = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def until(self, holds: Callable[[], bool]) -> float:
        """Wait until something holds and return when, by `time.perf_counter`."""
        async with asyncio.timeout(_WITHIN_SECONDS), self._changed:
            await self._changed.wait_for(holds)
            return time.perf_counter()

    async def _watch(self) -> None:
        timeout = aiohttp.ClientTimeout(total=None)
        async with (
            aiohttp.ClientSession(read_bufsize=2**22) as http,
            http.get(self._url, timeout=timeout) as answer,
        ):
            async for line in answer.content:
                modelserving = msgspec.json.decode(line)["object"]
                async with self._changed:
                    self._note(modelserving["metadata"]["name"], modelserving.get("status") or {})
                    self._changed.notify_all()

    def _note(self, name: str, status: Object) -> None:
        if status.get("availableReplicas") == 2:
            self.complete.add(name)
        for each in status.get("roleStatuses") or ():
            if each["servingGroupName"] == f"{name}-0" and each["roleID"] == f"{CHANGED_ROLE}-0":
                self.states[name] = each["status"]
