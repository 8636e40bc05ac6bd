"""ModelServings of Kthena."""

from e2e.controllers.suite.cluster import made, sets_image
from e2e.controllers.suite.told import SOON, Model
from e2e.serving import MANAGER, MODELSERVINGS
from reporter.stacks.kthena import reasons as m

OF_REPORTER = (
    "roleStatuses",
    "conditions.UpdateInProgress",
    *(
        f"conditions.{type_}.{field}"
        for type_ in ("Available", "Progressing")
        for field in ("reason", "message", "observedGeneration")
    ),
)
"""Kthena has no `roleStatuses`, and keeps the message of a condition that is no longer True."""

UNFOLLOWED = (
    "availableReplicas",
    "currentReplicas",
    "conditions.Available.status",
    "conditions.Progressing.status",
)
"""Fields that Kthena leaves unchanged when pods only lose readiness.

Its `updatePod` (model_serving_controller.go, v1.0.0) reacts to pods that are Ready, that have
failed or whose containers have restarted. The pods of a node that does not answer are none of
these: their group stays Running in its memory, and no status is written.
"""


async def test_roles_of_a_model(stage, nodes, controller, namespace, replica):
    """The whole story."""
    running = await controller(MANAGER)
    daemon = await (await replica(**SOON)).ready()
    wanted = made("modelserving", namespace)
    await stage.api.create(wanted)
    model = Model(
        stage, daemon, MODELSERVINGS, wanted, nodes=nodes, ours=OF_REPORTER, unfollowed=UNFOLLOWED
    )
    await model.over(m.READY)
    await model.is_ready()

    await model.is_updated(sets_image("modelserving", "template"), m.ROLE_CREATING)
    await model.has_no_room({"spec": {"replicas": 3}}, m.ROLE_CREATING)
    await model.suffers(m.ROLE_CREATING, "chat-")
    await model.has_no_controller(running, "chat-", m.ROLE_CREATING)

    await model.patch({"spec": {"replicas": 0}})
    await model.state("idle")
    await model.patch({"spec": {"replicas": 1}})
    await model.state("serving")
    await model.is_deleted()
