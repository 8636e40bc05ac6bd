"""Which pods are scraped."""

from datetime import UTC, datetime

import pytest

from reporter.catalogue.resources import PODS
from reporter.metrics.looks.target import ContainerRun, Target
from reporter.metrics.scraping.targets import find_targets
from reporter.model.subject import Subject
from reporter.snapshot.snapshot import ResourceState, Served, Snapshot
from reporter.stacks.kaito.resources import INFERENCESET_KIND
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.building import CREATED_AT, DELETING, SINCE, SINCE_AT, pod, snapshot_of

KEY = "inferenceset.kaito.sh/created-by"


def model_pod(*patches, name="qwen-0", ready=True):
    return pod(
        "models", name, "qwen",
        {
            "metadata": {"labels": {KEY: "qwen"}},
            "spec": {"nodeName": "gpu-1"},
            "status": {"podIP": "10.0.0.7"},
        },
        *patches, ready=ready,
    )  # fmt: skip


def found(*documents, selector=KEY):
    return find_targets(snapshot_of(*documents), FullEvaluationSettings(scrape_selector=selector))


def labels(**more):
    return {"metadata": {"labels": more}}


def test_what_a_target_carries():
    """All that judging its page needs to know of the pod at that time."""
    assert found(model_pod()) == (
        Target(
            namespace="models",
            name="qwen-0",
            uid="uid-qwen-0",
            address="10.0.0.7",
            subject=Subject(INFERENCESET_KIND, "models", "qwen"),
            node="gpu-1",
            created=CREATED_AT,
            ready=True,
            ready_since=SINCE_AT,
            containers=(ContainerRun("main", 0, SINCE_AT),),
        ),
    )


def test_a_pod_that_is_not_ready_is_scraped():
    """It downloads its weights; there is no time since when it is Ready."""
    (target,) = found(model_pod(ready=False))
    assert not target.ready
    assert target.ready_since is None


def running(**statuses):
    """Container statuses: name, and since when it runs, or None while it waits."""
    return {
        "spec": {"containers": [{"name": name.replace("_", "-")} for name in statuses]},
        "status": {
            "containerStatuses": [
                {
                    "name": name.replace("_", "-"),
                    "restartCount": 2,
                    "state": {"running": {"startedAt": at}} if at else {"waiting": {}},
                }
                for name, at in statuses.items()
            ]
        },
    }


SCRAPED = {
    "as it is": [],
    "IPv6": [{"status": {"podIP": "fd00::1"}}],
    "index 0": [{"metadata": {"name": "qwen-7"}}, {"metadata": {"labels": {"apps.kubernetes.io/pod-index": "0"}}}],
    "pod of a Deployment": [{"metadata": {"name": "qwen-7d9f8b6c5-24567"}}],
    "sidecar waits": [running(main=SINCE, logger=None)],
    "mesh proxy first": [running(istio_proxy=SINCE, main=SINCE)],
}  # fmt: skip
NOT_SCRAPED = {
    "other label": [{"metadata": {"labels": {KEY: None, "app": "qwen"}}}],
    "terminating": [DELETING],
    "pending": [{"status": {"phase": "Pending"}}],
    "succeeded": [{"status": {"phase": "Succeeded"}}],
    "failed": [{"status": {"phase": "Failed"}}],
    "no address": [{"status": {"podIP": None}}],
    "empty address": [{"status": {"podIP": ""}}],
    "name for an address": [{"status": {"podIP": "metadata.internal"}}],
    "address of the metadata service": [{"status": {"podIP": "169.254.169.254"}}],
    "the same of IPv6": [{"status": {"podIP": "fe80::a9fe:a9fe"}}],
    "any address": [{"status": {"podIP": "0.0.0.0"}}],
    "index 1": [{"metadata": {"labels": {"apps.kubernetes.io/pod-index": "1"}}}],
    "index by name": [{"metadata": {"name": "qwen-1"}}],
    "no container yet": [{"status": {"containerStatuses": None}}],
    "main container waits": [running(main=None, logger=SINCE)],
    "only the mesh proxy runs": [running(istio_proxy=SINCE, main=None)],
}


@pytest.mark.parametrize("name", SCRAPED)
def test_scraped(name):
    """These may have a page."""
    assert len(found(model_pod(*SCRAPED[name]))) == 1


@pytest.mark.parametrize("name", NOT_SCRAPED)
def test_not_scraped(name):
    """These have none, or must not be asked; the pod beside is scraped all the same."""
    documents = [model_pod(*NOT_SCRAPED[name]), model_pod(name="other-0")]
    assert [target.name for target in found(*documents)] == ["other-0"]


def test_restarts_of_the_container_that_serves_are_told():
    """A counter that fell is a restart if its number moved; a sidecar's says nothing of it."""
    (target,) = found(model_pod(running(main=SINCE, logger=None)))
    assert target.containers == (
        ContainerRun("main", 2, datetime(2026, 11, 20, 11, 50, tzinfo=UTC)),
    )


def test_other_stacks_have_labels_of_their_own():
    """The selector is a setting."""
    assert [each.subject.name for each in found(model_pod(), selector="app")] == ["qwen"]


def test_unknown_pods_are_not_no_pods():
    """While the API server is away, what was followed is followed on."""
    unknown = Snapshot(states={PODS: ResourceState(Served.UNKNOWN)})
    assert find_targets(unknown, FullEvaluationSettings()) is None
