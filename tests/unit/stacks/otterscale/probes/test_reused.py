"""An answer is used again only while everything that it rests on is the same."""

import copy

import pytest

from reporter.evaluation import evaluate, evaluate_again
from reporter.metrics.looks.look import EngineLook, Look
from reporter.metrics.looks.window import History, Judged, MetricFault, PodVerdict, Samples
from reporter.probes.reuse import Answered
from tests.unit.probes.building import DELETING, SINCE_AT, at, snapshot_of
from tests.unit.probes.runtime.scraped import TARGET, seconds
from tests.unit.stacks.otterscale.probes.otterscale import (
    EPP,
    NAME,
    NS,
    SETTINGS,
    changed,
    children,
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
    look = Look(target=TARGET, at=at(0), engines={"0": EngineLook()}, known=True)
    snapshot = snapshot_of(*healthy())
    place = (NS, "qwen3-decode-0")
    silent, answered_once = (
        Samples(scraping=True, pods={place: Judged(History(seconds(15), looks), verdict)})
        for looks in ((), (look,))
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
        snapshot, SETTINGS, Answered(), samples=Samples(scraping=True, pods={place: clear})
    )
    samples = Samples(scraping=True, pods={place: judged})
    told = evaluate_again(snapshot, SETTINGS, answered, samples=samples)[0]
    reasons = [each.reason for each in told.findings if each.subject.name == NAME]
    assert reasons == ["modelserviceHighErrorRate"]
