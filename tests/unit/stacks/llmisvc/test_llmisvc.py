"""LLMInferenceServices: derived status, and Ready."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from reporter.kube.decode import decode_page
from reporter.model.instant import Instant
from reporter.resolution import Memory, SinglePass, resolve
from reporter.stacks.llmisvc import reasons
from reporter.stacks.settings import FullEvaluationSettings
from tests.scenarios.world import World
from tests.unit.probes.asking import evaluate_llminferenceservices

STALE = "llminferenceserviceStatusStale"
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
    """What is derived is what KServe would write; what its releases see differently is left out.

    One that is stored and wrong is told only where KServe would write another one for certain; sums
    follow of their parts.
    """
    world.change(change, NOON)
    (status,) = [each.status for each in asked(world).derived if each.object.name == "llm"]
    found = {each["type"]: each["status"] for each in status["conditions"]}
    assert found.get(kind) == {True: "True", False: "False", None: None}[wanted]
    for stored in () if kind in {"Ready", "RouterReady", "WorkloadsReady"} else (True, False):
        world.change({LLM: {"status": {"conditions": {kind: f"{stored} X"}}}}, NOON)
        stale = [each for each in asked(world).findings if each.reason == STALE]
        is_told = any(kind in each.message for each in stale)
        assert is_told is (wanted is not None and stored is not wanted)


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


LLMS, ONE_PD = (f"LLMInferenceService llms/{name}" for name in ("llm", "pd"))
UNAVAILABLE = {"status": {"availableReplicas": 0, "conditions": {"Available": "False X"}}}
WRITERS = [
    {"manager": "kserve", "subresource": "status", "time": "now+5s"},
    {"manager": "kubectl-edit", "time": "now", "fieldsV1": {"f:spec": {}}},
]
EDITED = {ONE_PD: {"metadata": {"generation": 2, "managedFields": WRITERS}}}
SCALER = {"manager": "hpa", "subresource": "scale", "time": "now", "fieldsV1": {"f:spec": {}}}
REFUSED = says({"Accepted": "False X"})
SCALED = {
    "metadata": {"managedFields": [SCALER]},
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
    """Return what a single pass that many seconds after noon says of the status."""
    now = NOON.after(seconds)
    snapshot, settings = world.snapshot(now), FullEvaluationSettings()
    evaluation = evaluate_llminferenceservices(snapshot, settings)
    report = resolve(
        evaluation, snapshot, Memory(), now=now, settings=settings, single_pass=SinglePass()
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


@pytest.mark.parametrize("count", [100, 101])
def test_one_with_more_references_than_anyone_means_is_skipped_by_name(count):
    """Each is looked up in a pass, and a tenant may write thousands."""
    spec = {"baseRefs": [{"name": f"b{number}"} for number in range(count)]}
    items = [{"metadata": {"name": "llm", "namespace": "llms"}, "spec": spec}]
    page = {"kind": "List", "metadata": {"resourceVersion": "1"}, "items": items}
    read = decode_page(reasons.LLMS, json.dumps(page).encode())
    kept, skipped = ([each.name for each in found] for found in (read.objects, read.skipped))
    assert (kept, skipped) == ((["llm"], []) if count == 100 else ([], ["llm"]))
