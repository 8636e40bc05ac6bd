"""What operators see of a set over time: probes and resolution together, in virtual time."""

from itertools import pairwise

import pytest

from reporter.model.instant import rfc3339
from reporter.model.report import Disposition
from reporter.resolution.memory import Memory
from reporter.resolution.resolve import resolve
from tests.unit.probes.asking import evaluate_inferencesets
from tests.unit.probes.building import at, condition, merged
from tests.unit.stacks.kaito.probes.kaito import (
    SETTINGS,
    conditions,
    healthy,
    not_ready,
    pod_conditions,
    stack,
)

STEP = 15
CREATED = {"metadata": {"creationTimestamp": rfc3339(at(0).wall)}}


def moment(seconds):
    return rfc3339(at(seconds).wall)


def story(*stages, until):
    """Return when which reason fires: (second, reason) for each first firing of an episode."""
    starts = [*(start for start, _ in stages), until]
    memory = Memory()
    told = []
    before = frozenset()
    for (start, end), (_, snapshot) in zip(pairwise(starts), stages, strict=True):
        for second in range(start, end, STEP):
            evaluation = evaluate_inferencesets(snapshot, SETTINGS)
            resolution = resolve(evaluation, snapshot, memory, now=at(second), settings=SETTINGS)
            memory = resolution.memory
            firing = {
                each.reason
                for each in resolution.report.findings
                if each.disposition in (Disposition.FIRING, Disposition.CLEARING)
            }
            told += [(second, reason) for reason in sorted(firing - before)]
            before = firing
    return told


def young(**changes):
    """A set that was made at second 0."""
    handles = set(healthy()) - {"namespace", "node", "gateway"}
    made = {
        handle: None
        if changes.get(handle, CREATED) is None
        else merged(CREATED, changes.get(handle, {}))
        for handle in handles
    }
    return stack(**made)


def booting(reason):
    return young(
        pod=None, workspace=conditions(condition("NodeClaimReady", "False", reason, "m", moment(0)))
    )


def loading(state, since=600, **more):
    """The nodes are there since `since`, and the pod is in a state."""
    patch = not_ready(state, **more)
    patch["status"]["conditions"] = [
        condition(name, value, since=moment(since))
        for name, value in (("PodScheduled", "True"), ("Initialized", "True"), ("Ready", "False"))
    ]
    workspace = conditions(
        condition("NodeClaimReady", "True", since=moment(since)),
        condition("NodesReady", "True", since=moment(since)),
        condition("InferenceReady", "False", "WorkspaceInferenceStatusPending", since=moment(0)),
    )
    return young(pod=patch, workspace=workspace)


def running(start, **more):
    return loading({"running": {"startedAt": moment(start)}}, **more)


CREATING = loading({"waiting": {"reason": "ContainerCreating"}})
PULL_ERROR = loading({"waiting": {"reason": "ImagePullBackOff"}})
CRASH_LOOP = loading({"waiting": {"reason": "CrashLoopBackOff"}})


def test_a_cold_start_is_silent():
    """Ten minutes of boot, ten of image pull and 25 of loading raise nothing."""
    stages = [(0, booting("NodeNotFound")), (600, CREATING), (1200, running(1200)), (2700, young())]
    assert story(*stages, until=3000) == []


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        ([(0, booting("NodeClaimNotReady"))], (900, "inferencesetInfraProvisioningFailed")),
        ([(0, booting("LaunchFailed"))], (180, "inferencesetInfraProvisioningFailed")),
        ([(0, booting("SKUNotAvailable"))], (0, "inferencesetInfraProvisioningFailed")),
        (
            [(0, booting("NodeNotFound")), (600, booting("SubscriptionQuotaReached"))],
            (780, "inferencesetInfraProvisioningFailed"),
        ),
        ([(0, CREATING), (600, PULL_ERROR)], (660, "inferencesetModelPodsNotReady")),
        ([(0, CREATING), (615, CRASH_LOOP)], (615, "inferencesetModelPodsNotReady")),
        ([(0, running(0, since=0))], (1800, "inferencesetModelPodsNotReady")),
    ],
    ids=["boot loop", "cloud error", "no such size", "late quota", "late pull", "crash", "hung"],
)
def test_each_fault_fires_by_its_own_clock(stages, expected):
    """A fault that comes late has its whole grace; nothing waits for ever."""
    assert story(*stages, until=1830)[0] == expected


def test_a_crashing_container_is_one_episode_until_its_pod_is_ready():
    """Runs between crashes are no recovery."""
    stages = [
        (0, CRASH_LOOP),
        (60, running(60, restartCount=1)),
        (600, CRASH_LOOP),
        (660, running(660, restartCount=2)),
    ]
    assert story(*stages, until=1200) == [(0, "inferencesetModelPodsNotReady")]


def test_a_replaced_pod_is_silent():
    """A pod that is deleted, recreated and loads within its time raises nothing."""
    going = {"metadata": {"deletionTimestamp": moment(60)}}
    fresh = stack(
        pod=merged(
            not_ready({"running": {"startedAt": moment(75)}}),
            {"metadata": {"uid": "another", "creationTimestamp": moment(75)}},
            {"status": {"conditions": pod_conditions("False", moment(75))[:1]}},
        )
    )
    stages = [(0, stack()), (30, stack(pod=going)), (60, stack(pod=None)), (75, fresh)]
    assert story(*stages, until=1500) == []
