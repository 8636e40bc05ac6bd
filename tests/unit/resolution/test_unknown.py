"""What is unknown, unconfirmed, in doubt or could not be judged, and what may be said all the same."""

from dataclasses import replace

import pytest

from reporter.catalogue.resources import DEPLOYMENTS, EVENTS, NAMESPACES, NODES, PODS
from reporter.model.finding import Evaluation, FindingKey, Unjudged
from reporter.model.report import SkippedObject, UnknownResource
from reporter.model.subject import CLUSTER, ObjectRef, Subject
from reporter.resolution import Memory, resolve
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
    START,
    Resolver,
    crd,
    evidence,
    finding,
    namespace,
    snapshot,
)

CRD_MISSING, POD_FAULT = "clusterCRDMissing", "inferencesetModelPodsNotReady"
READ = sorted(BUILT_IN[POD_FAULT].reads, key=str)


def skipped(resource, place="demo", name="x"):
    """A malformed object."""
    return SkippedObject(str(resource), place, name, "spec is missing")


def lines(*found, incomplete=(), states=None):
    """What is listed as unknown of a cluster whose nodes and pods are served."""
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
    """Objects without names say no more."""
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
    """Whether something is unknown that a verdict rests on."""
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
    """Else a symptom could be told before its cause."""
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
    """A permission that is missing must not hide what rests on it in part."""
    resolver = Resolver()
    fault = finding(POD_FAULT, exempt=True)
    assert resolver.look(0, fault, seen=unread(resource, cause)) == {POD_FAULT: disposition}


def test_a_fault_recovers_though_what_its_upstreams_read_is_forbidden():
    """An upstream that nobody can know of keeps nothing firing for ever."""
    resolver = Resolver()
    blind = unread(DEPLOYMENTS, "forbidden")
    resolver.look(0, finding(POD_FAULT, exempt=True), seen=blind)
    assert resolver.look(1, seen=blind) == {POD_FAULT: "clearing"}
    assert resolver.look(60, seen=blind) == {}


def test_a_missing_definition_is_told_on_a_confirmed_answer_only():
    """The grace may end while discovery fails or the process was paused: it may be there by now."""
    resolver = Resolver()
    missing = finding(CRD_MISSING, involved=crd("x.example.com"), related=crd("x.example.com"))
    resolver.look(0, missing)
    assert resolver.look(60, missing, seen=snapshot(discovered=False)) == {CRD_MISSING: "pending"}
    assert resolver.look(61, missing) == {CRD_MISSING: "firing"}
    assert resolver.look(300, seen=snapshot(discovered=False)) == {CRD_MISSING: "firing"}
    assert resolver.look(301) == {}


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
    """Whether it is written is another question: our Events decide that."""
    resolver = Resolver()
    resolver.look(0, seen=seen, ready=[evidence(CLUSTER)])
    assert bool(resolver.report.ready) is ready
    assert any(each.due for each in resolver.report.ready) is (ready and seen.known(EVENTS))


def test_a_missing_definition_stays_where_discovery_does_not_answer():
    """Not to be seen any more is no recovery then, though all objects can be read."""
    resolver = Resolver()
    missing = finding(
        CRD_MISSING, exempt=True, involved=crd("x.example.com"), related=crd("x.example.com")
    )
    resolver.look(0, missing)
    silent = replace(snapshot(), discovery=Discovery(None))
    assert resolver.look(60, seen=silent) == {CRD_MISSING: "firing"}
    assert resolver[CRD_MISSING].stale


def test_what_is_seen_in_its_grace_is_not_stale():
    """What else its reason reads cannot be read; it fires when its time has come all the same."""
    resolver = Resolver()
    for seen in (None, snapshot(unknown=[NODES])):
        assert resolver.look(0, finding(POD_FAULT), seen=seen) == {POD_FAULT: "pending"}
        assert not resolver[POD_FAULT].stale
        assert resolver[POD_FAULT].fires_at is not None


GATEWAY = "modelharnessGatewayProgrammingFailed"
OTHER = Subject(INFERENCESET_KIND, "other", "qwen")
OF_STACK = Subject(MODELSERVING_KIND, "demo", "qwen")
FAILED = Unjudged(MODEL, "ValueError in reporter/workload/pod.py, line 7")
OF_NAMESPACE = Unjudged(HARNESS, "ValueError in reporter/workload/pod.py, line 7")


@pytest.mark.parametrize("about", [HARNESS, MODEL, OF_STACK, CLUSTER], ids=str)
def test_what_is_left_open(about):
    """A subject that cannot be judged, and no other: a namespace does not stand for its models."""
    failed = Unjudged(about, "")
    subjects = {HARNESS, MODEL, OTHER, OF_STACK, CLUSTER}
    assert {each for each in subjects if failed.covers(each)} == {about}


def test_a_fault_stays_and_is_stale():
    """Its end is not known; nor is its subject gone."""
    resolver = Resolver()
    resolver.look(0, finding(POD_FAULT, exempt=True))
    assert resolver.look(60, unjudged=[FAILED]) == {POD_FAULT: "firing"}
    assert resolver[POD_FAULT].stale
    assert resolver.look(120, finding(POD_FAULT, exempt=True)) == {POD_FAULT: "firing"}
    assert not resolver[POD_FAULT].stale


def test_a_restart_ends_nothing():
    """A new leader that fails on the same object takes the Events on record for true."""
    before, after = Resolver(), Resolver()
    before.look(0, finding(POD_FAULT, exempt=True))
    seen = snapshot(events=before.events())
    assert after.look(5, seen=seen, unjudged=[FAILED]) == {POD_FAULT: "firing"}


def test_others_go_on():
    """A fault of another namespace ends, and begins, as if nothing had happened."""
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


def test_a_reason_that_was_not_judged_stays_and_is_stale():
    """Other reasons of the same subject end, and the subject is no less known."""
    resolver = Resolver()
    resolver.look(0, finding(ISTIO, exempt=True), finding(BBR, exempt=True))
    assert resolver.look(1, unjudged=[OF_PROBE]) == {ISTIO: "firing", BBR: "clearing"}
    assert (resolver[ISTIO].stale, resolver[BBR].stale) == (True, False)
    assert CLUSTER in resolver.report.subjects
    assert resolver.look(60, unjudged=[OF_PROBE]) == {ISTIO: "firing"}
    assert resolver.look(3601, unjudged=[OF_PROBE]) == {}


def test_a_reason_that_can_be_judged_again_goes_on_or_ends():
    resolver = Resolver()
    resolver.look(0, finding(ISTIO, exempt=True))
    resolver.look(60, unjudged=[OF_PROBE])
    assert resolver.look(120, finding(ISTIO, exempt=True)) == {ISTIO: "firing"}
    assert not resolver[ISTIO].stale
    resolver.look(180, unjudged=[OF_PROBE])
    assert resolver.look(240) == {}


def test_what_another_probe_of_the_reason_sees_is_told():
    resolver = Resolver()
    resolver.look(0, finding(ISTIO, exempt=True), unjudged=[OF_PROBE])
    assert (resolver[ISTIO].disposition, resolver[ISTIO].stale) == ("firing", False)


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


class Undecided(Resolver):
    """A resolver for pods that may be in doubt."""

    def doubt(self, at, *findings, pods=(), reasons=(t.KV_CACHE,), events=()):
        """Resolve while reasons of some pods cannot be judged."""
        undecided = dict.fromkeys(pods, frozenset(reasons))
        evaluation = Evaluation(findings, (), tuple(self.subjects), undecided)
        seen = snapshot(events=events)
        done = resolve(evaluation, seen, self.memory, now=START.after(at), settings=self.settings)
        self.memory, self.report = done.memory, done.report
        return {each.reason: str(each.disposition) for each in self.report.findings}


def test_what_fires_goes_on_with_its_words():
    resolver = Undecided()
    resolver.look(0, fault())
    before = resolver[t.KV_CACHE]
    for at in range(15, 900, 15):
        assert resolver.doubt(at, pods=[pod()]) == {t.KV_CACHE: "firing"}
    assert (resolver[t.KV_CACHE].message, resolver[t.KV_CACHE].since) == (
        before.message,
        before.since,
    )


def test_it_clears_once_it_can_be_judged():
    resolver = Undecided()
    resolver.look(0, fault())
    resolver.doubt(300, pods=[pod()])
    assert resolver.look(315) == {t.KV_CACHE: "clearing"}
    assert resolver.look(376) == {}


def test_what_was_never_told_does_not_begin():
    """Nor where another pod's fault of the same reason begins to be told meanwhile."""
    resolver = Undecided()
    blind = snapshot(unconfirmed=[PODS])
    resolver.look(0, fault("b", "p-1"), seen=blind)
    for at in (10, 20):
        assert resolver.doubt(at, fault(), pods=[pod("b", "p-1")]) == {t.KV_CACHE: "firing"}
        assert resolver[t.KV_CACHE].message == f"{t.KV_CACHE} of p-0"


def test_what_is_clearing_goes_on():
    resolver = Undecided()
    resolver.look(0, fault())
    resolver.look(15)
    assert resolver.doubt(30, pods=[pod()]) == {t.KV_CACHE: "firing"}


def test_what_is_suppressed_does_not_go_on():
    resolver = Undecided()
    name = crd("inferencesets.kaito.sh")
    missing = finding("clusterCRDMissing", exempt=True, governs=True, involved=name)
    resolver.look(0, fault())
    found = resolver.look(10, fault(), missing)
    assert found == {"clusterCRDMissing": "firing", t.KV_CACHE: "suppressed"}
    assert resolver.doubt(20, missing, pods=[pod()]) == {"clusterCRDMissing": "firing"}


def test_only_the_reason_that_is_in_doubt():
    resolver = Undecided()
    resolver.look(0, fault(), fault(reason=t.OUTPUT_CORRUPTED))
    found = resolver.doubt(15, pods=[pod()], reasons=[t.OUTPUT_CORRUPTED])
    assert found == {t.KV_CACHE: "clearing", t.OUTPUT_CORRUPTED: "firing"}


def test_only_the_pod_that_is_in_doubt():
    """The other of two pods is well again: it is not counted any more."""
    resolver = Undecided()
    resolver.look(0, fault(name="p-0"), fault("b", "p-1"))
    assert resolver[t.KV_CACHE].message.endswith("(and 1 more)")
    resolver.doubt(15, pods=[pod("b", "p-1")])
    assert resolver[t.KV_CACHE].message == f"{t.KV_CACHE} of p-1"


def test_another_pod_of_that_name_goes_on_with_nothing():
    resolver = Undecided()
    resolver.look(0, fault("a"))
    assert resolver.doubt(15, pods=[pod("b")]) == {t.KV_CACHE: "clearing"}


def test_a_fault_beside_one_in_doubt_is_counted():
    resolver = Undecided()
    resolver.look(0, fault(name="p-0"))
    resolver.doubt(15, fault("b", "p-1"), pods=[pod()])
    assert resolver[t.KV_CACHE].message == f"{t.KV_CACHE} of p-0 (and 1 more)"


def test_a_restart_of_the_daemon_does_not_end_the_episode():
    """Its window is not full yet, and the Event on record says that it fires."""
    first = Undecided()
    first.look(0, fault())
    since = first[t.KV_CACHE].since
    second = Undecided()
    assert second.memory == Memory()
    for at in range(15, 300, 15):
        found = second.doubt(at, pods=[pod()], events=first.events())
        assert found == {t.KV_CACHE: "firing"}
    assert second[t.KV_CACHE].since == since
    assert second[t.KV_CACHE].subject == MODEL
    third = Undecided()
    third.doubt(15, pods=[pod()], events=first.events())
    assert third.look(30, fault(), seen=snapshot(events=first.events())) == {t.KV_CACHE: "firing"}
    assert third[t.KV_CACHE].since == since
