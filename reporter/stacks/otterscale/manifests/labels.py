"""Label sets of the objects of a ModelService."""

from typing import Final

from reporter.model.objects import Labels
from reporter.stacks.otterscale.manifests import names

NAME: Final = "app.kubernetes.io/name"
COMPONENT: Final = "app.kubernetes.io/component"
PART_OF: Final = "app.kubernetes.io/part-of"
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
VERSION: Final = "app.kubernetes.io/version"
SERVING: Final = "llm-d.ai/inferenceServing"
MODEL: Final = "llm-d.ai/model"
ROLE: Final = "llm-d.ai/role"
POOL: Final = "inferencepool"

SYSTEM: Final = "otterscale-system"
OPERATOR: Final = "model-operator"
EPP: Final = "epp"


def role_metadata(name: str, role: str, version: str) -> Labels:
    """Return the labels of a role's Deployment and PodMonitor."""
    return _with_version(_base(name, _component(role)), version)


def role_selector(name: str, role: str) -> Labels:
    """Return what selects the pods of a role."""
    return {**_base(name, _component(role)), **_serving(name), ROLE: role}


def role_pods(name: str, role: str, version: str) -> Labels:
    """Return the labels of the pods of a role."""
    return _with_version(role_selector(name, role), version)


def epp_metadata(name: str, version: str) -> Labels:
    """Return the labels of the objects of the endpoint picker."""
    return _with_version(epp_selector(name), version)


def epp_selector(name: str) -> Labels:
    """Return what the Service and the ServiceMonitor of the endpoint picker select by."""
    return _base(names.epp(name), EPP)


def epp_deployment_selector(name: str) -> Labels:
    """Return what the Deployment of the endpoint picker selects by."""
    return {**epp_selector(name), POOL: names.epp(name)}


def epp_pods(name: str, version: str) -> Labels:
    """Return the labels of the pods of the endpoint picker."""
    return _with_version(epp_deployment_selector(name), version)


def routing_metadata(name: str, version: str) -> Labels:
    """Return the labels of the InferencePool and of the HTTPRoute."""
    return _with_version(_base(name, EPP), version)


def pool_selector(name: str) -> Labels:
    """Return what the InferencePool selects by: the pods of both roles."""
    return {NAME: name, PART_OF: SYSTEM, MANAGED_BY: OPERATOR, **_serving(name)}


def _base(name: str, component: str) -> Labels:
    return {NAME: name, COMPONENT: component, PART_OF: SYSTEM, MANAGED_BY: OPERATOR}


def _serving(name: str) -> Labels:
    return {SERVING: "true", MODEL: name}


def _component(role: str) -> str:
    return f"model-{role}"


def _with_version(labels: Labels, version: str) -> Labels:
    return {**labels, VERSION: version} if version else labels
