"""The objects that KServe and Knative create for an InferenceService in Knative mode.

There are no Configurations, Routes and Deployments of revisions: a Knative Service owns its
revisions, and a revision its pods.
"""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, Final, TypeAlias

Object: TypeAlias = dict[str, Any]
"""A Kubernetes object as JSON."""

NAME: Final = "serving.kserve.io/inferenceservice"
COMPONENT: Final = "component"
SERVICE: Final = "serving.knative.dev/service"
REVISION: Final = "serving.knative.dev/revision"
"""Labels."""

SOURCE: Final = "internal.serving.kserve.io/storage-initializer-sourceuri"
"""Annotation of a pod with the URI from which its model is fetched before it serves."""

COMPONENTS: Final = ("predictor", "transformer", "explainer")
"""In the order in which KServe reconciles them."""

SERVING_VERSION: Final = "serving.knative.dev/v1"
KSERVE_CONTAINER: Final = "kserve-container"
STORAGE_INITIALIZER: Final = "storage-initializer"

_RUNTIME_IMAGE: Final = "vllm/vllm-openai:v0.14.0"
_MODEL_FOLDER: Final = "/mnt/models"
_PORT: Final = 8080


def name_of(obj: Object) -> str:
    """Return the name of an object."""
    return str(obj["metadata"]["name"])


def status_of(obj: Object | None) -> Object:
    """Return the status of an object, or an empty one."""
    return dict((obj or {}).get("status") or {})


def components_of(inferenceservice: Object) -> Iterator[str]:
    """Yield the components in spec."""
    return (each for each in COMPONENTS if inferenceservice["spec"].get(each))


def service_name(inferenceservice: Object, component: str) -> str:
    """Return the name of a component's Knative Service."""
    return f"{name_of(inferenceservice)}-{component}"


def knative_service(inferenceservice: Object, component: str) -> Object:
    """Return the Knative Service that KServe wants for a component."""
    labels = {NAME: name_of(inferenceservice), COMPONENT: component}
    return {
        "apiVersion": SERVING_VERSION,
        "kind": "Service",
        "metadata": {
            "name": service_name(inferenceservice, component),
            "namespace": inferenceservice["metadata"]["namespace"],
            "labels": labels,
            "ownerReferences": [_owner(inferenceservice)],
        },
        "spec": {
            "template": _template(inferenceservice["spec"][component], labels),
            "traffic": _asked_traffic(inferenceservice, component),
        },
    }


def revision(service: Object, number: int) -> Object:
    """Return a revision for the present template of a Knative Service."""
    template = service["spec"]["template"]
    labels = {**template["metadata"]["labels"], SERVICE: name_of(service)}
    return {
        "apiVersion": SERVING_VERSION,
        "kind": "Revision",
        "metadata": {
            "name": f"{name_of(service)}-{number:05}",
            "namespace": service["metadata"]["namespace"],
            "labels": labels,
            "annotations": deepcopy(template["metadata"]["annotations"]),
            "ownerReferences": [_owner(service)],
        },
        "spec": deepcopy(template["spec"]),
    }


def is_of_template(found: Object, service: Object) -> bool:
    """True if a revision was created from the current template."""
    wanted = revision(service, 0)
    annotations = found["metadata"].get("annotations") or {}
    source = wanted["metadata"]["annotations"].get(SOURCE)
    return bool(found["spec"] == wanted["spec"] and annotations.get(SOURCE) == source)


def pod(of: Object, node: str = "") -> Object:
    """Return the pod of a revision, with the proxy and the model fetcher that webhooks add."""
    metadata = of["metadata"]
    name = name_of(of)
    spec = deepcopy(of["spec"])
    spec["containers"].append({"name": "queue-proxy", "image": "knative/queue:v1.19.0"})
    source = (metadata.get("annotations") or {}).get(SOURCE)
    if source:
        spec["initContainers"] = [
            {
                "name": STORAGE_INITIALIZER,
                "image": "kserve/storage-initializer:v0.20.0",
                "args": [source, _MODEL_FOLDER],
            }
        ]
    if node:
        spec["nodeName"] = node
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{name}-deployment-0",
            "namespace": metadata["namespace"],
            "labels": {**metadata["labels"], REVISION: name, "app": name},
            "ownerReferences": [_owner(of)],
        },
        "spec": spec,
    }


def newest_first(revisions: Sequence[Object]) -> list[Object]:
    """Sort revisions by number, the newest first."""
    return sorted(revisions, key=name_of, reverse=True)


def _template(spec: Object, labels: Object) -> Object:
    model = spec.get("model") or {}
    annotations = {SOURCE: model["storageUri"]} if model.get("storageUri") else {}
    container = (spec.get("containers") or [{}])[0]
    serving = {
        "name": KSERVE_CONTAINER,
        "image": container.get("image") or model.get("image") or _RUNTIME_IMAGE,
        "args": [*(container.get("args") or model.get("args") or ())],
        "ports": model.get("ports") or [{"containerPort": _PORT}],
    }
    return {
        "metadata": {"labels": labels, "annotations": annotations},
        "spec": {"containers": [serving]},
    }


def _asked_traffic(inferenceservice: Object, component: str) -> list[Object]:
    percent = inferenceservice["spec"][component].get("canaryTrafficPercent")
    stored = status_of(inferenceservice).get("components") or {}
    rolled_out = (stored.get(component) or {}).get("latestRolledoutRevision")
    if percent is None or percent == 100 or not rolled_out:  # noqa: PLR2004 - the whole
        return [{"latestRevision": True, "percent": 100}]
    return [
        {"latestRevision": True, "percent": percent},
        {
            "revisionName": rolled_out,
            "latestRevision": False,
            "percent": 100 - percent,
            "tag": "prev",
        },
    ]


def _owner(obj: Object) -> Object:
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": name_of(obj),
        "uid": obj["metadata"].get("uid", ""),
        "controller": True,
        "blockOwnerDeletion": True,
    }
