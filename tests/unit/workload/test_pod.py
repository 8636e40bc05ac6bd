"""Judging pods."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from reporter.catalogue.resources import NODES
from reporter.model.objects import Node, Pod
from reporter.snapshot.snapshot import ResourceState, Served, Snapshot
from reporter.snapshot.table import table_of
from reporter.workload.pod import counts, had_been_ready, is_ready, judge_ended, judge_pod

BUDGET = timedelta(minutes=30)
CREATED = "2026-11-20T10:00:00Z"
INITIALIZED = "2026-11-20T10:01:00Z"
STARTED = "2026-11-20T10:02:00Z"
LATER = "2026-11-20T11:00:00Z"


def moment(text):
    return datetime.fromisoformat(text).astimezone(UTC)


def condition(type_, status, since, *, reason="", message=""):
    return {
        "type": type_, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": since,
    }  # fmt: skip


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
    """A pod that was never Ready and whose container runs, unless told otherwise."""
    is_so, since, reason, message = scheduled
    conditions = [condition("PodScheduled", is_so, since, reason=reason, message=message)]
    if initialized:
        conditions.append(condition("Initialized", initialized, initialized_since))
    if ready:
        conditions.append(
            condition("Ready", ready, ready_since, reason="ContainersNotReady", message="not yet")
        )
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
    conditions = [
        condition(
            "Ready",
            ready,
            CREATED if ready == "True" else LATER,
            reason="KubeletNotReady",
            message="container runtime is down",
        )
    ]
    return msgspec.convert({"metadata": {"name": name}, "status": {"conditions": conditions}}, Node)


HEALTHY = (node(),)


def judge(pod, nodes=HEALTHY):
    return judge_pod(pod, seen(nodes), startup_budget=BUDGET)


def seen(nodes=HEALTHY):
    """A snapshot with these nodes, or one in which nodes are unknown."""
    if nodes is None:
        return Snapshot()
    state = ResourceState(Served.SERVED)
    return Snapshot(tables={NODES: table_of(nodes)}, states={NODES: state})


@pytest.mark.parametrize("reason", ["InvalidImageName", "ErrImageNeverPull", "CrashLoopBackOff"])
def test_what_never_heals_by_itself_is_exempt(reason):
    """A container that waits in vain fires at once."""
    fault = judge(make_pod(containers=[waiting(reason)]))
    assert fault.exempt
    assert fault.budget is None
    assert fault.cause == reason
    assert "container vllm" in fault.detail


@pytest.mark.parametrize(
    "reason",
    [
        "ErrImagePull",
        "ImagePullBackOff",
        "ImageInspectError",
        "RegistryUnavailable",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
    ],
)
def test_what_may_heal_has_a_grace(reason):
    """Image pull and container start errors are faults with the normal grace."""
    fault = judge(make_pod(phase="Pending", containers=[waiting(reason, "because")]))
    assert not fault.exempt
    assert fault.budget is None
    assert fault.transition is None
    assert "because" in fault.detail


@pytest.mark.parametrize(
    ("reason", "code"),
    [("OOMKilled", 137), ("Error", 1), ("StartError", 128), ("ContainerCannotRun", 127),
     ("DeadlineExceeded", 0), ("SomethingNew", 3), (None, 2)],
)  # fmt: skip
def test_a_container_that_ended_in_an_error_is_a_fault(reason, code):
    """Current terminations in an error count from when they happened, whatever their reason."""
    fault = judge(make_pod(containers=[ended(reason, code)]))
    assert fault.cause == (reason or "Error")
    assert fault.transition == moment(LATER)
    assert (fault.exempt, fault.budget) == (False, None)


def test_init_containers_are_judged_as_well():
    """A failed init container is the fault, not the main container that waits for it."""
    init = [ended("Error", 2, name="fetch-sas")]
    containers = [waiting("PodInitializing")]
    fault = judge(make_pod(phase="Pending", init=init, containers=containers))
    assert "init container fetch-sas" in fault.detail
    assert fault.init_container == "fetch-sas"


@pytest.mark.parametrize("state", ["ended", "waiting"])
def test_a_fault_of_a_main_container_is_of_no_init_container(state):
    """Not even beside a sidecar at fault that explains less: the worst one speaks."""
    init = [waiting("ImagePullBackOff", name="sidecar")]
    crashed = {"ended": ended("Error"), "waiting": waiting("CrashLoopBackOff")}[state]
    fault = judge(make_pod(init=init, containers=[crashed]))
    assert (fault.cause in {"Error", "CrashLoopBackOff"}, fault.init_container) == (True, "")


def test_a_finished_init_container_is_nothing():
    """An init container that completed does not explain why the pod is not Ready."""
    fault = judge(make_pod(init=[ended("Completed", 0, name="fetch-sas", ready=True)]))
    assert fault.cause == "not Ready yet"


@pytest.mark.parametrize("order", [1, -1])
def test_the_worst_container_speaks_whatever_the_order(order):
    """Of several faults the worst is told, independent of the order of the list."""
    containers = [waiting("ImagePullBackOff", name="a"), waiting("CrashLoopBackOff", name="b")]
    assert judge(make_pod(containers=containers[::order])).cause == "CrashLoopBackOff"


def test_a_crash_loop_names_how_it_ended_and_no_running_value():
    """The text of a crash loop holds its back-off, which changes; the last end does not."""
    last = {"reason": "OOMKilled", "exitCode": 137}
    text = "back-off 5m0s restarting failed container"
    fault = judge(make_pod(containers=[waiting("CrashLoopBackOff", text, last=last)]))
    assert "OOMKilled (exit code 137: killed, out of memory)" in fault.detail
    assert "5m0s" not in fault.detail


def test_a_past_crash_of_a_ready_pod_is_nothing():
    """A container that was OOM-killed and is Ready again is no fault."""
    last = {"reason": "OOMKilled", "exitCode": 137}
    pod = make_pod(ready="True", containers=[container(ready=True, restarts=3, last=last)])
    assert judge(pod) is None


def test_an_unknown_waiting_reason_is_progress():
    """A waiting reason that we do not know is tolerated: the start-up budget decides."""
    fault = judge(make_pod(phase="Pending", containers=[waiting("PullingTheMoon")]))
    assert (fault.cause, fault.budget) == ("not Ready yet", BUDGET)


def test_an_unschedulable_pod_has_a_grace():
    """Unschedulable may heal in seconds; its time is that of PodScheduled."""
    scheduled = ("False", LATER, "Unschedulable", "0/3 nodes are available")
    pod = make_pod(phase="Pending", scheduled=scheduled, node=None, containers=[])
    fault = judge(pod)
    assert fault.cause == "Unschedulable"
    assert fault.transition == moment(LATER)
    assert (fault.exempt, fault.budget) == (False, None)
    assert "0/3 nodes" in fault.detail


def test_a_gated_pod_is_not_unschedulable():
    """PodScheduled=False for another reason is no scheduling fault."""
    scheduled = ("False", LATER, "SchedulingGated", "")
    pod = make_pod(phase="Pending", scheduled=scheduled, node=None, containers=[])
    fault = judge(pod)
    assert fault.cause == "not Ready yet"
    assert fault.detail == "not scheduled yet (SchedulingGated)"


def test_a_pod_that_no_scheduler_took_up_is_not_said_to_run():
    """Without a node it is not scheduled, whether or not a condition says so."""
    pod = msgspec.convert({"metadata": {"name": "p"}, "status": {"phase": "Pending"}}, Pod)
    assert judge(pod).detail == "not scheduled yet"


def test_a_readiness_gate_is_named():
    """All containers are ready then, so nothing else says what the pod waits for."""
    gate = 'corresponding condition of pod readiness gate "x/y" does not exist.'
    conditions = [
        condition("Ready", "False", CREATED, reason="ReadinessGatesNotReady", message=gate)
    ]
    pod = make_pod(containers=[container(ready=True)], conditions=conditions)
    assert gate in judge(pod).detail


def test_a_running_pod_starts_within_the_budget_of_its_container():
    """A pod that was never Ready has the start-up budget from the container's start."""
    fault = judge(make_pod())
    assert fault.cause == "not Ready yet"
    assert fault.detail.startswith("not Ready yet")
    assert fault.transition == moment(STARTED)
    assert fault.budget == BUDGET


def test_the_startup_probe_names_the_budget():
    """A container's own start-up probe replaces the setting, here 60 s + 10 s x 360."""
    probe = {"initialDelaySeconds": 60, "periodSeconds": 10, "failureThreshold": 360}
    spec = {"containers": [{"name": "vllm", "startupProbe": probe}, {"name": "proxy"}]}
    assert judge(make_pod(spec=spec)).budget == timedelta(seconds=3660)


def test_an_absurd_startup_probe_does_no_harm():
    """Numbers beyond any time are cut."""
    probe = {"periodSeconds": 2**31 - 1, "failureThreshold": 2**31 - 1}
    spec = {"containers": [{"name": "vllm", "startupProbe": probe}]}
    assert judge(make_pod(spec=spec)).budget < timedelta.max


def test_a_restart_gives_no_new_budget():
    """A container killed by its start-up probe time and again is told in the end."""
    last = {"reason": "Error", "exitCode": 137}
    running = container({"running": {"startedAt": LATER}}, restarts=1, last=last)
    fault = judge(make_pod(containers=[running]))
    assert fault.cause == "not Ready yet"
    assert fault.transition == moment(INITIALIZED)
    assert (
        "last ended with Error (exit code 137: killed by a probe, a stop past its grace, or for memory)"
        in fault.detail
    )


@pytest.mark.parametrize("reason", ["ContainerCreating", "PodInitializing", None])
def test_a_pending_pod_has_the_budget_since_it_was_scheduled(reason):
    """Creating containers is progress, and it may hang."""
    pod = make_pod(
        phase="Pending", initialized="False", scheduled=("True", INITIALIZED, "", ""),
        containers=[waiting(reason)],
    )  # fmt: skip
    fault = judge(pod)
    assert (fault.transition, fault.budget) == (moment(INITIALIZED), BUDGET)


def test_a_pod_that_is_not_set_up_has_minutes():
    """Without volumes, network and sandbox no container starts, and no model is loaded meanwhile."""
    pod = make_pod(phase="Pending", containers=[waiting("ContainerCreating")])
    conditions = [condition("PodReadyToStartContainers", "False", STARTED)]
    fault = judge(make_pod(phase="Pending", containers=[], conditions=conditions))
    assert (fault.cause, fault.budget) == ("not set up", timedelta(minutes=5))
    assert fault.transition == moment(STARTED)
    assert not fault.of_containers
    assert judge(pod).cause == "not Ready yet"


def test_an_error_of_a_container_says_more_than_that_its_pod_is_not_set_up():
    """What the kubelet says of the container is the cause."""
    conditions = [condition("PodReadyToStartContainers", "False", STARTED)]
    stuck = [waiting("CreatePodSandboxError", "no IP address left")]
    fault = judge(make_pod(phase="Pending", containers=stuck, conditions=conditions))
    assert fault.cause == "CreatePodSandboxError"


def test_an_init_container_that_hangs_is_named():
    """A sidecar that runs, and one that has done its work, are not waited for."""
    done = container({"terminated": {"exitCode": 0}}, name="check", ready=True)
    sidecar = container(name="proxy", ready=True)
    init = [done, sidecar, container(name="fetch")]
    fault = judge(make_pod(phase="Pending", init=init, containers=[waiting("PodInitializing")]))
    assert "init container fetch still runs" in fault.detail
    ran = judge(make_pod(init=[done, sidecar]))
    assert "init container" not in ran.detail


def test_a_pod_without_any_status_counts_from_its_creation():
    """Nothing is known but that it was created: no transition, still a budget."""
    fault = judge(msgspec.convert({"metadata": {"name": "p"}}, Pod))
    assert (fault.cause, fault.transition, fault.budget) == ("not Ready yet", None, BUDGET)


def test_a_pod_that_had_been_ready_has_no_start_up():
    """Once Ready, a pod that is not Ready any more is at fault since then."""
    pod = make_pod(ready_since=LATER)
    assert had_been_ready(pod)
    fault = judge(pod)
    assert fault.cause == "no longer Ready"
    assert (fault.transition, fault.budget) == (moment(LATER), None)


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


@pytest.mark.parametrize(("status", "words"), [("False", "NotReady"), ("Unknown", "not answering")])
def test_a_pod_on_a_dead_node_is_a_fault_that_names_the_node(status, words):
    """Even a pod that still says Ready is at fault, since its node is."""
    fault = judge(make_pod(ready="True"), [node(ready=status)])
    assert "gpu-1" in fault.detail
    assert words in fault.detail
    assert fault.transition == moment(LATER)
    assert fault.budget is None


def test_a_pod_on_a_node_that_is_gone_is_a_fault():
    """Only where the nodes are known does one that is not there count as gone."""
    pod = make_pod(ready="True")
    assert judge(pod, [node("other")]).detail == "on node gpu-1, which is gone"
    assert judge(pod, None) is None


def test_a_node_without_a_ready_condition_says_nothing():
    """A node whose state is not told is not taken for dead."""
    silent = msgspec.convert({"metadata": {"name": "gpu-1"}}, Node)
    assert judge(make_pod(ready="True"), [silent]) is None


def test_a_terminating_pod_has_sixty_seconds_after_its_grace():
    """deletionTimestamp includes the grace period, which is 30 s by default."""
    pod = make_pod(ready="True", deleted=LATER)
    fault = judge(pod)
    assert not counts(pod)
    began = moment(LATER) - timedelta(seconds=30)
    assert (fault.transition, fault.budget) == (began, timedelta(seconds=90))
    assert "gpu-1" in fault.detail


@pytest.mark.parametrize(
    ("asked", "spec", "seconds"), [(600, 30, 600), (5, 3600, 5), (0, 30, 0), (None, 3600, 3600)]
)
def test_the_grace_period_is_the_one_that_the_deletion_asked_for(asked, spec, seconds):
    """`kubectl drain --grace-period` overrules the spec, and deletionTimestamp includes it."""
    pod = make_pod(deleted=LATER, deleted_with=asked, spec={"terminationGracePeriodSeconds": spec})
    fault = judge(pod)
    assert fault.transition == moment(LATER) - timedelta(seconds=seconds)
    assert fault.budget == timedelta(seconds=seconds + 60)


@pytest.mark.parametrize("phase", ["Pending", "Failed"])
def test_a_node_that_never_was_is_not_gone(phase):
    """Who makes a pod may name any node: neither the scheduler nor a kubelet says that it was there."""
    pod = make_pod(
        phase=phase,
        ready=None,
        initialized=None,
        scheduled=("False", CREATED, "", ""),
        containers=[],
    )
    fault = judge(pod, [node("other")])
    assert fault is None or not fault.node


@pytest.mark.parametrize("seconds", [10**11, 2**63 - 1])
@pytest.mark.parametrize("deleted", [LATER, "0001-01-01T00:00:00Z"])
def test_an_absurd_grace_period_does_no_harm(seconds, deleted):
    """The API takes any number of 64 bits; one pod must not end the pass for all."""
    pod = make_pod(deleted=deleted, spec={"terminationGracePeriodSeconds": seconds})
    assert judge(pod).cause == "terminating"


def test_a_terminating_pod_on_a_dead_node_names_the_node():
    """It cannot terminate there; it has the normal grace."""
    fault = judge(make_pod(deleted=LATER), [])
    assert fault.detail == "terminating on node gpu-1, which is gone"
    assert fault.budget is None


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_leftovers_of_evictions_are_not_replicas(phase):
    """A pod in a terminal phase does not count and is no fault."""
    pod = make_pod(phase=phase, reason="Evicted", message="low on disk", containers=[])
    assert not counts(pod)
    assert judge(pod, []) is None


def test_an_ended_pod_explains_a_missing_replica():
    """Why a Failed pod ended is at hand for the replica that is missing."""
    pod = make_pod(phase="Failed", reason="Evicted", message="low on disk", containers=[])
    assert judge_ended(pod, seen()).detail == "Evicted: low on disk"
    assert judge_ended(make_pod(phase="Succeeded"), seen()) is None
    assert judge_ended(make_pod(), seen()) is None


def test_texts_are_clean_and_bounded():
    """Huge and hostile texts of the cluster do not reach messages as they are."""
    text = "pull https://registry.example/x?sig=abcdefgh\nfailed " + "x" * 100_000
    fault = judge(make_pod(containers=[waiting("ImagePullBackOff", text, name="n" * 9000)]))
    assert len(fault.detail.encode()) <= 300
    assert "\n" not in fault.detail
    assert "https://" not in fault.detail


def test_ready_is_the_condition_and_nothing_else():
    """A pod is Ready by its condition, not by its phase or containers."""
    assert is_ready(make_pod(ready="True"))
    assert not is_ready(make_pod(ready="Unknown"))
    assert not is_ready(make_pod(ready=None, containers=[container(ready=True)]))
