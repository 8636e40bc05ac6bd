"""LLMInferenceServices: examples, derived status, Ready, and what is used again."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from reporter.evaluation import evaluate_again
from reporter.model.instant import Instant
from reporter.probes.reuse import Answered
from reporter.resolution import Memory, OneLook, resolve
from reporter.snapshot.table import table_of
from reporter.stacks.llmisvc.reasons import CLUSTER_REASONS, REASONS
from reporter.stacks.settings import FullEvaluationSettings
from tests.scenarios.world import FOLDER, World
from tests.unit.probes.asking import evaluate_llminferenceservices

NOON = Instant(datetime(2026, 11, 20, 12, tzinfo=UTC), timedelta(days=1))
PARENT = {"name": "kserve-ingress-gateway", "namespace": "kserve"}
GATEWAY = "Gateway kserve/kserve-ingress-gateway"
ROUTE = "HTTPRoute llms/llm-kserve-route"
POOL = "InferencePool llms/llm-inference-pool"
LLM = "LLMInferenceService llms/llm"
REFS = {LLM: {"spec": {"router": {"gateway": {"refs": [PARENT]}}}}}


def says(*conditions, parent=PARENT):
    """The status of a route or pool, with an entry of each that writes one."""
    entries = [
        {"parentRef": parent, "controllerName": f"c{number}", "conditions": each}
        for number, each in enumerate(conditions)
    ]
    return {"status": {"parents": entries}}


def lagging(word):
    return {"status": word, "reason": "X", "observedGeneration": 1}


TRUE = {"Accepted": "True X", "ResolvedRefs": "True X"}
CASES = [
    # what changes, the condition that follows from it, whether it is True; None where that is not known
    ("all-is-well", {}, "HTTPRoutesReady", True),
    ("all-is-well", {}, "InferencePoolReady", True),
    ("all-is-well", {}, "SchedulerWorkloadReady", True),
    ("all-is-well", {}, "Ready", True),
    ("no-refs", {}, "GatewaysReady", None),
    ("refs", REFS, "GatewaysReady", True),
    ("not-programmed", {**REFS, GATEWAY: {"status": {"conditions": {"Programmed": "False X"}}}}, "GatewaysReady", False),
    ("default-gateway", {GATEWAY: {"status": {"conditions": {"Programmed": "False X"}}}}, "RouterReady", True),
    ("refs-without-a-route", {LLM: {"spec": {"router": {"route": None, "gateway": {"refs": [PARENT]}}}}, GATEWAY: {"status": {"conditions": {"Programmed": "False X"}}}}, "GatewaysReady", True),
    ("refused", {ROUTE: says({**TRUE, "Accepted": "False X"})}, "HTTPRoutesReady", False),
    ("unresolved", {ROUTE: says({**TRUE, "ResolvedRefs": "False X"})}, "HTTPRoutesReady", False),
    ("no-word-of-its-parent", {ROUTE: says(TRUE, parent={"name": "another"})}, "HTTPRoutesReady", False),
    ("an-old-entry-that-refuses", {ROUTE: says(TRUE, {**TRUE, "Accepted": "False X"})}, "HTTPRoutesReady", False),
    ("a-policy", {ROUTE: says(TRUE, {"PolicyAffected": "False X"})}, "HTTPRoutesReady", True),
    ("an-older-generation", {ROUTE: {"metadata": {"generation": 2}, **says({"Accepted": lagging("True"), "ResolvedRefs": "True X"})}}, "HTTPRoutesReady", False),
    ("half-a-word", {ROUTE: says({"Accepted": "True X"})}, "HTTPRoutesReady", None),
    ("half-a-word", {ROUTE: says({"Accepted": "True X"})}, "Ready", None),
    ("pool-refused", {POOL: says({"Accepted": "False X"})}, "InferencePoolReady", False),
    ("releases-differ", {POOL: says({"Accepted": "True X"}, {"Accepted": "False X"})}, "InferencePoolReady", None),
    ("no-route", {ROUTE: None, LLM: {"spec": {"router": {"route": None}}}}, "InferencePoolReady", None),
    ("no-picker", {"Deployment llms/llm-kserve-router-scheduler": {"status": {"availableReplicas": 0}}}, "RouterReady", False),
    ("no-pods", {"Deployment llms/llm-kserve": {"status": {"conditions": {"Available": "False X"}}}}, "WorkloadsReady", False),
    ("no-metric", {LLM: {"spec": {"scaling": {"wva": {"hpa": {}}}}, "status": {"conditions": {"ScalingReady": "False X"}}}}, "Ready", False),
]  # fmt: skip


@pytest.fixture
def world():
    return World(["healthy", "llminferenceservice"], NOON)


def asked(world):
    return evaluate_llminferenceservices(world.snapshot(NOON), FullEvaluationSettings())


@pytest.mark.parametrize(
    ("change", "kind", "wanted"),
    [each[1:] for each in CASES],
    ids=[f"{e[0]}-{e[2]}" for e in CASES],
)
def test_a_condition_follows_from_objects(world, change, *, kind, wanted):
    """What is derived is what KServe would write; what its releases see differently is left out."""
    world.change(change, NOON)
    (status,) = [each.status for each in asked(world).derived if each.object.name == "llm"]
    found = {each["type"]: each["status"] for each in status["conditions"]}
    assert found.get(kind) == {True: "True", False: "False", None: None}[wanted]


@pytest.mark.parametrize(
    ("change", "kind", "wanted"),
    [each[1:] for each in CASES],
    ids=[f"{e[0]}-{e[2]}" for e in CASES],
)
def test_a_condition_that_is_stored_and_wrong_is_told(world, change, *, kind, wanted):
    """Only where KServe would write another one for certain; sums follow of their parts."""
    world.change(change, NOON)
    if kind in {"Ready", "RouterReady", "WorkloadsReady"}:
        return
    for stored in ("True", "False"):
        world.change({LLM: {"status": {"conditions": {kind: f"{stored} X"}}}}, NOON)
        stale = [
            each.message
            for each in asked(world).findings
            if each.reason == "llminferenceserviceStatusStale" and kind in each.message
        ]
        assert bool(stale) is (
            wanted is not None and {"True": True, "False": False}[stored] is not wanted
        )


@pytest.mark.parametrize(
    ("conditions", "told"),
    [
        ({"PresetsCombined": "False ConfigNotFound"}, []),
        ({"MainWorkloadReady": "False ReconcileSingleNodeWorkloadError"}, []),
        ({"HTTPRoutesReady": "False HTTPRouteReconcileError"}, ["MainWorkloadReady"]),
        ({"HTTPRoutesReady": "False RefsInvalid"}, ["HTTPRoutesReady", "MainWorkloadReady"]),
        ({}, ["InferencePoolReady", "MainWorkloadReady", "workloads.primary.readyReplicas"]),
    ],
    ids=["config", "workload", "router", "reference", "none"],
)
def test_what_comes_after_an_error_is_frozen_and_not_told(world, conditions, told):
    """An error ends KServe's pass: what it had written before is judged, what comes later is not."""
    wrong = {"MainWorkloadReady": "False X", "InferencePoolReady": "False X", **conditions}
    status = {"workloads": {"primary": {"readyReplicas": 0}}, "conditions": wrong}
    world.change({LLM: {"status": status}}, NOON)
    stale = [each.message for each in asked(world).findings if each.reason.endswith("StatusStale")]
    found = (text.partition(", in ")[2].partition(";")[0] for text in stale)
    fields = {each.strip() for text in found for each in text.split(",")}
    assert sorted(fields) == told


def test_nothing_is_derived_while_the_configs_cannot_be_combined(world):
    """KServe writes no condition of workloads then."""
    world.change({LLM: {"status": {"conditions": {"PresetsCombined": "False X"}}}}, NOON)
    assert {each.object.name for each in asked(world).derived} == {"pd", "big"}


SUBJECT = "llminferenceservice/llms/{}"

EXAMPLES = [
    # folder, what fires as (service, reason, part of the message), what is ready
    ("healthy", [], ["big", "llm", "pd"]),
    ("disaggregated", [], ["pd"]),
    (
        "broken",
        [
            ("big", "StatusStale", "does not match its objects, in WorkerWorkloadReady"),
            ("idle", "Stopped", "is stopped"),
            (
                "llm",
                "PodsNotCreated",
                "exceeded quota: gpus, requested: nvidia.com/gpu=8 (Deployment ",
            ),
            ("old", "Invalid", "house-defaults does not exist in llms nor in kserve; older pods"),
            ("pd", "ModelLoadFailed", "NixlConnector is not installed; no prefill pod is ready"),
        ],
        ["big"],
    ),
]


@pytest.mark.parametrize(("folder", "fires", "ready"), EXAMPLES, ids=[e[0] for e in EXAMPLES])
def test_example(run, examples, folder, *, fires, ready):
    """Each cause once, with what it does to requests; and what is ready, whatever KServe says."""
    path = examples / "llminferenceservice" / folder
    _, output, _ = run("check", "--from", str(path), "-o", "json")
    report = json.loads(output)
    firing = [each for each in report["findings"] if each["disposition"] == "firing"]
    told = sorted((each["subject"], each["reason"], each["message"]) for each in firing)
    assert [each[:2] for each in told] == [
        (SUBJECT.format(name), f"llminferenceservice{reason}") for name, reason, _ in fires
    ]
    assert [text for (_, _, text), (*_, message) in zip(fires, told, strict=True) if text not in message] == []  # fmt: skip
    subjects = {each["subject"] for each in report["ready"]}
    assert subjects - {"cluster"} == {SUBJECT.format(name) for name in ready}


STALE = "llminferenceserviceStatusStale"
LLMS, ONE_PD, ONE_BIG = (f"LLMInferenceService llms/{name}" for name in ("llm", "pd", "big"))
UNAVAILABLE = {"status": {"availableReplicas": 0, "conditions": {"Available": "False X"}}}
EDITED = {
    ONE_PD: {
        "metadata": {
            "generation": 2,
            "managedFields": [
                {"manager": "kserve", "subresource": "status", "time": "now+5s"},
                {"manager": "kubectl-edit", "time": "now", "fieldsV1": {"f:spec": {}}},
            ],
        }
    }
}
REFUSED = {
    "status": {
        "parents": [
            {
                "parentRef": {"name": "kserve-ingress-gateway", "namespace": "kserve"},
                "conditions": {"Accepted": "False X"},
            }
        ]
    }
}
SCALED = {
    "metadata": {
        "managedFields": [
            {"manager": "hpa", "subresource": "scale", "time": "now", "fieldsV1": {"f:spec": {}}}
        ]
    },
    "spec": {"replicas": 0},
    "status": {"availableReplicas": 0},
}
CHANGES = {
    # what changes; whether its age is known once it has lasted its grace
    "a generation": (EDITED, True),
    "a workload": ({"Deployment llms/pd-kserve": UNAVAILABLE}, False),
    "groups": ({"LeaderWorkerSet llms/big-kserve-mn": UNAVAILABLE}, False),
    "what KServe says": ({LLMS: {"status": {"conditions": {"MainWorkloadReady": "False X"}}}}, False),
    "a picker": ({"Deployment llms/llm-kserve-router-scheduler": UNAVAILABLE}, False),
    "a picker at zero": ({"Deployment llms/llm-kserve-router-scheduler": SCALED}, False),
    "a route": ({"HTTPRoute llms/llm-kserve-route": REFUSED}, False),
    "a pool": ({"InferencePool llms/llm-inference-pool": REFUSED}, False),
    "a replica": (
        {
            "Deployment llms/llm-kserve": {"status": {"availableReplicas": 1}},
            "Pod llms/llm-kserve-a": {"status": {"conditions": {"Ready": "False X"}}},
        },
        False,
    ),
}  # fmt: skip


def looked(world, seconds):
    """Return what one look that many seconds after noon says of the status."""
    now = NOON.after(seconds)
    snapshot, settings = world.snapshot(now), FullEvaluationSettings()
    evaluation = evaluate_llminferenceservices(snapshot, settings)
    report = resolve(
        evaluation, snapshot, Memory(), now=now, settings=settings, one_look=OneLook()
    ).report
    return [each for each in report.findings if each.reason == STALE]


@pytest.mark.parametrize(("change", "known"), CHANGES.values(), ids=CHANGES)
def test_a_status_has_its_grace_since_the_last_change(change, known):
    """KServe takes a moment to follow, and kinds are read in turn; one that lags is told all the same."""
    world = World(["healthy", "llminferenceservice"], NOON)
    world.change(change, NOON)
    (young,) = looked(world, 3)
    assert (young.disposition, young.since, young.age_known) == ("pending", NOON.wall, True)
    (old,) = looked(world, 300)
    assert (old.disposition, old.age_known) == ("firing", known)
    if known:
        assert old.since == NOON.wall


def test_without_a_time_a_status_that_differs_is_told():
    """Nothing says when the Deployment changed, and the rest is a week old."""
    world = World(["healthy", "llminferenceservice"], NOON)
    world.change({"Deployment llms/llm-kserve": {"status": {"availableReplicas": 1}}}, NOON)
    (found,) = looked(world, 3)
    assert (found.disposition, found.age_known) == ("firing", False)


PREFILL = "Deployment llms/pd-kserve-prefill"


def message(world):
    """Return what is said of the one that prefills and decodes apart."""
    found = evaluate_llminferenceservices(world.snapshot(NOON), FullEvaluationSettings())
    return {each.subject.name: each.message for each in found.ready}.get("pd")


def test_it_is_said_that_no_prefill_is_wanted():
    """A role without replicas is no fault, and nobody shall believe that it is there."""
    world = World(["healthy", "llminferenceservice"], NOON)
    title = "LLMInferenceService llms/pd is ready: decode Deployment"
    assert message(world) == f"{title} and prefill Deployment available"
    world.change({PREFILL: {"status": {"availableReplicas": 0, "readyReplicas": 0}}}, NOON)
    assert message(world) is None
    world.change({PREFILL: {"spec": {"replicas": 0}}}, NOON)
    assert message(world) == f"{title} available, 0 prefill wanted"


SETTINGS = FullEvaluationSettings()
SCHEDULER = {
    "app.kubernetes.io/name": "llm",
    "app.kubernetes.io/part-of": "llminferenceservice",
    "app.kubernetes.io/component": "llminferenceservice-router-scheduler",
}
BEFORE = {
    "LLMInferenceService llms/pd": {"spec": {"baseRefs": [{"name": "shape"}]}},
    "LLMInferenceServiceConfig llms/shape": {"spec": {"prefill": {"replicas": 1}}},
    "HTTPRoute llms/pd-kserve-route": {
        "metadata": {
            "labels": {
                **SCHEDULER,
                "app.kubernetes.io/name": "pd",
                "app.kubernetes.io/component": "llminferenceservice-router",
            }
        }
    },
    "InferencePool llms/llm-inference-pool": {"status": {"parents": None}},
    "InferencePool llms/llm-former": {
        "apiVersion": "inference.networking.x-k8s.io/v1alpha2",
        "metadata": {"labels": SCHEDULER},
        "spec": {
            "selector": {"app.kubernetes.io/name": "llm"},
            "targetPortNumber": 8000,
            "extensionRef": {"name": "llm-epp-service"},
        },
        "status": {
            "parent": [
                {
                    "parentRef": {"name": "kserve-ingress-gateway", "namespace": "kserve"},
                    "conditions": {"Accepted": "True Accepted"},
                }
            ]
        },
    },
    "ScaledObject llms/llm-kserve-keda": {
        "metadata": {"labels": {**SCHEDULER, "app.kubernetes.io/component": "x"}},
        "status": {"conditions": {"Ready": "True ScaledObjectReady"}},
    },
}
NOT_READY = {"status": {"conditions": {"Ready": "False X"}}}
EDITS = [
    # the kind that is read and what changes, what is told of which service after it
    ("LLMInferenceService llms/llm", {"metadata": {"generation": 2}}, "StatusStale"),
    ("LLMInferenceService llms/pd", {"spec": {"model": {"name": "llm"}, "router": {"route": {}}}}, "ModelNameShadowed"),
    ("LLMInferenceServiceConfig kserve/kserve-config-llm-template", None, "Invalid"),
    ("LLMInferenceServiceConfig llms/shape", {"spec": {"prefill": {"worker": {}}}}, "ObjectMissing"),
    ("Deployment llms/llm-kserve", {"status": {"conditions": {"ReplicaFailure": "True Quota"}}}, "PodsNotCreated"),
    ("LeaderWorkerSet llms/big-kserve-mn", {"status": {"readyReplicas": 0, "conditions": {"Available": "False X"}}}, "StatusStale"),
    ("Pod llms/pd-kserve-prefill-a", NOT_READY, "PodsNotReady"),
    ("Pod llms/big-kserve-mn-0-1", None, "PodsNotCreated"),
    ("Pod llms/llm-kserve-router-scheduler-a", NOT_READY, "EPPNotReady"),
    ("Node gpu-1", {"status": {"conditions": {"Ready": "Unknown NodeStatusUnknown"}}}, "PodsNotReady"),
    ("HTTPRoute llms/llm-kserve-route", None, "ObjectMissing"),
    ("InferencePool llms/llm-inference-pool", {"spec": {"selector": {"matchLabels": {"a": "b"}}}}, "PoolNotReady"),
    ("InferencePool llms/llm-former", None, "PoolNotReady"),
    ("Gateway kserve/kserve-ingress-gateway", None, "GatewayNotReady"),
    ("Service llms/llm-epp-service", None, "PoolNotReady"),
    ("ScaledObject llms/llm-kserve-keda", {"status": {"conditions": {"Ready": "False TriggerError"}}}, "ScalingNotReady"),
]  # fmt: skip


@pytest.fixture
def healthy_world():
    healthy_world = World(["healthy", "llminferenceservice"], NOON)
    healthy_world.change(BEFORE, NOON)
    return healthy_world


def seen_again(before, after):
    """The later snapshot with the objects of before where they are equal, as a watch leaves them."""
    tables = {}
    for resource, table in after.tables.items():
        old = before.tables[resource]
        found = ((old.get(each.namespace, each.name), each) for each in table)
        tables[resource] = table_of(known if known == each else each for known, each in found)
    return replace(after, tables=tables)


@pytest.mark.parametrize(("which", "patch", "reason"), EDITS, ids=[each[0] for each in EDITS])
def test_after_a_change_the_answers_are_those_of_asking_from_nothing(
    healthy_world, which, *, patch, reason
):
    """Of each kind that is read one object changes, and what it does to a service is told."""
    first = healthy_world.snapshot(NOON)
    quiet, before = evaluate_again(first, SETTINGS, Answered())
    healthy_world.change({which: patch}, NOON)
    snapshot = seen_again(first, healthy_world.snapshot(NOON))
    told, _ = evaluate_again(snapshot, SETTINGS, before)
    assert told == evaluate_again(replace(snapshot), SETTINGS, Answered(seen=before.seen))[0]
    name = f"llminferenceservice{reason}"
    assert name not in {each.reason for each in quiet.findings}
    assert name in {each.reason for each in told.findings}


def test_each_kind_that_is_read_for_a_reason_changes_above():
    """A kind that a reason begins to read needs a change above."""
    read = {resource.kind for reason in REASONS for resource in reason.reads}
    assert read <= {which.split()[0] for which, *_ in EDITS}


def test_what_does_not_change_is_not_asked_again(healthy_world):
    """Else a pass would cost all of them each time."""
    first = healthy_world.snapshot(NOON)
    _, before = evaluate_again(first, SETTINGS, Answered())
    _, again = evaluate_again(seen_again(first, healthy_world.snapshot(NOON)), SETTINGS, before)
    assert all(again.answers[key] is kept for key, kept in before.answers.items())


def test_a_change_of_one_service_asks_no_other(healthy_world):
    """A pod of the one that prefills is nothing to those beside it."""
    first = healthy_world.snapshot(NOON)
    _, before = evaluate_again(first, SETTINGS, Answered())
    healthy_world.change({"Pod llms/pd-kserve-prefill-a": NOT_READY}, NOON)
    _, again = evaluate_again(seen_again(first, healthy_world.snapshot(NOON)), SETTINGS, before)
    asked = {str(key) for key, kept in before.answers.items() if again.answers[key] is not kept}
    assert {each for each in asked if each.startswith("llm")} == {"llminferenceservice/llms/pd"}


def told(disposition):
    """The reasons that a scenario expects so."""
    return {
        line.split()[0]
        for path in FOLDER.glob("llminferenceservice*.yaml")
        for case in yaml.safe_load(path.read_text())["cases"]
        for step in case["steps"]
        for line, found in (step.get("findings") or {}).items()
        if found == disposition
    }


def test_each_reason_fires_in_a_scenario():
    """Those from metrics are the same for all stacks; Ready is in `ready`."""
    own = {each.name for each in REASONS if each.window_seconds is None and not each.says_ready}
    assert own | {each.name for each in CLUSTER_REASONS} <= told("firing")


def test_each_reason_with_a_grace_of_its_own_waits_in_a_scenario():
    assert {each.name for each in REASONS if each.grace_seconds} <= told("pending")
