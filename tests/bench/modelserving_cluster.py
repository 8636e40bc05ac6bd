"""A cluster with many ModelServings, each of two groups of two roles of four pods, all of it ready."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count, cycle
from typing import Final

from lab.demo.controller_deployments import controller
from lab.demo.modelserving import load_crd
from lab.sandbox.objects import Object
from lab.sandbox.workloads import running_status
from lab.simulation.kthena import plan
from lab.simulation.kthena_world import ModelServingWorld
from reporter.model.instant import rfc3339
from tests.bench.cluster import build
from tests.bench.pods import fill, managed_fields

PODS: Final = 16
"""Of each ModelServing."""

CHANGED_ROLE: Final = "decode"

_CONTROLLER: Final = "kthena-controller-manager"
_PER_NAMESPACE: Final = 50
_AGE: Final = timedelta(days=2)
_UIDS: Final = uuid.UUID("6f2f6c3e-8d8a-5d6e-9f0e-000000000000")


def place(number: int) -> tuple[str, str]:
    """Return namespace and name of a ModelServing."""
    return f"kthena-{number // _PER_NAMESPACE:03}", f"serving-{number:04}"


def pod_name(number: int) -> str:
    """Return a pod of it, of the instance `decode-0` of its first group."""
    return f"{place(number)[1]}-0-{CHANGED_ROLE}-0-0"


def build_modelservings(number: int) -> Iterator[Object]:
    """Yield the documents: shared components, and so many ModelServings with all that they have."""
    moment = rfc3339(datetime.now(UTC) - _AGE)
    shared = list(build(0))
    yield from shared
    yield load_crd()
    yield _kthena_controller(moment)
    nodes = cycle(sorted(each["metadata"]["name"] for each in shared if each["kind"] == "Node"))
    pods = count()
    for each in range(number):
        owner = _modelserving(*place(each))
        for document in (owner, *plan(ModelServingWorld(owner)).create):
            _exist(document, moment)
            if document["kind"] == "Pod":
                document["spec"]["nodeName"] = next(nodes)
                index = next(pods)
                address = f"10.{index >> 16}.{index >> 8 & 255}.{index & 255}"
                document["status"] = running_status(document, now=moment, address=address)
                fill(document, index)
                document["metadata"]["managedFields"] = managed_fields(document)
            yield document


def _kthena_controller(moment: str) -> Object:
    """Return its Deployment, available: without it the daemon tells of it in each resync."""
    labels = {"app.kubernetes.io/component": _CONTROLLER}
    image = f"ghcr.io/volcano-sh/{_CONTROLLER}:v1.0.0"
    made = controller("kthena-system", _CONTROLLER, image=image, labels=labels)
    _exist(made, moment)
    counts = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas", "updatedReplicas"), 1)
    made["metadata"]["generation"] = 1
    made["status"] = {"observedGeneration": 1} | counts
    return made


def _exist(document: Object, moment: str) -> None:
    metadata = document["metadata"]
    key = f"{document['kind']}/{metadata['namespace']}/{metadata['name']}"
    metadata |= {"uid": str(uuid.uuid5(_UIDS, key)), "creationTimestamp": moment}


def _modelserving(namespace: str, name: str) -> Object:
    uid = str(uuid.uuid5(_UIDS, f"ModelServing/{namespace}/{name}"))
    return {
        "apiVersion": "workload.serving.volcano.sh/v1alpha1",
        "kind": "ModelServing",
        "metadata": {"name": name, "namespace": namespace, "uid": uid, "generation": 1},
        "spec": {
            "replicas": 2,
            "schedulerName": "volcano",
            "recoveryPolicy": "RoleRecreate",
            "template": {"roles": [_role("prefill", 2, workers=1), _role(CHANGED_ROLE, 4)]},
        },
    }


def _role(name: str, replicas: int, workers: int = 0) -> Object:
    container = {"name": "vllm", "image": "vllm/vllm-openai:v0.14.0"}
    template = {"spec": {"containers": [container]}}
    role: Object = {"name": name, "replicas": replicas, "workerReplicas": workers}
    role["entryTemplate"] = template
    return role | ({"workerTemplate": template} if workers else {})
