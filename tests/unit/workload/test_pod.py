"""Judging pods."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from reporter.catalogue.resources import NODES
from reporter.model.objects import Node, Pod
from reporter.snapshot.snapshot import ResourceState, Served, Snapshot
from reporter.snapshot.table import table_of
from reporter.workload.pod import had_been_ready, judge_ended, judge_pod
from tests.unit.probes.building import CREATED, condition

BUDGET = timedelta(minutes=30)
INITIALIZED = "2026-11-20T10:01:00Z"
STARTED = "2026-11-20T10:02:00Z"
LATER = "2026-11-20T11:00:00Z"


def moment(text):
    return datetime.fromisoformat(text).astimezone(UTC)


def container(state=None, *, name="vllm", ready=False, restarts=0, last=None):
    return {
        "name": name, "ready": ready, "restartCount": restarts,
        "state": {"running": {"startedAt": STARTED}} if state is None else state,
        "lastState": {} if last is None else {"terminated": last},
    }  # fmt: skip


def waiting(reason, message="", **more):
    return container({"waiting": {"reason": reason, "message": message}}, **more)


def ended(reason, code=1, **more):
    state = {"terminated": {"reason": reason, "exitCode": code, "finishedAt": LATER}}
    return container(state, **more)


def make_pod(
    *,
    phase="Running",
    ready="False",
    ready_since=CREATED,
    initialized="True",
    initialized_since=INITIALIZED,
    scheduled=("True", CREATED, "", ""),
    containers=None,
    init=None,
    node="gpu-1",
    spec=None,
    deleted=None,
    deleted_with=None,
    **status,
):
    """A pod that was never Ready and whose container runs, by default."""
    is_so, since, reason, message = scheduled
    conditions = [condition("PodScheduled", is_so, reason, message, since)]
    if initialized:
        conditions.append(condition("Initialized", initialized, since=initialized_since))
    if ready:
        conditions.append(condition("Ready", ready, "ContainersNotReady", "not yet", ready_since))
    metadata = {"name": "qwen-0", "namespace": "models", "creationTimestamp": CREATED}
    if deleted:
        metadata["deletionTimestamp"] = deleted
        metadata["deletionGracePeriodSeconds"] = deleted_with
    document = {
        "metadata": metadata,
        "spec": {"nodeName": node, "containers": [{"name": "vllm"}]} | (spec or {}),
        "status": {
            "phase": phase,
            "conditions": conditions,
            "containerStatuses": [container()] if containers is None else containers,
            "initContainerStatuses": init,
        }
        | status,
    }
    return msgspec.convert(document, Pod)


def node(name="gpu-1", ready="True"):
    since = CREATED if ready == "True" else LATER
    told = condition("Ready", ready, "KubeletNotReady", "container runtime is down", since)
    return msgspec.convert({"metadata": {"name": name}, "status": {"conditions": [told]}}, Node)


HEALTHY = (node(),)


def judge(pod, nodes=HEALTHY):
    return judge_pod(pod, seen(nodes), startup_budget=BUDGET)


def seen(nodes=HEALTHY):
    """A snapshot with these nodes, or one in which nodes are unknown."""
    if nodes is None:
        return Snapshot()
    state = ResourceState(Served.SERVED)
    return Snapshot(tables={NODES: table_of(nodes)}, states={NODES: state})


def found(pod, cause, detail="", *, since=None, budget=None, exempt=False, nodes=HEALTHY):
    """A pod, its surroundings, and the expected fault."""
    return pod, nodes, (cause, since and moment(since), budget, exempt), detail


def unscheduled(reason):
    scheduled = ("False", LATER, reason, "0/3 nodes are available")
    return make_pod(phase="Pending", scheduled=scheduled, node=None, containers=[])


def probed(**probe):
    return {"containers": [{"name": "vllm", "startupProbe": probe}, {"name": "proxy"}]}


TEN_YEARS = timedelta(days=3650)
OOM = {"reason": "OOMKilled", "exitCode": 137}
KILLED = {"reason": "Error", "exitCode": 137}
UNSET = [condition("PodReadyToStartContainers", "False", since=STARTED)]
JUDGED = {
    **{
        each: found(make_pod(containers=[waiting(each)]), each, "container vllm", exempt=True)
        for each in ("InvalidImageName", "ErrImageNeverPull", "CrashLoopBackOff")
    },
    **{
        each: found(make_pod(phase="Pending", containers=[waiting(each, "because")]), each, "because")
        for each in (
            "ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable",
            "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
        )
    },
    **{
        f"ended: {reason}": found(
            make_pod(containers=[ended(reason, code)]), reason or "Error", since=LATER
        )
        for reason, code in (
            ("OOMKilled", 137), ("Error", 1), ("StartError", 128), ("ContainerCannotRun", 127),
            ("DeadlineExceeded", 0), ("SomethingNew", 3), (None, 2),
        )
    },
    "an init container failed": found(
        make_pod(phase="Pending", init=[ended("Error", 2, name="fetch-sas")], containers=[waiting("PodInitializing")]),
        "Error", "init container fetch-sas", since=LATER,
    ),
    "how a crash loop ended": found(
        make_pod(containers=[waiting("CrashLoopBackOff", "back-off 5m0s restarting", last=OOM)]),
        "CrashLoopBackOff", "OOMKilled (exit code 137: killed, out of memory)", exempt=True,
    ),
    "unschedulable": found(unscheduled("Unschedulable"), "Unschedulable", "0/3 nodes", since=LATER),
    "starts": found(make_pod(), "not Ready yet", "not Ready yet", since=STARTED, budget=BUDGET),
    "the start-up probe names the budget, here 60 s + 10 s x 360": found(
        make_pod(spec=probed(initialDelaySeconds=60, periodSeconds=10, failureThreshold=360)),
        "not Ready yet", since=STARTED, budget=timedelta(seconds=3660),
    ),
    "a restart gives no new budget": found(
        make_pod(
            containers=[container({"running": {"startedAt": LATER}}, restarts=1, last=KILLED)]
        ),
        "not Ready yet", "last ended with Error (exit code 137: killed by a probe, ",
        since=INITIALIZED, budget=BUDGET,
    ),
    **{
        f"pending: {reason}": found(
            make_pod(
                phase="Pending", initialized="False", scheduled=("True", INITIALIZED, "", ""),
                containers=[waiting(reason)],
            ),
            "not Ready yet", since=INITIALIZED, budget=BUDGET,
        )
        for reason in ("ContainerCreating", "PodInitializing", None)
    },
    "not set up": found(make_pod(phase="Pending", containers=[], conditions=UNSET), "not set up", since=STARTED, budget=timedelta(minutes=5)),
    "not set up, and a container says why": found(
        make_pod(
            phase="Pending", conditions=UNSET,
            containers=[waiting("CreatePodSandboxError", "no IP address left")],
        ),
        "CreatePodSandboxError", "no IP address left",
    ),
    "no status at all": found(msgspec.convert({"metadata": {"name": "p"}}, Pod), "not Ready yet", budget=BUDGET),
    "a pod that had been Ready has no start-up: it is at fault since then": found(make_pod(ready_since=LATER), "no longer Ready", since=LATER),
    "an absurd start-up probe does no harm": found(
        make_pod(spec=probed(periodSeconds=2**31 - 1, failureThreshold=2**31 - 1)), "not Ready yet", since=STARTED, budget=TEN_YEARS,
    ),
    "on a node that is gone": found(make_pod(ready="True"), "node gone", "on node gpu-1, which is gone", nodes=[node("other")]),
    "on a node that is NotReady": found(make_pod(ready="True"), "node NotReady", "gpu-1", since=LATER, nodes=[node(ready="False")]),
    "on a node that does not answer": found(make_pod(ready="True"), "node not answering", "gpu-1", since=LATER, nodes=[node(ready="Unknown")]),
}  # fmt: skip


@pytest.mark.parametrize("name", JUDGED)
def test_what_is_wrong_with_a_pod(name):
    """A permanent fault fires at once, a start has a budget, and other faults have a grace."""
    pod, nodes, expected, detail = JUDGED[name]
    fault = judge(pod, nodes)
    assert (fault.cause, fault.transition, fault.budget, fault.exempt) == expected
    assert detail in fault.detail
    assert "5m0s" not in fault.detail


@pytest.mark.parametrize(
    ("pod", "detail"),
    [
        (unscheduled("SchedulingGated"), "not scheduled yet (SchedulingGated: 0/3 nodes are available)"),
        (msgspec.convert({"metadata": {"name": "p"}, "status": {"phase": "Pending"}}, Pod), "not scheduled yet"),
        (make_pod(deleted=LATER, node="away"), "terminating on node away, which is gone"),
    ],
)  # fmt: skip
def test_where_a_pod_is_that_does_not_run(pod, detail):
    assert judge(pod).detail == detail


@pytest.mark.parametrize("state", ["ended", "waiting"])
def test_a_fault_of_a_main_container_is_of_no_init_container(state):
    """Not even next to a less explanatory fault of a sidecar: the worst one is reported."""
    init = [waiting("ImagePullBackOff", name="sidecar")]
    crashed = {"ended": ended("Error"), "waiting": waiting("CrashLoopBackOff")}[state]
    fault = judge(make_pod(init=init, containers=[crashed]))
    assert (fault.cause in {"Error", "CrashLoopBackOff"}, fault.init_container) == (True, "")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"ready_since": CREATED}, False),
        ({"ready_since": INITIALIZED}, False),
        ({"ready_since": "2026-11-20T10:01:01Z"}, False),
        ({"ready_since": LATER}, True),
        ({"ready_since": LATER, "ready": "Unknown"}, True),
        ({"ready_since": LATER, "ready": "True"}, False),
        ({"ready_since": LATER, "ready": None}, False),
        ({"ready_since": LATER, "initialized": None}, False),
        ({"ready_since": LATER, "initialized": "False"}, False),
    ],
)
def test_a_pod_had_been_ready_if_ready_changed_after_it_was_initialized(changes, expected):
    """The kubelet sets Ready=False and Initialized=True at once on a fresh pod."""
    assert had_been_ready(make_pod(**changes)) is expected


@pytest.mark.parametrize(
    "nodes", [None, [msgspec.convert({"metadata": {"name": "gpu-1"}}, Node)]], ids=["unknown", "silent"]
)  # fmt: skip
def test_a_node_of_unknown_state_does_not_count_as_lost(nodes):
    assert judge(make_pod(ready="True"), nodes) is None


@pytest.mark.parametrize(
    ("asked", "spec", "seconds"), [(600, 30, 600), (5, 3600, 5), (0, 30, 0), (None, 3600, 3600)]
)
def test_the_grace_period_is_the_one_that_the_deletion_asked_for(asked, spec, seconds):
    """`kubectl drain --grace-period` overrides the spec, and deletionTimestamp includes it."""
    pod = make_pod(deleted=LATER, deleted_with=asked, spec={"terminationGracePeriodSeconds": spec})
    fault = judge(pod)
    assert fault.transition == moment(LATER) - timedelta(seconds=seconds)
    assert fault.budget == timedelta(seconds=seconds + 60)


@pytest.mark.parametrize("phase", ["Pending", "Failed"])
def test_a_node_that_never_was_is_not_gone(phase):
    """A tenant may name any node in a pod: neither scheduler nor kubelet confirms it."""
    never = {"ready": None, "initialized": None, "scheduled": ("False", CREATED, "", "")}
    fault = judge(make_pod(phase=phase, containers=[], **never), [node("other")])
    assert fault is None or not fault.node


@pytest.mark.parametrize("seconds", [10**11, 2**63 - 1])
@pytest.mark.parametrize("deleted", [LATER, "0001-01-01T00:00:00Z"])
def test_an_absurd_grace_period_does_no_harm(seconds, deleted):
    """The API accepts any number of 64 bits; one pod must not end the pass for all."""
    pod = make_pod(deleted=deleted, spec={"terminationGracePeriodSeconds": seconds})
    assert judge(pod).cause == "terminating"


def test_an_ended_pod_explains_a_missing_replica():
    """The reason of a Failed pod explains the missing replica."""
    pod = make_pod(phase="Failed", reason="Evicted", message="low on disk", containers=[])
    assert judge_ended(pod, seen()).detail == "Evicted: low on disk"
    assert judge_ended(make_pod(phase="Succeeded"), seen()) is None
    assert judge_ended(make_pod(), seen()) is None


@pytest.mark.parametrize("deleted", [False, True])
def test_a_finalizer_counts_once_a_pod_is_deleted(deleted):
    """The pods of a Job have one all their life."""
    ending = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {}
    doc = {
        "metadata": {"name": "p", "namespace": "ns", "finalizers": ["x.io/y"], **ending},
        "spec": {"nodeName": "gpu-1"},
    }
    fault = judge(msgspec.convert(doc, Pod), [node(ready="False")])
    assert ("finalizer x.io/y" in fault.detail) == deleted
