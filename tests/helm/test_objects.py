"""What is rendered, for each combination of values that makes a difference."""

import pytest

from tests.helm.charts import NAMESPACE, Rendered, load, name_of, namespace_of, render

COMBINATIONS = load("combinations.yaml")
DEFAULT = (
    "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "Role/.viewer", "RoleBinding",
    "Service", "Deployment", "PodDisruptionBudget", "Pod",
)  # fmt: skip


@pytest.fixture(params=COMBINATIONS, ids=lambda row: row["name"])
def row(request):
    return request.param


@pytest.fixture
def rendered(row):
    return render(row.get("values"))


def described(rendered: Rendered) -> list[str]:
    ends = {"Role", "RoleBinding"}
    return sorted(
        f"{each['kind']}/.viewer"
        if each["kind"] in ends and name_of(each).endswith(".viewer")
        else each["kind"]
        for each in rendered
    )


def test_the_objects_are_those_that_the_values_ask_for(row, rendered):
    """Every switch adds or removes exactly its own objects."""
    wanted = [each for each in DEFAULT if each not in row.get("lacks", ())]
    assert described(rendered) == sorted([*wanted, *row.get("adds", ())])


def test_no_two_objects_are_the_same(rendered):
    """helm would let the last one win."""
    identities = rendered.identities()
    assert len(identities) == len(set(identities))


def test_objects_are_in_the_namespace_of_the_release_and_in_kube_system_only(rendered):
    """Nothing is left in namespaces of tenants or of the stack's components."""
    places = {namespace_of(each) for each in rendered}
    cluster_scoped = {each["kind"] for each in rendered if not namespace_of(each)}
    assert places <= {NAMESPACE, "kube-system", ""}
    assert cluster_scoped <= {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"}


def test_every_object_says_what_it_belongs_to(rendered):
    """`kubectl get -l app.kubernetes.io/instance=...` finds all of a release."""
    for each in rendered:
        labels = each["metadata"]["labels"]
        assert labels["app.kubernetes.io/name"] == "productionstack-status-reporter"
        assert labels["app.kubernetes.io/instance"] == "prod"


def test_selectors_match_the_pods_and_not_the_one_of_the_test(rendered):
    """A Service or a budget that selects nothing, or too much, fails silently."""
    pods = rendered.deployment["spec"]["template"]["metadata"]["labels"]
    selectors = [rendered.deployment["spec"]["selector"]["matchLabels"]]
    selectors += [each["spec"]["selector"] for each in rendered.of("Service")]
    selectors += [
        each["spec"]["selector"]["matchLabels"] for each in rendered.of("PodDisruptionBudget")
    ]
    selectors += [
        each["spec"]["podSelector"]["matchLabels"] for each in rendered.of("NetworkPolicy")
    ]
    tests = [each["metadata"]["labels"] for each in rendered.of("Pod")]
    for selector in selectors:
        assert selector.items() <= pods.items()
        assert not any(selector.items() <= labels.items() for labels in tests)


def test_pods_are_as_restricted_as_the_standard_asks(rendered):
    """Both pods pass the Pod Security Standard `restricted`, and write nowhere."""
    for pod in (rendered.pod, *(each["spec"] for each in rendered.of("Pod"))):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert all(each.keys() == {"name", "configMap"} for each in pod.get("volumes", ()))
        (container,) = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        }
        assert "cpu" not in container["resources"]["limits"]
        assert "memory" in container["resources"]["limits"]


def test_only_the_daemon_gets_a_token(rendered):
    """The pod of the test and whoever else runs as the account get none by themselves."""
    assert rendered.pod["automountServiceAccountToken"] is True
    for each in rendered.of("Pod"):
        assert each["spec"]["automountServiceAccountToken"] is False
    for each in rendered.of("ServiceAccount"):
        assert each["automountServiceAccountToken"] is False


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
        "scrape.selector": name,
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
