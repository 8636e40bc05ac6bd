"""The lines of a report: commands, order, and objects that are not judged."""

import json
from dataclasses import replace
from itertools import permutations

import pytest

from reporter.catalogue.resources import DEPLOYMENTS
from reporter.model.commands import MOST, commands_for, conditions_command
from reporter.model.finding import Fails, KnownSubject
from reporter.model.objects import Deployment, Metadata
from reporter.model.objects.pods import DeploymentSpec
from reporter.model.report import Outside
from reporter.model.subject import CLUSTER, ObjectRef, Subject
from reporter.resolution.unknown import outside_of, tables_of_stacks
from reporter.settings import EvaluationSettings
from reporter.snapshot.decode import decode_object
from reporter.snapshot.snapshot import Served
from reporter.snapshot.table import table_of
from reporter.stacks import STACKS
from reporter.stacks.kaito.reasons import INFERENCESET_KIND, INFERENCESETS, RAGENGINES, WORKSPACES
from reporter.stacks.kthena.reasons import MODELSERVING_KIND, MODELSERVINGS, MODELSERVINGS_FORMER
from reporter.stacks.settings import FullEvaluationSettings, with_stacks
from tests.tables import rows
from tests.unit.probes.building import snapshot_of
from tests.unit.resolution.building import (
    MODEL,
    NOON,
    Resolver,
    at,
    at_once,
    crd,
    finding,
    seconds,
    snapshot,
    tell,
)
from tests.unit.resolution.test_mute import mutes

PODS, SCALING = "inferencesetModelPodsNotReady", "inferencesetScalingMisconfigured"
STALE = "inferencesetEPPStaleMetrics"
"""A reason from metrics; its row has a command with the namespace."""

SETTINGS = "get inferenceset.kaito.sh {} -o jsonpath='{{.metadata.annotations}}'"


def model(place, name="m"):
    """A model in a namespace of its own, so that nothing is known about it yet."""
    return Subject(INFERENCESET_KIND, place, name)


def pod(place, name="p"):
    return ObjectRef("v1", "Pod", place, name)


def config(place):
    return ObjectRef("v1", "ConfigMap", place, "c")


def conditions(place, name="m"):
    return conditions_command(INFERENCESETS.ref_named(place, name))


def commands_of(reason, subject, related, *, there=True, **fields):
    """The commands in the report, with or without the object at fault."""
    metadata = {"namespace": related.namespace, "name": related.name}
    doc = {"apiVersion": related.api_version, "kind": related.kind, "metadata": metadata}
    found = finding(reason, subject=subject, related=related, exempt=True, **fields)
    resolver = Resolver()
    resolver.look(0, found, seen=snapshot_of(*([doc] if there else [])))
    return resolver[reason].commands


@pytest.mark.parametrize(
    ("reason", "subject", "related", "more"),
    [
        pytest.param(
            SCALING, model("look-a"), config("look-a"),
            (f"kubectl -n look-a {SETTINGS.format('m')}", conditions("look-a")),
            id="what belongs to the reason, then the conditions of the model",
        ),
        pytest.param(PODS, model("look-b"), pod("look-b"), (conditions("look-b"),), id="a pod, of a reason without metrics"),
        pytest.param(
            "inferencesetEPPShedding", model("look-c"), pod("look-c"),
            ("status-reporter status --pod look-c/p", conditions("look-c")),
            id="a pod, of a reason with metrics: what they say",
        ),
        pytest.param(
            STALE, model("look-d"), config("look-d"),
            ("kubectl -n look-d get pods -o wide", conditions("look-d")),
            id="no pod, of a reason with metrics",
        ),
        pytest.param(
            STALE, model("look-e"), pod("look-e", "$(reboot)"),
            ("kubectl -n look-e get pods -o wide", conditions("look-e")),
            id="a pod whose name is none",
        ),
        pytest.param(SCALING, model("look-f", "$(reboot)"), config("look-f"), (), id="a model whose name is none"),
        pytest.param(SCALING, model("$(reboot)", "look-g"), config("look-g"), (), id="a model whose namespace is none"),
        pytest.param("clusterKedaNotReady", CLUSTER, config("look-h"), (), id="the cluster has no conditions"),
        pytest.param(
            "modelservingInvalidSpec",
            Subject(MODELSERVING_KIND, "look-i", "m"), config("look-i"),
            (conditions_command(MODELSERVINGS.ref_named("look-i", "m")),),
            id="a model whose kind is of two groups: the first",
        ),
    ],
)  # fmt: skip
def test_the_object_at_fault_comes_first_and_then_what_belongs_to_the_reason(
    reason, subject, related, more
):
    """A part of a name that is invalid never gets into a command."""
    found = commands_of(reason, subject, related)
    assert found == (*commands_for(related), *more)
    assert len(found) <= MOST
    assert MODELSERVINGS_FORMER.group not in "".join(found)


def test_the_logs_are_those_of_the_container_at_fault():
    found = commands_of(
        PODS, model("look-j"), pod("look-j"), about="container vllm", fails=Fails.CRASHING
    )
    assert found[1] == "kubectl -n look-j logs p -c vllm --tail=50 --previous"


@pytest.mark.parametrize(
    ("related", "first"),
    [
        (ObjectRef("apps/v1", "Deployment", "kaito-system", "kaito-workspace"), "kubectl -n kaito-system get deployment"),
        (ObjectRef("v1", "Service", "look-k", "s"), "kubectl -n look-k get service"),
        (ObjectRef("v1", "Node", "", "gpu-1"), "kubectl get node"),
    ],
)  # fmt: skip
def test_of_what_does_not_exist_is_shown_what_is_there_instead(related, first):
    """To describe it would fail, and it has no logs."""
    found = commands_of("clusterKaitoControllerNotReady", CLUSTER, related, there=False)
    assert found[0] == first
    assert not [each for each in found if " describe " in each or " logs " in each]
    if related.kind == "Deployment":
        assert found[1].startswith("kubectl get deployment -A --field-selector metadata.name=")
        assert "helm list -A" in found


def test_of_a_pod_that_is_lost_with_its_node_the_node_is_looked_at_first():
    found = commands_of(
        PODS, model("look-l"), pod("look-l"), lost_node="gpu-1", fails=Fails.WAITING
    )
    assert found[:2] == ("kubectl get node", "kubectl -n look-l describe pod p")
    assert not [each for each in found if " logs " in each]


ONLY_SOME = "in namespaces that --model-namespaces selects"
LEFT_OUT = {"model_namespaces": "team=ml"}
OFF = {"kaito": "off"}


def holding(resource, *names, **metadata):
    """A snapshot with objects of one resource, each named `namespace/name`."""
    objects = []
    for each in names:
        namespace, name = each.split("/")
        told = {"metadata": {"namespace": namespace, "name": name, **metadata}, "spec": {}}
        objects.append(decode_object(resource, json.dumps(told).encode()))
    return replace(snapshot(), tables={resource: table_of(objects)})


def found(seen, *subjects, **settings):
    known = [KnownSubject(each) for each in subjects]
    return outside_of(known, seen, FullEvaluationSettings(**settings))


@rows(
    ("seen", "told"),
    {
        "judged": (holding(INFERENCESETS, "demo/qwen"), ()),
        "in any namespace": (holding(INFERENCESETS, "demo/qwen", "b/z", "a/y", "c/x"), ()),
        "of a kind that is never judged": (holding(RAGENGINES, "demo/qwen"), (Outside("RAGEngine", 1, "demo/qwen", ""),)),
        "being deleted": (holding(INFERENCESETS, "a/y", deletionTimestamp="2026-11-20T12:00:00Z"), ()),
        "of a kind without subjects": (holding(WORKSPACES, "a/y"), ()),
        "of a stack that is judged as a whole": (holding(MODELSERVINGS, "a/y"), ()),
    },
)  # fmt: skip
def test_what_is_not_judged(seen, told):
    """Such objects are counted, the first is named, and the text says which ones are judged."""
    assert found(seen, MODEL) == told


def test_namespaces_that_are_left_out():
    seen = holding(INFERENCESETS, "demo/qwen", "b/z", "a/y", "c/x")
    assert found(seen, MODEL, **LEFT_OUT) == (Outside("InferenceSet", 3, "a/y", ONLY_SOME),)


def test_a_subject_of_another_kind_stands_for_no_other_object():
    same_place = Subject(MODELSERVING_KIND, MODEL.namespace, MODEL.name)
    told = found(holding(INFERENCESETS, "demo/qwen"), same_place, **LEFT_OUT)
    assert [(each.kind, each.count) for each in told] == [("InferenceSet", 1)]


@pytest.mark.parametrize("resource", [INFERENCESETS, RAGENGINES], ids=str)
def test_a_stack_that_is_off_has_nothing_outside(resource):
    assert found(holding(resource, "a/y"), stacks=OFF, **LEFT_OUT) == ()


def test_a_stack_that_is_off_hides_none_after_it():
    settings = with_stacks(EvaluationSettings, STACKS[::-1])(stacks={"kthena": "off"}, **LEFT_OUT)
    (told,) = outside_of((), holding(INFERENCESETS, "a/y"), settings)
    assert told.count == 1


def test_the_answer_rests_on_the_tables_of_what_is_counted():
    """It also depends on whether they are served; if no stack counts objects, on pods only."""
    seen = holding(INFERENCESETS, "a/y")
    rests_on = list(tables_of_stacks(seen, FullEvaluationSettings(**LEFT_OUT)))
    assert rests_on[3:6] == [None, seen.tables[INFERENCESETS], Served.SERVED]
    assert list(tables_of_stacks(seen, FullEvaluationSettings(stacks=OFF)))[3:] == []


def engine(owner=None, **more):
    metadata = {"name": "p", "namespace": "n", "labels": {"app": "p"}, **more}
    if owner:
        metadata["ownerReferences"] = [{"kind": owner, "name": "o", "controller": True}]
    container = {"name": "c", "image": "vllm/vllm-openai:v0.11.0"}
    spec = {"containers": [container]}
    return {"kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


SELECTS = {
    "kind": "Deployment",
    "metadata": {"name": "d", "namespace": "n"},
    "spec": {"selector": {"matchLabels": {"app": "p"}}},
}


@pytest.mark.parametrize(
    ("docs", "told"),
    [
        ((engine(),), True),
        ((engine("Job"),), True),
        ((engine("DaemonSet"),), True),
        ((engine("ReplicaSet"),), False),
        ((engine(), SELECTS), False),
        ((engine(annotations={"status-reporter.io/model": "false"}),), False),
        ((engine(labels={"serving.kserve.io/inferenceservice": "m"}),), False),
        (({**engine(), "status": {"phase": "Succeeded"}},), False),
    ],
    ids=["bare", "Job", "DaemonSet", "ReplicaSet", "stripped", "said", "KServe", "ended"],
)
def test_pods_with_an_engine_that_nobody_judges(docs, told):
    outside = found(snapshot_of(*docs))
    assert [each.first for each in outside if each.is_model] == ["n/p"] * told


ISTIO, BBR = "clusterIstioControlPlaneNotReady", "clusterBBRNotReady"
KAITO, MISSING = "clusterKaitoControllerNotReady", "clusterCRDMissing"
EPP = "inferencesetEPPNotReady"
BLIND = "clusterStatusUnknown"
EARLIER = Subject(MODEL.kind, "demo", "a")


def of_crd(name, **fields):
    return finding(MISSING, involved=crd(name), related=crd(name), **fields)


def lines(resolver):
    return [(each.reason, each.subject) for each in resolver.report.findings]


@pytest.mark.parametrize(
    "ordered",
    [
        pytest.param([(ISTIO, None), (BBR, None)], id="by the chain, not by name"),
        pytest.param([(EPP, EARLIER), (PODS, MODEL)], id="by subject before the chain"),
        pytest.param([(PODS, MODEL), (BLIND, None)], id="what cannot be seen behind all others"),
        pytest.param([(PODS, EARLIER), (PODS, MODEL), (EPP, MODEL)], id="by both"),
    ],
)
def test_what_is_no_cause_is_listed_by_subject_and_chain(ordered):
    for found in permutations(ordered):
        resolver = Resolver()
        resolver.look(0, *(finding(reason, subject=subject) for reason, subject in found))
        assert [reason for reason, _ in lines(resolver)] == [reason for reason, _ in ordered]
        assert [each for _, each in lines(resolver) if each.name] == [
            each for _, each in ordered if each
        ]


@pytest.mark.parametrize(("gone", "seen"), [("a", "b"), ("b", "a")])
def test_what_is_gone_stands_with_what_is_seen(gone, seen):
    """Of two lines of one reason, the first by name comes first."""
    resolver = Resolver()
    resolver.look(0, of_crd(gone, exempt=True))
    resolver.look(1, of_crd(seen))
    listed = [(each.involved.name, str(each.disposition)) for each in resolver.report.findings]
    assert listed == sorted([(gone, "clearing"), (seen, "pending")])


def with_replicas(count):
    """A snapshot with a Deployment that should have so many replicas."""
    deployment = Deployment(
        metadata=Metadata(name="x", namespace="demo"), spec=DeploymentSpec(replicas=count)
    )
    return replace(snapshot(), tables={DEPLOYMENTS: table_of([deployment])})


def test_what_was_changed_before_a_fault_stands_in_its_line_and_in_its_message():
    """An operator sees it in the report and in the Event."""
    resolver = Resolver()
    resolver.look(0, seen=with_replicas(1))
    related = DEPLOYMENTS.ref_named("demo", "x")
    resolver.look(60, at_once(KAITO, related=related), seen=with_replicas(2))
    (change,) = resolver[KAITO].changes
    assert (change.before, change.after) == ("1", "2")
    assert resolver[KAITO].message == f"{KAITO} of x ({change})"


def test_what_is_clearing_says_what_mutes_the_fault_that_is_left():
    resolver = Resolver()
    resolver.look(0, at_once(PODS, "a"), at_once(PODS, "b"))
    assert resolver.look(10, at_once(PODS, "b"), seen=mutes("b")) == {PODS: "clearing"}
    assert [each.object.name for each in resolver[PODS].mutes] == ["b"]


@pytest.mark.parametrize(
    ("independent", "fires"),
    [((False,), 120), ((True,), 65), ((True, False), 65), ((False, False), 120)],
)
def test_a_fault_that_no_upstream_explains_does_not_wait_for_the_hold(independent, fires):
    """The hold of the recovered upstream lasts from 60 to 120; the grace of the fault is 5 s."""
    resolver = Resolver(grace={PODS: 5})
    resolver.look(0, at_once(KAITO, governs=True))
    faults = [
        finding(PODS, f"p-{number}", independent=each) for number, each in enumerate(independent)
    ]
    assert resolver.look(60, *faults) == {PODS: "pending"}
    assert resolver[PODS].fires_at == NOON + seconds(fires)
    resolver.look(fires - 1, *faults)
    assert resolver.look(fires, *faults) == {PODS: "firing"}


OTHER, LATER, UPSTREAM = at_once(PODS, "a"), finding(PODS, "b"), at_once(KAITO, governs=True)


@rows(
    "passes",
    {
        "for an upstream that fires, whose end is unknown: no time is told, then it is suppressed": [
            at(0, UPSTREAM, finding(PODS), found={KAITO: "firing", PODS: "pending"}, lines={PODS: {"by": (KAITO,), "fires_at": None}}),
            at(60, UPSTREAM, finding(PODS), found={KAITO: "firing", PODS: "suppressed"}),
        ],
        "for its grace, under one that is clearing: it fires before the other has recovered, and the key continues": [
            at(0, OTHER, LATER), at(5, OTHER, LATER), at(10, LATER, found={PODS: "clearing"}, wakes=50), at(60, LATER, found={PODS: "firing"}),
        ],
    },
)  # fmt: skip
def test_what_a_fault_waits_for(passes):
    tell(*passes)
