"""Whatever numbers a StatefulSet or DaemonSet has, its state follows from them."""

from hypothesis import given
from hypothesis import strategies as st

from reporter.catalogue.custom import DAEMONSETS, STATEFULSETS
from reporter.catalogue.resources import PODS
from reporter.workload.owners import is_workload_available, judge_workload
from tests.unit.probes.building import document, pod, snapshot_of

COUNTS = st.integers(0, 4)
GENERATIONS = st.integers(1, 2)
REVISIONS = st.sampled_from(["a", "b"])
STRATEGIES = st.sampled_from([None, {"type": "OnDelete"}, {"type": "RollingUpdate"}])
TIMES = st.integers(0, 59).map(lambda minute: f"2026-11-20T11:{minute:02}:00Z")


@st.composite
def statefulsets(draw):
    partition = draw(st.sampled_from([None, 0, 2]))
    strategy = draw(STRATEGIES)
    if strategy is not None and partition is not None:
        strategy = strategy | {"rollingUpdate": {"partition": partition}}
    return document(
        "StatefulSet", "w", "n",
        {
            "metadata": {"generation": draw(GENERATIONS)},
            "spec": {
                "replicas": draw(COUNTS), "selector": {"matchLabels": {"app": "w"}},
                "updateStrategy": strategy,
            },
            "status": {
                "observedGeneration": draw(GENERATIONS), "updatedReplicas": draw(COUNTS),
                "readyReplicas": draw(COUNTS), "availableReplicas": draw(st.none() | COUNTS),
                "currentRevision": draw(REVISIONS), "updateRevision": draw(REVISIONS),
            },
        },
    )  # fmt: skip


@st.composite
def daemonsets(draw):
    return document(
        "DaemonSet", "w", "n",
        {
            "metadata": {"generation": draw(GENERATIONS)},
            "spec": {
                "selector": {"matchLabels": {"app": "w"}}, "updateStrategy": draw(STRATEGIES),
            },
            "status": {
                "observedGeneration": draw(GENERATIONS), "desiredNumberScheduled": draw(COUNTS),
                "currentNumberScheduled": draw(COUNTS),
                "numberReady": draw(COUNTS), "numberAvailable": draw(st.none() | COUNTS),
                "numberUnavailable": draw(st.none() | COUNTS),
                "updatedNumberScheduled": draw(COUNTS),
            },
        },
    )  # fmt: skip


@st.composite
def pods(draw):
    made = {"metadata": {"creationTimestamp": draw(TIMES)}}
    return [pod("n", f"w-{number}", "w", made, ready=draw(st.booleans())) for number in range(2)]


@given(statefulsets() | daemonsets(), st.just([]) | pods())
def test_workload_state(doc, replicas):
    """Down is without available replicas, nothing is with all ready, the rest is degraded."""
    resource = STATEFULSETS if doc["kind"] == "StatefulSet" else DAEMONSETS
    snapshot = snapshot_of(doc, *replicas, declared=[STATEFULSETS, DAEMONSETS])
    (workload,) = snapshot[resource]
    fault = judge_workload(workload, snapshot)
    available = is_workload_available(workload)
    status = workload.status
    ready = status.ready_replicas if resource is STATEFULSETS else status.number_ready
    stale = status.observed_generation < workload.metadata.generation
    if fault is None:
        assert available
        assert ready >= workload.wanted or not replicas or stale
        return
    assert fault.down is not available
    if fault.budget is None:
        assert fault.down or ready < workload.wanted
    else:
        assert not fault.down
        assert fault.transition in {None, *(each.created for each in snapshot[PODS])}
    assert f"{ready}/{workload.wanted} ready" in fault.detail or not workload.wanted
    backwards = snapshot_of(*reversed(replicas), doc, declared=[STATEFULSETS, DAEMONSETS])
    assert judge_workload(workload, backwards) == fault
