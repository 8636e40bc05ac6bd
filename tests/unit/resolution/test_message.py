"""Messages of Events: the fault, the additions, a change before it, and foreign text in them."""

from datetime import timedelta

import pytest

from reporter.model.catalogue import CustomComponent, CustomCrd
from reporter.model.report import Disposition, SpecChange
from reporter.model.subject import CLUSTER, Layer, ObjectRef
from reporter.resolution.message import compose
from reporter.resolution.state import Candidate
from reporter.setting_types import Emit
from reporter.stacks import BUILT_IN
from tests.tables import rows
from tests.unit.resolution.building import (
    NOON,
    Resolver,
    at,
    at_once,
    crd,
    fault_of,
    finding,
    snapshot,
    tell,
)
from tests.unit.resolution.test_records import events_of

PODS, EPP = "inferencesetModelPodsNotReady", "inferencesetEPPNotReady"


@pytest.mark.parametrize("text", ["x" * 3000, "ü" * 3000, "\U0001f9ca" * 1500, "x" + "€" * 900])
def test_a_long_message_is_cut_and_its_suffixes_are_not(text):
    """The base is cut, at a character boundary."""
    resolver = Resolver()
    resolver.look(
        0,
        finding(PODS, "a", exempt=True, message=text),
        finding(PODS, "b", exempt=True),
        finding(EPP, exempt=True, cause="scaled to zero"),
    )
    message = resolver[PODS].message
    assert len(message.encode()) <= 1024
    assert message.endswith(f" (and 1 more) (also: {EPP}: scaled to zero)")
    assert message.startswith(text[:100])
    assert "..." in message


def test_the_longest_suffixes_leave_room():
    """With every suffix at its longest, the fault itself is still named."""
    resolver = Resolver(emit=Emit.PRIMARY)
    cluster = [
        "clusterKaitoControllerNotReady", "clusterGatewayAuthNotReady", "clusterBBRNotReady",
        "clusterNodeProvisionerNotReady", "clusterKedaNotReady", "clusterKedaKaitoScalerNotReady",
        "clusterIstioControlPlaneNotReady",
    ]  # fmt: skip
    faults = [finding(each, exempt=True, governs=True, cause="c" * 200) for each in cluster]
    harness = ("modelharnessGatewayClassMissing", "modelharnessGatewayProgrammingFailed")
    symptoms = [finding(each, exempt=True) for each in harness]
    resolver.look(0, *faults, *symptoms)
    message = resolver["clusterIstioControlPlaneNotReady"].message
    assert message.startswith("clusterIstioControlPlaneNotReady of x (also: ")
    assert "2 more) (suppressing" in message
    assert message.count("NotReady: c") == 4
    assert message.count("c" * 77 + "...") == 4
    assert "c" * 78 not in message
    assert len(message.encode()) <= 1024


@pytest.mark.parametrize(("beside", "where"), [([], ""), ([PODS], " in 1 namespace(s)")])
def test_what_is_about_the_whole_cluster_counts_no_namespace(beside, where):
    """It has none; a declared part may explain a part of the control plane as well as models."""
    stores, kaito = "stores.example.com", "clusterKaitoControllerNotReady"
    part = CustomComponent(
        reason="clusterStoreCRDMissing", layer=Layer.CLUSTER, crd=CustomCrd(name=stores),
        suppresses=(kaito, PODS), why="it keeps them",
    )  # fmt: skip
    resolver = Resolver(custom_components=(part,))
    cause = finding(part.reason, exempt=True, governs=True, subject=CLUSTER, involved=crd(stores))
    symptoms = [kaito, *beside]
    found = resolver.look(0, cause, *(finding(each, exempt=True) for each in symptoms))
    assert found == {part.reason: "firing", **dict.fromkeys(symptoms, "suppressed")}
    assert resolver[part.reason].message == (
        f"{part.reason} of x (suppressing downstream reasons: {kaito}, {PODS}{where})"
    )


KAITO, BBR, KEDA = "clusterKaitoControllerNotReady", "clusterBBRNotReady", "clusterKedaNotReady"
PRESSURE, ROUTE = "inferencesetNodeUnderPressure", "inferencesetRouteNotReady"
SCALING, INFRA = "inferencesetScalingMisconfigured", "inferencesetInfraProvisioningFailed"


def says(**texts):
    return {reason: {"message": text} for reason, text in texts.items()}


CHAIN = [SCALING, INFRA, PODS, ROUTE, EPP]
ALSO = ", ".join(f"{each}: cause of x" for each in sorted(CHAIN[1:]))
BAD = [
    at_once(PODS, name, severity=number)
    for name, number in (("c", 5), ("b", 9), ("a", 9), ("d", 1))
]
WORST = {PODS: {"message": f"{PODS} of a (and 3 more)", "related": BAD[2].related}}
ON_CPU_1, ON_CPU_2 = at_once(BBR, lost_node="cpu-1"), at_once(KEDA, lost_node="cpu-2")
TOO = at_once(KAITO, lost_node="cpu-1")
NODES = {
    BBR: {"primary": True, "message": f"{BBR} of x (node cpu-1 also explains: {KAITO})"},
    **says(**{KAITO: f"{KAITO} of x", KEDA: f"{KEDA} of x"}),
}
A, WORSE = at_once(PODS, "a"), finding(PODS, "b", severity=9)


@rows(
    "passes",
    {
        "four that are outranked are all named": [at(0, *map(at_once, CHAIN), lines=says(**{SCALING: f"{SCALING} of x (also: {ALSO})"}))],
        "the worst is named, the first by name among equals, and the others are counted": [at(0, *BAD, lines=WORST)],
        "in whatever order they come": [at(0, *BAD[::-1], lines=WORST)],
        "the first of the causes that rest on one lost node names the others": [at(0, ON_CPU_1, TOO, ON_CPU_2, lines=NODES)],
        "the first by the chain": [at(0, ON_CPU_2, ON_CPU_1, TOO, lines=NODES)],
        "not what does not fire: it may heal before it is told": [
            at(0, ON_CPU_1, finding(KAITO, lost_node="cpu-1"), found={BBR: "firing", KAITO: "pending"}, lines=says(**{BBR: f"{BBR} of x"})),
        ],
        "what waits behind a cause is not said to be suppressed: it would not fire yet without that cause either": [
            at(0, at_once(KAITO, governs=True), finding(PODS), found={KAITO: "firing", PODS: "pending"}, lines={PODS: {"by": (KAITO,)}} | says(**{KAITO: f"{KAITO} of x"})),
        ],
        "faults in their grace are not counted": [
            at(0, A, WORSE, lines=says(**{PODS: f"{PODS} of a"})), at(60, A, WORSE, lines=says(**{PODS: f"{PODS} of b (and 1 more)"})),
        ],
        "but while none fires: the report says of what waits how much of it there is": [
            at(0, finding(PODS, "a"), finding(PODS, "b"), lines=says(**{PODS: f"{PODS} of a (and 1 more)"})),
        ],
        "another fault of the subject that fires names nothing that is outranked": [
            at(
                0, at_once(PODS), at_once(EPP), at_once(PRESSURE), found={PODS: "firing", EPP: "secondary", PRESSURE: "firing"},
                lines=says(**{PRESSURE: f"{PRESSURE} of x", PODS: f"{PODS} of x (also: {EPP}: cause of x)"}),
            ),
        ],
    },
)  # fmt: skip
def test_what_a_message_names(passes):
    tell(*passes)


def test_what_does_not_fire_names_nothing_that_it_outranks():
    """Of two missing definitions, one has an Event, and that one says so."""
    resolver = Resolver(emit=Emit.PRIMARY)
    missing = [finding("clusterCRDMissing", exempt=True, involved=crd(each)) for each in "ab"]
    resolver.look(0, *missing)
    first, second = resolver.report.findings
    assert first.message == "clusterCRDMissing of x (also: clusterCRDMissing: cause of x)"
    assert second.message == "clusterCRDMissing of x"


def test_upstream_text_is_cleaned():
    """Links, secrets and line breaks do not reach an Event, not even in suffixes."""
    resolver = Resolver()
    resolver.look(
        0,
        finding(PODS, exempt=True, message="see https://a.example/x?sig=abcdef\nnow"),
        finding(EPP, exempt=True, cause="token=abcdefgh\tleft"),
    )
    message = resolver[PODS].message
    assert message == f"see a.example now (also: {EPP}: token=<redacted> left)"


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("\u5730\u5740https://a.example", "a.example"),
        ("x_http://a", "_a"),
        ("see http://", "<link removed>"),
    ],
)
def test_links_leave_whatever_stands_before_them(text, end):
    resolver = Resolver()
    resolver.look(0, finding(PODS, exempt=True, message=text))
    assert resolver[PODS].message.endswith(end)
    assert "://" not in resolver[PODS].message


DEPLOYMENT = ObjectRef("apps/v1", "Deployment", "demo", "epp")
SCALED = SpecChange(object=DEPLOYMENT, at=NOON, field="spec.replicas", before="1", after="0")
WRITTEN = SpecChange(object=DEPLOYMENT, at=NOON - timedelta(minutes=1), by="kubectl")
CHANGE = " (spec.replicas 1 to 0 at 12:00:00Z)"
MORE = " (and 1 more)"


def told(message="EPP is down", disposition=Disposition.FIRING):
    """Two faults of a key, the first of which provides the message."""
    says = (finding(EPP, related=DEPLOYMENT, message=message, severity=1), finding(EPP, "y"))
    return Candidate(says[0].key, BUILT_IN[EPP], tuple(map(fault_of, says)), None, disposition)


def test_the_first_change_stands_behind_the_cause():
    """The others are in the report; other additions follow it."""
    message = compose(told(), [told()], {}, changes=[SCALED, WRITTEN])
    assert message == f"EPP is down{CHANGE}{MORE}"


def test_nothing_is_said_where_nothing_was_changed():
    assert compose(told(), [told()], {}) == f"EPP is down{MORE}"


@pytest.mark.parametrize("disposition", sorted(set(Disposition) - {Disposition.FIRING}))
def test_only_what_fires_tells_of_a_change(disposition):
    """Findings that wait or that something else explains have no Event."""
    waiting = told(disposition=disposition)
    assert compose(waiting, [waiting], {}, changes=[SCALED]) == f"EPP is down{MORE}"


@pytest.mark.parametrize("character", ["x", "ü", "\U0001f9ca"])
def test_a_change_is_told_where_there_is_room_for_it(character):
    """It is complete or left out, and takes no room from the cause; the limit is in bytes."""
    room = 1024 - len(f"{CHANGE}{MORE}")
    wide, narrow = divmod(room, len(character.encode()))
    fits = "." * narrow + character * wide
    assert compose(told(fits), [], {}, changes=[SCALED]) == f"{fits}{CHANGE}{MORE}"
    longer = f"{fits}."
    assert compose(told(longer), [], {}, changes=[SCALED]) == f"{longer}{MORE}"


MAIN, OTHER = "container vllm", "container proxy"


def pod_says(text, about="", **fields):
    """A fault of a pod that fires at once; its message and its cause are `text`."""
    values = {"message": text, "cause": text, "about": about, "exempt": True, "severity": 5}
    return finding(PODS, **values | fields)


def crashed(about=MAIN, **fields):
    return pod_says("crashed", about, **fields)


def waits(about=MAIN, **fields):
    return pod_says("waits", about, passing=True, **fields)


def said(text):
    return {PODS: {"disposition": "firing", "message": text, "cause": text}}


@rows(
    ("before", "after", "says"),
    {
        "same part": (crashed(), waits(), "crashed"),
        "same part and less bad": (crashed(), waits(severity=1), "crashed"),
        "no part and as bad": (crashed(), waits(""), "crashed"),
        "no part and less bad": (crashed(), waits("", severity=1), "waits"),
        "never a part and less bad": (crashed(""), waits("", severity=1), "waits"),
        "another part": (crashed(OTHER), waits(), "waits"),
        "another node": (crashed(lost_node="n-1"), waits(), "waits"),
        "same node": (crashed(lost_node="n-1"), waits(lost_node="n-1"), "crashed"),
        "both pass": (crashed(passing=True), waits(), "waits"),
        "the later one does not pass": (crashed(), pod_says("other", MAIN), "other"),
    },
)
def test_what_passes_says_what_was_said_before(before, after, says):
    """Unless that was about something else, or was a passing state itself."""
    tell(at(0, before), at(10, after, lines=said(says)))


OLD_POD, NEW_POD = (ObjectRef("v1", "Pod", "demo", "p-0", uid) for uid in "ab")


@rows(
    "passes",
    {
        "the words stay about their part while a pod has no container states for a moment": [
            at(0, crashed()), *(at(second, state, lines=said("crashed")) for second, state in ((10, waits("")), (20, waits()), (30, waits("")))),
        ],
        "after a restart it says what it is: the finding of a recorded Event is not known any more": [
            at(10, waits(), seen=snapshot(events=events_of(crashed())), lines=said("waits")),
        ],
        "the container of another pod has not crashed": [
            at(0, crashed(related=OLD_POD)), at(10, waits(related=NEW_POD), lines=said("waits")),
        ],
        "a starting component that is made again keeps its message": [
            at(0, crashed("", related=OLD_POD)), at(10, waits("", related=NEW_POD), lines=said("crashed")),
        ],
    },
)  # fmt: skip
def test_what_passes_by_and_by(passes):
    tell(*passes)
