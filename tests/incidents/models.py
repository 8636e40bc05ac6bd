"""Models of each kind, as their controllers write them while their pods are not ready."""

from tests.incidents.cluster import BEGAN, NAMESPACE, Cluster
from tests.scenarios.world import merged


def _inference_service(cluster: Cluster) -> None:
    """An InferenceService in Standard mode."""
    name, case = cluster.name, cluster.case
    if "revision_fails" in case:
        _failed_revision(cluster, case["revision_fails"])
        return
    unready = "MinimumReplicasUnavailable Deployment does not have minimum availability."
    if "refused" in case:
        unready = f"FailedCreate {case['refused']}"
    status = {
        "deploymentMode": "Standard",
        "observedGeneration": 1,
        "conditions": {
            "IngressReady": "False PredictorNotReady",
            "PredictorReady": f"False {unready}",
            "Ready": f"False {unready}",
            "Stopped": "False",
        },
        "modelStatus": _LOADING,
    }
    cluster.put(f"InferenceService {NAMESPACE}/{name}", _predictor(name, "Standard"))
    cluster.put(f"InferenceService {NAMESPACE}/{name}", {"status": status})
    cluster.put(f"InferenceService {NAMESPACE}/{name}", {"status": case.get("status", {})})
    if case.get("bare"):
        return
    labels = {
        "app": f"isvc.{name}-predictor",
        "serving.kserve.io/inferenceservice": name,
        "component": "predictor",
        **case.get("labels", {}),
    }
    cluster.workload("Deployment", f"{name}-predictor", labels=labels, extra=case.get("deployment"))
    cluster.put(
        f"Service {NAMESPACE}/{name}-predictor",
        {"spec": {"selector": labels, "ports": [{"port": 80}]}},
    )


_LOADING = {
    "transitionStatus": "InProgress",
    "states": {"activeModelState": "", "targetModelState": "Pending"},
}


def _predictor(name, mode):
    model = {"modelFormat": {"name": "huggingface"}, "storageUri": f"s3://models/{name}"}
    return {
        "metadata": {"generation": 1, "annotations": {"serving.kserve.io/deploymentMode": mode}},
        "spec": {"predictor": {"model": model}},
    }


def _failed_revision(cluster: Cluster, message) -> None:
    """An InferenceService in Knative mode whose first revision cannot be made."""
    name = cluster.name
    revision = f"{name}-predictor-00001"
    missing = f'Configuration "{name}-predictor" does not have any ready Revision.'
    failed = {
        "status": "False",
        "reason": "RevisionFailed",
        "message": f'Revision "{revision}" failed with message: {message}.',
    }
    no_revision = {"status": "False", "reason": "RevisionMissing", "message": missing}
    of_parts = {"severity": "Info"}
    not_ready = "PredictorConfigurationReady not ready"
    status = {
        "deploymentMode": "Knative",
        "observedGeneration": 1,
        "components": {"predictor": {"latestCreatedRevision": revision}},
        "conditions": {
            "IngressReady": "Unknown",
            "LatestDeploymentReady": {"status": "False", "reason": not_ready, **of_parts},
            "PredictorConfigurationReady": failed | of_parts,
            "PredictorReady": no_revision,
            "PredictorRouteReady": no_revision | of_parts,
            "Ready": no_revision,
            "RoutesReady": {
                "status": "False",
                "reason": "PredictorRouteReady not ready",
                **of_parts,
            },
            "Stopped": {"status": "False", **of_parts},
        },
        "modelStatus": {
            "transitionStatus": "BlockedByFailedLoad",
            "states": {"activeModelState": "", "targetModelState": "FailedToLoad"},
        },
    }
    labels = {"serving.kserve.io/inferenceservice": name}
    metadata = {"generation": 1, "labels": labels}
    cluster.put(f"InferenceService {NAMESPACE}/{name}", _predictor(name, "Knative"))
    cluster.put(f"InferenceService {NAMESPACE}/{name}", {"status": status})
    service = {
        "apiVersion": "serving.knative.dev/v1",
        "metadata": metadata,
        "status": {
            "observedGeneration": 1,
            "latestCreatedRevisionName": revision,
            "conditions": {
                "ConfigurationsReady": failed,
                "Ready": no_revision,
                "RoutesReady": no_revision,
            },
        },
    }
    cluster.put(f"Service {NAMESPACE}/{name}-predictor", service)
    cannot = {"status": "False", "reason": "ContainerMissing", "message": message}
    state = {
        "conditions": {"ContainerHealthy": cannot, "Ready": cannot, "ResourcesAvailable": "Unknown"}
    }
    cluster.put(f"Revision {NAMESPACE}/{revision}", {"metadata": metadata, "status": state})


def _llm_inference_service(cluster: Cluster) -> None:
    name, case = cluster.name, cluster.case
    not_ready = "False MinimumReplicasUnavailable Deployment does not have minimum availability."
    status = {
        "observedGeneration": 1,
        "conditions": {
            "MainWorkloadReady": not_ready,
            "PresetsCombined": "True",
            "Ready": not_ready,
            "WorkloadsReady": not_ready,
        },
    }
    of = {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "llminferenceservice"}
    body = {
        "metadata": {"generation": 1},
        "spec": {
            "model": {"uri": f"hf://org/{name}", "name": name},
            "replicas": 1,
            **case.get("model_spec", {}),
        },
        "status": merged(merged({}, status, BEGAN), case.get("status", {}), BEGAN),
    }
    cluster.put(f"LLMInferenceService {NAMESPACE}/{name}", body)
    if case.get("bare"):
        return
    labels = {
        **of,
        "app.kubernetes.io/component": "llminferenceservice-workload",
        "kserve.io/component": "workload",
    }
    owner = {"metadata": {"ownerReferences": [cluster.owner("LLMInferenceService", name)]}}
    extra = merged(owner, case.get("deployment", {}), BEGAN)
    cluster.workload("Deployment", f"{name}-kserve", labels=labels, extra=extra)
    cluster.put(f"Service {NAMESPACE}/{name}-kserve-workload-svc", {"metadata": {"labels": of}})


def _inference_set(cluster: Cluster) -> None:
    """An InferenceSet of KAITO with one Workspace of the same name."""
    name, case = cluster.name, cluster.case
    cluster.put(f"InferenceSet {NAMESPACE}/{name}", {"spec": {"replicas": 1}})
    status = {
        "conditions": {
            "ResourceReady": "True workspaceResourceStatusSuccess",
            "InferenceReady": "False WorkspaceInferenceStatusPending",
            "WorkspaceSucceeded": "False workspaceInProgress",
        }
    }
    labels = {"inferenceset.kaito.sh/created-by": name}
    body = {
        "metadata": {"labels": labels, "ownerReferences": [cluster.owner("InferenceSet", name)]},
        "status": merged(merged({}, status, BEGAN), case.get("status", {}), BEGAN),
    }
    cluster.put(f"Workspace {NAMESPACE}/{name}-w", body)
    if case.get("bare"):
        return
    labels = {"inferenceset.kaito.sh/created-by": name, "kaito.sh/workspace": f"{name}-w"}
    owner = {"metadata": {"ownerReferences": [cluster.owner("Workspace", f"{name}-w")]}}
    cluster.workload("StatefulSet", f"{name}-w", labels=labels, extra=owner)


def _model_serving(cluster: Cluster) -> None:
    """A ModelServing of Kthena with one group of one pod."""
    name, case = cluster.name, cluster.case
    labels = {
        "modelserving.volcano.sh/name": name,
        "modelserving.volcano.sh/revision": "b5c",
        "modelserving.volcano.sh/group-name": f"{name}-0",
        "modelserving.volcano.sh/role": "decode",
        "modelserving.volcano.sh/role-id": "decode-0",
    }
    template = cluster.template({})
    scheduler = template["spec"]["schedulerName"]
    role = {
        "name": "decode",
        "replicas": 1,
        "workerReplicas": 0,
        "entryTemplate": {"spec": template["spec"]},
    }
    spec = {
        "replicas": 1,
        "schedulerName": scheduler,
        "recoveryPolicy": "RoleRecreate",
        "template": {"roles": [role]},
    }
    metadata = {"generation": 1, "uid": f"ModelServing-{NAMESPACE}/{name}"}
    cluster.put(
        f"ModelServing {NAMESPACE}/{name}",
        {"metadata": metadata, "spec": spec, "status": case.get("status", {})},
    )
    owner = cluster.owner("ModelServing", name)
    if case.get("bare"):
        return
    cluster.put(
        f"ControllerRevision {NAMESPACE}/{name}-b5c",
        {"metadata": {"ownerReferences": [owner], "labels": labels}, "data": {"data": [role]}},
    )
    cluster.pod(f"{name}-0-decode-0-0", labels, owner)
    cluster.put(
        f"Service {NAMESPACE}/{name}-0-decode-0-0",
        {"metadata": {"labels": labels, "ownerReferences": [owner]}},
    )


def _plain(cluster: Cluster) -> None:
    labels = {"app": cluster.name, **cluster.case.get("labels", {})}
    cluster.workload(
        cluster.kind, cluster.name, labels=labels, extra=cluster.case.get("deployment")
    )
    cluster.put(
        f"Service {NAMESPACE}/{cluster.name}",
        {"spec": {"selector": labels, "ports": [{"port": 80}]}},
    )


def _described(cluster: Cluster) -> None:
    """An object of a kind that a dialect describes, and its pods as the case names and labels them."""
    name, case = cluster.name, cluster.case
    cluster.put(f"{cluster.kind} {NAMESPACE}/{name}", case["body"])
    for pod, labels in case.get("pods", {}).items():
        cluster.pod(pod, labels, cluster.owner(cluster.kind, name))


def _ome_inference_service(cluster: Cluster) -> None:
    """An InferenceService of OME, whose kind is called as KServe's."""
    name, case = cluster.name, cluster.case
    body = {"apiVersion": "ome.io/v1beta1", **case["body"]}
    cluster.put(f"InferenceService {NAMESPACE}/{name}", body)
    for pod, labels in case["pods"].items():
        cluster.pod(pod, labels, None)


MODELS = {
    "Deployment": _plain,
    "DynamoGraphDeployment": _described,
    "InferenceService": _inference_service,
    "InferenceSet": _inference_set,
    "LLMInferenceService": _llm_inference_service,
    "ModelServing": _model_serving,
    "OMEInferenceService": _ome_inference_service,
    "RayService": _described,
    "StatefulSet": _plain,
    "StormService": _described,
    "VLLMRuntime": _described,
}


def build(case) -> Cluster:
    """The cluster of an incident."""
    return Cluster(case, MODELS[case["model"].split()[0]])
