"""Which pods are scraped, and when the daemon seeks them."""

from datetime import UTC, datetime

import pytest

from reporter.catalogue.resources import PODS
from reporter.daemon.pod_scraping import Finder
from reporter.metrics.samples.sample import ContainerRun, Target
from reporter.metrics.scraping.targets import PodAddresses, find_targets, pod_addresses
from reporter.model.subject import Subject
from reporter.snapshot.snapshot import ResourceState, Served, Snapshot
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.building import (
    CREATED_AT,
    DELETING,
    SINCE,
    SINCE_AT,
    document,
    pod,
    snapshot_of,
)
from tests.unit.stacks.otterscale.probes.otterscale import modelservice

CATALOGUE = FullEvaluationSettings().catalogue
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


def subject(kind, name="qwen", namespace="models"):
    """The object whose pods are scraped."""
    (resource, *_) = CATALOGUE.of_subject(kind)
    group_version = f"{resource.group}/{resource.versions[0]}"
    made = modelservice(name=name, ns=namespace) if resource.kind == "ModelService" else {}
    return document(resource.kind, name, namespace, {"apiVersion": group_version}, made)


def found(*documents):
    snapshot = snapshot_of(*documents, subject(INFERENCESET_KIND))
    return find_targets(snapshot, FullEvaluationSettings(), PodAddresses())


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
    "loopback": [{"status": {"podIP": "127.0.0.1"}}],
    "loopback of IPv6": [{"status": {"podIP": "::1"}}],
    "the metadata service, mapped": [{"status": {"podIP": "::ffff:169.254.169.254"}}],
    "loopback, mapped": [{"status": {"podIP": "::ffff:7f00:1"}}],
    "the metadata service, by NAT64": [{"status": {"podIP": "64:ff9b::a9fe:a9fe"}}],
    "the metadata service, by local NAT64": [{"status": {"podIP": "64:ff9b:1::a9fe:a9fe"}}],
    "the metadata service, by 6to4": [{"status": {"podIP": "2002:a9fe:a9fe::1"}}],
    "metadata of AWS, IPv6": [{"status": {"podIP": "fd00:ec2::254"}}],
    "pod identity of EKS": [{"status": {"podIP": "169.254.170.23"}}],
    "metadata of Google, IPv6": [{"status": {"podIP": "fd20:ce::254"}}],
    "metadata of Alibaba": [{"status": {"podIP": "100.100.100.200"}}],
    "Azure's platform": [{"status": {"podIP": "168.63.129.16"}}],
    "metadata of Oracle, IPv6": [{"status": {"podIP": "fd00:c1::a9fe:a9fe"}}],
    "broadcast": [{"status": {"podIP": "255.255.255.255"}}],
    "a zone": [{"status": {"podIP": "fd00::1%eth0"}}],
    "subject that does not exist": [{"metadata": {"labels": {KEY: "other"}}}],
    "subject in another namespace": [{"metadata": {"namespace": "elsewhere"}}],
    "index 1": [{"metadata": {"labels": {"apps.kubernetes.io/pod-index": "1"}}}],
    "index by name": [{"metadata": {"name": "qwen-1"}}],
    "no container yet": [{"status": {"containerStatuses": None}}],
    "main container waits": [running(main=None, logger=SINCE)],
    "only the mesh proxy runs": [running(istio_proxy=SINCE, main=None)],
}


@pytest.mark.parametrize("name", SCRAPED)
def test_scraped(name):
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


def test_a_pod_that_is_probed_by_tls_is_scraped_by_it():
    probed = {"name": "main", "readinessProbe": {"httpGet": {"scheme": "HTTPS"}}}
    (target,) = found(model_pod({"spec": {"containers": [probed]}}))
    assert (target.scheme, target.port) == ("https", None)


def test_unknown_pods_are_not_no_pods():
    """While the API server is away, what was followed is followed on."""
    unknown = Snapshot(states={PODS: ResourceState(Served.UNKNOWN)})
    assert find_targets(unknown, FullEvaluationSettings()) is None


def node(*ranges):
    """A node that tells the ranges of its pods."""
    return document("Node", "gpu-1", "", {"spec": {"podCIDRs": list(ranges)}})


def addresses(*documents, servers=()):
    """The pods that are scraped where the nodes tell the ranges of pods."""
    snapshot = snapshot_of(*documents, subject(INFERENCESET_KIND))
    targets = find_targets(snapshot, FullEvaluationSettings(), pod_addresses(snapshot, servers))
    return [each.address for each in targets]


def at_address(address, name):
    return model_pod({"status": {"podIP": address}}, name=name)


def test_only_addresses_in_the_ranges_that_nodes_tell():
    """What claims another one, such as a node's or a Service's, is not asked."""
    pods = [at_address("10.0.0.7", "a-0"), at_address("10.0.0.8", "b-0")]
    other = at_address("10.96.0.10", "c-0")
    assert addresses(*pods, other, node("10.0.0.0/24", "fd00::/64")) == ["10.0.0.7", "10.0.0.8"]
    assert len(addresses(*pods, other)) == 3


def test_ranges_that_no_pod_uses_are_not_believed():
    """Calico gives addresses from pools of its own, whatever the nodes say."""
    pods = [at_address("192.168.9.7", "a-0"), at_address("192.168.9.8", "b-0")]
    assert len(addresses(*pods, node("10.0.0.0/24"), node("nonsense"))) == 2


def test_the_api_server_is_no_pod():
    """Neither by its Service's address nor by its own; where it is on the loopback address, pods may be."""
    pods = [
        at_address("10.0.0.7", "a-0"),
        at_address("10.0.0.1", "b-0"),
        at_address("127.0.0.9", "c-0"),
    ]
    assert addresses(*pods, servers=["10.0.0.1", "api.example"]) == ["10.0.0.7"]
    assert addresses(*pods[::2], servers=["127.0.0.1"]) == ["10.0.0.7", "127.0.0.9"]


class Cluster:
    """Gives the snapshot it was told to."""

    def __init__(self, *documents) -> None:
        self.now = snapshot_of(*documents, subject(INFERENCESET_KIND))

    def snapshot(self):
        return self.now


async def test_pods_that_did_not_change_are_not_sought_again():
    """Most changes of a cluster are not of its pods, whose table is then the same."""
    cluster = Cluster(model_pod())
    finder = Finder(cluster, FullEvaluationSettings())
    assert [target.name for target in await finder.find()] == ["qwen-0"]
    assert await finder.find() is None
    cluster.now = snapshot_of()
    assert await finder.find() == ()


async def test_unknown_pods_are_sought_again():
    """When they can be read again, whether or not they have changed meanwhile."""
    cluster = Cluster(model_pod())
    known = cluster.now
    unknown = {PODS: ResourceState(Served.UNKNOWN)}
    cluster.now = Snapshot(tables=known.tables, states=unknown)
    finder = Finder(cluster, FullEvaluationSettings())
    assert await finder.find() is None
    cluster.now = known
    assert len(await finder.find()) == 1


async def test_a_subject_that_comes_makes_its_pods_targets():
    cluster = Cluster(model_pod())
    with_subject = cluster.now
    cluster.now = Snapshot(tables={PODS: with_subject.tables[PODS]}, states=with_subject.states)
    finder = Finder(cluster, FullEvaluationSettings())
    assert await finder.find() == ()
    cluster.now = with_subject
    assert [target.name for target in await finder.find()] == ["qwen-0"]


async def test_pods_that_are_left_out_for_their_address_are_counted():
    """A second pool of addresses that the nodes do not tell would else go unseen."""
    pods = [at_address(f"10.0.0.{n}", f"{n}-0") for n in range(3)]
    others = [at_address("10.9.0.1", "x-0"), at_address("10.9.0.2", "y-0")]
    waiting = at_address(None, "z-0")
    cluster = Cluster(*pods, *others, waiting, node("10.0.0.0/24"))
    counts = []
    finder = Finder(cluster, FullEvaluationSettings(), refusing=counts.append)
    assert len(await finder.find()) == 3
    cluster.now = snapshot_of(*pods, subject(INFERENCESET_KIND), node("10.0.0.0/24"))
    await finder.find()
    assert counts == [2, 0]
