"""What the endpoint picker may do."""

from typing import Final

from reporter.stacks.otterscale.manifests import labels, names
from reporter.stacks.otterscale.manifests.manifest import Manifest, cluster_scoped, owned
from reporter.stacks.otterscale.manifests.operator import OperatorSettings
from reporter.stacks.otterscale.objects import Json, ModelService

GROUP: Final = "rbac.authorization.k8s.io"
_API: Final = f"{GROUP}/v1"

_READ: Final = ("get", "watch", "list")
_RULES: Final = (
    ("", ("pods",), _READ),
    ("inference.networking.x-k8s.io", ("inferenceobjectives", "inferencemodelrewrites"), _READ),
    ("inference.networking.k8s.io", ("inferencepools",), _READ),
)
_LEADING_RULES: Final = (
    (
        "coordination.k8s.io",
        ("leases",),
        ("get", "list", "watch", "create", "update", "patch", "delete"),
    ),
    ("", ("events",), ("create", "patch")),
)
_METRICS_RULES: Final = (
    ("authentication.k8s.io", ("tokenreviews",), ("create",)),
    ("authorization.k8s.io", ("subjectaccessreviews",), ("create",)),
)


def role(service: ModelService, operator: OperatorSettings) -> Manifest:
    """Return the Role; several replicas also elect a leader."""
    rules = [*_RULES, *(_LEADING_RULES if service.picker.replicas > 1 else ())]
    content: Json = {"rules": [_rule(*each) for each in rules]}
    metadata = labels.epp_metadata(service.name, operator.version)
    return owned(
        service, _API, "Role", name=names.epp(service.name), labels=metadata, content=content
    )


def role_binding(service: ModelService, operator: OperatorSettings) -> Manifest:
    """Return what gives the Role to the ServiceAccount."""
    name = names.epp(service.name)
    metadata = labels.epp_metadata(service.name, operator.version)
    content = _binding(service, "Role", name)
    return owned(service, _API, "RoleBinding", name=name, labels=metadata, content=content)


def cluster_role(service: ModelService, operator: OperatorSettings) -> Manifest:
    """Return the ClusterRole, which lets the endpoint picker check who reads its metrics."""
    name = names.epp_cluster_role(service.namespace, service.name)
    metadata = labels.epp_metadata(service.name, operator.version)
    rules = [_rule(*each) for each in _METRICS_RULES]
    rules.append({"nonResourceURLs": ["/metrics"], "verbs": ["get"]})
    return cluster_scoped(_API, "ClusterRole", name, labels=metadata, content={"rules": rules})


def cluster_role_binding(service: ModelService, operator: OperatorSettings) -> Manifest:
    """Return what gives the ClusterRole to the ServiceAccount."""
    name = names.epp_cluster_role(service.namespace, service.name)
    metadata = labels.epp_metadata(service.name, operator.version)
    content = _binding(service, "ClusterRole", name)
    return cluster_scoped(_API, "ClusterRoleBinding", name, labels=metadata, content=content)


def _rule(group: str, resources: tuple[str, ...], verbs: tuple[str, ...]) -> Json:
    return {"apiGroups": [group], "resources": [*resources], "verbs": [*verbs]}


def _binding(service: ModelService, kind: str, name: str) -> Json:
    account = {
        "kind": "ServiceAccount",
        "name": names.epp(service.name),
        "namespace": service.namespace,
    }
    return {
        "subjects": [account],
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": name},
    }
