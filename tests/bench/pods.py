"""What makes a pod as large as pods are: about 10 kB of JSON, most of which nobody reads."""

from collections.abc import Iterator
from typing import Final

from lab.sandbox.objects import JSON, Object

_ACCOUNT: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_COMMAND: Final = (
    "python3 /workspace/vllm/inference_api.py --gpu-memory-utilization=0.90"
    " --max-model-len=32768 --tensor-parallel-size=1 --served-model-name=model"
    " --kaito-config-file=/mnt/config/inference_config.yaml --port=5000"
)
_MANAGERS: Final = {"status": ("kubelet", "status"), "rest": ("kube-controller-manager", "")}


def fill(pod: Object, number: int) -> Object:
    """Return a pod of the example with what API server, kubelet and webhooks add to one."""
    metadata, spec, status = pod["metadata"], pod["spec"], pod["status"]
    spec["containers"] = [_container(each) for each in spec["containers"]]
    spec["initContainers"] = [_init_container()]
    spec |= _pod_spec()
    metadata["annotations"] = _annotations(number)
    status["containerStatuses"] = [_running(each, number) for each in status["containerStatuses"]]
    status["initContainerStatuses"] = [_ended(status["startTime"], number)]
    status["conditions"].append(
        {"type": "PodReadyToStartContainers", "status": "True"}
        | {"lastTransitionTime": status["startTime"], "lastProbeTime": None}
    )
    status |= {"hostIP": "10.224.0.7", "qosClass": "Burstable"}
    status["podIPs"] = [{"ip": status["podIP"]}]
    return pod


def managed_fields(obj: Object) -> list[Object]:
    """Return the managedFields that the API server keeps for an object: who owns which field."""
    time = obj["metadata"]["creationTimestamp"]
    entries: list[Object] = []
    for part, (manager, subresource) in _MANAGERS.items():
        fields = {
            key: value
            for key, value in obj.items()
            if (key == "status") == (part == "status") and key not in {"apiVersion", "kind"}
        }
        if fields:
            entry = {"manager": manager, "operation": "Update", "apiVersion": obj["apiVersion"]}
            entry |= {"time": time, "fieldsType": "FieldsV1", "fieldsV1": _owned(fields)}
            entries.append(entry | ({"subresource": subresource} if subresource else {}))
    return entries


def _owned(value: JSON) -> Object:
    if isinstance(value, dict):
        return {f"f:{key}": _owned(each) for key, each in value.items()}
    if isinstance(value, list):
        return dict(_owned_items(value))
    return {}


def _owned_items(items: list[JSON]) -> Iterator[tuple[str, Object]]:
    for item in items:
        if not isinstance(item, dict):
            continue
        key = next((each for each in ("name", "type", "mountPath", "ip") if each in item), None)
        if key is not None:
            yield f'k:{{"{key}":"{item[key]}"}}', {".": {}} | _owned(item)


def _container(container: Object) -> Object:
    port = container.get("ports", [{"containerPort": 8080}])[0]["containerPort"]
    probe = {"httpGet": {"path": "/health", "port": port, "scheme": "HTTP"}} | {
        "periodSeconds": 10, "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3,
    }  # fmt: skip
    return container | {
        "command": ["/bin/sh", "-c"],
        "args": [_COMMAND],
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": _field("metadata.name")}},
            {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": _field("metadata.namespace")}},
            {"name": "HF_HOME", "value": "/mnt/model-cache/huggingface"},
            {"name": "VLLM_LOGGING_LEVEL", "value": "INFO"},
            {"name": "VLLM_NO_USAGE_STATS", "value": "1"},
        ],
        "resources": {
            "requests": {"cpu": "4", "memory": "64Gi", "ephemeral-storage": "100Gi"},
            "limits": {"memory": "96Gi", "nvidia.com/gpu": "1"},
        },
        "livenessProbe": probe | {"initialDelaySeconds": 600},
        "readinessProbe": probe | {"initialDelaySeconds": 30},
        "volumeMounts": [
            {"name": "model-cache", "mountPath": "/mnt/model-cache"},
            {"name": "config", "mountPath": "/mnt/config", "readOnly": True},
            {"name": "dshm", "mountPath": "/dev/shm"},
            {"name": "kube-api-access", "mountPath": _ACCOUNT, "readOnly": True},
        ],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "imagePullPolicy": "IfNotPresent",
    }


def _field(path: str) -> Object:
    return {"apiVersion": "v1", "fieldPath": path}


def _init_container() -> Object:
    return {
        "name": "model-weights-downloader",
        "image": "kaito/downloader:0.12.0",
        "command": ["/downloader", "--into=/mnt/model-cache", "--retries=10"],
        "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
        "volumeMounts": [{"name": "model-cache", "mountPath": "/mnt/model-cache"}],
        "imagePullPolicy": "IfNotPresent",
    }


def _pod_spec() -> Object:
    return {
        "volumes": [
            {"name": "model-cache", "ephemeral": {"volumeClaimTemplate": {"spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": "local-nvme",
                "resources": {"requests": {"storage": "100Gi"}}}}}},
            {"name": "config", "configMap": {"name": "inference-params", "defaultMode": 420}},
            {"name": "dshm", "emptyDir": {"medium": "Memory"}},
            {"name": "kube-api-access", "projected": {"defaultMode": 420, "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt",
                               "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [
                    {"path": "namespace", "fieldRef": _field("metadata.namespace")}]}}]}},
        ],
        "tolerations": [
            {"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"},
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute",
             "tolerationSeconds": 300},
            {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute",
             "tolerationSeconds": 300},
        ],
        "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName":
        "default-scheduler", "serviceAccountName": "default", "serviceAccount": "default",
        "enableServiceLinks": True, "preemptionPolicy": "PreemptLowerPriority", "priority": 0,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    }  # fmt: skip


def _annotations(number: int) -> Object:
    return {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": "5000",
        "prometheus.io/path": "/metrics",
        "checksum/config": f"{number:064x}",
        "workspace.kaito.io/revision": "1",
        "istio.io/rev": "default",
        "sidecar.istio.io/status": '{"initContainers":["istio-init"],"containers":["istio-proxy"],'
        '"volumes":["workload-socket","credential-socket","istio-envoy","istio-data"],'
        '"imagePullSecrets":null,"revision":"default"}',
    }


def _running(status: Object, number: int) -> Object:
    return status | {
        "imageID": f"registry.example.com/{status['image']}@sha256:{number:064x}",
        "containerID": f"containerd://{number:064x}",
        "lastState": {},
        "allocatedResources": {"cpu": "4", "memory": "64Gi", "ephemeral-storage": "100Gi"},
        "resources": {"requests": {"cpu": "4", "memory": "64Gi"}, "limits": {"memory": "96Gi"}},
    }


def _ended(time: str, number: int) -> Object:
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": time, "finishedAt": time}
    return {
        "name": "model-weights-downloader", "image": "kaito/downloader:0.12.0",
        "imageID": f"registry.example.com/kaito/downloader@sha256:{number:064x}",
        "containerID": f"containerd://{number + 1:064x}", "ready": True, "started": False,
        "restartCount": 0, "lastState": {},
        "state": {"terminated": ended | {"containerID": f"containerd://{number + 1:064x}"}},
    }  # fmt: skip
