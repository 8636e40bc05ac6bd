"""Rules 5 and 8: which of several faults has the Event, which is primary, and their impact."""

from dataclasses import replace
from itertools import combinations

import pytest

from reporter.catalogue.reasons import CLUSTER_NODE
from reporter.catalogue.resources import ENVOYFILTERS, NODES
from reporter.model.finding import FindingKey, KnownSubject, ServingEvidence
from reporter.model.objects import AskedService, without_patches
from reporter.model.report import Disposition, Impact, ResolvedFinding
from reporter.model.subject import CLUSTER, CLUSTER_KIND, NAMESPACE_KIND, Layer, ObjectRef, Subject
from reporter.resolution.grace import SinglePass
from reporter.resolution.memory import Episode, Memory, Primary
from reporter.resolution.priority import mark_primary, outrank
from reporter.resolution.records import records_of
from reporter.resolution.state import Candidate
from reporter.setting_types import Emit
from reporter.snapshot.decode import decode_object
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import BY_NAME, REASONS, rows
from tests.unit.resolution.building import (
    HARNESS,
    MODEL,
    NOON,
    ROUTER,
    START,
    Resolver,
    at,
    at_once,
    crd,
    evidence,
    finding,
    line_of,
    pass_state,
    seconds,
    sends,
    snapshot,
    tell,
)
from tests.unit.resolution.test_mute import mutes
from tests.unit.resolution.test_records import events_of, muted

KINDS = {
    Layer.CLUSTER: CLUSTER_KIND,
    Layer.HARNESS: NAMESPACE_KIND,
    Layer.DEPLOYMENT: INFERENCESET_KIND,
}
INFRA, PODS, EPP = (
    "inferencesetInfraProvisioningFailed",
    "inferencesetModelPodsNotReady",
    "inferencesetEPPNotReady",
)
CHAINS = {
    layer: [each.name for each in REASONS if each.subject_kind == kind and each.chain]
    for layer, kind in KINDS.items()
}
BLIND = "clusterStatusUnknown"
OUTSIDE = [
    each.name
    for each in REASONS
    if not each.chain
    and not each.says_ready
    and each.subject_kind in KINDS.values()
    and each.name != BLIND
]


@pytest.mark.parametrize("emit", list(Emit))
@pytest.mark.parametrize("layer", CHAINS)
def test_each_pair_of_a_chain(layer, emit):
    """The higher one fires, is primary and names the lower; in the cluster both are causes."""
    both = emit is Emit.FIRING or (emit is Emit.CAUSES and layer is Layer.CLUSTER)
    for higher, lower in combinations(CHAINS[layer], 2):
        resolver = Resolver(emit=emit)
        found = resolver.look(0, at_once(lower), at_once(higher))
        assert found == {higher: "firing", lower: "firing" if both else "secondary"}
        assert resolver[higher].primary, lower
        assert not resolver[lower].primary, higher
        assert resolver[lower].by == (() if both else (higher,))
        also = "" if both else f" (also: {lower}: cause of x)"
        assert resolver[higher].message == f"{higher} of x{also}"


@pytest.mark.parametrize("outside", OUTSIDE)
@pytest.mark.parametrize("emit", list(Emit))
def test_outside_the_chain(outside, emit):
    """Such a reason is reported next to the chain, unless only one is allowed."""
    resolver = Resolver(emit=emit)
    found = resolver.look(0, at_once("inferencesetEPPNotReady"), at_once(outside))
    assert found["inferencesetEPPNotReady"] == "firing"
    assert found[outside] == ("secondary" if emit is Emit.PRIMARY else "firing")
    assert not resolver[outside].primary


@pytest.mark.parametrize("emit", list(Emit))
@pytest.mark.parametrize("beside", [(), ("clusterKnativeNotReady",), ("inferencesetEPPNotReady",)])
def test_what_the_reporter_cannot_see_is_no_cause(emit, beside):
    """It is reported, is never primary or first, and neither outranks a cause nor is outranked."""
    resolver = Resolver(emit=emit)
    found = resolver.look(0, at_once(BLIND), *map(at_once, beside))
    assert found == dict.fromkeys((BLIND, *beside), "firing")
    assert not resolver[BLIND].primary
    assert all(resolver[each].primary for each in beside)
    assert resolver.report.findings[-1].reason == BLIND


@pytest.mark.parametrize("emit", list(Emit))
def test_strictly_one_while_another_clears(emit):
    """Under `primary`, a clearing reason keeps its place; nothing lower is written."""
    resolver = Resolver(emit=emit)
    pods, outside = at_once("inferencesetModelPodsNotReady"), at_once(OUTSIDE[0])
    resolver.look(0, pods, outside)
    found = resolver.look(10, outside)
    assert found["inferencesetModelPodsNotReady"] == "clearing"
    assert found[OUTSIDE[0]] == ("secondary" if emit is Emit.PRIMARY else "firing")


def test_the_one_under_primary_is_one_of_several_crds():
    """Of two findings of one reason, the first by name is written."""
    resolver = Resolver(emit=Emit.PRIMARY)
    resolver.look(0, *(at_once("clusterCRDMissing", involved=crd(each)) for each in "ba"))
    shown = [(each.involved.name, str(each.disposition)) for each in resolver.report.findings]
    assert shown == [("a", "firing"), ("b", "secondary")]


PLANE = "modelharnessGatewayDataPlaneNotReady"
POLICY = "modelharnessNetworkPolicyMisconfigured"
NODE = ObjectRef("v1", "Node", "", "node-a")
OTHER_EPP, MUTED = at_once(EPP, "y"), mutes("x")
ONE_IS_MUTED = {PODS: "muted", EPP: "firing"}


@rows(
    "passes",
    {
        "what waits and cannot be read any more": [
            at(0, finding(PODS)), at(10, at_once(EPP), seen=snapshot(unknown=[NODES]), found={PODS: "pending", EPP: "firing"}),
        ],
        "a secondary fault that is gone": [
            at(0, at_once(INFRA), at_once(PODS)), at(30, at_once(PODS)), at(70, at_once(EPP), found={EPP: "firing"}),
        ],
        "a muted fault that is gone": [
            at(0, at_once(PODS), OTHER_EPP, seen=MUTED, found=ONE_IS_MUTED), at(1, OTHER_EPP, seen=MUTED, found=ONE_IS_MUTED),
        ],
        "what a node explains of a namespace: that is for models, the next fault is reported": [
            at(
                0, at_once(CLUSTER_NODE, involved=NODE, related=NODE, governs=True),
                at_once(PLANE, lost_node=NODE.name), at_once(POLICY),
                found={CLUSTER_NODE: "firing", PLANE: "suppressed", POLICY: "firing"},
            ),
        ],
        "what the reporter cannot see, in its grace": [at(0, finding(BLIND), found={BLIND: "pending"})],
    },
)  # fmt: skip
def test_what_outranks_nothing(passes):
    tell(*passes)


@pytest.mark.parametrize(
    ("first", "then", "found"),
    [
        (at_once(EPP), at_once(EPP), "firing"),
        (at_once(EPP), None, "firing"),
        (finding(EPP), finding(EPP), "secondary"),
    ],
    ids=["fires", "was clearing", "was in its grace"],
)
def test_what_a_node_holds_takes_back_only_what_was_not_told(first, then, found):
    """While the node is in its grace, it is unknown whether it explains the pods."""
    resolver = Resolver()
    resolver.look(0, first)
    resolver.look(50, *filter(None, [then]))
    lost = finding(CLUSTER_NODE, involved=NODE, related=NODE, governs=True)
    on_it = at_once(PODS, "p-0", lost_node=NODE.name)
    assert resolver.look(60 if then else 55, first, on_it, lost) == {
        CLUSTER_NODE: "pending",
        PODS: "held",
        EPP: found,
    }


@pytest.mark.parametrize("reason", [BLIND, EPP])
def test_what_fires_is_decided_here(reason):
    state = pass_state(
        settings=FullEvaluationSettings(emit=Emit.FIRING),
        candidates=(Candidate(finding(reason).key, BY_NAME[reason], (), None),),
    )
    assert [each.disposition for each in outrank(state).candidates] == [Disposition.FIRING]


FRONT, BACK, GONE = (
    finding(f"cluster{each}NotReady").key for each in ("GatewayAuth", "Keda", "BBR")
)
OTHER, NEXT = (
    finding(each).key
    for each in ("modelharnessGatewayClassMissing", "modelharnessAPIKeyReconcileFailed")
)
ALL = (FRONT, BACK, GONE, OTHER, NEXT)
NOW = START.boot


def cause(key: FindingKey, *, stale=False) -> ResolvedFinding:
    """A cause that fires."""
    return line_of(finding(key.reason), stale=stale)


def episode(key: FindingKey, *, fired=True) -> Episode:
    """What is remembered of a cause."""
    return Episode(since=NOON, last_seen=NOW, fired=fired, listed=True, shown=cause(key), faults={})


def mark(*keys, stale=(), held=(), fired=ALL, young=(), grace=60, events=(), single_pass=None):
    """Mark causes in their order; `held` are the primary ones of the last pass."""
    episodes = {key: episode(key) for key in fired} | {
        key: episode(key, fired=False) for key in young
    }
    seen = snapshot(events=events)
    state = pass_state(
        snapshot=seen,
        settings=FullEvaluationSettings(startup_grace_seconds=grace),
        single_pass=single_pass,
        memory=Memory(episodes=episodes, primaries={each.key.subject: each for each in held}),
        records=records_of(seen),
    )
    return mark_primary([cause(key, stale=key in stale) for key in keys], state)


def first(key: FindingKey, ago: float | None = None) -> Primary:
    """A primary cause, behind others since so many seconds ago."""
    return Primary(key, None if ago is None else NOW - seconds(ago))


@rows(
    ("options", "expected"),
    {
        "first": ({}, first(FRONT)),
        "in-front-again": ({"held": [first(FRONT, 30)]}, first(FRONT)),
        "stays": ({"held": [first(BACK)]}, first(BACK, 0)),
        "nearly-a-grace": ({"held": [first(BACK, 59)]}, first(BACK, 59)),
        "a-grace": ({"held": [first(BACK, 60)]}, first(FRONT)),
        "ended": ({"held": [first(GONE)]}, first(FRONT)),
        "unheard": ({"held": [first(BACK)], "fired": [BACK]}, first(FRONT)),
        "never-fired-before": ({"held": [first(BACK)], "young": [FRONT]}, first(FRONT)),
        "stale-in-front": ({"stale": [FRONT]}, first(BACK)),
        "all-stale": ({"stale": [FRONT, BACK]}, first(FRONT)),
        "held-is-stale": ({"stale": [BACK], "held": [first(BACK)]}, first(FRONT)),
        "held-and-all-stale": ({"stale": [FRONT, BACK], "held": [first(BACK)]}, first(BACK, 0)),
        "held-in-front-is-stale": ({"stale": [FRONT], "held": [first(FRONT)]}, first(BACK)),
        "without-graces": ({"grace": 0, "held": [first(BACK)]}, first(BACK, 0)),
        "before-the-next-pass": ({"grace": 0, "held": [first(BACK, 0.9)]}, first(BACK, 0.9)),
        "the-next-pass": ({"grace": 0, "held": [first(BACK, 1)]}, first(FRONT)),
    },
)
def test_which_cause_is_primary(options, expected):
    """The first stays until others lead for a grace; new and judgeable causes count at once."""
    marked = mark(FRONT, BACK, **options)
    assert marked.held == {CLUSTER: expected}
    assert [each.key for each in marked.causes] == [FRONT, BACK]
    assert [each.key for each in marked.causes if each.primary] == [expected.key]


@pytest.mark.parametrize(
    ("held", "grace", "wake"),
    [
        ([], 60, None),
        ([first(BACK)], 60, 60),
        ([first(BACK, 20)], 60, 40),
        ([first(BACK, 20), first(NEXT, 50)], 60, 10),
        ([first(BACK, 50), first(NEXT, 20)], 60, 10),
        ([first(BACK)], 0, 1),
    ],
    ids=["none-is-behind", "begins", "goes-on", "second-is-next", "first-is-next", "no-graces"],
)
def test_when_the_mark_moves_by_itself(held, grace, wake):
    """Once others have come first for a grace; of several subjects, the next one counts."""
    marked = mark(FRONT, BACK, OTHER, NEXT, held=held, grace=grace)
    assert marked.wake_in == (None if wake is None else seconds(wake))
    assert marked.held.keys() == {CLUSTER, HARNESS}


def told(key: FindingKey, *, primary: bool, at: float = 0):
    """The recorded Event of a cause."""
    (event,) = events_of(at_once(key.reason), at=at)
    labels = event["metadata"]["labels"] | {"status-reporter.io/primary": str(primary).lower()}
    return event | {"metadata": event["metadata"] | {"labels": labels}}


@rows(
    ("events", "options", "expected"),
    {
        "primary": ([told(BACK, primary=True)], {}, first(BACK, 0)),
        "not-primary": ([told(BACK, primary=False)], {}, first(FRONT)),
        "muted": ([muted(told(BACK, primary=True))], {}, first(FRONT)),
        "muted-not-primary": ([muted(told(BACK, primary=False))], {}, first(FRONT)),
        "single-pass": ([told(BACK, primary=True)], {"single_pass": SinglePass()}, first(FRONT)),
        "remembered-first": ([told(BACK, primary=True)], {"held": [first(FRONT)]}, first(FRONT)),
        "remembered-behind": ([told(FRONT, primary=True)], {"held": [first(BACK, 9)]}, first(BACK, 9)),
        "the-oldest": ([told(FRONT, primary=True, at=9), told(BACK, primary=True)], {}, first(BACK, 0)),
    },
)  # fmt: skip
def test_what_our_events_say_is_primary(events, options, expected):
    """A process that starts continues with it; its own memory comes first."""
    assert mark(FRONT, BACK, events=events, **options).held == {CLUSTER: expected}


KAITO = "clusterKaitoControllerNotReady"
AUTH, KEY = "clusterGatewayAuthNotReady", "modelharnessAPIKeyReconcileFailed"
BBR, KEDA, MISSING = "clusterBBRNotReady", "clusterKedaNotReady", "clusterCRDMissing"
FAR = Subject(INFERENCESET_KIND, "far", "llama")
FAR_HARNESS, NEW, OLD = (Subject.of_namespace(each) for each in ("far", "new", "old"))
NEAR = Subject(INFERENCESET_KIND, "demo", "near")
GATEWAY = ObjectRef("gateway.networking.k8s.io/v1", "Gateway", "demo", "gw")


def serves(subject: Subject, *, working=1, wanted=1) -> ServingEvidence:
    """A model behind the Gateway of its namespace."""
    entrances = frozenset({(subject.namespace, "gw")})
    return ServingEvidence(subject=subject, wanted=wanted, serving=working, entrances=entrances)


def resolver_of(*subjects, **settings) -> Resolver:
    """A resolver that knows further subjects."""
    resolver = Resolver(**settings)
    resolver.subjects += [KnownSubject(each, NOON - seconds(7200)) for each in subjects]
    return resolver


def look(resolver, *findings, at=0, working=()):
    """Look at the models; those that are not among `working` have no replica."""
    serving = [serves(each, working=int(each in working)) for each in (MODEL, NEAR, FAR)]
    ready = [evidence(each) for each in working]
    seen = snapshot(filters=[sends("demo"), sends("far", opens=True)])
    resolver.look(at, *findings, serving=serving, ready=ready, seen=seen)


@rows(
    ("reason", "findings", "impact"),
    {
        "explained-model": (KAITO, [at_once(KAITO, governs=True), at_once(PODS), at_once(PODS, subject=FAR)], Impact(not_serving=1, namespaces=1)),
        "explained-namespace": (AUTH, [at_once(AUTH, governs=True), at_once(KEY)], Impact(otherwise=2)),
        "namespace": (PLANE, [at_once(PLANE)], Impact(otherwise=2)),
        "other-namespace": (PLANE, [at_once(PLANE, subject=FAR_HARNESS)], Impact(degraded=1, namespaces=1)),
        "part-on-the-way": (BBR, [at_once(BBR, down=True, related=ROUTER)], Impact(degraded=1, namespaces=1, otherwise=2)),
        "one-fault-of-the-part": (BBR, [at_once(BBR, "a"), at_once(BBR, down=True, related=ROUTER)], Impact(0, 1, 1, 2)),
        "part-that-writes-statuses": (BBR, [at_once(BBR, down=True, governs=True)], Impact()),
        "fault-in-its-grace": (BBR, [at_once(BBR), finding(BBR, "young", down=True)], Impact()),
        "part-off-the-way": (KEDA, [at_once(KEDA, down=True)], Impact()),
    },
)  # fmt: skip
def test_whom_a_cause_hits(reason, findings, impact):
    """Two models do not serve, and one elsewhere works until something it depends on fails."""
    resolver = resolver_of(NEAR, FAR, FAR_HARNESS)
    look(resolver, *findings, working=[FAR])
    (cause,) = [each for each in resolver.report.findings if each.is_cause]
    assert (cause.reason, cause.impact) == (reason, impact)


def test_what_a_cause_outranks_is_not_explained_by_it():
    """The part depends on the node, which does not prevent its status from being written."""
    resolver = Resolver(emit=Emit.PRIMARY)
    part = at_once(BBR, lost_node="node-a", related=GATEWAY)
    look(resolver, at_once(CLUSTER_NODE, involved=NODE, related=NODE), part)
    assert (resolver[BBR].disposition, resolver[BBR].by) == ("secondary", (CLUSTER_NODE,))
    assert resolver[CLUSTER_NODE].impact == Impact()


def test_what_nothing_explains_yet_has_no_cause():
    resolver = resolver_of(MODEL)
    look(resolver, finding(PODS, "llama"))
    told = {each.subject: (str(each.state), each.cause) for each in resolver.report.states}
    assert told[MODEL] == ("not-serving", "")


FIRST, SECOND = crd("a.example.com"), crd("b.example.com")


@pytest.mark.parametrize(
    ("findings", "order"),
    [
        ([at_once(PODS), at_once(KAITO)], [(KAITO, ""), (PODS, "demo")]),
        ([at_once(PLANE), at_once(PLANE, subject=FAR_HARNESS)], [(PLANE, "far"), (PLANE, "demo")]),
        ([at_once(PLANE, subject=NEW, transition=NOON - seconds(9)), at_once(PLANE)], [(PLANE, "demo"), (PLANE, "new")]),
        ([at_once(KEY, subject=NEW, transition=NOON - seconds(9)), at_once(PLANE, subject=OLD)], [(PLANE, "old"), (KEY, "new")]),
        ([at_once(KEY, subject=NEW), at_once(KEY, subject=OLD, transition=NOON - seconds(9))], [(KEY, "old"), (KEY, "new")]),
    ],
    ids=["layer", "not-serving", "degraded", "chain", "age"],
)  # fmt: skip
def test_the_order_of_causes(findings, order):
    """Two models of a namespace are degraded, and one of another does not serve."""
    more = Subject(INFERENCESET_KIND, "demo", "more")
    resolver = resolver_of(more, FAR, FAR_HARNESS, NEW, OLD)
    working = [serves(each, wanted=2) for each in (MODEL, more)]
    shut = replace(serves(FAR), closed=frozenset({("far", "gw")}))
    resolver.look(0, *findings, serving=[*working, shut])
    causes = [each for each in resolver.report.findings if each.is_cause]
    assert [(each.reason, each.subject.namespace) for each in causes] == order


@pytest.mark.parametrize(
    ("needed", "order"),
    [(False, [SECOND, FIRST]), (True, [FIRST, SECOND])],
    ids=["by-nothing", "in-one-place"],
)
def test_what_nothing_uses_comes_last(needed, order):
    resolver = Resolver()
    resolver.look(
        0,
        at_once(MISSING, "x", involved=FIRST, unneeded=True),
        at_once(MISSING, "y", involved=FIRST, unneeded=not needed),
        at_once(MISSING, involved=SECOND),
    )
    assert [each.involved for each in resolver.report.findings if each.is_cause] == order


@pytest.mark.parametrize(
    ("working", "entrance", "primary"),
    [(1, "far", None), (0, "far", AUTH), (1, "demo", AUTH)],
    ids=["others-serve", "nobody-serves", "others-are-reached-through-it"],
)
def test_what_one_namespace_alone_needs_is_primary_only_where_no_others_serve(
    working, entrance, primary
):
    """It is still reported: a tenant of one namespace must not direct everybody to it."""
    resolver = resolver_of(FAR)
    far = ServingEvidence(
        subject=FAR, wanted=1, serving=working, entrances=frozenset({(entrance, "gw")})
    )
    resolver.look(0, at_once(AUTH, sole_place="demo"), serving=[serves(MODEL, working=0), far])
    (cause,) = (each for each in resolver.report.findings if each.is_cause)
    assert (cause.reason, cause.primary) == (AUTH, primary is not None)


@pytest.mark.parametrize("emit", list(Emit))
def test_what_one_namespace_alone_needs_outranks_nothing(emit):
    """A part that others need is the one to look at, though it is lower in the chain."""
    resolver = resolver_of(FAR, emit=emit)
    found = [at_once(AUTH, sole_place="demo"), at_once(BBR, down=True)]
    resolver.look(0, *found, serving=[serves(MODEL, working=0), serves(FAR)])
    assert [each.reason for each in resolver.report.findings if each.primary] == [BBR]


def test_a_slim_filter_keeps_what_it_asks_and_whether_it_fails_open():
    slim = without_patches(decode_object(ENVOYFILTERS, sends("demo", opens=True)))
    host = "outbound|9004||body-based-router.kaito-system.svc"
    assert slim.spec.asked == (AskedService(host=host, fails_open=True),)
