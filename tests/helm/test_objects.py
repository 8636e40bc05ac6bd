"""What is rendered, for each combination of values that makes a difference."""

from collections import Counter

import pytest

from tests.helm.charts import NAMESPACE, Rendered, name_of, namespace_of, render

DEFAULT = (
    "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "Role/.viewer", "RoleBinding",
    "Service", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Pod",
)  # fmt: skip


def described(rendered: Rendered) -> list[str]:
    ends = {"Role", "RoleBinding"}
    return sorted(
        f"{each['kind']}/.viewer"
        if each["kind"] in ends and name_of(each).endswith(".viewer")
        else each["kind"]
        for each in rendered
    )


def test_the_objects_are_those_that_the_values_ask_for(combinations):
    """Every switch adds or removes exactly its own objects."""

    def wanted(row):
        default = [each for each in DEFAULT if each not in row.get("lacks", ())]
        return sorted([*default, *row.get("adds", ())])

    assert {row["name"]: described(rendered) for row, rendered in combinations} == {
        row["name"]: wanted(row) for row, _ in combinations
    }


def test_no_two_objects_are_the_same(combinations):
    """helm would let the last one win."""
    assert [
        (row["name"], identity)
        for row, rendered in combinations
        for identity, count in Counter(rendered.identities()).items()
        if count > 1
    ] == []


def test_objects_are_in_the_namespace_of_the_release_and_in_kube_system_only(combinations):
    """Nothing is left in namespaces of tenants or of the stack's components."""
    objects = [each for _, rendered in combinations for each in rendered]
    assert {namespace_of(each) for each in objects} == {NAMESPACE, "kube-system", ""}
    cluster_scoped = {each["kind"] for each in objects if not namespace_of(each)}
    assert cluster_scoped == {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"}


def test_every_object_says_what_it_belongs_to(combinations):
    """`kubectl get -l app.kubernetes.io/instance=...` finds all of a release."""
    belongs = {
        "app.kubernetes.io/name": "productionstack-status-reporter",
        "app.kubernetes.io/instance": "prod",
    }
    assert [
        (row["name"], each["kind"], name_of(each))
        for row, rendered in combinations
        for each in rendered
        if not belongs.items() <= each["metadata"]["labels"].items()
    ] == []


def selectors(rendered: Rendered) -> list[dict[str, str]]:
    """Return every selector of pods."""
    return [
        rendered.deployment["spec"]["selector"]["matchLabels"],
        *(each["spec"]["selector"] for each in rendered.of("Service")),
        *(each["spec"]["selector"]["matchLabels"] for each in rendered.of("PodDisruptionBudget")),
        *(each["spec"]["podSelector"]["matchLabels"] for each in rendered.of("NetworkPolicy")),
    ]


def test_selectors_match_the_pods_and_not_the_one_of_the_test(combinations):
    """A Service or a budget that selects nothing, or too much, fails silently."""
    wrong = []
    for row, rendered in combinations:
        pods = rendered.deployment["spec"]["template"]["metadata"]["labels"]
        tests = [each["metadata"]["labels"] for each in rendered.of("Pod")]
        wrong += [
            (row["name"], selector)
            for selector in selectors(rendered)
            if not selector.items() <= pods.items()
            or any(selector.items() <= labels.items() for labels in tests)
        ]
    assert wrong == []


def is_restricted(pod) -> bool:
    (container,) = pod["containers"]
    return (
        pod["securityContext"]["runAsNonRoot"] is True
        and pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        and all(
            each.keys() - {"name"} <= {"configMap", "projected"} for each in pod.get("volumes", ())
        )
        and container["securityContext"]
        == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        }
    )


def pods_of(rendered: Rendered):
    """Return the pods of the daemon and of the test."""
    return [rendered.pod, *(each["spec"] for each in rendered.of("Pod"))]


def test_pods_are_as_restricted_as_the_standard_asks(combinations):
    """Both pods pass the Pod Security Standard `restricted`, and write nowhere."""
    assert [
        (row["name"], pod)
        for row, rendered in combinations
        for pod in pods_of(rendered)
        if not is_restricted(pod)
    ] == []


def test_pods_are_limited_in_memory_and_not_in_cpu(combinations):
    """A limit of CPU would make passes late; memory that grows must not take a node."""
    limits = [
        (row["name"], container["resources"]["limits"].keys())
        for row, rendered in combinations
        for pod in pods_of(rendered)
        for container in pod["containers"]
    ]
    assert [(name, keys) for name, keys in limits if "cpu" in keys or "memory" not in keys] == []


def test_only_the_daemon_gets_a_token(combinations):
    """The pod of the test and whoever else runs as the account get none by themselves."""
    assert [
        row["name"]
        for row, rendered in combinations
        if rendered.pod["automountServiceAccountToken"] is not True
    ] == []
    others = [
        (row["name"], each.get("spec", each))
        for row, rendered in combinations
        for each in (*rendered.of("Pod"), *rendered.of("ServiceAccount"))
    ]
    assert [
        name for name, each in others if each["automountServiceAccountToken"] is not False
    ] == []


def test_common_labels_are_on_every_object():
    """A cluster whose policies ask for a label asks for it on the pod of `helm test` too."""
    values = {"app.kubernetes.io/component": "other", "cost-centre": "42"}
    rendered = render({"commonLabels": values})
    assert {each["metadata"]["labels"]["cost-centre"] for each in rendered} == {"42"}
    pod, template = rendered.one("Pod"), rendered.deployment["spec"]["template"]
    assert pod["metadata"]["labels"]["app.kubernetes.io/component"] == "status-reporter-test"
    assert template["metadata"]["labels"]["app.kubernetes.io/component"] == "status-reporter"


@pytest.mark.parametrize("name", ["123", "0x1f", "null", "true"])
def test_names_that_yaml_takes_for_something_else_stay_texts(name):
    """A namespace may be named by a number, such as that of a project."""
    values = {
        "fullnameOverride": name,
        "image.pullSecrets": [name],
        "priorityClassName": name,
        "serviceAccount": {"create": False, "name": name},
        "networkPolicy.enabled": True,
        "serviceMonitor.enabled": True,
        "dashboard.enabled": True,
        "modelServing.crd.install": True,
        "customComponents": [
            {"reason": "clusterANotReady", "layer": "cluster", "crd": {"name": "a.b.c"}}
        ],
    }
    rendered = render(values, release=name, namespace=name)
    assert {type(value) for value in texts(list(rendered))} == {str}


TEXTS = {"name", "namespace", "serviceAccountName", "priorityClassName", "key"}


def texts(node):
    """Yield what stands where Kubernetes wants a name or a key."""
    if isinstance(node, list):
        for each in node:
            yield from texts(each)
    elif isinstance(node, dict) and node.get("kind") != "CustomResourceDefinition":
        for key, each in node.items():
            if key in TEXTS and not isinstance(each, dict):
                yield each
            yield from texts(each)


def test_the_start_up_probe_may_wait_as_long_as_it_wants_to():
    """One that fails leaves a Warning on the reporter's own pod, where others look for faults."""
    (deployment,) = [each for each in render() if each["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    probe = container["startupProbe"]
    assert probe["timeoutSeconds"] > float(probe["exec"]["command"][-1])
