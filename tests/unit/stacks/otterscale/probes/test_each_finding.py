"""What can be wrong with a ModelService, its pods, endpoint picker and route, and what is told.

A row: what is wrong, how it comes about, all that is told, and a part of the message.
"""

from functools import reduce

import pytest

from tests.unit.probes.building import DELETING, condition
from tests.unit.stacks.otterscale.probes.otterscale import (
    EPP,
    NAME,
    PARENT,
    changed,
    children,
    evaluation,
    healthy,
    modelservice,
    one,
    pod,
    pods,
    reasons,
    rolled_out,
    without,
)
from tests.unit.stacks.otterscale.probes.pods import (
    ENDED,
    crashing,
    failed,
    starting,
    statuses,
    unschedulable,
    waiting,
)

DECODE, PREFILL = "qwen3-decode", "qwen3-prefill"
POD = f"{DECODE}-0"


def change(kind, name, *patches):
    return lambda docs: changed(docs, kind, name, *patches)


def remove(*places):
    return lambda docs: without(docs, *places)


def status(name, *conditions, ready=0, **fields):
    """A Deployment whose pods are not Ready."""
    told = rolled_out(1, ready)
    told["conditions"] = [*told["conditions"][:1], *(conditions or told["conditions"][1:])]
    return change("Deployment", name, {"status": {**told, **fields}})


def operator_says(**fields):
    return change("ModelService", NAME, {"status": fields})


def decode_pod(patch):
    """A decode pod is not Ready, and the operator has seen that."""
    return [
        change("Pod", POD, patch),
        status(DECODE),
        operator_says(
            phase="Running",
            decodeReady=None,
            conditions=[condition("Ready", "False", "PartiallyReady", "1/2 replicas ready")],
        ),
    ]


def other(name, ns="models", **spec):
    """Another ModelService, of which nothing else is looked at."""
    return lambda docs: [*docs, modelservice(name=name, ns=ns, **spec)]


def parents(*conditions, parent=PARENT["parentRef"]):
    entry = {**PARENT, "parentRef": parent, "conditions": list(conditions)}
    return {"status": {"parents": [entry] if conditions else []}}


PENDING = {"phase": "Pending", "decodeReady": None, "decodeReplicas": None}
GONE = [condition("Ready", "False", "DeploymentNotFound")]
STALLED = condition("Progressing", "False", "ProgressDeadlineExceeded")

RESOURCE = [
    (
        "NotObserved: behind",
        [change("ModelService", NAME, {"metadata": {"generation": 3}})],
        ["NotObserved"],
        "has not observed generation 3, its status is of generation 2",
    ),
    ("NotObserved: absent", [change("ModelService", NAME, {"status": None})], ["NotObserved"], "it has written no status yet"),
    (
        "StatusContradiction",
        [operator_says(conditions=[condition("Ready", "False", "PodsStarting")])],
        ["StatusStale"],
        "condition Ready is False and should be True",
    ),
    ("StatusDrift", [operator_says(prefillReady=None)], ["StatusStale"], "prefillReady is 0 and should be 1"),
    ("EppNameCollision", [other("qwen-3"), other("qwen.3")], [], ""),
    (
        "InvalidCombination: prefill without routingProxy",
        [change("ModelService", NAME, {"spec": {"routingProxy": None}})],
        ["Drift", "Misconfigured"],
        "spec.prefill without spec.routingProxy",
    ),
]  # fmt: skip

PODS = [
    (
        "DecodeMissing",
        [
            remove(("Deployment", DECODE), ("Pod", POD)),
            operator_says(**PENDING, conditions=GONE),
        ],
        ["ObjectMissing"],
        "Deployment qwen3-decode is missing: no decode pod can serve",
    ),
    ("PrefillLeftover", [change("ModelService", NAME, {"spec": {"prefill": None}})], None, ""),
    ("RolloutStalled", [status(DECODE, STALLED, ready=1)], ["RolloutStalled"], "past its deadline"),
    ("ModelUnpackFailed", decode_pod(failed("model-unpack")), ["PodsNotReady"], "model-unpack ended"),
    (
        "ModelUnpackSlow",
        decode_pod(starting(running={"startedAt": "2026-11-20T11:50:00Z"})),
        ["PodsNotReady"],
        ", init container model-unpack still runs",
    ),
    (
        "RegistrySecretMissing",
        [
            *decode_pod(starting(waiting={"reason": "PodInitializing"})),
            change("ModelService", NAME, {"spec": {"model": {"imagePullSecrets": [{"name": "reg"}]}}}),
        ],
        ["PodsNotReady"],
        "look for Secret reg and its key .dockerconfigjson",
    ),
    (
        "RoutingProxyFailing",
        decode_pod(crashing("routing-proxy")),
        ["PodsNotReady"],
        "without it nothing listens on the port that requests are sent to",
    ),
]  # fmt: skip

PICKER = [
    ("EppMissing", [remove(("Deployment", EPP))], ["ObjectMissing"], "there is no endpoint picker"),
    (
        "EppScaledToZero",
        [change("Deployment", EPP, {"spec": {"replicas": 0}, "status": rolled_out(0)})],
        ["EPPNotReady"],
        "is down: scaled to zero (Deployment qwen3-epp); failureMode is FailOpen",
    ),
    (
        "EppServiceAccountMissing",
        [status(EPP), remove(("Pod", f"{EPP}-0"), ("ServiceAccount", EPP))],
        ["Drift", "EPPNotReady"],
        "is down (ServiceAccount qwen3-epp is missing): no pods, 0/1 ready",
    ),
    (
        "EppConfigMissing",
        [
            status(EPP),
            change("Pod", f"{EPP}-0", crashing("epp")),
            remove(("ConfigMap", f"{EPP}-config")),
        ],
        ["Drift", "EPPNotReady"],
        "is down (ConfigMap qwen3-epp-config is missing): CrashLoopBackOff",
    ),
    (
        "EppConfigStale",
        [change("ConfigMap", f"{EPP}-config", {"data": {"pd-config.yaml": "plugins: []"}})],
        ["Drift"],
        "annotation checksum/config is not the checksum of its ConfigMap",
    ),
    ("EppServiceMissing", [remove(("Service", EPP))], ["ObjectMissing"], "does not reach"),
    (
        "EppPortMismatch",
        [change("Service", EPP, {"spec": {"ports": [{"name": "grpc-ext-proc", "port": 9004}]}})],
        ["Drift", "EPPNotReady"],
        "InferencePool qwen3 names port 9002 of Service qwen3-epp, which it does not have",
    ),
    (
        "EppNoEndpoints",
        [change("Service", EPP, {"spec": {"selector": {"app": "other"}}})],
        ["Drift", "EPPNotReady"],
        "Service qwen3-epp selects no ready pod of the endpoint picker",
    ),
]  # fmt: skip

ROUTING = [
    ("PoolMissing", [remove(("InferencePool", NAME))], ["ObjectMissing"], "requests have no backend"),
    (
        "PoolSelectorMismatch and PoolEmpty",
        [change("InferencePool", NAME, {"spec": {"selector": {"matchLabels": {"llm-d.ai/model": "x"}}}})],
        ["Drift", "RouteNotReady"],
        "its selector matches none of the pods",
    ),
    (
        "PoolNotAccepted",
        [change("InferencePool", NAME, parents(condition("Accepted", "False", "NotSupportedByParent")))],
        ["RouteNotReady"],
        "InferencePool qwen3: Accepted is False for Gateway gateways/inference, NotSupportedByParent",
    ),
    ("RouteMissing", [remove(("HTTPRoute", NAME))], ["ObjectMissing"], "no request is routed to it"),
    ("GatewayMissing", [remove(("Gateway", "inference"))], ["RouteNotReady"], "does not exist"),
    ("RouteUnattached", [change("HTTPRoute", NAME, parents())], ["RouteNotReady"], "has not accepted it: status.parents has no entry"),
    ("a Gateway that goes", [change("Gateway", "inference", DELETING)], [], ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "told", "part"),
    [pytest.param(*row, id=name) for name, *row in (*RESOURCE, *PODS, *PICKER, *ROUTING)],
)
def test_each(changes, told, part):
    docs = reduce(lambda so_far, change_: change_(so_far), changes, healthy())
    if told is not None:
        assert reasons(docs) == told
    if told:
        assert part in one(docs, told[-1]).message
    if {"ObjectMissing", "PodsNotReady", "EPPNotReady"} & {*(told or ())}:
        assert evaluation(docs).ready == ()


def test_prefill_left_over():
    """A prefill Deployment that the spec does not ask for, and that is ours."""
    made = children()
    docs = [modelservice(prefill=None), *made, *pods(made)]
    left = one(docs, "Drift")
    assert "Deployment qwen3-prefill should not exist: spec.prefill is not set" in left.message


def test_a_deployment_of_another_owner_is_left_alone():
    """It has the name, but nothing says that the operator made it."""
    owner = {"metadata": {"ownerReferences": None}}
    made = changed(children(), "Deployment", PREFILL, owner)
    docs = [modelservice(prefill=None), *made, *pods(made)]
    assert "Deployment qwen3-prefill" not in one(docs, "Drift").message


def test_scaled_by_somebody_else():
    """The operator reverts it at its next pass; until then the role lacks pods."""
    docs = without(healthy(), ("Pod", POD))
    docs = changed(docs, "Deployment", DECODE, {"spec": {"replicas": 0}, "status": rolled_out(0)})
    docs = operator_says(decodeReady=None, decodeReplicas=None)(docs)
    assert reasons(docs) == ["PodsNotReady"]
    message = one(docs, "PodsNotReady").message
    assert message.endswith("it asks for 0 only, somebody else has scaled it"), "why phase is Ready"


def test_a_role_that_is_down_comes_before_one_that_is_degraded():
    two = healthy(decode={"replicas": 2})
    docs = changed(two, "Pod", POD, crashing("vllm"))
    docs = changed(docs, "Pod", f"{PREFILL}-0", waiting("ImagePullBackOff"))
    worst = max(evaluation(docs).findings, key=lambda each: each.severity)
    assert worst.related.name == f"{PREFILL}-0"


def test_credentials():
    """The unpack step uses the first of several Secrets only."""
    spec = {"model": {"imagePullSecrets": [{"name": "first"}, {"name": "second"}]}}
    docs = changed(healthy(), "Pod", POD, failed("model-unpack"))
    message = one(docs, "PodsNotReady").message
    assert "without credentials (spec.model.imagePullSecrets is not set)" in message
    docs = changed(docs, "ModelService", NAME, {"spec": spec})
    message = one(docs, "PodsNotReady").message
    assert "with the credentials of Secret first, the only one of imagePullSecrets" in message
    assert "second" not in message


@pytest.mark.parametrize(
    "reason",
    [
        "ErrImagePull",
        "InvalidImageName",
        "RegistryUnavailable",
        "SignatureValidationFailed",
        "CreateContainerConfigError",
        "RunContainerError",
    ],
)
def test_a_step_that_never_ran_says_nothing_of_the_registry_of_models(reason):
    """Its own image, or the node, is at fault: credentials of the package are no trace."""
    docs = changed(healthy(), "Pod", POD, waiting(reason, "model-unpack"))
    finding = one(docs, "PodsNotReady")
    assert finding.cause == f"decode: model-unpack: {reason}"
    assert "unpacks" not in finding.message


def test_surplus_pods_of_a_rollout_are_judged_too():
    """The new pod of a rollout fails while the old one serves."""
    docs = healthy()
    (deployment,) = (
        each for each in docs if each["kind"] == "Deployment" and each["metadata"]["name"] == DECODE
    )
    new = statuses("vllm", {"state": {"waiting": {"reason": "CrashLoopBackOff"}}})
    docs = [*docs, pod(deployment, 1, new)]
    finding = one(docs, "PodsNotReady")
    assert "decode pod qwen3-decode-1: " in finding.message
    assert finding.severity < 100


def reduced(*changes, **spec):
    """The ModelService that serves, after some changes."""
    return reduce(lambda so_far, change_: change_(so_far), changes, healthy(**spec))


SINGLE = {"prefill": None, "routingProxy": None}
LACKS_ONE = [
    status(DECODE, ready=1),
    remove(("Pod", POD)),
    change("Deployment", DECODE, {"spec": {"replicas": 2}}),
]


@pytest.mark.parametrize(
    ("changes", "spec"),
    [
        pytest.param(LACKS_ONE, SINGLE, id="one role: nothing is counted together"),
        pytest.param(LACKS_ONE, {}, id="both together lack one: the phase is that of before"),
        pytest.param(
            [
                *LACKS_ONE,
                operator_says(conditions=[condition("Ready", "False", "ReconcileError", "no")]),
            ],
            {},
            id="an error keeps the phase",
        ),
    ],
)
def test_a_phase_that_is_old_is_not_explained_by_the_other_role(changes, spec):
    docs = reduced(*changes, decode={"replicas": 2}, **spec)
    message = one(docs, "PodsNotReady").message
    assert "Deployment qwen3-decode has 1/2 decode pods" in message
    assert "both roles" not in message


@pytest.mark.parametrize(
    "change_",
    [
        change("ModelService", NAME, {"metadata": {"generation": 3}}),
        operator_says(conditions=[condition("Ready", "False", "ReconcileError", "no")]),
    ],
    ids=["not observed", "an error"],
)
def test_nobody_has_scaled_what_the_operator_has_not_come_to(change_):
    """Somebody raised spec.decode.replicas, and the Deployment still has the number of before."""
    docs = reduced(change("ModelService", NAME, {"spec": {"decode": {"replicas": 3}}}), change_)
    message = one(docs, "PodsNotReady").message
    assert "it asks for 1 only, and the operator has not changed it yet" in message
    assert "somebody" not in message


def test_a_fault_of_the_engine_is_not_told_of_the_proxy_beside_it():
    """The message is about the worst container; cause and advice are about the same one."""
    engine = crashing("vllm", reason="OOMKilled", exitCode=137)["status"]
    proxy = {"name": "routing-proxy", "ready": False, "restartCount": 3, "state": ENDED}
    unpack = engine["initContainerStatuses"][0]
    docs = changed(
        healthy(), "Pod", POD, {"status": {**engine, "initContainerStatuses": [unpack, proxy]}}
    )
    finding = one(docs, "PodsNotReady")
    assert finding.cause == "decode: CrashLoopBackOff"
    assert "container vllm is killed for memory: OOMKilled" in finding.message
    assert "nothing listens" not in finding.message


@pytest.mark.parametrize(
    ("says", "cause"),
    [
        ("0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", "decode: no free nvidia.com/gpu"),
        ("0/3 nodes are available: 3 node(s) had untolerated taint {nvidia.com/gpu: present}.", "decode: Unschedulable"),
    ],
)  # fmt: skip
def test_accelerators_are_lacking_only_where_the_scheduler_says_so(says, cause):
    """Nodes with accelerators often have a taint of that name: free ones may stand by."""
    docs = reduced(*decode_pod(unschedulable(says)))
    assert one(docs, "PodsNotReady").cause == cause


def test_a_lacking_accelerator_is_the_cause_however_long_the_scheduler_speaks():
    """A cluster with many taints: the message is cut, and the cause is known all the same."""
    taints = ", ".join(
        f"1{n} node(s) had untolerated taint {{example.com/pool-of-team: t{n}}}" for n in range(9)
    )
    says = f"0/130 nodes are available: {taints}, 40 Insufficient nvidia.com/gpu."
    finding = one(reduced(*decode_pod(unschedulable(says))), "PodsNotReady")
    assert finding.cause == "decode: no free nvidia.com/gpu"


@pytest.mark.parametrize(
    ("has", "effect"),
    [
        ("FailOpen", "failureMode is FailOpen: the gateway spreads requests without it"),
        ("FailClose", "failureMode is FailClose: requests fail"),
    ],
)
@pytest.mark.parametrize("spec", [None, {"endpointPicker": {}}], ids=["default", "explicit"])
def test_the_gateway_goes_by_the_pool_as_it_is(spec, has, effect):
    """Somebody has changed the pool, or the operator has not come to do so."""
    mode = {"spec": {"endpointPickerRef": {"failureMode": has}}}
    docs = reduced(status(EPP), change("InferencePool", NAME, mode), inferencePool=spec)
    assert one(docs, "EPPNotReady").message.endswith(effect)


@pytest.mark.parametrize(
    ("replicas", "effect"),
    [
        (1, "requests have no backend, and the endpoint picker restarts without it"),
        (3, "requests have no backend"),
    ],
)
def test_without_its_pool_a_single_picker_restarts(replicas, effect):
    """With several replicas the picker's liveness does not depend on the pool."""
    pool = {"endpointPicker": {"replicas": replicas}}
    docs = reduced(remove(("InferencePool", NAME)), inferencePool=pool)
    assert one(docs, "ObjectMissing").message.endswith(f"is missing: {effect}")


@pytest.mark.parametrize(
    ("phase", "says"),
    [
        ("Ready", "the operator counts it as no pods wanted, and calls the ModelService Ready all the same"),
        ("Running", "the operator counts it as no pods wanted"),
        (None, "the operator counts it as no pods wanted"),
    ],
)  # fmt: skip
def test_a_missing_prefill_deployment_is_called_ready_only_where_it_is(phase, says):
    """Decode pods may be down as well, or the operator has never come so far."""
    docs = reduced(
        remove(("Deployment", PREFILL), ("Pod", f"{PREFILL}-0")), operator_says(phase=phase)
    )
    message = one(docs, "ObjectMissing").message
    assert message.endswith(f"Deployment qwen3-prefill is missing: {says}")


@pytest.mark.parametrize(("replicas", "explained"), [(1, True), (3, False)])
def test_a_missing_pool_explains_a_single_picker_only(replicas, explained):
    """With several replicas neither probe of the picker waits for the pool."""
    pool = {"endpointPicker": {"replicas": replicas}}
    docs = reduced(
        remove(("InferencePool", NAME)),
        change("Deployment", EPP, {"status": rolled_out(replicas, 0)}),
        *(change("Pod", f"{EPP}-{n}", crashing("epp")) for n in range(replicas)),
        inferencePool=pool,
    )
    finding = one(docs, "EPPNotReady")
    assert ("InferencePool qwen3 is missing" in finding.message) is explained
    assert finding.cause == ("InferencePool qwen3 is missing" if explained else "CrashLoopBackOff")
