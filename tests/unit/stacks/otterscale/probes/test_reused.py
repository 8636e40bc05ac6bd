"""When an answer is used again, verdicts on pods, and what the status is derived from."""

import copy
from dataclasses import replace
from datetime import UTC, datetime

import msgspec
import pytest

from reporter.catalogue import runtime as t
from reporter.catalogue.pickers import PICKER_NAMES
from reporter.evaluation import evaluate, evaluate_again
from reporter.metrics.samples.sample import EngineSample, Failure, Sample
from reporter.metrics.samples.window import (
    Doubt,
    History,
    Judged,
    MetricFault,
    PodSamples,
    PodVerdict,
)
from reporter.model.finding import Derived
from reporter.model.objects import Deployment
from reporter.model.subject import ObjectRef
from reporter.probes.reuse import Answered
from reporter.stacks.otterscale.derived.observe import observe
from reporter.stacks.otterscale.reasons import MODELSERVICE_KIND
from tests.unit.probes.building import DELETING, SINCE_AT, at, snapshot_of
from tests.unit.probes.runtime.scraped import TARGET, Scraped, seconds, serving
from tests.unit.stacks.otterscale.manifests.building import service
from tests.unit.stacks.otterscale.probes.otterscale import (
    EPP,
    NAME,
    NS,
    SETTINGS,
    TITLE,
    changed,
    children,
    evaluation,
    healthy,
    modelservice,
    without,
)
from tests.unit.stacks.otterscale.probes.pods import crashing

ROUTE = "modelserviceRouteNotReady"
SCALED = {"spec": {"replicas": 0}}
CHANGES = {
    "nothing": lambda docs: docs,
    "a pod": lambda docs: changed(docs, "Pod", "qwen3-decode-0", crashing("vllm")),
    "a Deployment": lambda docs: changed(docs, "Deployment", EPP, SCALED),
    "the pool": lambda docs: without(docs, ("InferencePool", NAME)),
    "the route": lambda docs: without(docs, ("HTTPRoute", NAME)),
    "its Gateway": lambda docs: without(docs, ("Gateway", "inference")),
    "a Service": lambda docs: without(docs, ("Service", EPP)),
    "a ServiceAccount": lambda docs: without(docs, ("ServiceAccount", EPP)),
    "a ConfigMap": lambda docs: without(docs, ("ConfigMap", f"{EPP}-config")),
    "a monitor": lambda docs: without(docs, ("PodMonitor", "qwen3-prefill")),
    "the picker's monitor": lambda docs: without(docs, ("ServiceMonitor", EPP)),
    "a rule": lambda docs: without(docs, ("DestinationRule", EPP)),
    "a rival": lambda docs: [*docs, modelservice(name="qwen3.")],
    "the ModelService": lambda docs: changed(docs, "ModelService", NAME, {"metadata": {"generation": 9}}),
    "deletion": lambda docs: changed(docs, "ModelService", NAME, DELETING),
}  # fmt: skip


def kept(before, docs):
    """Objects that did not change are the same objects."""
    after = snapshot_of(*copy.deepcopy(docs))
    for resource, table in after.tables.items():
        known = before.tables[resource]
        for key, each in table._objects.items():
            if known.get(*key) == each:
                table._objects[key] = known.get(*key)
    return after


@pytest.mark.parametrize("change", CHANGES)
def test_reuse_changes_no_answer(change):
    docs = [*healthy(), modelservice(name="b", ns="b"), *children("b", "b")]
    before = snapshot_of(*copy.deepcopy(docs))
    _, answered = evaluate_again(before, SETTINGS, Answered())
    after = kept(before, CHANGES[change](docs))
    assert evaluate_again(after, SETTINGS, answered)[0] == evaluate(after, SETTINGS)


def test_what_others_tell_of_the_operator_asks_again():
    """The first DestinationRule of any ModelService: all of them should have one."""
    docs = [*healthy(), modelservice(name="b", ns="b"), *children("b", "b")]
    without_rules = [each for each in docs if each["kind"] != "DestinationRule"]
    before = snapshot_of(*copy.deepcopy(without_rules))
    _, answered = evaluate_again(before, SETTINGS, Answered())
    after = kept(before, without(docs, ("DestinationRule", EPP)))
    again = evaluate_again(after, SETTINGS, answered)[0]
    assert again == evaluate(after, SETTINGS)
    told = {str(each.subject) for each in again.findings if each.reason == ROUTE}
    assert told == {f"modelservice/{NS}/{NAME}"}


@pytest.mark.parametrize(
    ("name", "rival", "ns", "reason"),
    [
        ("x-epp", "x", "models", "modelserviceInvalid"),
        ("b-c", "c", "models-b", "modelserviceMisconfigured"),
    ],
    ids=["one that deletes its pool", "one with its ClusterRole"],
)
def test_a_rival_asks_again(name, rival, ns, reason):
    docs = [modelservice(name=name)]
    before = snapshot_of(*copy.deepcopy(docs))
    _, answered = evaluate_again(before, SETTINGS, Answered())
    after = kept(before, [*docs, modelservice(name=rival, ns=ns)])
    again = evaluate_again(after, SETTINGS, answered)[0]
    assert reason in {each.reason for each in again.findings if each.subject.name == name}


def test_an_answer_of_the_engine_asks_again():
    """Its verdict may be the same."""
    fault = MetricFault(
        reason="MetricsScrapeFailing", cause="c", text="t", severity=0, since=SINCE_AT
    )
    verdict = PodVerdict(uid="uid-qwen3-decode-0", faults={fault.reason: fault})
    sample = Sample(target=TARGET, at=at(0), engines={"0": EngineSample()}, known=True)
    snapshot = snapshot_of(*healthy())
    place = (NS, "qwen3-decode-0")
    silent, answered_once = (
        PodSamples(scraping=True, pods={place: Judged(History(seconds(15), samples), verdict)})
        for samples in ((), (sample,))
    )
    _, answered = evaluate_again(snapshot, SETTINGS, Answered(), samples=silent)
    assert evaluate_again(snapshot, SETTINGS, answered, samples=answered_once)[0] == (
        evaluate(snapshot, SETTINGS, answered_once)
    )


def test_what_did_not_change_is_not_asked_again():
    docs = [*healthy(), modelservice(name="b", ns="b"), *children("b", "b")]
    before = snapshot_of(*copy.deepcopy(docs))
    _, first = evaluate_again(before, SETTINGS, Answered())
    after = kept(before, changed(docs, "Pod", "qwen3-decode-0", crashing("vllm")))
    _, second = evaluate_again(after, SETTINGS, first)
    same = {str(each) for each, answer in second.answers.items() if answer is first.answers[each]}
    assert same == {"cluster", "modelservice/b/b"}


def test_a_verdict_on_a_pod_asks_again():
    fault = MetricFault(reason="HighErrorRate", cause="c", text="t", severity=0, since=SINCE_AT)
    judged = Judged(
        History(seconds(15)), PodVerdict(uid="uid-qwen3-decode-0", faults={fault.reason: fault})
    )
    clear = Judged(History(seconds(15)), PodVerdict(uid="uid-qwen3-decode-0"))
    snapshot = snapshot_of(*healthy())
    place = (NS, "qwen3-decode-0")
    _, answered = evaluate_again(
        snapshot, SETTINGS, Answered(), samples=PodSamples(scraping=True, pods={place: clear})
    )
    samples = PodSamples(scraping=True, pods={place: judged})
    told = evaluate_again(snapshot, SETTINGS, answered, samples=samples)[0]
    reasons = [each.reason for each in told.findings if each.subject.name == NAME]
    assert reasons == ["modelserviceHighErrorRate"]


PODS = ("qwen3-decode-0", "qwen3-prefill-0")
PICKER = "qwen3-epp-0"
NAMES = [each.name for each in (*t.DOWNLOADS, *t.RUNTIME)]


def ours(reason):
    return t.of_kind(reason, MODELSERVICE_KIND)


def samples(*reasons, pod=PODS[0], doubts=(), rest=True):
    def fault(reason):
        return MetricFault(reason=reason, cause="cause", text="suffers", severity=3, since=SINCE_AT)

    verdicts = {name: PodVerdict(uid=f"uid-{name}") for name in ((*PODS, PICKER) if rest else ())}
    verdicts[pod] = PodVerdict(
        uid=f"uid-{pod}",
        faults={each: fault(each) for each in reasons},
        doubts={each: Doubt("why", seconds(0)) for each in doubts},
    )
    judged = {(NS, name): Judged(History(seconds(15)), each) for name, each in verdicts.items()}
    return PodSamples(scraping=True, pods=judged)


@pytest.mark.parametrize("pod", PODS)
@pytest.mark.parametrize("reason", NAMES)
def test_each_reason_is_told_of_the_modelservice(reason, pod):
    """Of pods of both roles, with the pod's name."""
    (finding,) = evaluation(healthy(), samples=samples(reason, pod=pod)).findings
    assert finding.reason == ours(reason)
    assert str(finding.subject) == f"modelservice/{NS}/{NAME}"
    assert finding.related.name == pod
    assert finding.message.startswith(f"{TITLE}: pod {pod}: suffers")


@pytest.mark.parametrize("reason", [t.BACKLOG, t.REJECTED])
def test_what_more_replicas_will_relieve_waits_for_them(reason):
    """It neither begins nor ends while a role has fewer Ready pods than it wants."""
    docs = healthy(decode={"replicas": 2})
    assert ours(reason) in {
        each.reason for each in evaluation(docs, samples=samples(reason)).findings
    }
    docs = [each for each in docs if each["metadata"]["name"] != "qwen3-decode-1"]
    result = evaluation(docs, samples=samples(reason))
    assert ours(reason) not in {each.reason for each in result.findings}
    assert {each.name: set(which) for each, which in result.inconclusive.items()} == {
        PODS[0]: {ours(reason)}
    }


@pytest.mark.parametrize("until", [300, 900])
def test_engine_that_answered_once_is_not_said_never_to_have(until):
    """However long ago that was: its silence has another message, and no start-up budget."""
    target = replace(TARGET, namespace=NS, name=PODS[0], uid=f"uid-{PODS[0]}", containers=())
    pod = Scraped()
    pod.watch(
        lambda at: (serving(at) if at < 60 else {"failure": Failure.REFUSED}) | {"target": target},
        until,
    )
    seen = PodSamples(scraping=True, pods={(NS, PODS[0]): Judged(pod.history, pod.verdict)})
    (finding,) = evaluation(healthy(), samples=seen).findings
    assert finding.message.endswith("its metrics could not be read for 2 min: refused")
    assert finding.budget is None


def test_pods_that_were_not_scraped_yet_are_in_doubt():
    inconclusive = evaluation(healthy(), samples=PodSamples(scraping=True)).inconclusive
    assert {each.name: len(which) for each, which in inconclusive.items()} == {
        **dict.fromkeys(PODS, len(NAMES)),
        PICKER: len(PICKER_NAMES),
    }


MISSING = None
STARTING = ("Running", "False", "PodsStarting", "Waiting for serving pods to become ready")


def partly(text):
    return "Running", "False", "PartiallyReady", f"{text} replicas ready"


def ready(number):
    return "Ready", "True", "AllReplicasReady", f"All {number} replicas are ready"


PENDING = ("Pending", "False", "DeploymentNotFound", "Decode Deployment has not been created yet")

# Wanted and ready pods of decode; whether prefill is in the spec; its wanted and ready pods.
TRUTH = [
    (MISSING, False, MISSING, PENDING),
    (MISSING, True, MISSING, PENDING),
    (MISSING, True, (2, 2), PENDING),
    ((1, 0), False, MISSING, STARTING),
    ((1, 1), False, MISSING, ready(1)),
    ((3, 1), False, MISSING, partly("1/3")),
    ((0, 0), False, MISSING, ready(0)),
    ((0, 1), False, MISSING, ready(1)),
    ((2, 3), False, MISSING, ready(3)),
    ((2, 2), True, (2, 2), ready(4)),
    ((2, 2), True, (2, 0), partly("2/4")),
    ((2, 0), True, (2, 2), partly("2/4")),
    ((2, 0), True, (2, 0), STARTING),
    ((2, 2), True, MISSING, ready(2)),
    ((2, 0), True, MISSING, STARTING),
    ((2, 3), True, (1, 0), ready(3)),
    ((1, 1), False, (1, 0), ready(1)),
    ((0, 0), True, (0, 0), ready(0)),
    ((None, 1), False, MISSING, ready(1)),
]


def deployment(counts):
    if counts is None:
        return None
    wanted, ready_ = counts
    spec = {} if wanted is None else {"replicas": wanted}
    # Nothing else of a Deployment counts.
    status = {"readyReplicas": ready_, "updatedReplicas": 9, "conditions": []}
    return msgspec.convert({"metadata": {"name": "x"}, "spec": spec, "status": status}, Deployment)


@pytest.mark.parametrize(("decode", "in_spec", "prefill", "expected"), TRUTH)
def test_truth_table(decode, in_spec, prefill, *, expected):
    made = service(generation=7, prefill={} if in_spec else None)
    found = observe(made, deployment(decode), deployment(prefill))
    phase, status, reason, message = expected
    counters = {
        "decodeReplicas": decode[0] if decode else 0,
        "decodeReady": decode[1] if decode else 0,
        "prefillReplicas": prefill[0] if prefill and in_spec else 0,
        "prefillReady": prefill[1] if prefill and in_spec else 0,
    }
    assert found == {
        "observedGeneration": 7,
        "phase": phase,
        **{key: each for key, each in counters.items() if each},
        "conditions": [
            {
                "type": "Ready",
                "status": status,
                "observedGeneration": 7,
                "reason": reason,
                "message": message,
            }
        ],
    }


BEFORE, NOW = "2026-01-01T00:00:00Z", datetime(2026, 1, 2, tzinfo=UTC)


def on_record(status, **more):
    condition = {
        "type": "Ready",
        "status": status,
        "reason": "ReconcileError",
        "message": "old",
        **more,
    }
    return service(status={"conditions": [condition]})


@pytest.mark.parametrize(
    ("made", "decode", "since"),
    [
        (on_record("False", lastTransitionTime=BEFORE), (1, 0), BEFORE),
        (on_record("True", lastTransitionTime=BEFORE), (1, 1), BEFORE),
        (on_record("False", lastTransitionTime=BEFORE), (1, 1), "2026-01-02T00:00:00Z"),
        (on_record("True", lastTransitionTime=BEFORE), (1, 0), "2026-01-02T00:00:00Z"),
        (on_record("False"), (1, 0), "2026-01-02T00:00:00Z"),
        (service(), (1, 0), "2026-01-02T00:00:00Z"),
    ],
)
def test_time_changes_only_with_the_status(made, decode, since):
    """Reason and message change without it."""
    derived = Derived(ObjectRef("v1", "ModelService"), observe(made, deployment(decode), None))
    (condition,) = derived.dated(NOW).status["conditions"]
    assert condition["lastTransitionTime"] == since
    assert condition["reason"] != "ReconcileError"
