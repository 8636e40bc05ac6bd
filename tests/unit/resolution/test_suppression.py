"""Rules 3 and 6: what holds and suppresses, by row of the table, and when an episode is over."""

from dataclasses import replace

import pytest

from reporter.catalogue.reasons import CLUSTER_NODE
from reporter.catalogue.resources import DEPLOYMENTS
from reporter.model.finding import KnownSubject, Unjudged
from reporter.model.subject import CLUSTER, Layer, Subject
from reporter.resolution.hold import OF_FAULTS, explainers
from reporter.snapshot.snapshot import UNREACHABLE
from reporter.stacks import BUILT_IN
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from tests.tables import ALL, REASONS, SUPPRESSION, rows
from tests.unit.resolution.building import (
    MODEL,
    NOON,
    Resolver,
    at,
    at_once,
    crd,
    finding,
    noon,
    snapshot,
    tell,
)
from tests.unit.resolution.test_mute import mutes
from tests.unit.resolution.test_records import events_of, over

KAITO, PODS = "clusterKaitoControllerNotReady", "inferencesetModelPodsNotReady"
INFRA, MISSING = "inferencesetInfraProvisioningFailed", "clusterCRDMissing"
DOWNSTREAM = [
    each.name for each in REASONS if each.layer is not Layer.CLUSTER and not each.says_ready
]
TABLE: dict[tuple[str, str], set[str]] = {
    (each.name, ""): set()
    for each in REASONS
    if each.layer is Layer.CLUSTER
    and not each.says_ready
    and each.name not in (*OF_FAULTS, MISSING)
}
"""What each upstream of the cluster explains, by its reason and, for a CRD, its name."""
for _row in SUPPRESSION:
    if _row.upstream not in OF_FAULTS:
        TABLE.setdefault((_row.upstream, _row.crd), set()).update(_row.downstream)


def down(reason: str, name: str = "", **fields):
    """An upstream that fires at once."""
    if name:
        fields["involved"] = crd(name)
    return finding(reason, name or "up", **{"exempt": True, "governs": True} | fields)


def told(upstream: str, name: str, reason: str):
    """The disposition of a symptom below an upstream, by which, and whether that one says so."""
    resolver = Resolver()
    found = resolver.look(0, down(upstream, name), finding(reason, exempt=True))
    return found[reason], resolver[reason].by, "suppressing" in resolver[upstream].message


@pytest.mark.parametrize(("upstream", "name"), TABLE)
def test_each_row(upstream, name):
    """A firing upstream suppresses its row and nothing else."""
    row = TABLE[upstream, name]
    found = {reason: told(upstream, name, reason) for reason in DOWNSTREAM}
    suppressed, alone = ("suppressed", (upstream,), True), ("firing", (), False)
    assert found == {each: suppressed if each in row else alone for each in DOWNSTREAM}


@pytest.mark.parametrize(("upstream", "name"), [key for key, row in TABLE.items() if row])
def test_the_longest_message_fits(upstream, name):
    """The suffix names the whole row and is not cut, so at least half of a message is left."""
    resolver = Resolver()
    told = (finding(each, exempt=True) for each in TABLE[upstream, name])
    resolver.look(0, down(upstream, name), *told)
    _, _, suffix = resolver[upstream].message.partition(" (suppressing")
    assert 0 < len(suffix) <= 770
    assert len(resolver[upstream].message) <= 1024


@pytest.mark.parametrize(("upstream", "name"), [key for key, row in TABLE.items() if row])
def test_degraded_suppresses_nothing(upstream, name):
    """Only a fault that prevents the status from being written holds and suppresses."""
    reason = min(TABLE[upstream, name])
    found = Resolver().look(0, down(upstream, name, governs=False), finding(reason, exempt=True))
    assert found == {upstream: "firing", reason: "firing"}


NODES = "clusterNodeProvisionerNotReady"
KTHENA = "clusterKthenaControllerNotReady"
ON_NODE = (CLUSTER_NODE, "node-a")
EPP, ISTIO = "inferencesetEPPNotReady", "clusterIstioControlPlaneNotReady"


def kaito_down(name="up", **fields):
    return finding(KAITO, name, **{"governs": True} | fields)


FIRES, YOUNG = finding(PODS, exempt=True), finding(PODS, "young")
DOWN = kaito_down(exempt=True)
NEVER_READY = finding(PODS, "never-ready")
WAS_READY = finding(PODS, "was-ready", independent=True)
PROVISIONER, EXPLAINED = finding(NODES, exempt=True, governs=True), finding(INFRA, exempt=True)
GONE = finding(MISSING, involved=crd("workspaces.kaito.sh"), governs=True)
PART, OF_ISTIO = finding(ISTIO, exempt=True, governs=True), Unjudged(CLUSTER, "", ISTIO, "istiod")
DEGRADED = kaito_down("b", exempt=True, governs=False)
AUTH, KEY = "clusterGatewayAuthNotReady", "modelharnessAPIKeyReconcileFailed"
SERVICE, OPERATOR = finding(AUTH, "authz"), finding(AUTH, "operator", governs=True)
OF_KEY = finding(KEY, exempt=True)
OUTAGE = snapshot(unknown=ALL, unconfirmed=ALL, cause=UNREACHABLE)
EVERYWHERE = [
    finding(PODS, exempt=True, subject=Subject(INFERENCESET_KIND, *each))
    for each in (("demo", "qwen"), ("other", "m"), ("demo", "llama"))
]
OWN = finding(PODS, "was-ready", exempt=True, independent=True)
WORSE = finding(PODS, "never-ready", exempt=True, severity=9)
SUFFIX = f"{KAITO} of up (suppressing downstream reasons: {INFRA}, {PODS} in "


@rows(
    "passes",
    {
        "one of several young faults that governs is enough to hold": [
            at(0, kaito_down("a"), kaito_down("b", governs=False), FIRES, found={KAITO: "pending", PODS: "held"}),
        ],
        "one of several faults that governs is enough to suppress": [
            at(0, kaito_down("a", exempt=True), DEGRADED, FIRES, found={KAITO: "firing", PODS: "suppressed"}),
        ],
        "what is no upstream holds nothing when it recovers": [
            at(0, finding(EPP, exempt=True, governs=True)), at(30), at(61, found={}, wakes=None),
        ],
        "a young upstream that is gone for a moment still holds: it would fire as soon as it is seen again": [
            at(0, kaito_down()), at(10, FIRES, found={PODS: "held"}),
        ],
        "so does one of several": [at(0, kaito_down("a"), kaito_down("b", governs=False)), at(10, FIRES, found={PODS: "held"})],
        "a young one that is degraded does not": [at(0, kaito_down(governs=False)), at(10, FIRES, found={PODS: "firing"})],
        "one that is clearing suppresses beside one that cannot be judged": [
            at(0, PART, DOWN, FIRES),
            at(10, FIRES, unjudged=[OF_ISTIO], found={ISTIO: "firing", KAITO: "clearing", PODS: "suppressed"}),
        ],
        "one that is only degraded holds no longer than since it works again": [
            at(0, kaito_down("a", exempt=True)),
            *(at(second, DEGRADED, FIRES, lines={PODS: {"disposition": "held"}}) for second in (10, 50)),
            at(69, FIRES, lines={PODS: {"disposition": "held"}}),
            at(70, FIRES, found={KAITO: "clearing", PODS: "firing"}),
        ],
        "one that is degraded, and could not be read for a while, holds nothing": [
            at(0, DEGRADED), at(10, seen=snapshot(unknown=[DEPLOYMENTS])), at(80, FIRES, found={PODS: "firing"}),
        ],
        "two that hold are both named, and the longer hold counts; no end is foretold while one is pending": [
            at(0, DOWN, PROVISIONER), at(10, PROVISIONER), at(60), at(65),
            at(70, EXPLAINED, found={INFRA: "held"}, lines={INFRA: {"by": (KAITO, NODES), "fires_at": noon(130)}}),
            at(75, EXPLAINED, GONE, lines={
                MISSING: {"disposition": "pending"},
                INFRA: {"disposition": "held", "by": (MISSING, KAITO, NODES), "fires_at": None},
            }),
        ],
        "its message names all reasons of the row, sorted, once one is suppressed; each namespace counts once": [
            at(0, DOWN, *EVERYWHERE, lines={KAITO: {"message": f"{SUFFIX}2 namespace(s))"}}),
        ],
        "no namespace counts where the reason is told": [
            at(0, DOWN, FIRES, replace(OWN, subject=EVERYWHERE[1].subject), lines={KAITO: {"message": f"{SUFFIX}1 namespace(s))"}}),
        ],
        "of two faults under one key it explains one; the other is told alone": [
            at(0, DOWN, WORSE, OWN, lines={PODS: {"disposition": "firing", "message": f"{PODS} of was-ready"}}),
        ],
        "an episode begins with the fault that it explains: that one is told in the same episode once it is gone": [
            at(0, DOWN, WORSE), at(10, DOWN, WORSE, OWN, lines={PODS: {"message": f"{PODS} of was-ready", "since": NOON}}),
        ],
        "a suppressed finding speaks of what would fire": [
            at(0, DOWN, finding(PODS, "a", exempt=True), finding(PODS, "b", severity=9), lines={PODS: {"disposition": "suppressed", "message": f"{PODS} of a"}}),
        ],
        "a young governing fault holds beneath another that clears and takes the key's line": [
            at(0, SERVICE), at(60, SERVICE, found={AUTH: "firing"}), at(70, OPERATOR, OF_KEY, found={AUTH: "clearing", KEY: "held"}),
            at(130, OPERATOR, OF_KEY, found={AUTH: "firing", KEY: "suppressed"}),
        ],
        "a hold that outlasts the grace is foretold": [
            at(0, DOWN), at(60), at(61, finding(PODS), finding(EPP), lines={PODS: {"fires_at": noon(121)}}),
        ],
        "after an outage of the API server, a status that is not rewritten yet is held": [
            at(0, DOWN), at(60, DOWN, FIRES, found={KAITO: "firing", PODS: "suppressed"}),
            *(at(second, seen=OUTAGE, found={KAITO: "firing", PODS: "suppressed"}, lines={KAITO: {"stale": True}}) for second in (200, 300)),
            *(at(second, FIRES, found={PODS: "held"}) for second in (310, 369)), at(370, FIRES, found={PODS: "firing"}),
        ],
        "nothing changes by itself while an upstream fires: its hold begins when it is over": [
            at(0, DOWN, FIRES, wakes=None), at(10, DOWN, FIRES, wakes=None),
        ],
        "what was active names only the end of its grace: it would not be held after that": [
            at(0, EXPLAINED, FIRES, found={INFRA: "firing", PODS: "secondary"}),
            at(10, kaito_down(), YOUNG, lines={PODS: {"disposition": "pending", "by": (), "fires_at": noon(70)}}),
        ],
        "a young fault that an upstream does not explain waits for its grace alone": [
            at(0, DOWN, NEVER_READY, WAS_READY, lines={PODS: {"disposition": "pending", "by": (), "fires_at": noon(60)}}),
        ],
        "nor for a young upstream: it would not be held once both graces are over": [
            at(0, kaito_down(), WAS_READY, lines={PODS: {"by": ()}}),
        ],
        "a young fault that nothing explains does not let go of one that is explained": [
            at(0, DOWN, finding(PODS, "never-ready", exempt=True), WAS_READY, lines={PODS: {"disposition": "suppressed", "by": (KAITO,)}}),
        ],
        "a fault beside an independent one waits for the hold, and the first to fire is foretold": [
            at(0, DOWN), at(60),
            at(61, finding(PODS, "never-ready", transition=noon(11)), WAS_READY, lines={PODS: {"fires_at": noon(120)}}),
        ],
    },
)  # fmt: skip
def test_what_holds(passes):
    tell(*passes)


@pytest.mark.parametrize(
    ("by", "rests_on", "expected"),
    [
        ((KTHENA,), (), {(KTHENA, "")}),
        ((KTHENA,), (ON_NODE,), {(KTHENA, "")}),
        ((CLUSTER_NODE,), (ON_NODE,), {ON_NODE}),
        ((CLUSTER_NODE, KTHENA), (ON_NODE,), {ON_NODE, (KTHENA, "")}),
        ((MISSING,), (), {(MISSING, "modelservings.workload.serving.volcano.sh")}),
        ((KAITO,), (), set()),
        ((), (ON_NODE,), set()),
    ],
    ids=["part", "part-not-node", "node", "both", "crd", "of-other-reasons", "nothing"],
)
def test_a_finding_is_explained_by_what_it_names(by, rests_on, expected):
    found = explainers("modelservingRoleStuckCreating", by, BUILT_IN, rests_on=rests_on)
    assert found == expected


OTHER = Subject(MODEL.kind, "demo", "other")


A, B, A_AT_ONCE = finding(PODS, "a"), finding(PODS, "b"), at_once(PODS, "a")
UPSTREAM, DEFINITION = at_once(KAITO, governs=True), crd("x.example.com")
BLIND = snapshot(unknown=[DEPLOYMENTS])
A_AND_MORE = {PODS: {"message": f"{PODS} of a (and 1 more)"}}


@rows(
    ("passes", "settings"),
    {
        "it wakes when the first of two has recovered": (
            [at(0, at_once(KAITO), at_once(PODS)), at(20, at_once(PODS)), at(30, found={KAITO: "clearing", PODS: "clearing"}, wakes=30)], {},
        ),
        "what waits for data keeps no other from clearing": (
            [
                at(0, at_once(MISSING, involved=DEFINITION, related=DEFINITION), at_once(PODS)),
                at(1, seen=snapshot(discovered=False), found={MISSING: "firing", PODS: "clearing"}),
            ], {},
        ),
        "a young fault goes on with a suppressed episode: the other fault was there until a moment ago": (
            [
                at(0, A_AT_ONCE), *(at(second, UPSTREAM, A_AT_ONCE, B) for second in (5, 10)), at(20, UPSTREAM, B),
                at(65, UPSTREAM, B, found={KAITO: "firing", PODS: "suppressed"}, lines={PODS: {"since": NOON}}),
            ], {},
        ),
        "a held fault that cannot be read any more will not fire at a time: nobody knows whether it is there": (
            [
                at(0, finding(EPP), lines={EPP: {"fires_at": noon(60)}}),
                at(10, seen=BLIND, found={EPP: "pending"}, lines={EPP: {"fires_at": None}}),
            ], {},
        ),
        "a hold that outlasts a short grace is foretold": (
            [at(0, DOWN), at(60), at(61, A, lines={PODS: {"fires_at": noon(120)}})], {"grace": {PODS: 10}},
        ),
        "a key with a fault that fires at once takes the global grace to recover": (
            [*(at(second, A_AT_ONCE, B) for second in (0, 5)), at(64, found={PODS: "clearing"}), at(65, found={})], {"grace": {PODS: 5}},
        ),
        "a fault that fires at once is remembered for the global grace, beside another one of its key": (
            [at(0, A_AT_ONCE, B), at(30, B), at(59, A, B, lines=A_AND_MORE)], {"grace": {PODS: 5}},
        ),
        "a fault that was away for less than it takes to recover goes on": ([at(0, A, B), at(59, B), at(60, A, B, lines=A_AND_MORE)], {}),
        "one that was away for as long is another, also beside one that was there all the time": (
            [at(0, A, B), at(60, B), at(60, A, B, lines={PODS: {"message": f"{PODS} of b"}})], {},
        ),
        "what never fired here and is over is taken up from the record of a process that saw it for longer": (
            [at(0, finding(EPP)), at(60, found={}), at(61, seen=snapshot(events=events_of(at_once(EPP))), found={EPP: "clearing"})], {},
        ),
        "what waited here for another object is taken up from the record": (
            [
                at(0, A), at(20, B),
                at(21, B, seen=snapshot(events=events_of(A_AT_ONCE)), lines={PODS: {"disposition": "clearing", "since": NOON}}),
            ], {},
        ),
    },
)  # fmt: skip
def test_when_it_is_over(passes, settings):
    tell(*passes, **settings)


def test_what_is_clearing_is_not_the_one_to_look_at():
    lines = {True: {PODS: {"primary": True}}, False: {PODS: {"primary": False}}}
    resolver = tell(at(0, at_once(PODS), lines=lines[True]), at(1, lines=lines[False]))
    (remembered,) = resolver.memory.episodes.values()
    assert not remembered.shown.primary


def test_what_is_gone_with_its_subject_keeps_no_other_from_clearing():
    resolver = Resolver()
    resolver.subjects.append(KnownSubject(OTHER, NOON))
    resolver.look(0, at_once(EPP, subject=OTHER), at_once(PODS))
    resolver.subjects.pop()
    assert resolver.look(1) == {PODS: "clearing"}


@pytest.mark.parametrize("names", [(), ("x",)], ids=["told", "muted"])
def test_what_could_not_be_read_and_is_over_is_not_stale_while_it_clears(names):
    """If it cannot be read again, the hour begins then."""
    blind = mutes(*names, base=snapshot(unknown=[DEPLOYMENTS]))
    resolver = Resolver()
    resolver.look(0, at_once(EPP), seen=mutes(*names))
    resolver.look(10, seen=blind)
    assert resolver[EPP].stale
    found = resolver.look(30, seen=mutes(*names))
    assert found == {EPP: "muted" if names else "clearing"}
    assert not resolver[EPP].stale
    resolver.look(40, seen=blind)
    assert resolver[EPP].stale
    assert resolver.look(3639, seen=blind) == found
    assert resolver.look(3640, seen=blind) == {}


@pytest.mark.parametrize(("later", "found"), [(119, {}), (120, {EPP: "clearing"})])
@pytest.mark.parametrize("record", ["none", "over"])
def test_an_end_is_kept_in_mind_while_a_write_may_be_on_its_way(later, found, record):
    """If a record continues after that, another process wrote it."""
    fires = events_of(at_once(EPP))
    before = snapshot(events=[over(each) for each in fires] if record == "over" else ())
    resolver = Resolver()
    resolver.look(0, at_once(EPP))
    assert resolver.look(60) == {}
    resolver.look(60 + later, seen=before)
    assert resolver.look(60 + later, seen=snapshot(events=fires)) == found
