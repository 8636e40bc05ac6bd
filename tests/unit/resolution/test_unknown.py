"""What is unknown, unconfirmed, inconclusive or unjudged, and what can still be reported."""

from dataclasses import replace

import pytest

from reporter.catalogue.resources import DEPLOYMENTS, EVENTS, NAMESPACES, NODES, PODS
from reporter.model.finding import FindingKey, Unjudged
from reporter.model.report import SkippedObject, UnknownResource
from reporter.model.subject import CLUSTER, ObjectRef, Subject
from reporter.resolution.unknown import (
    confirmed,
    existence_known,
    reads_unknown,
    skipped_subjects,
    unknown_resources,
    verdict_unknown,
)
from reporter.snapshot.snapshot import (
    NOT_LISTED,
    UNREACHABLE,
    Discovery,
    ResourceState,
    Served,
    Snapshot,
)
from reporter.stacks import BUILT_IN
from reporter.stacks.kaito.reasons import INFERENCESET_KIND, INFERENCESETS
from reporter.stacks.kthena.reasons import MODELSERVING_KIND
from tests.tables import of_inferencesets as t
from tests.tables import rows
from tests.unit.resolution.building import (
    HARNESS,
    MODEL,
    NOON,
    Resolver,
    at,
    crd,
    evidence,
    finding,
    namespace,
    seconds,
    snapshot,
    tell,
)

CRD_MISSING, POD_FAULT = "clusterCRDMissing", "inferencesetModelPodsNotReady"
READ = sorted(BUILT_IN[POD_FAULT].reads, key=str)


def skipped(resource, place="demo", name="x"):
    """A malformed object."""
    return SkippedObject(str(resource), place, name, "spec is missing")


def lines(*found, incomplete=(), states=None):
    """The unknown lines of a cluster whose nodes and pods are served."""
    states = states or dict.fromkeys((NODES, PODS), ResourceState(Served.SERVED))
    seen = Snapshot(states=states, skipped=found, incomplete=dict(incomplete))
    return [(each.resource, each.cause) for each in unknown_resources(seen)]


@pytest.mark.parametrize(
    ("served", "listed"),
    [(Served.SERVED, False), (Served.ABSENT, False), (Served.UNKNOWN, True)],
    ids=str,
)
def test_what_could_not_be_read_is_listed(served, listed):
    states = {PODS: ResourceState(served, cause="forbidden")}
    assert lines(states=states) == ([("pods", "forbidden")] if listed else [])


def test_what_is_not_all_there_is_listed_with_why():
    letters = "abcdefghij"
    found = lines(incomplete={letter: f"cut {letter}" for letter in reversed(letters)})
    assert found == [(letter, f"cut {letter}") for letter in letters]
    assert unknown_resources(Snapshot(incomplete={"a": "cut"})) == (UnknownResource("a", "cut"),)


@rows(
    ("found", "expected"),
    {
        "without a name": (skipped(PODS, name=""), [("pods", "an object of namespace demo has no readable name")]),
        "without a name or a namespace": (skipped(NODES, "", ""), [("nodes", "an object has no readable name")]),
        "with a name": (skipped(PODS), []),
        "of what is not read, without a name": (skipped(DEPLOYMENTS, name=""), []),
        "of what is not read": (skipped(DEPLOYMENTS), []),
    },
)  # fmt: skip
def test_an_object_without_a_name_may_be_any(found, expected):
    assert lines(found) == expected


def test_what_is_not_all_there_is_listed_once():
    """Objects without names add nothing."""
    assert lines(skipped(PODS, name=""), incomplete={"pods": "cut"}) == [("pods", "cut")]


@pytest.mark.parametrize(
    ("found", "subject"),
    [
        (skipped(INFERENCESETS), Subject(MODEL.kind, "demo", "x")),
        (skipped(INFERENCESETS, name=""), None),
        (skipped(DEPLOYMENTS), None),
        (skipped("other.example.com"), None),
        (skipped("other.example.com", name=""), None),
    ],
    ids=["a subject", "without a name", "no subject", "of another kind", "of another, no name"],
)
def test_a_malformed_subject_exists(found, subject):
    seen = replace(snapshot(), skipped=(found,))
    assert skipped_subjects(seen) == ({subject} if subject else set())


def verdict(seen, *at_fault, reason=POD_FAULT, involved=None):
    """Whether something that a verdict depends on is unknown."""
    key = FindingKey(reason, MODEL, involved or namespace("demo"))
    return verdict_unknown(key, at_fault, seen, catalogue=BUILT_IN)


@pytest.mark.parametrize("resource", READ, ids=str)
def test_a_verdict_rests_on_all_that_its_reason_reads(resource):
    pod = PODS.ref_named("demo", "x")
    assert not verdict(snapshot(), pod)
    assert verdict(snapshot(unknown=[resource]), pod)
    assert reads_unknown(BUILT_IN[POD_FAULT], snapshot(unknown=[resource]))
    assert not reads_unknown(BUILT_IN[POD_FAULT], snapshot())


@pytest.mark.parametrize(
    ("names", "unknown"),
    [(["x"], True), (["y"], False), (["y", "x"], True), ([], False)],
    ids=["it", "another", "one of two", "none"],
)
def test_a_verdict_on_what_is_malformed_is_unknown(names, unknown):
    seen = replace(snapshot(), skipped=(skipped(PODS),))
    assert verdict(seen, *(PODS.ref_named("demo", each) for each in names)) is unknown


@pytest.mark.parametrize(
    ("discovery", "unknown"),
    [
        (Discovery(), True),
        (Discovery(frozenset()), False),
        (Discovery(frozenset({"x.example.com"})), False),
        (Discovery(frozenset(), unknown_groups=frozenset({"example.com"})), True),
        (Discovery(frozenset(), unknown_groups=frozenset({"other.com"})), False),
    ],
    ids=["no answer", "absent", "served", "its group is stale", "another group is stale"],
)
@pytest.mark.parametrize("seen", [snapshot(), Snapshot()], ids=["all is read", "nothing is read"])
def test_a_verdict_on_a_definition_rests_on_discovery(seen, discovery, unknown):
    involved = crd("x.example.com")
    seen = replace(seen, discovery=discovery)
    assert verdict(seen, involved, reason=POD_FAULT, involved=involved) is unknown
    assert verdict(seen, involved, reason=CRD_MISSING, involved=involved) is unknown


@rows(
    ("reason", "seen", "expected"),
    {
        "all is confirmed": (POD_FAULT, snapshot(), True),
        "discovery is not, and is not asked": (POD_FAULT, snapshot(discovered=False), True),
        "what it reads is not": (POD_FAULT, snapshot(unconfirmed=[PODS]), False),
        "what its upstreams read is not": (POD_FAULT, snapshot(unconfirmed=[DEPLOYMENTS]), False),
        "discovery is confirmed": (CRD_MISSING, snapshot(), True),
        "discovery is not": (CRD_MISSING, snapshot(discovered=False), False),
    },
)
def test_a_verdict_changes_on_what_is_confirmed(reason, seen, expected):
    """Otherwise a symptom could be reported before its cause."""
    assert confirmed(reason, seen, BUILT_IN) is expected


@rows(
    ("subject", "seen", "known"),
    {
        "the cluster is never gone": (CLUSTER, snapshot(), False),
        "a namespace": (HARNESS, snapshot(), True),
        "models are unknown": (HARNESS, snapshot(unknown=[INFERENCESETS]), True),
        "namespaces are unknown": (HARNESS, snapshot(unknown=[NAMESPACES]), False),
        "a model": (MODEL, snapshot(), True),
        "its namespace may exist": (MODEL, snapshot(unknown=[NAMESPACES]), False),
        "it may exist": (MODEL, snapshot(unknown=[INFERENCESETS]), False),
        "its namespace is malformed": (MODEL, replace(snapshot(), skipped=(skipped(NAMESPACES, "", "demo"),)), False),
        "another namespace is malformed": (MODEL, replace(snapshot(), skipped=(skipped(NAMESPACES, "", "other"),)), True),
        "it is malformed": (MODEL, replace(snapshot(), skipped=(skipped(INFERENCESETS, name="qwen"),)), False),
        "another model is malformed": (MODEL, replace(snapshot(), skipped=(skipped(INFERENCESETS, name="phi"),)), True),
    },
)  # fmt: skip
def test_a_subject_is_gone_where_its_kind_and_its_namespace_are_known(subject, seen, known):
    assert existence_known(subject, seen, BUILT_IN) is known


REFUSED = ("forbidden", "served in version v9, not in v1")
AWAITED = (NOT_LISTED, UNREACHABLE)


def unread(resource, cause):
    """A snapshot of a daemon that cannot read a resource."""
    return snapshot(unknown=(resource,), unconfirmed=(resource,), cause=cause)


@pytest.mark.parametrize("resource", [DEPLOYMENTS, NODES], ids=["of its upstreams", "of its own"])
@pytest.mark.parametrize(
    ("cause", "disposition"),
    [*((cause, "firing") for cause in REFUSED), *((cause, "pending") for cause in AWAITED)],
)
def test_a_fault_that_is_seen_waits_for_answers_but_not_for_refused_ones(
    resource, cause, disposition
):
    """A missing permission must not hide what depends on it only in part."""
    resolver = Resolver()
    fault = finding(POD_FAULT, exempt=True)
    assert resolver.look(0, fault, seen=unread(resource, cause)) == {POD_FAULT: disposition}


DEFINITION = crd("x.example.com")
MISSING = finding(CRD_MISSING, involved=DEFINITION, related=DEFINITION)
GONE = replace(MISSING, exempt=True)
FIRES, WAITS = finding(POD_FAULT, exempt=True), finding(POD_FAULT)
BLIND, PAUSED = unread(DEPLOYMENTS, "forbidden"), snapshot(discovered=False)
SILENT = replace(snapshot(), discovery=Discovery(None))


@rows(
    "passes",
    {
        "a fault recovers though what its upstreams read is forbidden: nobody can ever know of them": [
            at(0, FIRES, seen=BLIND), at(1, seen=BLIND, found={POD_FAULT: "clearing"}), at(60, seen=BLIND, found={}),
        ],
        "a missing definition is told, and over, on a confirmed answer only: it may be there by now": [
            at(0, MISSING), at(60, MISSING, seen=PAUSED, found={CRD_MISSING: "pending"}), at(61, MISSING, found={CRD_MISSING: "firing"}),
            at(300, seen=PAUSED, found={CRD_MISSING: "firing"}), at(301, found={}),
        ],
        "not to be seen is no recovery where discovery does not answer, though all objects can be read": [
            at(0, GONE), at(60, seen=SILENT, found={CRD_MISSING: "firing"}, lines={CRD_MISSING: {"stale": True}}),
        ],
        "what is seen in its grace is not stale": [
            at(0, WAITS, found={POD_FAULT: "pending"}, lines={POD_FAULT: {"stale": False, "fires_at": NOON + seconds(60)}}),
        ],
        "nor while something else that its reason reads cannot be read: it fires when its time has come": [
            at(0, WAITS, seen=snapshot(unknown=[NODES]), found={POD_FAULT: "pending"}, lines={POD_FAULT: {"stale": False, "fires_at": NOON + seconds(60)}}),
        ],
    },
)  # fmt: skip
def test_what_begins_and_ends_on_confirmed_answers(passes):
    tell(*passes)


@pytest.mark.parametrize(
    ("seen", "ready"),
    [
        (snapshot(), True),
        (snapshot(discovered=False), False),
        (unread(EVENTS, "forbidden"), True),
        (unread(EVENTS, NOT_LISTED), False),
    ],
    ids=["confirmed", "discovery is not", "Events are forbidden", "Events are not listed"],
)
def test_the_cluster_is_ready_on_confirmed_answers_only(seen, ready):
    """Whether it is written depends on our Events."""
    resolver = Resolver()
    resolver.look(0, seen=seen, ready=[evidence(CLUSTER)])
    assert bool(resolver.report.ready) is ready
    assert any(each.due for each in resolver.report.ready) is (ready and seen.known(EVENTS))


GATEWAY = "modelharnessGatewayProgrammingFailed"
OTHER = Subject(INFERENCESET_KIND, "other", "qwen")
OF_STACK = Subject(MODELSERVING_KIND, "demo", "qwen")
FAILED = Unjudged(MODEL, "ValueError in reporter/workload/pod.py, line 7")
OF_NAMESPACE = Unjudged(HARNESS, "ValueError in reporter/workload/pod.py, line 7")


@pytest.mark.parametrize("about", [HARNESS, MODEL, OF_STACK, CLUSTER], ids=str)
def test_what_is_left_open(about):
    """Only the unjudged subject: a namespace does not include its models."""
    failed = Unjudged(about, "")
    subjects = {HARNESS, MODEL, OTHER, OF_STACK, CLUSTER}
    assert {each for each in subjects if failed.covers(each)} == {about}


def test_a_restart_ends_nothing():
    """A new leader that fails on the same object believes the recorded Events."""
    before, after = Resolver(), Resolver()
    before.look(0, finding(POD_FAULT, exempt=True))
    seen = snapshot(events=before.events())
    assert after.look(5, seen=seen, unjudged=[FAILED]) == {POD_FAULT: "firing"}


def test_others_go_on():
    """A fault of another namespace ends and begins as if nothing had happened."""
    resolver = Resolver()
    resolver.subjects += [type(resolver.subjects[0])(OTHER)]
    other = finding(POD_FAULT, subject=OTHER, exempt=True)
    resolver.look(0, finding(GATEWAY, exempt=True), other)
    found = resolver.look(1, unjudged=[OF_NAMESPACE])
    assert found == {GATEWAY: "firing", POD_FAULT: "clearing"}
    assert resolver[GATEWAY].stale


def test_nobody_is_called_ready_who_was_not_judged():
    resolver = Resolver()
    resolver.look(0, ready=[evidence(MODEL)])
    told = snapshot(events=resolver.events())
    resolver.look(1, ready=[evidence(MODEL)], seen=told)
    resolver.look(2, seen=told, unjudged=[FAILED])
    assert not resolver.report.ready
    resolver.look(3, ready=[evidence(MODEL)], seen=told)
    assert [each.due for each in resolver.report.ready] == [False]


ISTIO, BBR = "clusterIstioControlPlaneNotReady", "clusterBBRNotReady"
OF_PROBE = Unjudged(CLUSTER, "ValueError in reporter/workload/pod.py, line 7", ISTIO, "istiod")


OF_ISTIO, OF_BBR = finding(ISTIO, exempt=True), finding(BBR, exempt=True)
IS_STALE, IS_FRESH = {"stale": True}, {"stale": False}


@rows(
    "passes",
    {
        "a fault stays and is stale: its end is not known, nor is its subject gone": [
            at(0, FIRES), at(60, unjudged=[FAILED], found={POD_FAULT: "firing"}, lines={POD_FAULT: IS_STALE}),
            at(120, FIRES, found={POD_FAULT: "firing"}, lines={POD_FAULT: IS_FRESH}),
        ],
        "other reasons of the same subject end": [
            at(0, OF_ISTIO, OF_BBR),
            at(1, unjudged=[OF_PROBE], found={ISTIO: "firing", BBR: "clearing"}, lines={ISTIO: IS_STALE, BBR: IS_FRESH}),
            at(60, unjudged=[OF_PROBE], found={ISTIO: "firing"}), at(3601, unjudged=[OF_PROBE], found={}),
        ],
        "a reason that can be judged again goes on or ends": [
            at(0, OF_ISTIO), at(60, unjudged=[OF_PROBE]), at(120, OF_ISTIO, found={ISTIO: "firing"}, lines={ISTIO: IS_FRESH}),
            at(180, unjudged=[OF_PROBE]), at(240, found={}),
        ],
        "what another probe of the reason sees is told": [
            at(0, OF_ISTIO, unjudged=[OF_PROBE], lines={ISTIO: {"disposition": "firing", "stale": False}}),
        ],
    },
)  # fmt: skip
def test_what_was_not_judged(passes):
    """And the subject is still known."""
    assert CLUSTER in tell(*passes).report.subjects


@pytest.mark.parametrize(
    ("reason", "ready"),
    [
        (ISTIO, {HARNESS, MODEL}),
        ("clusterReady", {HARNESS, MODEL}),
        (GATEWAY, {CLUSTER, MODEL}),
        (POD_FAULT, {CLUSTER, HARNESS}),
        ("inferencesetNodeUnderPressure", {CLUSTER, HARNESS, MODEL}),
    ],
    ids=["of the cluster", "the evidence", "of the harness", "of models", "does not block Ready"],
)
def test_nobody_is_ready_of_whom_a_reason_was_not_judged(reason, ready):
    resolver = Resolver()
    failed = Unjudged(CLUSTER, "", reason, "custom component")
    resolver.look(0, ready=map(evidence, (CLUSTER, HARNESS, MODEL)), unjudged=[failed])
    assert {each.subject for each in resolver.report.ready} == ready


def pod(uid="a", name="p-0"):
    return ObjectRef("v1", "Pod", "demo", name, uid)


def fault(uid="a", name="p-0", reason=t.KV_CACHE):
    return finding(reason, name, exempt=True, related=pod(uid, name))


P_0 = pod()


def doubt(second, *findings, pods=(P_0,), reasons=(t.KV_CACHE,), events=(), **expected):
    """A pass in which reasons of some pods cannot be judged."""
    inconclusive = dict.fromkeys(pods, frozenset(reasons))
    return at(
        second, *findings, seen=snapshot(events=events), inconclusive=inconclusive, **expected
    )


FULL, OF_ANOTHER, CORRUPTED = fault(), fault("b", "p-1"), fault(reason=t.OUTPUT_CORRUPTED)
SETS = finding(CRD_MISSING, exempt=True, governs=True, involved=crd("inferencesets.kaito.sh"))
GOES_ON, CLEARS = {t.KV_CACHE: "firing"}, {t.KV_CACHE: "clearing"}
THE_OTHER = [pod("b", "p-1")]


def of_pods(text):
    return {t.KV_CACHE: {"message": f"{t.KV_CACHE} of {text}"}}


@rows(
    "passes",
    {
        "what fires goes on with its words": [
            at(0, FULL), *(doubt(second, found=GOES_ON, lines={t.KV_CACHE: {"message": f"{t.KV_CACHE} of p-0", "since": NOON}}) for second in range(15, 900, 15)),
        ],
        "it clears once it can be judged": [at(0, FULL), doubt(300), at(315, found=CLEARS), at(376, found={})],
        "what was never told does not begin, nor where another pod's fault begins to be told meanwhile": [
            at(0, OF_ANOTHER, seen=snapshot(unconfirmed=[PODS])),
            *(doubt(second, FULL, pods=THE_OTHER, found=GOES_ON, lines=of_pods("p-0")) for second in (10, 20)),
        ],
        "what is clearing goes on": [at(0, FULL), at(15), doubt(30, found=GOES_ON)],
        "what is suppressed does not": [
            at(0, FULL), at(10, FULL, SETS, found={CRD_MISSING: "firing", t.KV_CACHE: "suppressed"}), doubt(20, SETS, found={CRD_MISSING: "firing"}),
        ],
        "only the reason that is in doubt": [
            at(0, FULL, CORRUPTED), doubt(15, reasons=[t.OUTPUT_CORRUPTED], found=CLEARS | {t.OUTPUT_CORRUPTED: "firing"}),
        ],
        "only the pod that is in doubt: the other one is well again, and not counted any more": [
            at(0, FULL, OF_ANOTHER, lines=of_pods("p-0 (and 1 more)")), doubt(15, pods=THE_OTHER, lines=of_pods("p-1")),
        ],
        "another pod of that name goes on with nothing": [at(0, fault("a")), doubt(15, pods=[pod("b")], found=CLEARS)],
        "a fault beside one in doubt is counted": [at(0, FULL), doubt(15, OF_ANOTHER, lines=of_pods("p-0 (and 1 more)"))],
    },
)  # fmt: skip
def test_what_is_in_doubt(passes):
    tell(*passes)


def test_a_restart_of_the_daemon_does_not_end_the_episode():
    """Its window is not full yet, and the recorded Event fires."""
    events = tell(at(0, FULL)).events()
    went_on = {t.KV_CACHE: {"since": NOON, "subject": MODEL}}
    tell(
        *(
            doubt(second, events=events, found=GOES_ON, lines=went_on)
            for second in range(15, 300, 15)
        )
    )
    seen = snapshot(events=events)
    tell(doubt(15, events=events), at(30, FULL, seen=seen, found=GOES_ON, lines=went_on))
