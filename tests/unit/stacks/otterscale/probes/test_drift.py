"""Drift, the operator's settings as others tell them, and names that do not work."""

import pytest

from reporter.catalogue import resources as r
from reporter.stacks.otterscale.manifests.names import OperatorSettings
from reporter.stacks.otterscale.operator_flags import given_by
from reporter.stacks.otterscale.reasons import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    PLUGINS_CONFIGMAPS,
    PODMONITORS,
    SERVICEACCOUNTS,
    SERVICEMONITORS,
)
from tests.tables import rows
from tests.unit.probes.building import (
    ALL_CRDS,
    DELETING,
    FORBIDDEN,
    condition,
    merged,
    namespace,
    says,
)
from tests.unit.stacks.otterscale.probes.otterscale import (
    EPP,
    IDLE,
    NAME,
    changed,
    children,
    evaluation,
    found,
    healthy,
    modelservice,
    one,
    operator,
    pods,
    without,
)

DECODE, PREFILL = "qwen3-decode", "qwen3-prefill"


def idle(**spec):
    """A ModelService that wants no pods."""
    return healthy(**IDLE | spec)


ITSELF = "ModelService models/qwen3"
REMOVED = [
    ("Deployment", DECODE, "ObjectMissing"),
    ("Deployment", PREFILL, "ObjectMissing"),
    ("Deployment", EPP, "ObjectMissing"),
    ("Service", EPP, "ObjectMissing"),
    ("InferencePool", NAME, "ObjectMissing"),
    ("HTTPRoute", NAME, "ObjectMissing"),
    ("ServiceAccount", EPP, "Drift"),
    ("ConfigMap", f"{EPP}-config", "Drift"),
    ("PodMonitor", DECODE, "Drift"),
    ("PodMonitor", PREFILL, "Drift"),
    ("ServiceMonitor", EPP, "Drift"),
    ("ClusterRole", f"models-{EPP}", "Drift"),
    ("ClusterRoleBinding", f"models-{EPP}", "Drift"),
]


@pytest.mark.parametrize(("kind", "name", "reason"), REMOVED)
def test_removed(kind, name, reason):
    """What requests need is missing; what monitoring or the next start needs is drift."""
    docs = without(idle(), (kind, name))
    ours = [each for each in found(docs) if each[0] != "StatusStale"]
    assert ours == [(reason, ITSELF if reason == "Drift" else f"{kind} models/{name}")]
    assert f"{kind} {name} is missing" in one(docs, reason).message


def test_each_kind_that_is_compared_is_removed_once():
    made = {(each["kind"], each["metadata"]["name"]) for each in children(**IDLE)}
    assert made - {("DestinationRule", EPP)} == {(kind, name) for kind, name, _ in REMOVED}


RELABELLED = [{"sourceLabels": ["__meta_kubernetes_pod_label_app_kubernetes_io_name"], "targetLabel": "model_service"}]  # fmt: skip
LABEL = "app.kubernetes.io/name"
CHANGED = [
    ("Deployment", DECODE, {"spec": {"selector": {"matchLabels": {LABEL: "x"}}}}, f"spec.selector has {LABEL}=x and should have {LABEL}=qwen3"),
    ("Deployment", PREFILL, {"spec": {"selector": {"matchLabels": {"llm-d.ai/role": None}}}}, "spec.selector has nothing and should have llm-d.ai/role=prefill"),
    ("Deployment", EPP, {"spec": {"selector": {"matchLabels": {"inferencepool": "x"}}}}, "spec.selector has inferencepool=x and should have inferencepool=qwen3-epp"),
    ("Service", EPP, {"spec": {"selector": {LABEL: "x"}}}, f"spec.selector has {LABEL}=x and should have {LABEL}=qwen3-epp"),
    ("Service", EPP, {"spec": {"ports": [{"name": "grpc-ext-proc", "port": 9002}]}}, "spec.ports has nothing and should have http-metrics=9090"),
    ("InferencePool", NAME, {"spec": {"selector": {"matchLabels": {LABEL: "x"}}}}, f"spec.selector has {LABEL}=x and should have {LABEL}=qwen3"),
    ("InferencePool", NAME, {"spec": {"targetPorts": [{"number": 8001}]}}, "spec.targetPorts has 8001 and should have 8000"),
    ("InferencePool", NAME, {"spec": {"endpointPickerRef": {"name": "x"}}}, "spec.endpointPickerRef has name=x and should have name=qwen3-epp"),
    ("HTTPRoute", NAME, {"spec": {"rules": [{"backendRefs": [{"kind": "Service", "name": "x"}]}]}}, "backendRefs has Service x and should have InferencePool qwen3"),
    ("DestinationRule", EPP, {"spec": {"trafficPolicy": {"tls": {"mode": "DISABLE"}}}}, "spec has trafficPolicy.tls.mode=DISABLE and should have trafficPolicy.tls.mode=SIMPLE (the gateway may not reach the endpoint picker"),
    ("DestinationRule", EPP, {"spec": {"subsets": [{"name": "v1"}]}}, "spec has subsets[0].name=v1 and should have nothing"),
    ("PodMonitor", DECODE, {"spec": {"podMetricsEndpoints": [{"port": "http", "path": "/other", "interval": "30s", "relabelings": RELABELLED}]}}, "scraping has 0.path=/other and should have 0.path=/metrics (metrics of the pods"),
    ("PodMonitor", DECODE, {"spec": {"podMetricsEndpoints": [{"port": "http", "path": "/metrics", "interval": "30s"}]}}, "scraping has nothing and should have 0.relabelings[0].action=replace, 0.relabelings[0].sourceLabels[0]=__meta_kubernetes_pod_label_app_kubernetes_io_name, 0.relabelings[0].targetLabel=model_service"),
    ("ServiceMonitor", EPP, {"spec": {"endpoints": [{"port": "http-metrics", "interval": "5m"}]}}, "scraping has 0.interval=5m and should have 0.interval=30s"),
    ("DestinationRule", EPP, {"spec": {"host": "x"}}, "spec has host=x and should have host=qwen3-epp.models.svc.cluster.local"),
    ("PodMonitor", DECODE, {"spec": {"selector": {"matchLabels": {"llm-d.ai/role": "x"}}}}, "spec.selector has llm-d.ai/role=x and should have llm-d.ai/role=decode"),
    ("PodMonitor", PREFILL, {"spec": {"podMetricsEndpoints": [{"port": "x"}]}}, "spec.podMetricsEndpoints has x and should have http"),
    ("ServiceMonitor", EPP, {"spec": {"selector": {"matchLabels": {LABEL: "x"}}}}, f"spec.selector has {LABEL}=x and should have {LABEL}=qwen3-epp"),
    ("ServiceMonitor", EPP, {"spec": {"endpoints": [{"port": "x"}]}}, "spec.endpoints has x and should have http-metrics"),
    ("ConfigMap", f"{EPP}-config", {"data": {"pd-config.yaml": None}}, "data has no key pd-config.yaml"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "patch", "text"), CHANGED)
def test_changed(kind, name, patch, text):
    docs = without(idle(), ("Pod", f"{EPP}-0"))
    docs = changed(docs, "Deployment", EPP, {"spec": {"replicas": 2}})  # only a leader is wanted
    docs = [each for each in changed(docs, kind, name, patch) if each["kind"] != "Pod"]
    told = [each for each in found(docs) if each[0] != "EPPNotReady"]
    leads_nowhere = (
        [("RouteNotReady", f"InferencePool models/{NAME}")] if "Ref has name" in text else []
    )
    assert told == [("Drift", ITSELF), *leads_nowhere]
    message = one(docs, "Drift").message
    assert message.startswith(f"ModelService models/qwen3: {kind} {name} differs: {text}")
    is_watched = kind not in {"DestinationRule", "PodMonitor", "ServiceMonitor"}
    assert ("does not watch" not in message) is is_watched


@pytest.mark.parametrize(
    ("name", "container", "ports", "text"),
    [
        (DECODE, "vllm", [{"name": "http", "containerPort": 8201}], "container ports has vllm/http=8201 and should have vllm/http=8200"),
        (PREFILL, "vllm", [{"name": "http", "containerPort": 8001}], "container ports has vllm/http=8001 and should have vllm/http=8000"),
        (EPP, "epp", [{"name": "grpc-ext-proc", "containerPort": 9002}, {"name": "grpc-health", "containerPort": 9003}], "container ports has nothing and should have epp/http-metrics=9090"),
        (DECODE, "routing-proxy", [{"name": "proxy", "containerPort": 8001}], "init container ports has routing-proxy/proxy=8001 and should have routing-proxy/proxy=8000"),
    ],
)  # fmt: skip
def test_changed_ports(name, container, ports, text):
    def patched(doc):
        pod = doc["spec"]["template"]["spec"]
        for key in ("containers", "initContainers"):
            pod[key] = [
                {**each, "ports": ports} if each["name"] == container else each
                for each in pod.get(key, [])
            ]
        return doc

    docs = [
        patched(each) if each["metadata"]["name"] == name and each["kind"] == "Deployment" else each
        for each in idle()
    ]
    assert found(docs) == [("Drift", ITSELF)]
    assert f"differs: {text} (its pods do not run" in one(docs, "Drift").message


CLUSTER_ROLE = f"models-{EPP}"
NOT_WATCHED = "the operator does not watch {}: only a change of the spec, or its restart, makes it correct them"
TWO_FIELDS = {"spec": {"selector": {"matchLabels": {LABEL: "x"}}, "targetPorts": [{"number": 1}]}}
OTHER_PARENT = {"spec": {"parentRefs": [{"name": "inference", "namespace": "elsewhere"}]}}


@rows(
    ("docs", "text", "cause"),
    {
        "all that differs is named": (
            without(idle(), ("PodMonitor", DECODE), ("ServiceMonitor", EPP)),
            "PodMonitor qwen3-decode is missing (metrics of the pods are not collected as asked for); "
            "ServiceMonitor qwen3-epp is missing (metrics of the endpoint picker are not collected); "
            + NOT_WATCHED.format("PodMonitors and ServiceMonitors"),
            "PodMonitor qwen3-decode: missing and 1 more",
        ),
        "several fields of an object are one finding": (
            changed(idle(), "InferencePool", NAME, TWO_FIELDS), "...", "InferencePool qwen3: spec.selector, spec.targetPorts differs",
        ),
        "the parents of an explicit route": (
            changed(idle(), "HTTPRoute", NAME, OTHER_PARENT), "...spec.parentRefs has elsewhere/inference and should have gateways/inference...",
            "HTTPRoute qwen3: spec.parentRefs differs",
        ),
        "a deleted ClusterRole, with its consequence: it stays away until the ModelService changes": (
            without(idle(), ("ClusterRole", CLUSTER_ROLE)),
            f"ClusterRole {CLUSTER_ROLE} is missing (the endpoint picker may not check tokens, so its metrics cannot be read); "
            + NOT_WATCHED.format("ClusterRoles"),
            f"ClusterRole {CLUSTER_ROLE}: missing",
        ),
    },
)  # fmt: skip
def test_what_one_event_says(docs, text, cause):
    finding = one(docs, "Drift")
    assert says(finding.message, text if "..." in text else f"{ITSELF}: {text}")
    assert finding.cause == cause


def fleet(**spec):
    """Two ModelServices by one operator, whose routes are the default one."""
    one_, two = ({"httpRoute": None, **spec} for _ in range(2))
    made = [*children(**one_), *children("llama", **two)]
    gateway = merged(
        next(each for each in healthy() if each["kind"] == "Gateway"),
        {"metadata": {"name": OperatorSettings().default_gateway_name, "namespace": "llm-d"}},
    )
    return [modelservice(**one_), modelservice(name="llama", **two), *made, *pods(made), gateway]


@pytest.mark.parametrize(
    ("mode", "effect"),
    [
        ("FailClose", "requests fail (failureMode is FailClose)"),
        ("FailOpen", "the gateway spreads requests without it (failureMode is FailOpen)"),
    ],
)
def test_another_rule_may_do_what_a_missing_one_did(mode, effect):
    """Only rules of the operator are read: so requests may pass, and the state says no more."""
    docs = without(fleet(), ("DestinationRule", EPP))
    pool = {"spec": {"endpointPickerRef": {"failureMode": mode}}}
    docs = changed(docs, "InferencePool", NAME, pool)
    assert one(docs, "RouteNotReady").message.endswith(f"unless another rule does so, {effect}")
    (evidence,) = evaluation(docs).serving
    assert evidence.reached


PLAIN = IDLE | {"httpRoute": None}
NOW = OperatorSettings(provider="none", default_gateway_name="")
ERROR = condition("Ready", "False", "ReconcileError", "no kind PodMonitor")


def made(name: str, operator: OperatorSettings, *patches, **spec):
    """A ModelService that wants no pods, and what an operator with these settings made for it."""
    objects = children(name, operator=operator, **spec)
    return [modelservice(*patches, name=name, **spec), *objects, *pods(objects)]


def around():
    return [each for each in healthy() if each["kind"] in {"Namespace", "Gateway"}]


def recovered():
    """Another gateway by default, no Istio, no token: what the operator makes then."""
    operator = OperatorSettings(
        provider="none",
        default_gateway_name="",
        metrics_endpoint_auth=False,
        kit_image="",
        version="",
    )
    spec = {"httpRoute": None, **IDLE}
    objects = children(operator=operator, **spec)
    assert {each["kind"] for each in objects}.isdisjoint({"HTTPRoute", "DestinationRule"})
    return [modelservice(**spec), *objects, *pods(objects)]


def without_kinds(docs, *kinds):
    return [each for each in docs if each["kind"] not in kinds]


def own_route():
    """The default gateway is switched off, and one team has a route of its own for its model."""
    is_route = ("HTTPRoute", "llama")
    (route,) = [e for e in fleet() if (e["kind"], e["metadata"]["name"]) == is_route]
    own = merged(route, {"metadata": {"labels": None, "ownerReferences": None}})
    own["metadata"]["labels"] = {"team": "chat"}
    return [*without_kinds(fleet(), "HTTPRoute", "DestinationRule"), own]


def beside(patch):
    """One that hangs, with what the operator made with other settings, and a healthy one."""
    stuck = made("stuck", OperatorSettings(), patch, **PLAIN)
    return [*made("healthy", NOW, **PLAIN), *stuck, *around()]


NOT_INSTALLED = {
    "podmonitors.monitoring.coreos.com", "servicemonitors.monitoring.coreos.com",
    "destinationrules.networking.istio.io",
}  # fmt: skip
READ = (
    SERVICEACCOUNTS, PLUGINS_CONFIGMAPS, CLUSTERROLES, CLUSTERROLEBINDINGS, PODMONITORS, SERVICEMONITORS,
    r.DEPLOYMENTS, r.SERVICES, r.INFERENCEPOOLS, r.HTTPROUTES, r.PODS, r.DESTINATIONRULES, r.GATEWAYS,
)  # fmt: skip
BY_ISTIO = [*made("only", NOW, **PLAIN), *around(), operator("--provider=istio")]
ONLY = [*made("only", OperatorSettings(), **PLAIN), *around()]
ONLY_GONE = without(ONLY, ("DestinationRule", "only-epp"), ("HTTPRoute", "only"))
TOLD_BY_ARGUMENTS = operator("--provider=istio", "--default-gateway-name", "inference")
NO_AUTH = OperatorSettings(metrics_endpoint_auth=False)
OTHERS = [
    each
    for name in ("llama", "phi")
    for each in (modelservice(name=name, **IDLE), *children(name, **IDLE))
]
GATEWAY = {"name": "inference", "namespace": "gateways"}
ACCEPTED = [condition("Accepted", "True"), condition("ResolvedRefs", "True")]
ENTRY = {"parentRef": GATEWAY, "controllerName": "x", "conditions": ACCEPTED}
ELSEWHERE = {"spec": {"parentRefs": [GATEWAY]}, "status": {"parents": [ENTRY]}}
NO_RULE = ("RouteNotReady", f"DestinationRule models/{EPP}")


@rows(
    ("docs", "how", "expected"),
    {
        "without Prometheus's kinds no monitor is missed, without Istio's no rule": (
            without_kinds(idle(), "PodMonitor", "ServiceMonitor", "DestinationRule"), {"served": ALL_CRDS - NOT_INSTALLED}, [],
        ),
        **{f"{each} cannot be read": (healthy(), {"unknown": {each: FORBIDDEN}}, []) for each in READ},
        "a dump without its namespace: nothing is concluded from absence where nobody looked": (
            [modelservice(**IDLE), namespace("models")], {"covered": ["elsewhere"]}, [],
        ),
        "other settings of the operator": (recovered(), {}, []),
        "a picker that asks for no token needs no ClusterRole, whatever most others do: its arguments tell": (
            [modelservice(**IDLE), *children(operator=NO_AUTH, **IDLE), namespace("models"), *OTHERS], {},
            [("EPPNotReady", f"Service models/{EPP}"), ("RouteNotReady", f"HTTPRoute models/{NAME}")],
        ),
        **{
            f"an operator that has not come so far, which is told instead: {reason}": (
                changed(without(idle(), ("PodMonitor", DECODE)), "ModelService", NAME, {"status": status}), {}, [(reason, ITSELF)],
            )
            for reason, status in (("NotObserved", {"observedGeneration": 1}), ("ReconcileFailed", {"conditions": [ERROR]}))
        },
        **{
            f"what others add, and what the API server fills in: {kind} {patch}": (changed(idle(), kind, name, patch), {}, [])
            for kind, name, patch in (
                ("Deployment", DECODE, {"metadata": {"labels": {"app.kubernetes.io/version": "v9"}}}),
                ("Deployment", DECODE, {"spec": {"progressDeadlineSeconds": 600, "revisionHistoryLimit": 10}}),
                ("Service", EPP, {"metadata": {"labels": {"argocd.argoproj.io/instance": "x"}}}),
                ("Service", EPP, {"spec": {"clusterIP": "10.0.0.1", "sessionAffinity": "None"}}),
            )
        },
        "which Gateway is the default one is not known: two routes lead to different ones": (
            changed(fleet(), "HTTPRoute", NAME, ELSEWHERE), {}, [("RouteNotReady", f"HTTPRoute models/{NAME}")],
        ),
        "whichever of them it is": (changed(fleet(), "HTTPRoute", "llama", ELSEWHERE), {}, []),
        "what none has is not missed: the default gateway is switched off, and so is Istio": (without_kinds(fleet(), "HTTPRoute", "DestinationRule"), {}, []),
        "two by one operator": (fleet(), {}, []),
        "a default route that the other has": (without(fleet(), ("HTTPRoute", NAME)), {}, [("ObjectMissing", f"HTTPRoute models/{NAME}")]),
        "a DestinationRule that the other has": (without(fleet(), ("DestinationRule", EPP)), {}, [NO_RULE]),
        "a route that somebody else made is no default one": (own_route(), {}, []),
        "beside one that hangs": (beside({"status": {"conditions": [ERROR]}}), {"name": "healthy"}, []),
        "beside one that is behind": (beside({"status": {"observedGeneration": 1}}), {"name": "healthy"}, []),
        "beside one that was not looked at yet": (beside({"status": None}), {"name": "healthy"}, []),
        "a single one without its DestinationRule and route": (ONLY_GONE, {"name": "only"}, []),
        "the operator's arguments tell that both are missing": (
            [*ONLY_GONE, TOLD_BY_ARGUMENTS], {"name": "only"},
            [("ObjectMissing", "HTTPRoute models/only"), ("RouteNotReady", "DestinationRule models/only-epp")],
        ),
        "its arguments": (BY_ISTIO, {"name": "only"}, [("RouteNotReady", "DestinationRule models/only-epp")]),
    },
)  # fmt: skip
def test_what_is_expected_of_the_operator(docs, how, expected):
    assert found(docs, **how) == expected


def test_of_a_cut_copy_of_a_deployment_only_ports_are_compared():
    docs = changed(
        idle(), "Deployment", EPP, {"spec": {"template": {"spec": {"containers": None}}}}
    )
    assert " differs: container ports has nothing" in one(docs, "Drift").message


def test_ready_says_that_there_is_no_route():
    """The default gateway is switched off, and so is Istio."""
    (evidence,) = evaluation(without_kinds(fleet(), "HTTPRoute", "DestinationRule")).ready
    assert "no route" in evidence.message


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--provider=gke"], {"provider": "gke"}),
        (["-provider", "none", "--leader-elect"], {"provider": "none"}),
        (["--provider=istio", "--provider=none"], {"provider": "none"}),
        (["--default-gateway-name="], {"default_gateway_name": ""}),
        (["--default-gateway-name=$(GATEWAY)"], {}),
        (["provider=istio", "--provider"], {}),
        (["--kit-image", "x", "--default-epp-image=a b"], {"kit_image": "x"}),
        (["--provider=nginx", "--default-engine-image="], {}),
        (["--metrics-endpoint-auth", "false"], {"metrics_endpoint_auth": True}),
        (["--tracing-enabled=maybe", "--tracing-sampler=x"], {}),
        (
            ["-tracing-enabled=false", "--tracing-sampler-arg", "0.10"],
            {"tracing_enabled": False, "tracing_sampler_arg": "0.10"},
        ),
    ],
)
def test_arguments_as_go_reads_them(arguments, told):
    """Without what it would refuse, and without what refines something that is not given."""
    assert given_by(arguments) == told


def named(*names, ns="models"):
    return [modelservice(name=each, ns=ns) for each in names]


def in_two(**spec):
    """Two whose ClusterRoles have one name: of namespace and name together."""
    return [
        modelservice(name="b-c", ns="a", **spec),
        modelservice(name="c", ns="a-b", **spec),
    ]


NIXL = [{"name": "VLLM_NIXL_SIDE_CHANNEL_PORT", "value": "8000"}]
SAME_PICKER = [("a.b", "a-b"), ("a-b", "a--b"), ("a.b", "a--b"), ("7b", "m-7b")]
NO_PROXY = {"routingProxy": None, "prefill": None}
NO_TOKEN = children("b-c", "a", OperatorSettings(metrics_endpoint_auth=False))
PORT_TAKEN = "spec.routingProxy.targetPort is spec.engine.port, "


@rows(
    ("docs", "name", "told"),
    {
        "a name whose picker has none that fits": (named("x" * 63), "x" * 63, {"Invalid": f"endpoint picker {'x' * 63}-epp would have 67 characters"}),
        "one by a character": (named("x" * 60), "x" * 60, {"Invalid": "would have 64 characters"}),
        "one with a digit at first": (named("0" + "x" * 57), "0" + "x" * 57, {"Invalid": "would have 64 characters"}),
        "a name that no label holds": (named("x" * 64), "x" * 64, {"Invalid": "its name has 64 characters, and labels hold 63 at most"}),
        "a name of 202 characters": (named("a." + "x" * 200), "a." + "x" * 200, {"Invalid": "its name has 202 characters"}),
        "the longest name that fits": (named("x" * 59), "x" * 59, {}),
        "the longest one once it is cleaned": (named("x" * 54 + "...." + "x" * 4), "x" * 54 + "...." + "x" * 4, {}),
        **{
            f"two with the same endpoint picker, {one} and {other}": (
                named(one, other), one, {"Invalid": f"ModelService {other} has the same endpoint picker"},
            )
            for one, other in (*SAME_PICKER, *(each[::-1] for each in SAME_PICKER))
        },
        "others in other namespaces": ([*named("a.b"), *named("a-b", ns="others")], "a.b", {}),
        "another that is not the same": (named("a.b", "a.c"), "a.b", {}),
        "one that is being deleted": ([*named("a.b"), merged(modelservice(name="a-b"), DELETING)], "a.b", {}),
        "one that is called like the picker of another loses its pool in each pass": (
            named("qwen", "qwen-epp"), "qwen-epp", {"Invalid": "deletes InferencePool qwen-epp whenever it reconciles ModelService qwen"},
        ),
        "which the other does not suffer from": (named("qwen", "qwen-epp"), "qwen", {}),
        "many rivals are counted": (
            named("a.b", "a-b", "a--b", "a---b", "a----b", "a-.b"), "a.b", {"Invalid": "ModelService a----b, a---b, a--b and 2 more"},
        ),
        "the ClusterRole of two": (in_two(), "b-c", {"Misconfigured": "ClusterRole a-b-c-epp also belongs to ModelService a-b/c"}),
        "no ClusterRole without a pool section": (in_two(inferencePool=None), "b-c", {}),
        "no ClusterRole where metrics need no token": ([*in_two(), *NO_TOKEN], "b-c", {}),
        "prefill without a proxy": (healthy(routingProxy=None), NAME, {"Misconfigured": "spec.prefill without spec.routingProxy"}),
        "the proxy's port is the engine's": (healthy(routingProxy={"targetPort": 8000}), NAME, {"Misconfigured": f"{PORT_TAKEN}8000"}),
        "by default": (healthy(engine={"port": 8200}), NAME, {"Misconfigured": f"{PORT_TAKEN}8200"}),
        "the side channel's port is the engine's": (
            healthy(engine={"env": NIXL}), NAME, {"Misconfigured": "VLLM_NIXL_SIDE_CHANNEL_PORT is spec.engine.port, 8000"},
        ),
        "no side channel without prefill": (healthy(engine={"env": NIXL}, **NO_PROXY), NAME, {}),
        "neither prefill nor proxy": (healthy(**NO_PROXY), NAME, {}),
        "a proxy without prefill": (healthy(prefill=None), NAME, {}),
    },
)  # fmt: skip
def test_names_and_settings_that_cannot_work(docs, name, told):
    """One finding each, the worst; of a whole ModelService nothing else."""
    place = docs[0]["metadata"]["namespace"]
    found_ = evaluation(docs, name=name, ns=place).findings
    messages = {each.reason.removeprefix("modelservice"): each.message for each in found_}
    found_now = {key: messages[key] for key in ("Invalid", "Misconfigured") if key in messages}
    assert found_now.keys() == told.keys()
    assert all(part in found_now[key] for key, part in told.items())
    if name == NAME:
        assert messages.keys() == told.keys()
