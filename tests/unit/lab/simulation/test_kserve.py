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

LOADED = ("Loaded", "UpToDate", "Loaded")


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


def test_life_of_a_service(cluster):
    """From the first rollout to a load that fails while rolled back."""

    def shows(revisions, traffic, ready, model=LOADED):
        assert (cluster.revisions(), cluster.traffic()) == (revisions, traffic)
        assert (cluster.condition("PredictorReady"), cluster.model_status()) == (ready, model)

    shows("1 1 1 -", "v1:100 L", "True")
    cluster.fates["llm-predictor-00002"] = None
    cluster.ask(canaryTrafficPercent=20)
    cluster.model(2)
    cluster.settle()
    shows("2 1 1 -", "v1:20 L, v1:80 -", "Unknown", ("Pending", "InProgress", "Loaded"))
    del cluster.fates["llm-predictor-00002"]
    cluster.settle()
    shows("2 2 1 -", "v2:20 L, v1:80 -", "True")
    cluster.ask(canaryTrafficPercent=None)
    cluster.settle()
    shows("2 2 2 1", "v2:100 L", "True")
    cluster.ask(canaryTrafficPercent=0)
    cluster.settle()
    shows("2 2 1 1", "v2:0 L, v1:100 -", "True")
    cluster.fates["llm-predictor-00003"] = load_fails("bad weights")
    cluster.model(3)
    cluster.settle()
    shows("3 2 1 1", "v2:0 L, v1:100 -", "False", ("FailedToLoad", "BlockedByFailedLoad", "Loaded"))


def test_a_rollback_takes_two_passes(cluster):
    """A route over one revision first."""
    cluster.model(2)
    cluster.settle()
    cluster.ask(canaryTrafficPercent=0)
    seen = []
    while cluster.step():
        seen.append((cluster.revisions(), cluster.traffic()))
    assert ("2 2 1 1", "v2:0 L, v2:100 -") in seen
    assert seen[-1] == ("2 2 1 1", "v2:0 L, v1:100 -")


def test_scaled_to_zero_shows_pending_although_ready():
    """KServe counts the pods of the model, and there are none."""
    cluster = Cluster(inferenceservice(minReplicas=0))
    cluster.settle()
    assert cluster.names() == []
    assert cluster.is_true("Ready")
    assert cluster.model_status() == ("Pending", "InProgress", "Loaded")


def test_transformer_that_fails_leaves_ready_true():
    """Of the components, only the predictor is part of Ready; in Knative mode, once it was ready."""
    cluster = Cluster(inferenceservice())
    cluster.inferenceservice["spec"]["transformer"] = {"containers": [{"image": "t:1"}]}
    cluster.settle()
    cluster.fates["llm-transformer"] = load_fails("KeyError")
    cluster.settle()
    assert (cluster.condition("TransformerReady"), cluster.condition("Ready")) == ("False", "True")


def test_last_bad_component_wins():
    """A transformer that starts hides a predictor that failed, and so it is derived."""
    cluster = Cluster(inferenceservice())
    cluster.inferenceservice["spec"]["transformer"] = {"containers": [{"image": "t:1"}]}
    cluster.fates |= {"llm-predictor": load_fails("bad"), "llm-transformer": None}
    cluster.settle()
    assert cluster.condition("PredictorConfigurationReady") == "False"
    assert cluster.condition("LatestDeploymentReady") == "Unknown"
    assert differing(cluster) == ()


def test_old_pods_go_with_their_traffic(cluster):
    """The newest revision has a pod, and those in the route."""
    cluster.model(2)
    cluster.settle()
    assert cluster.names() == ["llm-predictor-00002-deployment-0"]
    cluster.ask(canaryTrafficPercent=0)
    cluster.settle()
    assert len(cluster.names()) == 2


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
        found = walk(RevisionHistory(lr, pr), status)[0]
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
