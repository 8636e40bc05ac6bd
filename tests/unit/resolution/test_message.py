"""What an Event says."""

import pytest

from reporter.model.catalogue import CustomComponent, CustomCrd
from reporter.model.subject import CLUSTER, Layer
from reporter.setting_types import Emit
from tests.unit.resolution.building import Resolver, crd, finding

PODS, EPP = "inferencesetModelPodsNotReady", "inferencesetEPPNotReady"


@pytest.mark.parametrize("text", ["x" * 3000, "ü" * 3000, "\U0001f9ca" * 1500, "x" + "€" * 900])
def test_a_long_message_is_cut_and_its_suffixes_are_not(text):
    """The base gives way, on a character's boundary."""
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
    """With every suffix at its longest the fault itself is still named."""
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


def test_four_that_are_outranked_are_all_named():
    chain = [
        "inferencesetScalingMisconfigured", "inferencesetInfraProvisioningFailed", PODS,
        "inferencesetRouteNotReady", EPP,
    ]  # fmt: skip
    resolver = Resolver()
    resolver.look(0, *(finding(each, exempt=True) for each in chain))
    also = ", ".join(f"{each}: cause of x" for each in sorted(chain[1:]))
    assert resolver[chain[0]].message == f"{chain[0]} of x (also: {also})"


def test_the_worst_is_named_and_the_others_counted():
    """The most severe fault speaks, the first by name among equals, in whatever order they come."""
    faults = [
        finding(PODS, name, exempt=True, severity=severity)
        for name, severity in (("c", 5), ("b", 9), ("a", 9), ("d", 1))
    ]
    for order in (faults, faults[::-1]):
        resolver = Resolver()
        resolver.look(0, *order)
        assert resolver[PODS].message == f"{PODS} of a (and 3 more)"
        assert resolver[PODS].related.name == "a"


def test_the_first_of_the_causes_that_rest_on_one_lost_node_names_the_others():
    bbr, kaito, keda = "clusterBBRNotReady", "clusterKaitoControllerNotReady", "clusterKedaNotReady"
    for ordered in ((bbr, kaito, keda), (keda, bbr, kaito)):
        resolver = Resolver()
        nodes = {bbr: "cpu-1", kaito: "cpu-1", keda: "cpu-2"}
        resolver.look(0, *(finding(each, exempt=True, lost_node=nodes[each]) for each in ordered))
        assert resolver[bbr].primary
        assert resolver[bbr].message == f"{bbr} of x (node cpu-1 also explains: {kaito})"
        assert resolver[kaito].message == f"{kaito} of x"
        assert resolver[keda].message == f"{keda} of x"


def test_what_rests_on_a_lost_node_and_does_not_fire_is_not_named():
    """It may heal before it is told."""
    bbr, kaito = "clusterBBRNotReady", "clusterKaitoControllerNotReady"
    resolver = Resolver()
    waits = finding(kaito, lost_node="cpu-1")
    found = resolver.look(0, finding(bbr, exempt=True, lost_node="cpu-1"), waits)
    assert found == {bbr: "firing", kaito: "pending"}
    assert resolver[bbr].message == f"{bbr} of x"


def test_what_waits_behind_a_cause_is_not_said_to_be_suppressed():
    """It would not fire yet without that cause either."""
    kaito = "clusterKaitoControllerNotReady"
    resolver = Resolver()
    found = resolver.look(0, finding(kaito, exempt=True, governs=True), finding(PODS))
    assert found == {kaito: "firing", PODS: "pending"}
    assert resolver[PODS].by == (kaito,)
    assert resolver[kaito].message == f"{kaito} of x"


@pytest.mark.parametrize(("beside", "where"), [([], ""), ([PODS], " in 1 namespace(s)")])
def test_what_is_about_the_whole_cluster_counts_no_namespace(beside, where):
    """It is in none; a declared part may explain a part of the control plane, and models as well."""
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


def test_faults_in_their_grace_are_not_counted():
    resolver = Resolver()
    resolver.look(0, finding(PODS, "a", exempt=True), finding(PODS, "b", severity=9))
    assert resolver[PODS].message == f"{PODS} of a"
    resolver.look(60, finding(PODS, "a", exempt=True), finding(PODS, "b", severity=9))
    assert resolver[PODS].message == f"{PODS} of b (and 1 more)"


def test_faults_in_their_grace_are_counted_while_none_fires():
    """The report says of what waits how much of it there is."""
    resolver = Resolver()
    resolver.look(0, finding(PODS, "a"), finding(PODS, "b"))
    assert resolver[PODS].message == f"{PODS} of a (and 1 more)"


def test_only_what_outranks_names_what_it_outranks():
    """Another fault of the subject that fires says nothing of it."""
    pressure = "inferencesetNodeUnderPressure"
    resolver = Resolver()
    found = resolver.look(0, *(finding(each, exempt=True) for each in (PODS, EPP, pressure)))
    assert found == {PODS: "firing", EPP: "secondary", pressure: "firing"}
    assert resolver[pressure].message == f"{pressure} of x"
    assert resolver[PODS].message == f"{PODS} of x (also: {EPP}: cause of x)"


def test_what_does_not_fire_names_nothing_that_it_outranks():
    """Of two missing definitions one is written, and that one says so."""
    resolver = Resolver(emit=Emit.PRIMARY)
    missing = [finding("clusterCRDMissing", exempt=True, involved=crd(each)) for each in "ab"]
    resolver.look(0, *missing)
    first, second = resolver.report.findings
    assert first.message == "clusterCRDMissing of x (also: clusterCRDMissing: cause of x)"
    assert second.message == "clusterCRDMissing of x"


def test_upstream_text_is_cleaned():
    """Links, secrets and line breaks do not reach an Event, in suffixes neither."""
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
