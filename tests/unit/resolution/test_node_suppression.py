"""Rule 3 for nodes, and between the faults of one pod: which faults are explained, and for how long."""

import pytest

from reporter.catalogue.reasons import CLUSTER_NODE
from reporter.model.report import Disposition
from reporter.model.subject import ObjectRef
from reporter.resolution.hold import suppress_by_nodes
from reporter.resolution.memory import Episode
from reporter.resolution.state import Candidate, Upstreams
from reporter.stacks.kaito.reasons import INFERENCESET_KIND, MODEL_PODS, WORKSPACES
from tests.tables import BY_NAME, POD_SUPPRESSION, rows
from tests.tables import of_inferencesets as t
from tests.unit.resolution.building import (
    NOON,
    START,
    Resolver,
    at,
    crd,
    fault_of,
    finding,
    line_of,
    pass_state,
    remembered,
    seconds,
    snapshot,
    tell,
)

PODS, PRESSURE = "inferencesetModelPodsNotReady", "inferencesetNodeUnderPressure"
KAITO = "clusterKaitoControllerNotReady"
INFRA, ROUTE = "inferencesetInfraProvisioningFailed", "inferencesetRouteNotReady"
BY_NODE = (CLUSTER_NODE,)
SOON, LATER = seconds(30), seconds(50)


def node(name):
    return ObjectRef("v1", "Node", "", name)


def upstreams(*, firing=(), pending=(), released=()):
    """The nodes that suppress and hold; what is released holds until a given time."""
    return Upstreams(
        firing=frozenset((CLUSTER_NODE, each) for each in firing),
        pending=frozenset((CLUSTER_NODE, each) for each in pending),
        released={(CLUSTER_NODE, each): until for each, until in dict(released).items()},
    )


def fault(name="p-0", lost="", *, reason=PODS, ripe=True, **fields):
    """A fault of the object `name` that depends on the node `lost`."""
    return fault_of(finding(reason, name, lost_node=lost, **fields), ripe=ripe)


def young(name="p-0", lost="", **fields):
    return fault(name, lost, ripe=False, **fields)


def episode(*before, disposition=Disposition.PENDING, forgotten=False):
    """The memory of faults; `forgotten`: only a recorded Event has them."""
    shown = line_of(before[0].finding, disposition=disposition)
    known = {"finding": None} if forgotten else {}
    faults = {each.clock: remembered(each.finding, ripe=each.ripe, **known) for each in before}
    return Episode(NOON, START.boot, fired=False, listed=True, shown=shown, faults=faults)


def fires(*before):
    return episode(*before, disposition=Disposition.FIRING)


def candidate(*faults, before=None, **fields):
    key = faults[0].finding.key
    if not any(each.ripe for each in faults):
        fields.setdefault("disposition", Disposition.PENDING)
    return Candidate(key, BY_NAME[key.reason], faults, before, **fields)


def of_node(name):
    at_fault = fault(name, reason=CLUSTER_NODE, involved=node(name))
    return candidate(at_fault)


def judge(given, what, *, candidates=(), undercurrents=()):
    """Return one candidate as judged, given what suppresses and holds."""
    state = pass_state(
        candidates=(given, *candidates), undercurrents=tuple(undercurrents), upstreams=what
    )
    return suppress_by_nodes(state).candidates[0]


def state_of(each):
    return (each.disposition, each.by, each.holds_until)


UNTOUCHED = (None, (), None)
SUPPRESSED = (Disposition.SUPPRESSED, BY_NODE, None)
HELD = (Disposition.HELD, BY_NODE, None)
STATES = {
    "firing": (upstreams(firing=["n-1"]), SUPPRESSED),
    "pending": (upstreams(pending=["n-1"]), HELD),
    "released": (upstreams(released={"n-1": SOON}), (Disposition.HELD, BY_NODE, SOON)),
}
EACH_STATE = pytest.mark.parametrize(("what", "then"), STATES.values(), ids=STATES)


@EACH_STATE
def test_what_rests_on_a_node(what, then):
    assert state_of(judge(candidate(fault(lost="n-1")), what)) == then
    assert state_of(judge(candidate(fault(lost="n-2")), what)) == UNTOUCHED


@EACH_STATE
@pytest.mark.parametrize("seen", ["candidates", "undercurrents"])
def test_what_rested_on_a_node_that_is_back(what, then, seen):
    """It still does. While the node is seen at fault, the pod's current state counts."""
    given = candidate(fault(), before=episode(fault(lost="n-1")))
    assert state_of(judge(given, what)) == then
    assert state_of(judge(given, what, **{seen: [of_node("n-1")]})) == UNTOUCHED


@rows(
    ("now", "before"),
    {
        "nothing is remembered": (fault(), None),
        "another pod rested on it": (fault(), episode(fault("p-1", lost="n-1"))),
        "nobody knows what it said": (fault(), episode(fault(lost="n-1"), forgotten=True)),
        "it rests on another node now": (fault(lost="n-2"), episode(fault(lost="n-1"))),
        "it is another pod of that name": (
            fault(related=ObjectRef("v1", "Pod", "demo", "p-0", "new")),
            episode(fault(lost="n-1", related=ObjectRef("v1", "Pod", "demo", "p-0", "old"))),
        ),
        "it rested on a node that is seen": (fault(), episode(fault(lost="n-3"))),
    },
)
def test_what_does_not_rest_any_more_on_a_node_that_is_back(now, before):
    what = upstreams(firing=["n-1", "n-3"])
    found = judge(candidate(now, before=before), what, candidates=[of_node("n-3")])
    assert state_of(found) == UNTOUCHED


def test_what_was_left_to_tell_rests_on_a_node_that_is_back_too():
    given = candidate(fault(), before=episode(fault(lost="n-1")), reported=(fault(),))
    assert state_of(judge(given, upstreams(firing=["n-1"]))) == SUPPRESSED


@rows(
    ("given", "then"),
    {
        "about the node": (candidate(fault("n-1", reason=PRESSURE, related=node("n-1"))), SUPPRESSED),
        "about another node": (candidate(fault("n-2", reason=PRESSURE, related=node("n-2"))), UNTOUCHED),
        "about a pod of that name": (candidate(fault("n-1")), UNTOUCHED),
        "of a reason that others explain": (candidate(fault(lost="n-1", reason=INFRA)), UNTOUCHED),
        "of a reason that nothing explains": (candidate(fault(lost="n-1", reason=ROUTE)), UNTOUCHED),
    },
)  # fmt: skip
def test_what_a_node_explains(given, then):
    assert state_of(judge(given, upstreams(firing=["n-1"]))) == then


ON, ON_TOO, OFF = fault("p-0", "n-1"), fault("p-1", "n-1"), fault("p-2")
OFF_TOO, YOUNG = fault("p-3"), young("p-4")


@rows(
    ("given", "state", "told"),
    {
        "one of two": (candidate(ON, OFF), UNTOUCHED, (OFF,)),
        "none": (candidate(OFF, OFF_TOO), UNTOUCHED, ()),
        "what was left to tell is off": (candidate(ON, OFF, OFF_TOO, reported=(OFF,)), UNTOUCHED, (OFF,)),
        "of what was left to tell one": (candidate(ON, OFF, OFF_TOO, reported=(ON, OFF)), UNTOUCHED, (OFF,)),
        "all but a young one": (candidate(ON, YOUNG), SUPPRESSED, ()),
        "all": (candidate(ON, ON_TOO), SUPPRESSED, ()),
    },
)  # fmt: skip
def test_which_faults_are_told(given, state, told):
    """Those that the node does not explain; if it explains none, all are reported."""
    found = judge(given, upstreams(firing=["n-1"]))
    assert (state_of(found), found.reported) == (state, told)


@pytest.mark.parametrize("disposition", [Disposition.SUPPRESSED, Disposition.HELD], ids=str)
def test_what_another_cause_explains_stays_with_that(disposition):
    given = candidate(ON, disposition=disposition, by=(KAITO,), holds_until=LATER)
    found = judge(given, upstreams(firing=["n-1"]))
    assert state_of(found) == (disposition, (KAITO,), LATER)


@pytest.mark.parametrize(
    ("given", "then"),
    [
        (candidate(ON, before=fires(ON)), UNTOUCHED),
        (candidate(ON, before=episode(ON)), HELD),
        (candidate(ON, OFF, before=episode(ON)), UNTOUCHED),
    ],
    ids=["it fires", "it does not fire yet", "a fault of it is elsewhere"],
)
def test_what_is_held(given, then):
    """Firing findings are not withdrawn, and pods elsewhere have nothing to do with the node."""
    assert state_of(judge(given, upstreams(pending=["n-1"]))) == then


ON_BOTH = (fault("p-0", "n-1"), fault("p-1", "n-2"))


@pytest.mark.parametrize(
    ("what", "until"),
    [
        (upstreams(released={"n-1": SOON, "n-2": LATER}), LATER),
        (upstreams(pending=["n-1"], released={"n-2": LATER}), None),
    ],
    ids=["the last one lets go", "one is pending"],
)
def test_how_long_several_nodes_hold(what, until):
    found = judge(candidate(*ON_BOTH), what)
    assert state_of(found) == (Disposition.HELD, BY_NODE, until)


OTHERS = tuple(
    sorted(each for each in BY_NAME if each.startswith("cluster") and each != CLUSTER_NODE)
)
ALL_OF_THEM = tuple(sorted({*OTHERS, CLUSTER_NODE}))
BOTH = tuple(sorted((KAITO, CLUSTER_NODE)))
WAITS = young(lost="n-1")
FIRING, PENDING = upstreams(firing=["n-1"]), upstreams(pending=["n-1"])
RELEASED = upstreams(released={"n-1": LATER})


@rows(
    ("given", "what", "by", "until"),
    {
        "for a node that fires": (candidate(WAITS), FIRING, BY_NODE, None),
        "for a node that fires and another cause that lets go": (candidate(WAITS, by=(KAITO,), holds_until=SOON), FIRING, BOTH, None),
        "for many": (candidate(WAITS, by=OTHERS), FIRING, ALL_OF_THEM, None),
        "for a node that lets go": (candidate(WAITS), RELEASED, BY_NODE, LATER),
        "for a node that is pending": (candidate(WAITS), PENDING, BY_NODE, None),
        "the node lets go later": (candidate(WAITS, by=(KAITO,), holds_until=SOON), RELEASED, BOTH, LATER),
        "the other one lets go later": (candidate(WAITS, by=(KAITO,), holds_until=LATER + SOON), RELEASED, BOTH, LATER + SOON),
        "nobody knows when the other one lets go": (candidate(WAITS, by=(KAITO,)), RELEASED, BOTH, None),
        "nobody knows when the node lets go": (candidate(WAITS, by=(KAITO,), holds_until=SOON), PENDING, BOTH, None),
        "it fires already": (candidate(WAITS, before=fires(WAITS)), RELEASED, (), None),
        "a fault of it is elsewhere, and the node holds": (candidate(WAITS, young("p-1")), RELEASED, (), None),
        "a fault of it is elsewhere, and the node fires": (candidate(WAITS, young("p-1")), FIRING, (), None),
    },
)  # fmt: skip
def test_what_waits_in_its_grace(given, what, by, until):
    """It stays pending, with its upstream and the end of the hold, if known."""
    assert state_of(judge(given, what)) == (Disposition.PENDING, by, until)


def test_nodes_are_named_once_in_order():
    """With several pods on several lost nodes and one on none, each node is named once, sorted."""
    lost = [
        "node-h", "node-c", "node-f", "node-a", "node-g", "node-b", "node-e", "node-d", "node-c",
        "",
    ]  # fmt: skip
    resolver = Resolver()
    resolver.look(0, *(finding(PODS, f"pod-{n}", lost_node=node) for n, node in enumerate(lost)))
    assert resolver[PODS].rests_on == tuple(
        (CLUSTER_NODE, f"node-{letter}") for letter in "abcdefgh"
    )


TABLE: dict[str, set[str]] = {}
"""Which faults explain which others of the same pod, for InferenceSets."""
for _row in POD_SUPPRESSION:
    if _row.upstream.startswith(INFERENCESET_KIND):
        TABLE.setdefault(_row.upstream, set()).update(_row.downstream)

PAIRS = [(upstream, each) for upstream, row in TABLE.items() for each in sorted(row)]


def of_pod(reason, pod="p-0", **fields):
    return finding(reason, pod, exempt=True, **fields)


@pytest.mark.parametrize(("upstream", "downstream"), PAIRS)
def test_explained_by_a_fault_of_the_same_pod(upstream, downstream):
    """It stays in the report with its cause; the cause's message does not mention it."""
    resolver = Resolver()
    found = resolver.look(0, of_pod(upstream), of_pod(downstream))
    assert found == {upstream: "firing", downstream: "suppressed"}
    assert resolver[downstream].by == (upstream,)
    assert resolver[upstream].message == f"{upstream} of p-0"


@pytest.mark.parametrize(("upstream", "downstream"), PAIRS)
def test_not_explained_by_a_fault_of_another_pod(upstream, downstream):
    resolver = Resolver()
    found = resolver.look(0, of_pod(upstream, "p-0"), of_pod(downstream, "p-1"))
    assert found == {upstream: "firing", downstream: "firing"}


@pytest.mark.parametrize(("upstream", "downstream"), PAIRS)
def test_pods_that_are_not_explained_are_told(upstream, downstream):
    resolver = Resolver()
    worse = of_pod(downstream, "p-0", severity=9)
    resolver.look(0, of_pod(upstream, "p-0"), worse, of_pod(downstream, "p-1"))
    assert resolver[downstream].disposition == "firing"
    assert resolver[downstream].message == f"{downstream} of p-1"
    assert resolver[downstream].related.name == "p-1"


MISSING = "clusterCRDMissing"
FULL, LATE, CORRUPTED = of_pod(t.KV_CACHE), of_pod(t.LATENCY), of_pod(t.OUTPUT_CORRUPTED)
LATE_1 = of_pod(t.LATENCY, "p-1")
STARTS = finding(MODEL_PODS, "p-0", budget=seconds(60))
SETS = of_pod(MISSING, involved=crd("inferencesets.kaito.sh"), governs=True)
OWN = [of_pod(each, "p-1", independent=True) for each in (t.KV_CACHE, t.LATENCY)]
CHAIN = (t.SCRAPE_FAILING, t.ENGINE_STALLED, t.KV_CACHE, t.LATENCY)
CAUSES = sorted(upstream for upstream, row in TABLE.items() if t.LATENCY in row)
UNHEALTHY, STALLED = of_pod(t.ENGINE_UNHEALTHY), of_pod(t.ENGINE_STALLED)
SLOW, STANDS = of_pod(t.DOWNLOAD_SLOW), of_pod(t.DOWNLOAD_STALLED)
FIRES, EXPLAINED = "firing", "suppressed"


@rows(
    "passes",
    {
        "a cause in its grace explains nothing yet": [
            at(0, STARTS, FULL, found={MODEL_PODS: "pending", t.KV_CACHE: FIRES}),
            at(60, STARTS, FULL, found={MODEL_PODS: FIRES, t.KV_CACHE: EXPLAINED}),
        ],
        "one that is clearing still does": [
            at(0, FULL, LATE), at(30, LATE, found={t.KV_CACHE: "clearing", t.LATENCY: EXPLAINED}), at(61, LATE, found={t.LATENCY: FIRES}),
        ],
        "causes in a row explain each other": [
            at(0, *map(of_pod, CHAIN), found=dict.fromkeys(CHAIN, EXPLAINED) | {t.SCRAPE_FAILING: FIRES}, lines={t.LATENCY: {"by": tuple(sorted(CHAIN[:3]))}}),
        ],
        "a download that stands still is told as that": [
            at(0, SLOW), at(120, SLOW, STANDS, found={t.DOWNLOAD_SLOW: EXPLAINED, t.DOWNLOAD_STALLED: FIRES}),
        ],
        "runtime reasons do not outrank each other: they stand outside of the chain, and beside it": [
            at(0, FULL, CORRUPTED, of_pod(MODEL_PODS, "p-9"), found=dict.fromkeys((t.KV_CACHE, t.OUTPUT_CORRUPTED, MODEL_PODS), FIRES)),
        ],
        "a cause that rests on unconfirmed data explains nothing yet": [
            at(0, FULL), at(15, of_pod(MODEL_PODS), FULL, seen=snapshot(unconfirmed=[WORKSPACES]), found={MODEL_PODS: "pending", t.KV_CACHE: FIRES}),
        ],
        "a young fault that is gone was never told of that pod, though it was of another": [
            at(0, FULL, finding(t.KV_CACHE, "p-1", budget=seconds(90)), LATE_1), at(10, LATE_1, found={t.KV_CACHE: "clearing", t.LATENCY: FIRES}),
        ],
        "what is in its grace stays pending": [
            at(0, FULL, finding(t.LATENCY, "p-0", budget=seconds(90)), found={t.KV_CACHE: FIRES, t.LATENCY: "pending"}),
        ],
        "what a cause of the cluster explains is explained by that": [
            at(0, SETS, FULL, LATE, found={MISSING: FIRES, t.KV_CACHE: EXPLAINED, t.LATENCY: EXPLAINED}, lines={t.LATENCY: {"by": (MISSING,)}}),
        ],
        "what none explains may be explained within its pod": [
            at(0, SETS, LATE, *OWN, found={MISSING: FIRES, t.KV_CACHE: FIRES, t.LATENCY: EXPLAINED}),
        ],
        "a cause that was explained itself and is gone explains nothing": [
            at(0, UNHEALTHY, STALLED, FULL, found={t.ENGINE_UNHEALTHY: FIRES, t.ENGINE_STALLED: EXPLAINED, t.KV_CACHE: EXPLAINED}),
            at(10, UNHEALTHY, FULL, found={t.ENGINE_UNHEALTHY: FIRES, t.KV_CACHE: FIRES}),
        ],
        "all causes are named in order": [at(0, *map(of_pod, CAUSES), LATE, lines={t.LATENCY: {"by": tuple(CAUSES)}})],
    },
)  # fmt: skip
def test_what_a_fault_of_its_pod_explains(passes):
    tell(*passes)
