"""What the roles grant: what the program asks for, and nothing else."""

import pytest

from reporter.catalogue.resources import (
    BY_NAME,
    BY_NAME_VERBS,
    COMPONENT,
    EVENT_VERBS,
    EVENTS,
    ISTIO_CONFIGMAP,
    LEASES,
    ON_DEMAND,
    ON_DEMAND_VERBS,
    VERBS,
)
from reporter.catalogue.shared_parts import shared_parts
from reporter.stacks import BUILT_IN
from reporter.stacks.kthena.reasons import MODELSERVINGS, MODELSERVINGS_FORMER
from tests.helm.charts import NAMESPACE, REPORTER, helm, name_of, namespace_of, render
from tests.tables import CLUSTER_WIDE, Stack
from tools.generated import cluster_role_files

MESH = {
    "apiGroups": [""],
    "resources": ["configmaps"],
    "resourceNames": [ISTIO_CONFIGMAP],
    "verbs": ["list", "watch"],
}
OTHERS_LEASES = {
    "apiGroups": [LEASES.group],
    "resources": [LEASES.plural],
    "resourceNames": sorted(name for part in shared_parts(BUILT_IN) for each in part.controllers for name in each.leases),
    "verbs": ["get"],
}  # fmt: skip
PAGES = {"apiGroups": [""], "resources": ["pods/proxy"], "verbs": ["get"]}
EVENT_RULE = {
    "apiGroups": [""],
    "resources": [EVENTS.plural],
    "verbs": ["list", "watch", "create", "patch"],
}
STATUS_RULE = {
    "apiGroups": [MODELSERVINGS.group, MODELSERVINGS_FORMER.group],
    "resources": [f"{MODELSERVINGS.plural}/status"],
}
MIRROR_RULE = {"apiGroups": [""], "resources": [EVENTS.plural], "verbs": ["create", "patch"]}
LEASE_RULE = {
    "apiGroups": ["coordination.k8s.io"],
    "resources": ["leases"],
    "resourceNames": [COMPONENT],
    "verbs": ["get", "watch", "create", "update"],
}


READING = ({*VERBS}, {*ON_DEMAND_VERBS}, {*BY_NAME_VERBS}, {*EVENT_VERBS})


def granted(rules) -> list[tuple[str, str, str]]:
    """Return each (group, resource, verb) of rules without names; two stacks may need one kind."""
    return sorted(
        {
            (group, resource, verb)
            for rule in rules
            if "resourceNames" not in rule
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }
    )


def named(rules) -> list[object]:
    """Return the rules with names but that of other controllers' Leases, which is always there."""
    return [rule for rule in rules if "resourceNames" in rule and rule != OTHERS_LEASES]


def reading(*off: Stack, on: Stack = Stack.KAITO) -> list[tuple[str, str, str]]:
    """Return what the table of resources reads with a stack on and without some others."""
    read = (
        each
        for each in CLUSTER_WIDE
        if each.stack not in off and (not each.wide or each.stack == on) and not each.opt_in
    )
    watched = {(each.group, each.plural, verb) for each in read for verb in VERBS}
    looked_up = {
        (each.group, each.plural, verb)
        for each in ON_DEMAND
        if each is not LEASES
        for verb in (BY_NAME_VERBS if each in BY_NAME else ON_DEMAND_VERBS)
    }
    events = {(EVENTS.group, EVENTS.plural, verb) for verb in EVENT_VERBS}
    return sorted(watched | looked_up | events)


def cluster_rules(values=None):
    return render(values).one("ClusterRole")["rules"]


def test_cluster_wide_is_granted_what_the_table_of_resources_reads():
    """The table in code is the only source, each row once; no verb is unused."""
    assert granted(cluster_rules()) == reading()
    assert named(cluster_rules()) == [MESH]
    assert OTHERS_LEASES in cluster_rules()


def granted_in(mode: object) -> dict[Stack, list[tuple[str, str, str]]]:
    """Return what is granted with each stack in a mode, one at a time."""
    return {stack: granted(cluster_rules({f"stacks.{stack}": mode})) for stack in Stack}


@pytest.mark.parametrize("off", ["off", False])
def test_a_stack_that_is_switched_off_is_granted_nothing(off):
    """The others keep what they have."""
    assert granted_in(off) == {stack: reading(stack) for stack in Stack}
    # Its kind is read for LLMInferenceServices too.
    assert [stack for stack in Stack if reading(stack) == reading()] == [Stack.WORKLOADS]


@pytest.mark.parametrize("mode", ["auto", None])
def test_a_stack_that_may_be_there_is_granted_what_is_read_of_it(mode):
    """Null is the program's default, which is not off."""
    assert granted_in(mode) == dict.fromkeys(Stack, reading())


@pytest.mark.parametrize("mode", ["on", True])
def test_what_takes_a_wide_right_is_granted_only_where_a_stack_must_be_there(mode):
    """OtterScale's ConfigMaps: RBAC knows no labels, so the right is for all of the cluster."""
    assert granted_in(mode) == {stack: reading(on=stack) for stack in Stack}
    wide = set(reading(on=Stack.OTTERSCALE)) - set(reading())
    assert {plural for _, plural, _ in wide} == {"configmaps", "serviceaccounts"}


def test_without_any_stack_the_rest_is_read():
    """Gateways and shared components are not of one stack."""
    rules = cluster_rules({f"stacks.{stack}": "off" for stack in Stack})
    assert granted(rules) == reading(*Stack)
    assert granted(rules)


def test_the_rules_in_the_chart_are_those_of_the_code():
    """`make docs` renders them."""
    folder = REPORTER / "files" / "cluster-role"
    assert {path.name: path.read_text() for path in folder.iterdir()} == cluster_role_files(
        BUILT_IN
    )


WRITES = [
    ({}, []),
    ({"modelServing.status": "off"}, []),
    ({"modelServing.status": False}, []),
    ({"modelServing.status": None}, []),
    ({"modelServing.status": "roles"}, [{**STATUS_RULE, "verbs": ["patch"]}]),
    ({"modelServing.status": "full"}, [{**STATUS_RULE, "verbs": ["update"]}]),
    ({"mirrorToWorkload": False}, []),
    ({"mirrorToWorkload": None}, []),
    ({"mirrorToWorkload": True}, [MIRROR_RULE]),
]


@pytest.mark.parametrize(("values", "wanted"), WRITES, ids=str)
def test_writes_are_granted_for_the_mode_that_makes_them(values, wanted):
    """`full` replaces (PUT), `roles` applies (PATCH); neither may change more than the status."""
    rules = cluster_rules(values)
    writes = [rule for rule in rules if not set(rule["verbs"]) <= {*VERBS, *BY_NAME_VERBS}]
    assert writes == wanted
    assert granted(rule for rule in rules if rule not in wanted) == reading()


CLUSTER_ROLES_RULE = {
    "apiGroups": ["rbac.authorization.k8s.io"],
    "resources": ["clusterroles", "clusterrolebindings"],
    "verbs": ["list", "watch"],
}


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({}, []),
        ({"stacks.otterscale": "on"}, []),
        ({"controlPlane.otterscaleClusterRoles": True}, [CLUSTER_ROLES_RULE]),
        ({"controlPlane.otterscaleClusterRoles": True, "stacks.otterscale": "off"}, []),
    ],
    ids=str,
)
def test_rbac_objects_are_read_only_where_that_is_asked_for(values, wanted):
    """They tell what anybody may do, so no mode of a stack grants them."""
    rules = cluster_rules(values)
    assert [each for each in rules if "rbac.authorization.k8s.io" in each["apiGroups"]] == wanted


LOGS_RULE = {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}


@pytest.mark.parametrize("switch", [True, False, None])
def test_logs_are_granted_only_where_they_are_read(switch):
    """The right is to the log of any pod, so nobody has it by default."""
    rules = cluster_rules({"podLogs": switch})
    assert [rule for rule in rules if "pods/log" in rule["resources"]] == [LOGS_RULE] * bool(switch)
    assert granted(rule for rule in rules if rule != LOGS_RULE) == reading()


REVIEW_RULES = [
    {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
    {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
]  # fmt: skip


@pytest.mark.parametrize("switch", [True, False, None])
def test_reviews_are_granted_only_where_readers_of_metrics_are_asked_who_they_are(switch):
    """Prometheus sends its token then."""
    values = {"metrics.authentication": switch, "serviceMonitor.enabled": True}
    rules = cluster_rules(values)
    assert [each for each in rules if each in REVIEW_RULES] == REVIEW_RULES * bool(switch)
    assert granted(each for each in rules if each not in REVIEW_RULES) == reading()
    (endpoint,) = render(values).one("ServiceMonitor")["spec"]["endpoints"]
    assert ("bearerTokenFile" in endpoint) is bool(switch)


def test_the_mesh_configurations_of_revisions_are_granted_by_name():
    """Without OtterScale no other ConfigMap can be read, wherever it is."""
    rules = cluster_rules({"controlPlane.istioRevisions": ["asm-1-27"], "stacks.otterscale": "off"})
    assert not any(resource == "configmaps" for _, resource, _ in granted(rules))
    assert named(rules) == [{**MESH, "resourceNames": ["istio", "istio-asm-1-27"]}]


@pytest.mark.parametrize(
    "values", [{"controlPlane.istiodDeployment": ""}, {"controlPlane.istioNamespace": []}]
)
def test_without_istio_no_configmap_is_granted(values):
    """It is not asked for then."""
    assert named(render(values).one("ClusterRole")["rules"]) == []


@pytest.mark.parametrize("value", ["istiodDeployment", "istioNamespace"])
def test_where_istio_is_left_to_the_program_its_configmap_is_granted(value):
    """Null is the program's default, which looks for Istio."""
    rules = render({f"controlPlane.{value}": None}).one("ClusterRole")["rules"]
    assert named(rules) == [MESH]


def test_events_and_the_lease_are_granted_in_kube_system_only():
    """Not cluster-wide. The Lease by its name; it is created by PUT, which matches names."""
    role = next(each for each in render().of("Role") if not name_of(each).endswith(".viewer"))
    assert namespace_of(role) == "kube-system"
    assert role["rules"] == [EVENT_RULE, LEASE_RULE]


def test_the_lease_that_is_granted_is_the_one_that_is_asked_for():
    """Another id moves both."""
    rendered = render({"leaderElection.id": "mine"})
    role = next(each for each in rendered.of("Role") if not name_of(each).endswith(".viewer"))
    assert role["rules"][1]["resourceNames"] == ["mine"]
    assert "--leader-election-id=mine" in rendered.flags


def test_without_leader_election_no_lease_is_granted():
    """It is not asked for then."""
    rendered = render({"replicas": 1, "leaderElection.enabled": False})
    role = next(each for each in rendered.of("Role") if not name_of(each).endswith(".viewer"))
    assert role["rules"] == [EVENT_RULE]


def rules_of(rendered):
    """Return the kind of the role and the rule, of all roles."""
    roles = (*rendered.of("ClusterRole"), *rendered.of("Role"))
    return [(role["kind"], rule) for role in roles for rule in role["rules"]]


def is_sensitive(kind, rule) -> bool:
    return bool(
        {"secrets", "pods/proxy", "*"} & set(rule["resources"])
        or {"rbac.authorization.k8s.io", "*"} & set(rule["apiGroups"])
        or (kind == "ClusterRole" and set(rule["verbs"]) not in READING)
    )


def test_nothing_sensitive_is_ever_granted(combinations):
    """No Secrets, no RBAC objects unless asked for, no wildcards, no writes beyond kube-system; for pods/proxy see below."""
    asked_for = [PAGES, CLUSTER_ROLES_RULE, *(rule for _, wanted in WRITES for rule in wanted)]
    assert [
        (row["name"], kind, rule)
        for row, rendered in combinations
        for kind, rule in rules_of(rendered)
        if rule not in asked_for and is_sensitive(kind, rule)
    ] == []


def test_the_proxy_of_pods_is_granted_only_where_scraping_goes_through_it(combinations):
    """It is any GET on any port of any pod, so nobody gets it by default."""
    granted_to, asked_by = {}, {}
    for row, rendered in combinations:
        proxies = [
            rule
            for _, rule in rules_of(rendered)
            if any("proxy" in each for each in rule["resources"])
        ]
        asked = "--scrape-via=apiserver-proxy" in rendered.flags and rendered.of("ClusterRole")
        granted_to[row["name"]] = proxies
        asked_by[row["name"]] = [PAGES] if asked else []
    assert granted_to == asked_by
    assert [PAGES] in granted_to.values()


@pytest.mark.parametrize("via", [None, False, "off", "direct"])
def test_whatever_else_the_values_say_of_scraping_grants_no_proxy(via):
    """Null is the program's default; YAML reads `off` as false."""
    assert PAGES not in render({"scrape.via": via}).one("ClusterRole")["rules"]


def bindings(rendered):
    return (*rendered.of("ClusterRoleBinding"), *rendered.of("RoleBinding"))


def test_bindings_bind_roles_that_are_rendered(combinations):
    """A binding to a name that does not exist grants nothing, and says nothing."""
    roles = {
        row["name"]: {(each["kind"], name_of(each)) for each in rendered}
        for row, rendered in combinations
    }
    assert [
        (row["name"], name_of(each))
        for row, rendered in combinations
        for each in bindings(rendered)
        if (each["roleRef"]["kind"], each["roleRef"]["name"]) not in roles[row["name"]]
    ] == []


def account(rendered):
    """Return the account of the pod as the subject of a binding."""
    return {
        "kind": "ServiceAccount",
        "name": rendered.pod["serviceAccountName"],
        "namespace": namespace_of(rendered.deployment),
    }


def test_bindings_bind_to_the_account_of_the_pod(combinations):
    """But for the one of viewers, whom the values name."""
    assert [
        (row["name"], name_of(each))
        for row, rendered in combinations
        for each in bindings(rendered)
        if not name_of(each).endswith(".viewer") and each["subjects"] != [account(rendered)]
    ] == []


def test_viewers_may_read_events_and_nothing_else():
    """A Role for people on call, bound to whom the values name."""
    subject = {"kind": "Group", "name": "on-call", "apiGroup": "rbac.authorization.k8s.io"}
    rendered = render({"viewer.subjects": [subject]})
    role = rendered.one("Role", ".viewer")
    binding = rendered.one("RoleBinding", ".viewer")
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["events"], "verbs": ["get", "list", "watch"]}
    ]
    assert namespace_of(role) == namespace_of(binding) == "kube-system"
    assert binding["subjects"] == [subject]


def shared(release: str, namespace: str) -> set[tuple[object, ...]]:
    """Return the objects of a release that are not in its own namespace."""
    rendered = render(
        {
            "viewer.subjects": [
                {"kind": "Group", "name": "a", "apiGroup": "rbac.authorization.k8s.io"}
            ]
        },
        release=release,
        namespace=namespace,
    )
    return {each for each in rendered.identities() if each[2] in {"", "kube-system"}}


RELEASES = [
    ("prod", NAMESPACE),
    ("test", NAMESPACE),
    ("prod", "other"),
    ("a-b", "c"),
    ("b-c", "a"),
    ("c", "a-b"),
    ("a", "b-c"),
    ("a.b", "c"),
    ("a-b-c", "c"),
    ("x" * 52 + "1", "c"),
    ("x" * 52 + "2", "c"),
]


def test_releases_do_not_fight_over_names():
    """Each can be installed and removed without the others, whatever they are called."""
    seen: set[tuple[object, ...]] = set()
    for release, namespace in RELEASES:
        objects = shared(release, namespace)
        assert len(objects) == 6
        assert not objects & seen
        seen |= objects


@pytest.mark.parametrize("release", ["x" * 53, "a.b", "1st"])
def test_names_are_allowed_whatever_the_release_is_called(release):
    """At most 63 characters, no dots, and a Service begins with a letter."""
    rendered = render(release=release)
    for each in rendered:
        if namespace_of(each) == NAMESPACE:
            assert len(name_of(each)) <= 63
            assert "." not in name_of(each)
    assert name_of(rendered.one("Service"))[0].isalpha()


def test_releases_share_the_lease_by_default():
    """One reporter watches one cluster: the second one waits as a standby."""
    ids = {
        render(release=release).flags.index(f"--leader-election-id={COMPONENT}")
        for release in ("a", "b")
    }
    assert len(ids) == 1


SERVES = {
    Stack.KAITO: "kaito.sh/v1beta1/Workspace",
    Stack.KTHENA: "workload.serving.volcano.sh/v1alpha1/ModelServing",
    Stack.OTTERSCALE: "model.otterscale.io/v1alpha1/ModelService",
    Stack.KSERVE: "serving.kserve.io/v1beta1/InferenceService",
    Stack.LLMISVC: "serving.kserve.io/v1alpha2/LLMInferenceService",
}
"""A kind of each stack that the cluster may serve; plain workloads follow from what other stacks use."""


def stacks_of(*served: str, **values: str) -> set[str]:
    """Return for which stacks rights are granted in a cluster that serves these kinds."""
    asked = [f"--api-versions={each}" for each in served]
    given = [f"--set={key}={value}" for key, value in values.items()]
    template = ("template", "prod", str(REPORTER), "-s", "templates/clusterrole.yaml")
    text = helm(*template, *asked, *given).stdout
    rows = (line.strip() for line in text.splitlines())
    return {
        row.removeprefix("# For ") for row in rows if row.startswith("# For ") and "," not in row
    }


@pytest.mark.parametrize("stack", SERVES, ids=str)
def test_a_stack_that_the_cluster_does_not_serve_is_granted_nothing(stack):
    assert stacks_of(SERVES[stack]) == {stack}


def test_which_stacks_are_granted():
    """All where helm asks no cluster or nothing is served yet; what is on, or written, in any case."""
    every = {*map(str, Stack)}
    assert stacks_of() == every == stacks_of("apps/v1/Deployment")
    groups = "leaderworkerset.x-k8s.io/v1/LeaderWorkerSet"
    assert stacks_of(groups) == every
    assert stacks_of(SERVES[Stack.KAITO], groups) == {"kaito", "workloads"}
    kaito = SERVES[Stack.KAITO]
    assert stacks_of(kaito, **{"stacks.kserve": "on"}) == {"kaito", "kserve"}
    assert stacks_of(kaito, **{"stacks.kaito": "off"}) == set()
    assert stacks_of(kaito, **{"modelServing.crd.install": "true"}) == {"kaito", "kthena"}
