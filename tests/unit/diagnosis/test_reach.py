"""What keeps a client from a Service: names without an address, and NetworkPolicies."""

from dataclasses import replace

import pytest

from reporter.catalogue.resources import NETWORKPOLICIES, PODS, SERVICES
from reporter.diagnosis import reach
from reporter.diagnosis.case import refusal
from reporter.diagnosis.reach import NoPod
from reporter.snapshot.snapshot import ResourceState, Served
from tests.unit.diagnosis.building import cluster
from tests.unit.probes.building import condition, document

TIMEOUT = 'Post "https://hook.ops.svc:443/validate?timeout=10s": context deadline exceeded'


def pod(name, namespace, labels, *, ready="True", **spec):
    ports = [{"name": "webhook", "containerPort": 9443}]
    return document(
        "Pod", name, namespace,
        {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "main", "ports": ports}], **spec},
            "status": {"phase": "Running", "conditions": [condition("Ready", ready)]},
        },
    )  # fmt: skip


def service(name="hook", namespace="ops", selector=(("app", "hook"),), port=443, **spec):
    ports = [{"port": port, "targetPort": "webhook"}]
    body = {"spec": {"selector": dict(selector), "ports": ports, **spec}}
    return document("Service", name, namespace, body)


def space(name, **labels):
    return document("Namespace", name, "", {"metadata": {"labels": labels}})


def policy(name="p", namespace="ops", **spec):
    return document("NetworkPolicy", name, namespace, {"spec": {"podSelector": {}, **spec}})


ALL = [space("ops"), space("ns", team="a"), service(), pod("h", "ops", {"app": "hook"}), pod("m", "ns", {"app": "m"})]  # fmt: skip
OWN = {"from": [{"podSelector": {}}]}
SHUT = "NetworkPolicy p of ops does not let {} reach port 9443 of the pods of Service ops/hook"


def daemon(name, namespace, **container):
    spec = {"template": {"spec": {"containers": [{"name": "main", **container}]}}}
    return document("DaemonSet", name, namespace, {"spec": spec})


AGENT = pod("konnectivity-agent-x1", "kube-system", {"k8s-app": "konnectivity-agent"})
FOR_THE_API_SERVER = {
    "pods of its own namespace alone": ([policy(ingress=[OWN])], True),
    "nothing": ([policy(ingress=[])], True),
    "another port": ([policy(ingress=[{"ports": [{"port": 8080}]}])], True),
    "the port of another protocol": ([policy(ingress=[{"ports": [{"port": 9443, "protocol": "UDP"}]}])], True),
    "pods of all namespaces": ([policy(ingress=[{"from": [{"namespaceSelector": {}}]}])], True),
    "everybody": ([policy(ingress=[{}])], False),
    "the port": ([policy(ingress=[{"ports": [{"port": 9443}]}])], False),
    "a range with the port": ([policy(ingress=[{"ports": [{"port": 9000, "endPort": 9999}]}])], False),
    "a port by name": ([policy(ingress=[{"ports": [{"port": "webhook"}]}])], False),
    "addresses": ([policy(ingress=[{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}])], False),
    "another policy opens it": ([policy(ingress=[]), policy("q", ingress=[{}])], False),
    "other pods": ([policy(podSelector={"matchLabels": {"app": "x"}}, ingress=[])], False),
    "another namespace": ([policy(namespace="ns", ingress=[])], False),
    "ways out alone": ([policy(policyTypes=["Egress"], egress=[])], False),
    "pods of all namespaces, of which one calls for it": ([policy(ingress=[{"from": [{"namespaceSelector": {}}]}]), AGENT], False),
    "pods of its own namespace, and an agent elsewhere": ([policy(ingress=[OWN]), AGENT], True),
    "one of its pods": ([policy(podSelector={"matchLabels": {"role": "b"}}, ingress=[]), pod("i", "ops", {"app": "hook", "role": "b"})], False),
    "a plugin that enforces none": ([policy(ingress=[]), daemon("kube-flannel-ds", "kube-flannel")], False),
    "a plugin that enforces none, beside one that does": (
        [policy(ingress=[]), daemon("kube-flannel-ds", "kube-flannel"), daemon("calico-node", "kube-system")], True,
    ),
    "Flannel with its own enforcer": (
        [policy(ingress=[]), daemon("kube-flannel-ds", "kube-flannel", image="registry.k8s.io/networking/kube-network-policies:v0.7.0")], True,
    ),
    "the VPC CNI as it is installed": ([policy(ingress=[]), daemon("aws-node", "kube-system", args=["--enable-network-policy=false"])], False),
    "the VPC CNI with policies": ([policy(ingress=[]), daemon("aws-node", "kube-system", args=["--enable-network-policy=true"])], True),
    "too many rules": ([policy(ingress=[OWN] * 51)], False),
    "too many policies": ([policy(f"p{each}", ingress=[]) for each in range(41)], False),
}  # fmt: skip


@pytest.mark.parametrize(("policies", "shut"), FOR_THE_API_SERVER.values(), ids=FOR_THE_API_SERVER)
def test_the_api_server_and_a_webhook(policies, shut):
    found = reach.shut_off(TIMEOUT, cluster(*ALL, *policies), NoPod.API_SERVER)
    assert found == (SHUT.format("the API server") if shut else "")


@pytest.mark.parametrize("error", ["connect: connection refused", "tls: bad certificate"])
def test_an_answer_is_stopped_by_no_policy(error):
    said = TIMEOUT.replace("context deadline exceeded", error)
    assert reach.shut_off(said, cluster(*ALL, policy(ingress=[])), NoPod.API_SERVER) == ""


def of_pod(*policies, client="m", docs=ALL):
    snapshot = cluster(*docs, *policies)
    target = snapshot[SERVICES].get("ops", "hook")
    return reach.why_shut(target, 443, snapshot, client=snapshot[PODS].get("ns", client))


FOR_A_POD = {
    "pods of its own namespace alone": (policy(ingress=[OWN]), True),
    "its namespace": (policy(ingress=[{"from": [{"namespaceSelector": {"matchLabels": {"team": "a"}}}]}]), False),
    "its namespace by name": (
        policy(ingress=[{"from": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ns"}}}]}]), False,
    ),
    "others of its namespace": (
        policy(ingress=[{"from": [{"namespaceSelector": {}, "podSelector": {"matchLabels": {"app": "x"}}}]}]), True,
    ),
    "addresses": (policy(ingress=[{"from": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]}]), False),
}  # fmt: skip


@pytest.mark.parametrize(("given", "shut"), FOR_A_POD.values(), ids=FOR_A_POD)
def test_a_pod_and_a_service(given, shut):
    assert of_pod(given) == (SHUT.format("pod m") if shut else "")


def test_a_way_out_that_is_shut():
    dns = {"ports": [{"port": 53, "protocol": "UDP"}]}
    own = policy("out", "ns", policyTypes=["Egress"], egress=[dns])
    assert of_pod(own).startswith("NetworkPolicy out of ns does not let pod m reach port 9443")
    let = {"to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ops"}}}]}
    assert of_pod(policy("out", "ns", policyTypes=["Egress"], egress=[dns, let])) == ""


@pytest.mark.parametrize(
    "docs",
    [
        [*ALL[:3], pod("h", "ops", {"app": "hook"}, hostNetwork=True), ALL[4]],
        [*ALL[:4], pod("m", "ns", {"app": "m"}, hostNetwork=True)],
        [*ALL[:3], pod("h", "ops", {"app": "hook"}, ready="False"), ALL[4]],
        [*ALL[:2], service(selector=()), *ALL[3:]],
        [*ALL[:2], service(type="ExternalName"), *ALL[3:]],
        [*ALL[:2], service(port=8443), *ALL[3:]],
    ],
    ids=[
        "server on its node",
        "client on its node",
        "nobody ready",
        "no selector",
        "another name",
        "another port",
    ],
)
def test_what_no_policy_explains(docs):
    assert of_pod(policy(ingress=[]), docs=docs) == ""


def test_policies_that_are_not_all_known_prove_nothing():
    snapshot = cluster(*ALL, policy(ingress=[]))
    states = {**snapshot.states, NETWORKPOLICIES: ResourceState(Served.SERVED, partial=True)}
    assert not reach.shut_off(TIMEOUT, replace(snapshot, states=states), NoPod.API_SERVER)


def test_a_client_that_is_not_known_may_be_let_in():
    said = "dial tcp 10.96.0.7:443: i/o timeout"
    docs = [*ALL[:2], service(clusterIP="10.96.0.7"), *ALL[3:]]
    assert reach.shut_off(said, cluster(*docs, policy(ingress=[]))) == SHUT.format("anything")
    assert reach.shut_off(said, cluster(*docs, policy(ingress=[OWN]))) == ""
    assert reach.shut_off("dial tcp 10.96.0.7:443: refused", cluster(*docs, policy(ingress=[]))) == ""  # fmt: skip


def test_a_webhook_behind_a_policy_is_told_with_it():
    text = (
        f'Internal error occurred: failed calling webhook "v.x": failed to call webhook: {TIMEOUT}'
    )
    found = refusal(text, "ns", cluster(*ALL, policy(ingress=[OWN])))
    assert found.cause.endswith(SHUT.format("the API server"))
    assert found.object.name == "hook"
    plain = refusal(text, "ns", cluster(*ALL))
    assert plain.cause == "webhook v.x refuses every pod: Service ops/hook fails (context deadline exceeded)"  # fmt: skip


HEADLESS = service(clusterIP="None")
UNREADY = [space("ops"), HEADLESS, pod("h-0", "ops", {"app": "hook"}, ready="False")]
NOT_PUBLISHED = ", and headless Service ops/hook has no publishNotReadyAddresses"

NAMES = {
    "no such Service": ("gone.ops", [space("ops")], "there is no Service ops/gone"),
    "by its full name": ("gone.ops.svc.cluster.local", [space("ops")], "there is no Service ops/gone"),
    "near the pod": ("gone", [], "there is no Service ns/gone"),
    "a name elsewhere": ("huggingface.co", [space("ops")], ""),
    "a name elsewhere of three parts": ("cdn-lfs.huggingface.co", [space("ops")], ""),
    "a name elsewhere that ends like a namespace": ("mistral.ai", [space("ai")], ""),
    "a name elsewhere of three parts, too": ("api.acme.prod", [space("prod")], ""),
    "a name elsewhere with svc": ("api.svc.acme.com", [], ""),
    "a name of another cluster": ("gone.ops.svc.clusterset.local", [space("ops")], ""),
    "a name of a cluster with another domain": ("gone.ops.svc.acme.com", [space("ops")], ""),
    "a pod of a cluster with another domain": ("h-1.hook.ops.svc.acme.com", UNREADY, "there is no pod h-1"),
    "its own machine": ("localhost", [], ""),
    "the host name of an indexed Job's pod": ("h-0.hook.ops", [space("ops"), HEADLESS, pod("h-0-x7k2p", "ops", {"app": "hook"})], ""),
    "addresses that somebody else sets": ("h-1.hook.ops", [space("ops"), service(clusterIP="None", selector=())], ""),
    "one with an address of its own": ("hook.ops", [space("ops"), service()], ""),
    "nobody ready behind a headless one": ("hook.ops", UNREADY, f"no pod is ready{NOT_PUBLISHED}"),
    "a pod that is not ready": ("h-0.hook.ops", UNREADY, f"pod h-0 is not ready{NOT_PUBLISHED}"),
    "a pod that is not there": ("h-1.hook.ops.svc", UNREADY, "there is no pod h-1"),
    "addresses that are published": ("h-0.hook.ops", [space("ops"), service(clusterIP="None", publishNotReadyAddresses=True)], ""),
    "a pod near by": ("h-0.hook", [service(namespace="ns", clusterIP="None")], "there is no pod h-0"),
}  # fmt: skip


@pytest.mark.parametrize(("host", "docs", "why"), NAMES.values(), ids=NAMES)
def test_a_name_without_an_address(host, docs, why):
    snapshot = cluster(*docs)
    asked = reach.placed(host, "ns", snapshot)
    assert (reach.why_no_address(asked, snapshot) if asked else "") == why
