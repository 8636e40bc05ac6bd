"""Rights of the endpoint picker."""

import pytest

from tests.unit.stacks.otterscale.manifests.building import document, service

READ = ["get", "watch", "list"]
ALWAYS = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": READ},
    {
        "apiGroups": ["inference.networking.x-k8s.io"],
        "resources": ["inferenceobjectives", "inferencemodelrewrites"],
        "verbs": READ,
    },
    {"apiGroups": ["inference.networking.k8s.io"], "resources": ["inferencepools"], "verbs": READ},
]
LEADING = [
    {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
    },
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
]
ACCOUNT = {"kind": "ServiceAccount", "name": "qwen3-epp", "namespace": "models"}


@pytest.mark.parametrize(
    ("spec", "rules"),
    [
        ({}, ALWAYS),
        ({"inferencePool": {"endpointPicker": {"replicas": 1}}}, ALWAYS),
        ({"inferencePool": {"endpointPicker": {"replicas": 2}}}, ALWAYS + LEADING),
    ],
)
def test_role(spec, rules):
    assert document(service(**spec), "Role", "qwen3-epp")["rules"] == rules


def test_role_binding():
    made = document(service(), "RoleBinding", "qwen3-epp")
    assert made["subjects"] == [ACCOUNT]
    assert made["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "Role",
        "name": "qwen3-epp",
    }


def test_cluster_role_and_its_binding():
    explicit = service(inferencePool={"endpointPicker": {}})
    role = document(explicit, "ClusterRole", "models-qwen3-epp")
    assert role["rules"] == [
        {
            "apiGroups": ["authentication.k8s.io"],
            "resources": ["tokenreviews"],
            "verbs": ["create"],
        },
        {
            "apiGroups": ["authorization.k8s.io"],
            "resources": ["subjectaccessreviews"],
            "verbs": ["create"],
        },
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ]
    binding = document(explicit, "ClusterRoleBinding", "models-qwen3-epp")
    assert binding["subjects"] == [ACCOUNT]
    assert binding["roleRef"]["kind"] == "ClusterRole"
    assert binding["roleRef"]["name"] == "models-qwen3-epp"
    assert "namespace" not in role["metadata"] | binding["metadata"]
