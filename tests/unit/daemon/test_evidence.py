"""When evidence is read, in virtual time: bounded, what hits most first, and kept."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest

from reporter.catalogue.resources import AUTOSCALERS, LEASES, NODES, PODS, VOLUMES
from reporter.daemon.evidence import MOST_PAGES, PAGE, EvidenceReader, EvidenceTask, RequestPace
from reporter.diagnosis.signatures import built_in
from reporter.diagnosis.wanted_evidence import (
    MOST_PODS,
    OF_NODES,
    WantedEvidence,
    WantedRun,
    wanted_evidence,
)
from reporter.kube.client import Response
from reporter.kube.errors import ConnectionFailed, Forbidden, NotFound, ServerError, TooManyRequests
from reporter.model.subject import ObjectRef
from reporter.snapshot.decode import decode_object
from reporter.snapshot.snapshot import Discovery, Learned, ResourceState, Served, Snapshot
from reporter.snapshot.table import table_of
from reporter.stacks.settings import FullEvaluationSettings
from reporter.workload.components import with_verdicts
from tests.tables import rows
from tests.unit.resolution.building import Resolver, finding

pytestmark = pytest.mark.looptime


def event(number=0, namespace="n", name="p"):
    return {
        "involvedObject": {"kind": "Pod", "namespace": namespace, "name": name, "uid": name},
        "reason": "Killing", "message": f"no {number}", "type": "Normal",
        "lastTimestamp": "2026-11-24T10:00:00Z",
    }  # fmt: skip


class Api:
    """Answers lists of Events, logs and Leases; notes when each was asked for."""

    clock_offset_seconds = 0.0
    renewed = timedelta(0)
    seconds = 0.0

    def __init__(self):
        self.asked = []
        self.events = {}
        self.fault = None
        self.log = "No space left on device\n"

    async def request(self, _method, path, *, params=None, **_):
        loop = asyncio.get_running_loop()
        self.asked.append((round(loop.time(), 1), path, dict(params or {})))
        await asyncio.sleep(self.seconds)
        if self.fault:
            raise self.fault
        if "/leases/" in path:
            spec = {"holderIdentity": "a", "leaseDurationSeconds": 15}
            spec["renewTime"] = (datetime.now(UTC) - self.renewed).isoformat()
            metadata = {"name": "l", "namespace": "kube-system"}
            return Response(200, {}, json.dumps({"metadata": metadata, "spec": spec}).encode())
        if path.endswith("/log"):
            return Response(200, {}, self.log.encode())
        found = self.events.get(path.split("/")[4], [event(namespace=path.split("/")[4])])
        if uid := (params or {}).get("fieldSelector", "").partition("uid=")[2]:
            found = [each for each in found if each["involvedObject"]["uid"] == uid]
        start = int(params.get("continue", 0))
        rest = len(found) - start - PAGE
        metadata = {"continue": str(start + PAGE), "remainingItemCount": rest} if rest > 0 else {}
        page = {
            "kind": "List",
            "metadata": {"resourceVersion": "1", **metadata},
            "items": found[start : start + PAGE],
        }
        return Response(200, {}, json.dumps(page).encode())

    def times(self, part=""):
        return [at for at, path, _ in self.asked if part in path]


class Stage:
    """The task beside passes, with a clock that jumps."""

    def __init__(self, *, logs=False):
        self.api, self.learned, self.changes, self.leads = Api(), Learned(), 0, True
        reader = EvidenceReader(
            self.api, self.learned, built_in(), lambda each: each.versions[0], RequestPace().turn
        )
        self.task = EvidenceTask(reader, leading=lambda: self.leads, changed=self.change, logs=logs)

    def change(self):
        self.changes += 1

    async def run(self, wanted, seconds):
        """Want the same, pass after pass, for some time."""
        running = asyncio.create_task(self.task.run())
        for each in wanted:
            self.task.passed(each)
            await asyncio.sleep(seconds / len(wanted))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def wants(*namespaces, faults=frozenset({1}), **more):
    return WantedEvidence(
        namespaces=dict.fromkeys(namespaces, faults), at_fault=frozenset(namespaces), **more
    )


AT_REST, AT_FAULT = (WantedEvidence(scalers=True, scalers_at_fault=each) for each in (False, True))


@rows(
    ("wanted", "seconds", "around", "times"),
    {
        "at once, after 10 s, after 60 s, then once a minute": ([wants("n")] * 20, 200, {}, [0, 10, 60, 120, 180]),
        "at rest nothing is asked for": ([WantedEvidence()] * 5, 600, {}, []),
        "a server in trouble is no missing right: it is asked again soon": (
            [wants("n")] * 4, 35, {"fault": ServerError("etcd is slow", status=500)}, [0, 10, 20, 30],
        ),
        "but not before it wants to be": (
            [wants("n")] * 4, 35, {"fault": TooManyRequests("later", status=429, retry_after=25.0)}, [0, 25],
        ),
        "no answer is tried again": ([wants("n")] * 7, 65, {"fault": ConnectionFailed("no route to host")}, [0, 10, 60]),
        "standbys read autoscalers too, once a minute, for verdicts rest on them": ([AT_REST] * 7, 130, {"leads": False}, [0, 10, 60, 120]),
        "autoscalers are read again soon while one is at fault: what was read a minute ago may be over": (
            [AT_REST] * 10 + [AT_FAULT] * 3 + [AT_REST] * 5, 180, {}, [0, 10, 60, 100, 110, 120, 130],
        ),
        "those that take long to read are read less often: other evidence needs the same two requests a second": (
            [AT_FAULT] * 7, 70, {"seconds": 2.0}, [0, 12, 34, 56],
        ),
        "those that may not be read are not asked for soon": ([AT_FAULT] * 7, 70, {"fault": Forbidden("no", status=403)}, [0]),
    },
)  # fmt: skip
async def test_when_the_api_server_is_asked(wanted, seconds, around, times):
    """What is learned of autoscalers is kept while nothing is at fault."""
    stage = Stage()
    stage.leads = around.get("leads", True)
    vars(stage.api).update(around)
    await stage.run(wanted, seconds)
    assert stage.api.times() == times
    assert stage.changes == (bool(times) and "fault" not in around)
    if wanted[0] is AT_REST:
        assert stage.learned.joined(Snapshot()).known(AUTOSCALERS)


async def test_two_requests_a_second_and_what_hits_most_first():
    """300 namespaces break at once: each is read, in their order, and none twice before all once."""
    stage = Stage()
    names = [f"n{each}" for each in range(300)]
    await stage.run([wants(*names)] * 33, 164.9)
    asked = stage.api.asked
    times = [at for at, _, _ in asked]
    assert all(later - at > 10 for at, later in zip(times, times[20:], strict=False))
    assert [path.split("/")[4] for _, path, _ in asked] == names


async def test_a_namespace_with_ever_new_pods_waits_for_itself():
    """Others are read in turn, and again when their time has come."""
    stage = Stage(logs=True)

    def wanted(number):
        names = ("a", *(f"p-{number}-{each}" for each in range(20)))
        runs = [WantedRun("many", name, "main", (True,)) for name in names]
        return wants("many", "one", logs=(*runs, WantedRun("one", "p", "main", (True,))))

    await stage.run([wanted(number) for number in range(80)], 80)
    of_one = [(at, path.rpartition("/")[2]) for at, path, _ in stage.api.asked if "/one/" in path]
    assert of_one[1][1] == "log"
    assert of_one[1][0] < 3
    assert [at for at, what in of_one if what == "events"][1] < 13


async def test_another_fault_in_a_namespace_is_looked_at_sooner():
    """Not more often than every 10 s, though, however fast things break."""
    stage = Stage()
    later = [wants("n", faults=frozenset(range(each))) for each in range(1, 61)]
    await stage.run([wants("n")] * 100, 100)
    await stage.run(later, 60)
    assert stage.api.times() == [0.0, 10.0, 60.0, *(100.0 + each for each in range(0, 60, 10))]


async def test_a_standby_reads_nothing_and_a_new_leader_at_once():
    stage = Stage()
    stage.leads = False
    await stage.run([wants("n")] * 5, 50)
    assert stage.api.asked == []
    stage.leads = True
    await stage.run([wants("n")], 5)
    assert stage.api.times() == [50.0]


async def test_what_was_learned_outlives_the_event():
    """It is kept until nothing is at fault there."""
    stage = Stage()
    await stage.run([wants("n")], 5)
    stage.api.events = {"n": []}
    await stage.run([wants("n")] * 20, 60)
    joined = stage.learned.joined(Snapshot())
    assert [each.message for each in joined.evidence.events_about("n", "Pod", "p")] == ["no 0"]
    assert stage.changes == 1
    stage.task.passed(WantedEvidence(at_fault=frozenset({"n"})))
    assert stage.learned.joined(Snapshot()).evidence.events_about("n", "Pod", "p")
    stage.task.passed(WantedEvidence(at_fault=frozenset({"other"})))
    assert not stage.learned.joined(Snapshot()).evidence.events_about("n", "Pod", "p")


async def test_a_missing_right_is_asked_for_again_after_ten_minutes():
    """Until then evidence says that these Events could not be looked at."""
    stage = Stage()
    stage.api.fault = Forbidden("events is forbidden", status=403)
    await stage.run([wants("n")] * 20, 590)
    assert stage.api.times() == [0.0]
    assert not stage.learned.joined(Snapshot()).evidence.reads_events("n")
    stage.api.fault = None
    await stage.run([wants("n")] * 20, 20)
    assert stage.learned.joined(Snapshot()).evidence.reads_events("n")


def pod(name="p", uid="u", spec=None, **status):
    document = {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "n", "name": name, "uid": uid}, "status": status,
        "spec": spec or {},
    }  # fmt: skip
    return decode_object(PODS, json.dumps(document).encode())


async def test_where_there_are_thousands_they_are_asked_for_one_by_one():
    """A namespace with more Events than are read costs a page, and one for each pod at fault."""
    stage = Stage()
    many = [event(each, name=f"p{each % 3}") for each in range(PAGE * (MOST_PAGES + 2))]
    stage.api.events = {"n": many}
    pods = {"n": (pod("p1", "p1"), pod("p2", "p2"))}
    await stage.run([wants("n", pods=pods)], 5)
    selectors = [params.get("fieldSelector") for _, _, params in stage.api.asked]
    assert selectors == [None, "involvedObject.uid=p1", "involvedObject.uid=p2"]


async def test_pages_are_read_on():
    stage = Stage()
    stage.api.events = {"n": [event(each, name=f"p{each}") for each in range(PAGE + 1)]}
    await stage.run([wants("n")], 5)
    evidence = stage.learned.joined(Snapshot()).evidence
    assert evidence.events_about("n", "Pod", f"p{PAGE}")
    assert len(stage.api.asked) == 2


RUN = WantedRun("n", "p", "main", (True,), "u", 1)


async def test_a_log_of_a_run_is_read_once():
    stage = Stage(logs=True)
    again = WantedRun("n", "p", "main", (True,), "u", 2)
    await stage.run([wants("n", logs=(RUN,))] * 10, 200)
    await stage.run([wants("n", logs=(again,))], 20)
    assert len(stage.api.times("/log")) == 2
    cause = stage.learned.joined(Snapshot()).evidence.log_of("n", "p", "main")
    assert cause.signature == "enospc"
    asked = next(params for _, path, params in stage.api.asked if "/log" in path)
    assert (asked["tailLines"], asked["limitBytes"]) == ("1000", str(1024 * 1024))


async def test_a_log_of_too_many_bytes_is_asked_for_with_fewer_lines():
    stage = Stage(logs=True)
    stage.api.log = "x" * 1024 * 1024
    await stage.run([wants("n", logs=(RUN,))], 5)
    lines = [each["tailLines"] for _, path, each in stage.api.asked if "/log" in path]
    assert lines == ["1000", "100"]


async def test_a_volume_that_is_gone():
    stage = Stage()
    stage.api.fault = NotFound("gone", status=404)
    await stage.run([WantedEvidence(volumes=("v",), at_fault=frozenset({"n"}))], 5)
    joined = stage.learned.joined(Snapshot())
    assert joined.state(VOLUMES) == ResourceState(Served.SERVED, partial=True)


PULLS = {"phase": "Pending"}


def told(*findings, pods=(), served=frozenset()):
    """What is wanted for a report of these findings."""
    resolver = Resolver(startup_grace_seconds=0)
    resolver.look(0, *findings)
    states = {PODS: ResourceState(Served.SERVED), NODES: ResourceState(Served.SERVED)}
    snapshot = Snapshot(
        tables={PODS: table_of(pods)}, states=states, discovery=Discovery(frozenset(served))
    )
    return wanted_evidence(resolver.report, snapshot)


def test_what_is_wanted_for_a_pod_that_waits():
    """Its namespace, that of nodes where Karpenter is, and the kinds that are served."""
    fault = finding("inferencesetModelPodsNotReady", related=ObjectRef("v1", "Pod", "n", "p"))
    wanted = told(fault, pods=[pod(**PULLS)], served={"nodeclaims.karpenter.sh"})
    assert [*wanted.namespaces] == ["n", OF_NODES]
    assert [each.name for each in wanted.pods["n"]] == ["p"]
    assert {each.plural for each in wanted.resources} == {
        "volumeattachments", "csinodes", "storageclasses", "daemonsets", "nodeclaims",
    }  # fmt: skip
    assert wanted.at_fault == {"n", OF_NODES}


@pytest.mark.parametrize("served", [set(), {"nodeclaims.karpenter.sh"}])
def test_what_is_wanted_for_a_model_without_a_pod(served):
    """Where there are NodeClaims, they and their Events may say why."""
    workspace = ObjectRef("kaito.sh/v1beta1", "Workspace", "n", "w")
    fault = finding("inferencesetInfraProvisioningFailed", related=workspace)
    wanted = told(fault, served=served)
    assert [each.plural for each in wanted.resources] == ["nodeclaims"] * len(served)
    assert [*wanted.namespaces] == ["n", OF_NODES][: 1 + len(served)]


def test_what_is_wanted_for_one_that_crashes():
    ended = {"terminated": {"exitCode": 1}}
    crashed = pod(
        phase="Running",
        containerStatuses=[{"name": "c", "restartCount": 3, "state": ended, "lastState": {}}],
    )
    fault = finding("inferencesetModelPodsNotReady", related=ObjectRef("v1", "Pod", "n", "p"))
    wanted = told(fault, pods=[crashed])
    assert wanted.logs == (WantedRun("n", "p", "c", (False,), "u", 3),)
    assert wanted.resources == ()
    assert [*wanted.namespaces] == ["n"]


@pytest.mark.parametrize("limits", [None, {"memory": "4Gi"}])
def test_what_is_wanted_for_one_that_is_killed_for_memory(limits):
    """Whether its node ran out of memory, which Events of nodes say, if nothing limits it."""
    ended = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    container = {"name": "c", "restartCount": 3, "state": ended, "lastState": {}}
    spec = {"containers": [{"name": "c", "resources": {"limits": limits}}]}
    killed = pod(spec=spec, phase="Running", containerStatuses=[container])
    fault = finding("inferencesetModelPodsNotReady", related=ObjectRef("v1", "Pod", "n", "p"))
    wanted = told(fault, pods=[killed])
    assert [*wanted.namespaces] == (["n"] if limits else ["n", OF_NODES])


def test_of_one_namespace_a_few_pods_are_looked_at():
    pods = [pod(f"p{each:02}", f"u{each}", **PULLS) for each in range(50)]
    fault = finding("inferencesetModelPodsNotReady", related=ObjectRef("v1", "Pod", "n", "p49"))
    wanted = told(fault, pods=pods)
    assert len(wanted.pods["n"]) == MOST_PODS
    assert wanted.pods["n"][0].name == "p49"


def test_of_one_pod_a_few_logs_are_read():
    """A pod of hundreds of containers does not keep others waiting for theirs."""
    ended = {"terminated": {"exitCode": 1}}
    crashed = pod(
        phase="Running",
        containerStatuses=[{"name": f"c{each}", "state": ended} for each in range(300)],
    )
    fault = finding("inferencesetModelPodsNotReady", related=ObjectRef("v1", "Pod", "n", "p"))
    assert len(told(fault, pods=[crashed]).logs) == 10


@pytest.mark.parametrize("kind", ["HorizontalPodAutoscaler", "Pod"])
def test_a_finding_about_an_autoscaler_wants_new_readings(kind):
    resolver = Resolver(startup_grace_seconds=60)
    fault = finding("workloadScalingNotReady", related=ObjectRef("autoscaling/v2", kind, "n", "p"))
    resolver.look(0, fault)
    wanted = with_verdicts(
        WantedEvidence(), resolver.report, Snapshot(), settings=FullEvaluationSettings()
    )
    assert wanted.scalers_at_fault is (kind == "HorizontalPodAutoscaler")


def test_where_all_is_well_nothing_is_wanted():
    assert told(pods=[pod(**PULLS)]) == WantedEvidence()


@pytest.mark.parametrize(("minutes", "held"), [(0, ["l"]), (5, [])])
async def test_standbys_read_leases_too(minutes, held):
    """Verdicts rest on them, and a standby that takes over must not tell of what works."""
    stage = Stage()
    stage.leads, stage.api.renewed = False, timedelta(minutes=minutes)
    await stage.run([wants("n", leases=(("kube-system", "l"),))] * 7, 70)
    assert stage.api.times("/kube-system/leases/l") == stage.api.times() == [0.0, 10.0, 60.0]
    assert [each.name for each in stage.learned.joined(Snapshot())[LEASES]] == held
    assert stage.changes == 1
