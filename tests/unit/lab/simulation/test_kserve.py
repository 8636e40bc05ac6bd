"""The played KServe and Knative: what they write, and that it is what is derived."""

from itertools import product

import pytest

from lab.simulation.kserve_objects import load_fails
from lab.simulation.kserve_status import rolled
from reporter.stacks.kserve.derived.derive import derive, differs
from reporter.stacks.kserve.derived.facts import facts_of
from reporter.stacks.kserve.derived.revisions import RevisionHistory, walk
from reporter.stacks.kserve.objects import KnativeServiceStatus, TrafficEntry
from tests.unit.lab.simulation.kserve_cluster import Cluster, inferenceservice
from tests.unit.probes.building import snapshot_of
from tests.unit.stacks.kserve.derived.building import typed


@pytest.fixture(name="cluster")
def _cluster():
    cluster = Cluster(inferenceservice())
    cluster.settle()
    return cluster


def differing(cluster):
    """The fields of the status that are not as we derive them."""
    snapshot = snapshot_of(*cluster.objects.values())
    facts = facts_of(typed(cluster.inferenceservice), snapshot)
    return differs(facts.inferenceservice.status, derive(facts))


def test_last_bad_component_wins():
    """A transformer that starts hides a predictor that failed, and so it is derived."""
    cluster = Cluster(inferenceservice())
    cluster.inferenceservice["spec"]["transformer"] = {"containers": [{"image": "t:1"}]}
    cluster.fates |= {"llm-predictor": load_fails("bad"), "llm-transformer": None}
    cluster.settle()
    assert cluster.condition("PredictorConfigurationReady") == "False"
    assert cluster.condition("LatestDeploymentReady") == "Unknown"
    assert differing(cluster) == ()


ENTRIES = [
    [{"revisionName": name, "latestRevision": flag, "percent": percent}]
    for name, flag, percent in product(("v1", "v2"), (True, False), (0, 20, 100))
]
HISTORIES = ["", "v1", "v2"]


@pytest.mark.parametrize("created", ["v1", "v2"])
def test_bookkeeping_is_as_derived(created):
    """Two readings of how KServe keeps revisions, apart from each other, over every small case."""
    routes = [first + second for first in ENTRIES for second in ([], *ENTRIES)]
    differ = []
    for ready, route, lr, pr in product(HISTORIES, routes, HISTORIES, HISTORIES):
        status = KnativeServiceStatus(
            latest_created_revision_name=created,
            latest_ready_revision_name=ready,
            traffic=tuple(
                TrafficEntry(
                    revision_name=each["revisionName"],
                    latest_revision=each["latestRevision"],
                    percent=each["percent"],
                )
                for each in route
            ),
        )
        found = walk(RevisionHistory(lr, pr), status)
        if (found.rolled_out, found.previous) != rolled((lr, pr), created, ready, traffic=route):
            differ.append((lr, pr, created, ready, route))
    assert differ == []


CHANGES = [
    lambda cluster: cluster.model(2),
    lambda cluster: cluster.ask(canaryTrafficPercent=20),
    lambda cluster: cluster.ask(canaryTrafficPercent=0),
    lambda cluster: cluster.ask(canaryTrafficPercent=None),
    lambda cluster: cluster.fates.update({"llm-predictor-00002": load_fails("bad")}),
]


def differing_after(changes):
    """What differs at rest after any of the changes."""
    cluster = Cluster(inferenceservice())
    cluster.settle()
    differ = []
    for each in changes:
        CHANGES[each](cluster)
        cluster.settle()
        differ += differing(cluster)
    return differ


def test_status_at_rest_is_as_derived():
    """Whatever was done: nothing of the status that KServe wrote differs from ours."""
    histories = product(range(len(CHANGES)), repeat=3)
    assert {each: differ for each in histories if (differ := differing_after(each))} == {}
