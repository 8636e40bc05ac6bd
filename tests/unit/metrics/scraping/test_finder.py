"""When the daemon seeks its targets, and when it spares itself the work."""

from reporter.catalogue.resources import PODS
from reporter.daemon.pod_scraping import Finder
from reporter.snapshot.snapshot import ResourceState, Served, Snapshot
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.metrics.scraping.test_targets import at_address, model_pod, node, subject
from tests.unit.probes.building import snapshot_of


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
