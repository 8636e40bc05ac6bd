"""The played controllers and kubelets do what theirs do in a cluster."""

import pytest

from e2e.stack.deployments import DEPLOYMENTS

EPP = "llama-3-1-8b-inferencepool-epp"
MODEL_POD = "phi-4-mini-dbr9r-0"


@pytest.fixture(name="pods")
def _pods(stage, workload):
    """The pods whose name begins so, by name."""

    async def named(prefix):
        found = await stage.api.items("pods", namespace=workload)
        return {
            each["metadata"]["name"]: each
            for each in found
            if each["metadata"]["name"].startswith(prefix)
        }

    return named


async def conditions(stage, namespace, name):
    deployment = await stage.api.get(DEPLOYMENTS, name, namespace=namespace)
    return {each["type"]: each for each in deployment["status"]["conditions"]}


async def test_deployment_is_scaled(stage, workload, pods):
    for replicas in (3, 0, 1):
        await stage.stack.scale(workload, EPP, replicas)
        await stage.stack.settled(workload)
        assert len(await pods(EPP)) == replicas
        deployment = await stage.api.get(DEPLOYMENTS, EPP, namespace=workload)
        assert deployment["status"].get("readyReplicas", 0) == replicas


@pytest.mark.parametrize("name", [EPP, MODEL_POD], ids=["of-deployment", "of-stateful-set"])
async def test_deleted_pod_is_replaced(stage, workload, pods, name):
    ((first, pod),) = (await pods(name)).items()
    await stage.api.delete("pods", first, namespace=workload)

    async def replaced():
        found = list((await pods(name)).values())
        return len(found) == 1 and found[0]["metadata"]["uid"] != pod["metadata"]["uid"]

    await stage.stack.until(replaced, "the pod is replaced")
    await stage.stack.settled(workload)


async def test_new_template_makes_new_pods(stage, workload, pods):
    before = await pods(EPP)
    annotations = {"kubectl.kubernetes.io/restartedAt": "now"}
    patch = {"spec": {"template": {"metadata": {"annotations": annotations}}}}
    await stage.api.patch(DEPLOYMENTS, EPP, patch, namespace=workload)
    await stage.stack.settled(workload)
    after = await pods(EPP)
    assert len(after) == 1
    assert after.keys().isdisjoint(before)
    progressing = (await conditions(stage, workload, EPP))["Progressing"]
    assert progressing["reason"] == "NewReplicaSetAvailable"


async def test_failing_pod_makes_its_deployment_unavailable(stage, workload):
    gateway = f"{workload}-gw-istio"
    await stage.stack.pod_waiting(
        workload, gateway, ("CrashLoopBackOff", "back-off 5m0s restarting"), restarts=7
    )

    async def available(status):
        return (await conditions(stage, workload, gateway))["Available"]["status"] == status

    await stage.stack.until(lambda: available("False"), "it is unavailable")
    await stage.stack.pod_ready(workload, gateway)
    await stage.stack.until(lambda: available("True"), "it is available again")


async def test_pod_on_a_lost_node_stays(stage, workload, pods):
    """Its node's kubelet does not answer, so nobody says that it ended."""
    (pod,) = (await pods(MODEL_POD)).values()
    node = pod["spec"]["nodeName"]
    await stage.stack.condition(
        "nodes", "", node, says=("Ready", "Unknown", "NodeStatusUnknown", "lost")
    )
    await stage.api.delete("pods", MODEL_POD, namespace=workload)
    # By the time that a later pod runs, an earlier one would have ended.
    await stage.stack.scale(workload, EPP, 2)

    async def scaled():
        return (
            len([each for each in (await pods(EPP)).values() if each["status"].get("podIP")]) == 2
        )

    await stage.stack.until(scaled, "the Deployment is scaled")
    (after,) = (await pods(MODEL_POD)).values()
    assert after["metadata"]["deletionTimestamp"]
    await stage.stack.condition("nodes", "", node, says=("Ready", "True", "KubeletReady", "back"))
    await stage.stack.settled(workload)


async def test_what_is_owned_goes_with_its_owner(stage, workload, pods):
    await stage.api.delete("inferencesets.kaito.sh", "llama-3-1-8b", namespace=workload)

    async def gone():
        workspaces = await stage.api.items("workspaces.kaito.sh", namespace=workload)
        return len(workspaces) == 1 and not await pods("llama-3-1-8b-9") and await pods(MODEL_POD)

    await stage.stack.until(gone, "workspaces and pods of the InferenceSet are gone")


async def test_namespace_is_deleted_and_made_again(stage, workload, pods):
    await stage.stack.delete_namespace(workload)
    await stage.stack.install_workload(workload)
    assert await pods(MODEL_POD)


async def test_shared_part_is_put_back(stage):
    await stage.stack.scale("kaito-system", "kaito-workspace", 0)
    await stage.stack.image_pull("keda", "keda-operator", fails=True)
    await stage.stack.remove_crd("scaledobjects.keda.sh")
    await stage.stack.install_shared()
    assert (await conditions(stage, "keda", "keda-operator"))["Available"]["status"] == "True"
    workspace = await stage.api.get(DEPLOYMENTS, "kaito-workspace", namespace="kaito-system")
    assert workspace["status"]["readyReplicas"] == 1
    assert await stage.api.items("scaledobjects.keda.sh") == []
