"""The InferencePool, by default or as the resource says."""

from typing import Final

from reporter.stacks.otterscale.manifests import labels, names
from reporter.stacks.otterscale.manifests.manifest import Manifest, owned
from reporter.stacks.otterscale.manifests.operator import OperatorSettings
from reporter.stacks.otterscale.objects import FAIL_CLOSE, ModelService

API_VERSION: Final = "inference.networking.k8s.io/v1"
KIND: Final = "InferencePool"


def inference_pool(service: ModelService, operator: OperatorSettings) -> Manifest:
    """Return the InferencePool: the pods of both roles, behind the endpoint picker."""
    spec = {
        "targetPorts": [{"number": service.engine_port}],
        "selector": {"matchLabels": labels.pool_selector(service.name)},
        "endpointPickerRef": {
            "group": "",
            "kind": "Service",
            "name": names.epp(service.name),
            "port": {"number": service.picker_port},
            "failureMode": service.picker.failure_mode or FAIL_CLOSE,
        },
    }
    name = names.inference_pool(service.name)
    metadata = labels.routing_metadata(service.name, operator.version)
    return owned(service, API_VERSION, KIND, name=name, labels=metadata, content={"spec": spec})
