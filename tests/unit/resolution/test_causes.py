"""Rule 8 for a pass: whom each cause hits, and in what order the causes are told."""

from dataclasses import replace

import pytest

from reporter.catalogue.reasons import CLUSTER_NODE
from reporter.catalogue.resources import ENVOYFILTERS
from reporter.model.finding import KnownSubject, ServingEvidence
from reporter.model.objects import AskedService, without_patches
from reporter.model.report import Impact
from reporter.model.subject import ObjectRef, Subject
from reporter.setting_types import Emit
from reporter.snapshot.decode import decode_object
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from tests.tables import rows
from tests.unit.resolution.building import (
    MODEL,
    NOON,
    ROUTER,
    Resolver,
    crd,
    evidence,
    finding,
    seconds,
    sends,
    snapshot,
)

KAITO, PODS = "clusterKaitoControllerNotReady", "inferencesetModelPodsNotReady"
AUTH, KEY = "clusterGatewayAuthNotReady", "modelharnessAPIKeyReconcileFailed"
BBR, KEDA = "clusterBBRNotReady", "clusterKedaNotReady"
MISSING, PLANE = "clusterCRDMissing", "modelharnessGatewayDataPlaneNotReady"
FAR = Subject(INFERENCESET_KIND, "far", "llama")
FAR_HARNESS, NEW, OLD = (Subject.of_namespace(each) for each in ("far", "new", "old"))
NEAR = Subject(INFERENCESET_KIND, "demo", "near")
NODE = ObjectRef("v1", "Node", "", "node-a")
GATEWAY = ObjectRef("gateway.networking.k8s.io/v1", "Gateway", "demo", "gw")


def now(reason, name="x", **fields):
    """A fault that fires at once."""
    return finding(reason, name, exempt=True, **fields)


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
    """Look at the models; those that are not among the working ones have no replica."""
    serving = [serves(each, working=int(each in working)) for each in (MODEL, NEAR, FAR)]
    ready = [evidence(each) for each in working]
    seen = snapshot(filters=[sends("demo"), sends("far", opens=True)])
    resolver.look(at, *findings, serving=serving, ready=ready, seen=seen)


@rows(
    ("reason", "findings", "impact"),
    {
        "explained-model": (
            KAITO,
            [now(KAITO, governs=True), now(PODS), now(PODS, subject=FAR)],
            Impact(not_serving=1, namespaces=1),
        ),
        "explained-namespace": (AUTH, [now(AUTH, governs=True), now(KEY)], Impact(otherwise=2)),
        "namespace": (PLANE, [now(PLANE)], Impact(otherwise=2)),
        "other-namespace": (
            PLANE,
            [now(PLANE, subject=FAR_HARNESS)],
            Impact(degraded=1, namespaces=1),
        ),
        "part-on-the-way": (
            BBR,
            [now(BBR, down=True, related=ROUTER)],
            Impact(degraded=1, namespaces=1, otherwise=2),
        ),
        "one-fault-of-the-part": (
            BBR,
            [now(BBR, "a"), now(BBR, down=True, related=ROUTER)],
            Impact(0, 1, 1, 2),
        ),
        "part-that-writes-statuses": (BBR, [now(BBR, down=True, governs=True)], Impact()),
        "fault-in-its-grace": (BBR, [now(BBR), finding(BBR, "young", down=True)], Impact()),
        "part-off-the-way": (KEDA, [now(KEDA, down=True)], Impact()),
    },
)
def test_whom_a_cause_hits(reason, findings, impact):
    """Two models do not serve, and one elsewhere is well until what it rests on is at fault."""
    resolver = resolver_of(NEAR, FAR, FAR_HARNESS)
    look(resolver, *findings, working=[FAR])
    (cause,) = [each for each in resolver.report.findings if each.is_cause]
    assert (cause.reason, cause.impact) == (reason, impact)


def test_what_a_cause_outranks_is_not_explained_by_it():
    """The part rests on the node, which does not keep its status from being written."""
    resolver = Resolver(emit=Emit.PRIMARY)
    part = now(BBR, lost_node="node-a", related=GATEWAY)
    look(resolver, now(CLUSTER_NODE, involved=NODE, related=NODE), part)
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
        ([now(PODS), now(KAITO)], [(KAITO, ""), (PODS, "demo")]),
        (
            [now(PLANE), now(PLANE, subject=FAR_HARNESS)],
            [(PLANE, "far"), (PLANE, "demo")],
        ),
        (
            [now(PLANE, subject=NEW, transition=NOON - seconds(9)), now(PLANE)],
            [(PLANE, "demo"), (PLANE, "new")],
        ),
        (
            [now(KEY, subject=NEW, transition=NOON - seconds(9)), now(PLANE, subject=OLD)],
            [(PLANE, "old"), (KEY, "new")],
        ),
        (
            [now(KEY, subject=NEW), now(KEY, subject=OLD, transition=NOON - seconds(9))],
            [(KEY, "old"), (KEY, "new")],
        ),
    ],
    ids=["layer", "not-serving", "degraded", "chain", "age"],
)
def test_the_order_of_causes(findings, order):
    """Two models of a namespace are degraded, and the one of another does not serve."""
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
        now(MISSING, "x", involved=FIRST, unneeded=True),
        now(MISSING, "y", involved=FIRST, unneeded=not needed),
        now(MISSING, involved=SECOND),
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
    """It is told all the same: whoever may write in one namespace must not point everybody to it."""
    resolver = resolver_of(FAR)
    far = ServingEvidence(
        subject=FAR, wanted=1, serving=working, entrances=frozenset({(entrance, "gw")})
    )
    resolver.look(0, now(AUTH, sole_place="demo"), serving=[serves(MODEL, working=0), far])
    (cause,) = (each for each in resolver.report.findings if each.is_cause)
    assert (cause.reason, cause.primary) == (AUTH, primary is not None)


@pytest.mark.parametrize("emit", list(Emit))
def test_what_one_namespace_alone_needs_outranks_nothing(emit):
    """A part that others need is the one to look at, though it is lower in the chain."""
    resolver = resolver_of(FAR, emit=emit)
    found = [now(AUTH, sole_place="demo"), now(BBR, down=True)]
    resolver.look(0, *found, serving=[serves(MODEL, working=0), serves(FAR)])
    assert [each.reason for each in resolver.report.findings if each.primary] == [BBR]


def test_a_slim_filter_keeps_what_it_asks_and_whether_it_fails_open():
    slim = without_patches(decode_object(ENVOYFILTERS, sends("demo", opens=True)))
    host = "outbound|9004||body-based-router.kaito-system.svc"
    assert slim.spec.asked == (AskedService(host=host, fails_open=True),)
