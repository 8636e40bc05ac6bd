"""LeaderWorkerSet."""

from e2e.controllers.suite.told import SOON, Model
from reporter.stacks.workloads import reasons as c

SETS = "leaderworkersets.leaderworkerset.x-k8s.io"


def leaderworkerset(namespace, image="vllm/vllm-openai:v0.14.0"):
    container = {
        "name": "vllm",
        "image": image,
        "command": ["vllm", "serve", "meta-llama/Llama-3.1-405B"],
        "ports": [{"containerPort": 8000}],
        "readinessProbe": {"httpGet": {"path": "/health", "port": 8000}},
    }
    template = {"metadata": {"labels": {"app": "llama"}}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "llama", "namespace": namespace},
        "spec": {
            "replicas": 2,
            "leaderWorkerTemplate": {
                "size": 2,
                "leaderTemplate": template,
                "workerTemplate": template,
            },
        },
    }


async def test_groups_of_two(stage, binder, controller, namespace, replica):
    """Created, updated, without image, room, Secret, node, controller, scaled to zero and back, deleted."""
    running = await controller("lws-controller-manager")
    daemon = await (await replica(**SOON)).ready()
    wanted = leaderworkerset(namespace)
    await stage.api.create(wanted)
    model = Model(stage, daemon, SETS, wanted)
    model.subject = f"workload/{namespace}/llama"
    await model.over(c.READY)
    await model.condition("Available", "True")

    await stage.stack.image_pull(namespace, "llama-0-1", fails=True)
    await model.fires(c.PODS_NOT_READY, "pod llama-0-1: container vllm waits in ImagePullBackOff")
    await stage.stack.image_pull(namespace, "llama-0-1", fails=False)
    await model.over(c.PODS_NOT_READY)

    container = wanted["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]
    template = {"spec": {"containers": [container | {"image": "vllm/vllm-openai:v0.15.0"}]}}
    await model.patch({"spec": {"leaderWorkerTemplate": {"workerTemplate": template}}})
    await model.condition("Available", "True")
    assert await stage.firing() == set()

    binder.full = namespace
    await model.patch({"spec": {"replicas": 3}})
    await model.fires(c.PODS_NOT_READY, "nvidia.com/gpu")
    await binder.has_room(namespace)
    await model.over(c.PODS_NOT_READY)

    await model.suffers(c.PODS_NOT_READY, "llama-")
    await model.has_no_controller(running, "llama-", c.PODS_NOT_READY)

    await model.patch({"spec": {"replicas": 0}})
    await model.state("idle")
    await model.patch({"spec": {"replicas": 1}})
    await model.state("serving")
    assert await stage.firing() == set()

    await model.is_deleted()
