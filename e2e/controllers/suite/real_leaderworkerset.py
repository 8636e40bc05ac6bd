"""LeaderWorkerSet."""

from e2e.controllers.suite.cluster import made, sets_image
from e2e.controllers.suite.told import SOON, Model
from reporter.stacks.workloads import reasons as c

SETS = "leaderworkersets.leaderworkerset.x-k8s.io"


async def test_groups_of_two(stage, nodes, controller, namespace, replica):
    """The whole story, for groups of two."""
    running = await controller("lws-controller-manager")
    daemon = await (await replica(**SOON)).ready()
    wanted = made("leaderworkerset", namespace)
    await stage.api.create(wanted)
    model = Model(stage, daemon, SETS, wanted, nodes=nodes)
    model.subject = f"workload/{namespace}/llama"
    await model.over(c.READY)
    await model.condition("Available", "True")

    await model.is_updated(sets_image("leaderworkerset", "leaderWorkerTemplate"), c.PODS_NOT_READY)
    await model.has_no_room({"spec": {"replicas": 3}}, c.PODS_NOT_READY)
    await model.suffers(c.PODS_NOT_READY, "llama-")
    await model.has_no_controller(running, "llama-", c.PODS_NOT_READY)

    await model.patch({"spec": {"replicas": 0}})
    await model.state("idle")
    await model.patch({"spec": {"replicas": 1}})
    await model.state("serving")
    assert await stage.firing() == set()

    await model.is_deleted()
