"""The controllers of the sandbox: Deployments with pods, as in real clusters."""

from collections.abc import AsyncIterator

import pytest

from lab.sandbox import Sandbox
from lab.sandbox.controllers import Controllers
from tests.api_behaviour.api_client import deployment


@pytest.fixture(name="sandbox")
def _sandbox() -> Sandbox:
    return Sandbox()


@pytest.fixture(name="controllers")
async def _controllers(sandbox: Sandbox) -> AsyncIterator[Controllers]:
    async with Controllers(sandbox) as controllers:
        yield controllers


def conditions(obj) -> dict[str, tuple[str, str]]:
    """Status and reason by type."""
    return {item["type"]: (item["status"], item["reason"]) for item in obj["status"]["conditions"]}


def made(name: str, **spec):
    """A Deployment in the default namespace."""
    body = deployment(name, **spec)
    body["metadata"]["namespace"] = "default"
    return body


def found(sandbox: Sandbox, name: str = "d"):
    """The Deployment as it is."""
    return sandbox.get("deployments.apps", name, namespace="default")


async def test_creation(sandbox: Sandbox, controllers: Controllers):
    """A new Deployment gets a ReplicaSet, ready pods and a status."""
    sandbox.create(made("d", replicas=2))
    await controllers.settled()
    pods = sandbox.list("pods", label_selector="app=d")
    assert len(pods) == 2
    (replica_set,) = sandbox.list("replicasets.apps")
    assert {pod["metadata"]["ownerReferences"][0]["uid"] for pod in pods} == {
        replica_set["metadata"]["uid"]
    }
    assert pods[0]["metadata"]["labels"]["pod-template-hash"]
    assert pods[0]["status"]["phase"] == "Running"
    obj = found(sandbox)
    counts = {key: value for key, value in obj["status"].items() if key != "conditions"}
    assert counts == {
        "observedGeneration": 1,
        "replicas": 2,
        "updatedReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
    }
    assert conditions(obj) == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }


async def test_pods_that_are_not_ready(sandbox: Sandbox, controllers: Controllers):
    """The status follows the readiness of pods; the rollout stays finished."""
    sandbox.create(made("d", replicas=1))
    await controllers.settled()
    (pod,) = sandbox.list("pods")
    status = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    name = pod["metadata"]["name"]
    sandbox.patch("pods", name, status, namespace="default", subresource="status")
    await controllers.settled()
    obj = found(sandbox)
    assert obj["status"]["unavailableReplicas"] == 1
    assert "readyReplicas" not in obj["status"]
    assert conditions(obj) == {
        "Available": ("False", "MinimumReplicasUnavailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }


async def test_new_template(sandbox: Sandbox, controllers: Controllers):
    """A changed template makes new pods of a new ReplicaSet."""
    sandbox.create(made("d", replicas=1))
    await controllers.settled()
    container = {"name": "main", "image": "example.com/app:2"}
    patch = {"spec": {"template": {"spec": {"containers": [container]}}}}
    sandbox.patch("deployments.apps", "d", patch, namespace="default", patch_type="strategic")
    await controllers.settled()
    (pod,) = sandbox.list("pods")
    assert pod["spec"]["containers"][0]["image"] == "example.com/app:2"
    replica_sets = sandbox.list("replicasets.apps")
    counts = {(item["spec"]["replicas"], item["status"]["replicas"]) for item in replica_sets}
    assert counts == {(0, 0), (1, 1)}


async def test_loaded_deployments_are_left_alone(sandbox: Sandbox):
    """A loaded Deployment keeps what the dump says, until somebody scales it."""
    body = made("d", replicas=2)
    body["metadata"]["generation"] = 4
    body["status"] = {"observedGeneration": 4, "replicas": 2, "readyReplicas": 1}
    sandbox.load([body])
    async with Controllers(sandbox) as controllers:
        sandbox.patch(
            "deployments.apps", "d", {"metadata": {"labels": {"a": "b"}}}, namespace="default"
        )
        await controllers.settled()
        assert found(sandbox)["status"] == body["status"]
        sandbox.scale("deployments.apps", "d", 0, namespace="default")
        await controllers.settled()
        assert found(sandbox)["status"]["observedGeneration"] == 5
        assert "readyReplicas" not in found(sandbox)["status"]
        sandbox.scale("deployments.apps", "d", 1, namespace="default")
        await controllers.settled()
        assert found(sandbox)["status"]["readyReplicas"] == 1
