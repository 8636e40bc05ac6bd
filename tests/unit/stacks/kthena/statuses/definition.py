"""The CRD of ModelServings as the chart has it, with or without fields of the status."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

PLURAL = "modelservings.workload.serving.volcano.sh"
_FILE = Path(__file__).parents[5] / (
    "helm/productionstack-status-reporter/files/crds/modelservings.yaml"
)


def definition(without: Iterable[str] = ()) -> dict[str, Any]:
    """The CRD; `without` names fields of the status that it lacks."""
    found = yaml.safe_load(_FILE.read_text())
    properties = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    for field in without:
        del properties["status"]["properties"][field]
    return found


def modelserving(name: str, namespace: str) -> dict[str, Any]:
    """A ModelServing that the CRD accepts."""
    return {
        "apiVersion": "workload.serving.volcano.sh/v1alpha1",
        "kind": "ModelServing",
        "metadata": {"name": name, "namespace": namespace, "labels": {"team": "a"}},
        "spec": {
            "replicas": 1,
            "template": {
                "roles": [
                    {
                        "name": "prefill",
                        "replicas": 1,
                        "workerReplicas": 0,
                        "entryTemplate": {"spec": {"containers": [{"name": "main"}]}},
                    }
                ]
            },
        },
    }
