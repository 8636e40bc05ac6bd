"""What can be wrong with a ModelService, its pods, endpoint picker and route, what is told, and when it is ready.

A row: what is wrong, how it comes about, all that is told, and a part of the message.
"""

from functools import reduce

import pytest

from reporter.catalogue import resources as r
from tests.tables import rows
from tests.unit.probes.building import DELETING, FORBIDDEN, condition, says
from tests.unit.stacks.otterscale.probes.otterscale import (
    EPP,
    NAME,
    PARENT,
    changed,
    children,
    evaluation,
    found,
    healthy,
    modelservice,
    one,
    pod,
    pods,
    reasons,
    rolled_out,
    status_of,
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


def named(mode, name=EPP):
    """A patch of a pool: what it does without the endpoint picker, and the Service that it names."""
    return {"spec": {"endpointPickerRef": {"failureMode": mode, "name": name}}}


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
LONG = "x" * 3000
LONG_ERROR = operator_says(
    conditions=[condition("Ready", "False", "ReconcileError", f"https://secret.example/{LONG} token=abcdef {LONG}")]
)  # fmt: skip
NAMES_OTHER = change("InferencePool", NAME, named("FailClose", "other"))
SURPLUS = [
    change("Deployment", DECODE, {"status": rolled_out(1, 2)}),
    change("Deployment", PREFILL, {"status": rolled_out(1, 0)}),
    change("Pod", f"{PREFILL}-0", crashing("vllm")),
    operator_says(decodeReady=2, prefillReady=0),
]
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
        "a pool that names another Service, which is missing": (
            reduced(NAMES_OTHER), "RouteNotReady", "InferencePool qwen3: its endpoint picker's Service other does not exist", "", None,
        ),
        "a picker of zero is not explained by what is missing: nobody asked it to start": (
            reduced(NO_PICKER_POD, PICKER_AT_0), "EPPNotReady", "", "ServiceAccount", None,
        ),
        "a long text of a container": (reduced(change("Pod", POD, waiting("CreateContainerError", "vllm", LONG))), "PodsNotReady", "", "x" * 1025, None),
        "a long name of an image": (
            reduced(change("ModelService", NAME, {"spec": {"model": {"image": f"registry/{LONG}"}}}), change("Pod", POD, crashing("model-unpack"))),
            "PodsNotReady", "", "x" * 1025, None,
        ),
        "a long error with an address": (reduced(LONG_ERROR), "ReconcileFailed", "; phase Ready and the counters are out of date", "https://", None),
        "and a token": (reduced(LONG_ERROR), "ReconcileFailed", "", "abcdef", None),
        "a surplus pod hides a missing one: the sum of both roles is reached": (
            reduced(*SURPLUS), "PodsNotReady", "phase is Ready all the same, because it counts both roles together", "", None,
        ),
        "which is said": (reduced(*SURPLUS), "PodsNotReady", "...(0/1 prefill pods ready)...", "", None),
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


NOT_ACCEPTED = {**PARENT, "conditions": [condition("Accepted", "False")]}
STALLED_OUT = {**rolled_out(1), "conditions": [STALLED]}
UNREACHED = {
    "gone": lambda docs: without(docs, ("Service", EPP)),
    "without the port": lambda docs: changed(docs, "Service", EPP, {"spec": {"ports": [{"port": 1}]}}),
    "of other pods": lambda docs: changed(docs, "Service", EPP, {"spec": {"selector": {"app": "x"}}}),
    "another": lambda docs: changed(docs, "InferencePool", NAME, {"spec": {"endpointPickerRef": {"name": "other"}}}),
}  # fmt: skip


def reached(docs, **reading):
    (evidence,) = evaluation(docs, **reading).serving
    return evidence.reached


@pytest.mark.parametrize("mode", ["FailOpen", "FailClose"])
@pytest.mark.parametrize("service", UNREACHED)
def test_requests_reach_the_picker_through_its_service(service, mode):
    """Only a pool that fails open serves without; what is told and the state agree."""
    docs = UNREACHED[service](changed(healthy(), "InferencePool", NAME, named(mode)))
    assert reached(docs) is (mode == "FailOpen")
    if service == "gone":
        assert reached(docs, unknown={r.SERVICES: FORBIDDEN}), "it may be there"


def ready_message(docs, **how):
    (evidence,) = evaluation(docs, **how).ready
    return evidence.message


def test_healthy():
    """Nothing is told, and Ready says what it rests on."""
    assert found(healthy()) == []
    assert ready_message(healthy()) == (
        "ModelService models/qwen3 is ready: 1/1 decode pods ready, 1/1 prefill pods ready, "
        "endpoint picker available, route accepted (the pods have no probes: ready only means that "
        "their containers run)"
    )


def test_zero_replicas_are_ready():
    """That is so by our rules too, and the message says it."""
    docs = healthy(decode={"replicas": 0}, prefill=None, routingProxy=None)
    assert found(docs) == []
    assert "0 decode pods wanted" in ready_message(docs)


def down(**status):
    docs = changed(healthy(), "Pod", POD, waiting("ImagePullBackOff"))
    docs = changed(docs, "Deployment", "qwen3-decode", {"status": rolled_out(1, 0)})
    return changed(docs, "ModelService", NAME, {"status": status})


def decode(*patches):
    return changed(healthy(), "Deployment", DECODE, *patches)


def led_by(number):
    """A picker of three: only the leader is Ready, so its Deployment never becomes available."""
    conditions = [
        condition("Available", "False", "MinimumReplicasUnavailable"),
        condition("Progressing", "False", "ProgressDeadlineExceeded"),
    ]
    status = {**rolled_out(3, number), "availableReplicas": number, "conditions": conditions}
    docs = healthy(inferencePool={"endpointPicker": {"replicas": 3}})
    return changed(docs, "Deployment", EPP, {"status": status})


def not_ready(reason):
    return {"conditions": [condition("Ready", "False", reason)]}


OLD = status_of(healthy()[0]["spec"], observedGeneration=1, decodeReady=5)
ALL_DOWN = changed(
    down(phase="Running", decodeReady=None, prefillReady=None, **not_ready("PodsStarting")),
    "Deployment", "qwen3-prefill", {"status": rolled_out(1, 0)},
)  # fmt: skip


@rows(
    ("docs", "told", "is_ready"),
    {
        "healthy": (healthy(), [], True),
        "no Service of the picker, by nothing else": (without(healthy(), ("Service", EPP)), ["ObjectMissing"], False),
        "a surplus pod hides a missing one": (reduced(*SURPLUS), ["PodsNotReady"], False),
        "pods are not counted": (decode({"status": rolled_out(1, 0)}), ["StatusStale"], False),
        "more pods than wanted are enough": (decode({"status": rolled_out(2)}), ["StatusStale"], True),
        "a Deployment that asks for less": (decode({"spec": {"replicas": 0}}), ["StatusStale"], False),
        "a route that is refused": (changed(healthy(), "HTTPRoute", NAME, {"status": {"parents": [NOT_ACCEPTED]}}), ["RouteNotReady"], False),
        "a route without a status": (changed(healthy(), "HTTPRoute", NAME, {"status": None}), ["RouteNotReady"], False),
        "a stalled rollout of an older generation": (decode({"status": STALLED_OUT}, {"metadata": {"generation": 2}}), [], True),
        "a stalled rollout of a role that wants none": (decode({"status": STALLED_OUT}, {"spec": {"replicas": 0}}), ["StatusStale"], False),
        "a stalled rollout of a Deployment that goes": (decode({"status": STALLED_OUT}, DELETING), [], True),
        "an old status is told as such only: its counters are those of before": (changed(healthy(), "ModelService", NAME, {"status": OLD}), ["NotObserved"], True),
        "only the leader of the pickers is ready, which is no fault": (led_by(1), [], True),
        "the leader changes": (led_by(2), [], True),
        "no picker leads": (led_by(0), ["EPPNotReady"], False),
        "PodsStarting: look for the pod's cause": (ALL_DOWN, ["PodsNotReady"], False),
        "ReconcileError: use the Deployments": (down(**not_ready("ReconcileError")), ["PodsNotReady", "ReconcileFailed"], False),
        "no condition: the first pass is not finished": ([modelservice({"status": None})], ["NotObserved", "ObjectMissing"], False),
    },
)  # fmt: skip
def test_conclusions(docs, told, *, is_ready):
    assert (reasons(docs), bool(evaluation(docs).ready)) == (told, is_ready)


@pytest.mark.parametrize(
    "resource", [r.PODS, r.DEPLOYMENTS, r.INFERENCEPOOLS, r.HTTPROUTES], ids=str
)
def test_nothing_is_concluded_from_what_is_unknown(resource):
    found_ = evaluation(healthy(), unknown={resource: FORBIDDEN})
    assert found_.ready == ()
    assert bool(found_.derived) is (resource is not r.DEPLOYMENTS)


def test_derived():
    """The status is what the operator would write, from the Deployments."""
    (derived,) = evaluation(down()).derived
    assert str(derived.object) == "ModelService models/qwen3"
    assert derived.status["phase"] == "Running"
    assert derived.status["prefillReady"] == 1
    assert "decodeReady" not in derived.status
