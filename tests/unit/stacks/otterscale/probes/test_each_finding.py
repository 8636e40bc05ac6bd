"""What can be wrong with a ModelService, its pods, endpoint picker and route, and what is told.

A row: what is wrong, how it comes about, all that is told, and a part of the message.
"""

from functools import reduce

from tests.tables import rows
from tests.unit.probes.building import DELETING, condition, says
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


def reduced(*changes, **spec):
    """The ModelService that serves, after some changes."""
    return reduce(lambda so_far, change_: change_(so_far), changes, healthy(**spec))


def secrets(*names):
    patch = {"imagePullSecrets": [{"name": each} for each in names]}
    return change("ModelService", NAME, {"spec": {"model": patch}})


def says_not_ready(reason):
    return operator_says(conditions=[condition("Ready", "False", reason)])


def picks(kind, name, **spec):
    return change(kind, name, {"spec": spec})


NOT_THERE = operator_says(
    phase="Pending", decodeReady=None, decodeReplicas=None,
    conditions=[condition("Ready", "False", "DeploymentNotFound")],
)  # fmt: skip
STALLED = condition("Progressing", "False", "ProgressDeadlineExceeded")
RUNS = starting(running={"startedAt": "2026-11-20T11:50:00Z"})
WAITS = starting(waiting={"reason": "PodInitializing"})
PICKER_CRASHES = change("Pod", f"{EPP}-0", crashing("epp"))
NO_PICKER_POD = remove(("Pod", f"{EPP}-0"), ("ServiceAccount", EPP))
PICKER_AT_0 = change("Deployment", EPP, {"spec": {"replicas": 0}, "status": rolled_out(0)})
REFUSED = parents(condition("Accepted", "False", "NotSupportedByParent"))
OTHER_PORT = [{"name": "grpc-ext-proc", "port": 9004}]
OTHER_CONFIG = {"data": {"pd-config.yaml": "plugins: []"}}
MISSING, NO_PODS, DOWN, ASTRAY = ["ObjectMissing"], ["PodsNotReady"], ["Drift", "EPPNotReady"], ["RouteNotReady"]  # fmt: skip


@rows(
    ("changes", "told", "part"),
    {
        "behind": (
            [change("ModelService", NAME, {"metadata": {"generation": 3}})], ["NotObserved"], "has not observed generation 3, its status is of generation 2",
        ),
        "no status": ([change("ModelService", NAME, {"status": None})], ["NotObserved"], "it has written no status yet"),
        "a status that contradicts": ([says_not_ready("PodsStarting")], ["StatusStale"], "condition Ready is False and should be True"),
        "a status that drifts": ([operator_says(prefillReady=None)], ["StatusStale"], "prefillReady is 0 and should be 1"),
        "others with like names": ([other("qwen-3"), other("qwen.3")], [], ""),
        "no decode Deployment": (
            [remove(("Deployment", DECODE), ("Pod", POD)), NOT_THERE], MISSING, "Deployment qwen3-decode is missing: no decode pod can serve",
        ),
        "a stalled rollout": ([status(DECODE, STALLED, ready=1)], ["RolloutStalled"], "past its deadline"),
        "unpacking fails": (decode_pod(failed("model-unpack")), NO_PODS, "model-unpack ended"),
        "unpacking is slow": (decode_pod(RUNS), NO_PODS, ", init container model-unpack still runs"),
        "no Secret of the registry": ([*decode_pod(WAITS), secrets("reg")], NO_PODS, "look for Secret reg and its key .dockerconfigjson"),
        "the routing proxy fails": (
            decode_pod(crashing("routing-proxy")), NO_PODS, "without it nothing listens on the port that requests are sent to",
        ),
        "no picker": ([remove(("Deployment", EPP))], MISSING, "there is no endpoint picker"),
        "a picker scaled to zero": ([PICKER_AT_0], ["EPPNotReady"], "is down: scaled to zero (Deployment qwen3-epp); failureMode is FailOpen"),
        "no ServiceAccount": ([status(EPP), NO_PICKER_POD], DOWN, "is down (ServiceAccount qwen3-epp is missing): no pods, 0/1 ready"),
        "no configuration": (
            [status(EPP), PICKER_CRASHES, remove(("ConfigMap", f"{EPP}-config"))], DOWN, "is down (ConfigMap qwen3-epp-config is missing): CrashLoopBackOff",
        ),
        "an older configuration": (
            [change("ConfigMap", f"{EPP}-config", OTHER_CONFIG)], ["Drift"], "annotation checksum/config is not the checksum of its ConfigMap",
        ),
        "no Service of the picker": ([remove(("Service", EPP))], MISSING, "does not reach"),
        "another port": (
            [picks("Service", EPP, ports=OTHER_PORT)], DOWN, "InferencePool qwen3 names port 9002 of Service qwen3-epp, which it does not have",
        ),
        "no endpoints": ([picks("Service", EPP, selector={"app": "other"})], DOWN, "Service qwen3-epp selects no ready pod of the endpoint picker"),
        "no pool": ([remove(("InferencePool", NAME))], MISSING, "requests have no backend"),
        "a pool of no pods": (
            [picks("InferencePool", NAME, selector={"matchLabels": {"llm-d.ai/model": "x"}})], ["Drift", *ASTRAY], "its selector matches none of the pods",
        ),
        "a pool that is refused": (
            [change("InferencePool", NAME, REFUSED)], ASTRAY, "InferencePool qwen3: Accepted is False for Gateway gateways/inference, NotSupportedByParent",
        ),
        "no route": ([remove(("HTTPRoute", NAME))], MISSING, "no request is routed to it"),
        "no Gateway": ([remove(("Gateway", "inference"))], ASTRAY, "does not exist"),
        "a route that nobody took": ([change("HTTPRoute", NAME, parents())], ASTRAY, "has not accepted it: status.parents has no entry"),
        "a Gateway that goes": ([change("Gateway", "inference", DELETING)], [], ""),
    },
)  # fmt: skip
def test_each(changes, told, part):
    docs = reduced(*changes)
    assert reasons(docs) == told
    if told:
        assert part in one(docs, told[-1]).message
    if {"ObjectMissing", "PodsNotReady", "EPPNotReady"} & {*told}:
        assert evaluation(docs).ready == ()


def test_a_role_that_is_down_comes_before_one_that_is_degraded():
    two = healthy(decode={"replicas": 2})
    docs = changed(two, "Pod", POD, crashing("vllm"))
    docs = changed(docs, "Pod", f"{PREFILL}-0", waiting("ImagePullBackOff"))
    worst = max(evaluation(docs).findings, key=lambda each: each.severity)
    assert worst.related.name == f"{PREFILL}-0"


def left_over(*patches):
    """A prefill Deployment that the spec does not ask for."""
    made = changed(children(), "Deployment", PREFILL, *patches)
    return [modelservice(prefill=None), *made, *pods(made)]


def one_more_pod():
    """The new pod of a rollout fails while the old one serves."""
    is_decode = ("Deployment", DECODE)
    (made,) = [e for e in healthy() if (e["kind"], e["metadata"]["name"]) == is_decode]
    return [*healthy(), pod(made, 1, waiting("CrashLoopBackOff"))]


def engine_and_proxy():
    """Both of a pod fail, the engine for lack of memory."""
    engine = crashing("vllm", reason="OOMKilled", exitCode=137)["status"]
    proxy = {"name": "routing-proxy", "ready": False, "restartCount": 3, "state": ENDED}
    inits = [engine["initContainerStatuses"][0], proxy]
    return {"status": {**engine, "initContainerStatuses": inits}}


def pool_of(mode, spec):
    """A picker that is down, and a pool that somebody has changed."""
    patch = {"spec": {"endpointPickerRef": {"failureMode": mode}}}
    return reduced(status(EPP), change("InferencePool", NAME, patch), inferencePool=spec)


def without_pool(replicas, *changes):
    picker = {"endpointPicker": {"replicas": replicas}}
    return reduced(remove(("InferencePool", NAME)), *changes, inferencePool=picker)


def without_pool_and_picker(replicas):
    down = (change("Pod", f"{EPP}-{n}", crashing("epp")) for n in range(replicas))
    status_ = {"status": rolled_out(replicas, 0)}
    return without_pool(replicas, change("Deployment", EPP, status_), *down)


SINGLE = {"prefill": None, "routingProxy": None}
LACKS_ONE = [
    status(DECODE, ready=1),
    remove(("Pod", POD)),
    change("Deployment", DECODE, {"spec": {"replicas": 2}}),
]
ERROR = operator_says(conditions=[condition("Ready", "False", "ReconcileError", "no")])
BEHIND = change("ModelService", NAME, {"metadata": {"generation": 3}})
TWO = {"decode": {"replicas": 2}}
RAISED = change("ModelService", NAME, {"spec": {"decode": {"replicas": 3}}})
SCALED = [
    remove(("Pod", POD)),
    change("Deployment", DECODE, {"spec": {"replicas": 0}, "status": rolled_out(0)}),
    operator_says(decodeReady=None, decodeReplicas=None),
]
UNPACKS = change("Pod", POD, failed("model-unpack"))
TAINTS = ", ".join(
    f"1{n} node(s) had untolerated taint {{example.com/pool-of-team: t{n}}}" for n in range(9)
)
LACKING, TAINTED = (
    decode_pod(unschedulable(f"0/3 nodes are available: 3 {each}."))
    for each in ("Insufficient nvidia.com/gpu", "node(s) had untolerated taint {nvidia.com/gpu: present}")
)  # fmt: skip
SPEAKS_LONG = decode_pod(unschedulable(f"0/130 nodes are available: {TAINTS}, 40 Insufficient nvidia.com/gpu."))  # fmt: skip
NO_PREFILL = remove(("Deployment", PREFILL), ("Pod", f"{PREFILL}-0"))
COUNTED = "the operator counts it as no pods wanted"
BLIND, FAILS = "FailOpen: the gateway spreads requests without it", "FailClose: requests fail"
NOT_CHANGED_YET = "...it asks for 1 only, and the operator has not changed it yet..."


@rows(
    ("docs", "reason", "text", "not_", "cause"),
    {
        "prefill that is left over": (left_over(), "Drift", "...Deployment qwen3-prefill should not exist: spec.prefill is not set...", "", None),
        "prefill of another owner": (left_over({"metadata": {"ownerReferences": None}}), "Drift", "", "Deployment qwen3-prefill", None),
        "scaled by somebody else, so that the phase is Ready": (
            reduced(*SCALED), "PodsNotReady", "it asks for 0 only, somebody else has scaled it", "", None,
        ),
        "scaled by nobody, for the operator has not come to it": (reduced(RAISED, BEHIND), "PodsNotReady", NOT_CHANGED_YET, "somebody", None),
        "nor where it ended in an error": (reduced(RAISED, ERROR), "PodsNotReady", NOT_CHANGED_YET, "somebody", None),
        "the step that unpacks has no credentials": (
            reduced(UNPACKS), "PodsNotReady", "...without credentials (spec.model.imagePullSecrets is not set)...", "", None,
        ),
        "it uses the first of several Secrets only": (
            reduced(UNPACKS, secrets("first", "second")), "PodsNotReady", "...with the credentials of Secret first, the only one of imagePullSecrets...", "second", None,
        ),
        **{
            f"a step that never ran says nothing of the registry of models: {each}": (
                reduced(change("Pod", POD, waiting(each, "model-unpack"))), "PodsNotReady", "", "unpacks", f"decode: model-unpack: {each}",
            )
            for each in ("ErrImagePull", "RegistryUnavailable", "CreateContainerConfigError", "RunContainerError")
        },
        "a pod more, of a rollout": (one_more_pod(), "PodsNotReady", "...decode pod qwen3-decode-1: ...", "", None),
        "one role: nothing is counted together": (
            reduced(*LACKS_ONE, **TWO, **SINGLE), "PodsNotReady", "...Deployment qwen3-decode has 1/2 decode pods...", "both roles", None,
        ),
        "both together lack one: the phase is that of before": (
            reduced(*LACKS_ONE, **TWO), "PodsNotReady", "...Deployment qwen3-decode has 1/2 decode pods...", "both roles", None,
        ),
        "an error keeps the phase": (
            reduced(*LACKS_ONE, ERROR, **TWO), "PodsNotReady", "...Deployment qwen3-decode has 1/2 decode pods...", "both roles", None,
        ),
        "the engine, and not the proxy beside it": (
            reduced(change("Pod", POD, engine_and_proxy())), "PodsNotReady", "...container vllm is killed for memory: OOMKilled...", "nothing listens",
            "decode: CrashLoopBackOff",
        ),
        "accelerators are lacking": (reduced(*LACKING), "PodsNotReady", "", "", "decode: no free nvidia.com/gpu"),
        "their nodes have a taint of that name, and free ones may stand by": (reduced(*TAINTED), "PodsNotReady", "", "", "decode: Unschedulable"),
        "they are lacking however long the scheduler speaks": (reduced(*SPEAKS_LONG), "PodsNotReady", "", "", "decode: no free nvidia.com/gpu"),
        "a default pool that fails open": (pool_of("FailOpen", None), "EPPNotReady", f"failureMode is {BLIND}", "", None),
        "a default pool that fails closed": (pool_of("FailClose", None), "EPPNotReady", f"failureMode is {FAILS}", "", None),
        "a pool that fails open": (pool_of("FailOpen", {"endpointPicker": {}}), "EPPNotReady", f"failureMode is {BLIND}", "", None),
        "a pool that fails closed": (pool_of("FailClose", {"endpointPicker": {}}), "EPPNotReady", f"failureMode is {FAILS}", "", None),
        "a single picker restarts without its pool": (
            without_pool(1), "ObjectMissing", "is missing: requests have no backend, and the endpoint picker restarts without it", "", None,
        ),
        "several do not: their liveness does not depend on it": (
            without_pool(3), "ObjectMissing", "is missing: requests have no backend", "restarts", None,
        ),
        "a single picker is down for want of its pool": (
            without_pool_and_picker(1), "EPPNotReady", "...InferencePool qwen3 is missing...", "", "InferencePool qwen3 is missing",
        ),
        "several are not": (without_pool_and_picker(3), "EPPNotReady", "", "InferencePool qwen3 is missing", "CrashLoopBackOff"),
        "a missing prefill Deployment, called Ready": (
            reduced(NO_PREFILL, operator_says(phase="Ready")), "ObjectMissing",
            f"Deployment qwen3-prefill is missing: {COUNTED}, and calls the ModelService Ready all the same", "", None,
        ),
        **{
            f"a missing prefill Deployment, phase {phase}": (
                reduced(NO_PREFILL, operator_says(phase=phase)), "ObjectMissing", f"Deployment qwen3-prefill is missing: {COUNTED}", "all the same", None,
            )
            for phase in ("Running", None)
        },
    },
)  # fmt: skip
def test_what_a_message_says_and_what_not(docs, reason, text, *, not_, cause):
    finding = one(docs, reason)
    assert says(finding.message, text)
    assert not not_ or not_ not in finding.message
    assert cause in (None, finding.cause)
