"""Rule 3 where an upstream is neither simply there nor simply gone."""

import pytest

from reporter.catalogue.reasons import CLUSTER_NODE
from reporter.catalogue.resources import DEPLOYMENTS
from reporter.model.finding import Unjudged
from reporter.model.subject import CLUSTER
from reporter.resolution.hold import explainers
from reporter.stacks import BUILT_IN
from tests.unit.resolution.building import NOON, Resolver, crd, finding, seconds, snapshot

KAITO, PODS = "clusterKaitoControllerNotReady", "inferencesetModelPodsNotReady"
NODES, INFRA = "clusterNodeProvisionerNotReady", "inferencesetInfraProvisioningFailed"
MISSING = "clusterCRDMissing"
KTHENA = "clusterKthenaControllerNotReady"
ON_NODE = (CLUSTER_NODE, "node-a")
EPP, ISTIO = "inferencesetEPPNotReady", "clusterIstioControlPlaneNotReady"


def down(name="up", **fields):
    return finding(KAITO, name, **{"governs": True} | fields)


def test_one_of_several_young_faults_that_governs_is_enough_to_hold():
    found = Resolver().look(0, down("a"), down("b", governs=False), finding(PODS, exempt=True))
    assert found == {KAITO: "pending", PODS: "held"}


def test_one_of_several_faults_that_governs_is_enough_to_suppress():
    both = [down("a", exempt=True), down("b", exempt=True, governs=False)]
    found = Resolver().look(0, *both, finding(PODS, exempt=True))
    assert found == {KAITO: "firing", PODS: "suppressed"}


def test_what_is_no_upstream_holds_nothing_when_it_recovers():
    resolver = Resolver()
    resolver.look(0, finding(EPP, exempt=True, governs=True))
    resolver.look(30)
    assert resolver.look(61) == {}
    assert resolver.wake_in is None


def test_a_young_upstream_that_is_gone_for_a_moment_still_holds():
    """It would begin to fire as soon as it is seen again."""
    resolver = Resolver()
    resolver.look(0, down())
    assert resolver.look(10, finding(PODS, exempt=True)) == {PODS: "held"}
    resolver = Resolver()
    resolver.look(0, down(governs=False))
    assert resolver.look(10, finding(PODS, exempt=True)) == {PODS: "firing"}


def test_one_of_several_young_faults_that_governs_still_holds_when_they_are_gone_for_a_moment():
    """They would begin to fire as soon as they are seen again."""
    resolver = Resolver()
    resolver.look(0, down("a"), down("b", governs=False))
    assert resolver.look(10, finding(PODS, exempt=True)) == {PODS: "held"}


def test_an_upstream_that_is_clearing_suppresses_beside_one_that_cannot_be_judged():
    resolver = Resolver()
    symptom = finding(PODS, exempt=True)
    resolver.look(0, finding(ISTIO, exempt=True, governs=True), down(exempt=True), symptom)
    found = resolver.look(10, symptom, unjudged=[Unjudged(CLUSTER, "", ISTIO, "istiod")])
    assert found == {ISTIO: "firing", KAITO: "clearing", PODS: "suppressed"}


def test_an_upstream_that_is_merely_degraded_holds_no_longer_than_since_it_works_again():
    """What was wrong with it before does not count once more when it is well."""
    resolver = Resolver()
    resolver.look(0, down("a", exempt=True))
    degraded = down("b", exempt=True, governs=False)
    for at in (10, 50):
        assert resolver.look(at, degraded, finding(PODS, exempt=True))[PODS] == "held"
    assert resolver.look(69, finding(PODS, exempt=True))[PODS] == "held"
    found = resolver.look(70, finding(PODS, exempt=True))
    assert found == {KAITO: "clearing", PODS: "firing"}


def test_a_degraded_upstream_that_could_not_be_read_for_a_while_holds_nothing():
    """It kept no status from being written."""
    resolver = Resolver()
    resolver.look(0, down(exempt=True, governs=False))
    resolver.look(10, seen=snapshot(unknown=[DEPLOYMENTS]))
    assert resolver.look(80, finding(PODS, exempt=True)) == {PODS: "firing"}


def test_two_that_hold_are_both_named_and_the_longer_hold_counts():
    """In whatever order their rows are; no end is foretold while one of them is pending."""
    resolver = Resolver()
    provisioner = finding(NODES, exempt=True, governs=True)
    resolver.look(0, down(exempt=True), provisioner)
    resolver.look(10, provisioner)
    for at in (60, 65):
        resolver.look(at)
    symptom = finding(INFRA, exempt=True)
    assert resolver.look(70, symptom) == {INFRA: "held"}
    assert resolver[INFRA].by == (KAITO, NODES)
    assert resolver[INFRA].fires_at == resolver.report.now + seconds(60)
    missing = finding(MISSING, involved=crd("workspaces.kaito.sh"), governs=True)
    resolver.look(75, symptom, missing)
    assert (resolver[MISSING].disposition, resolver[INFRA].disposition) == ("pending", "held")
    assert resolver[INFRA].by == (MISSING, KAITO, NODES)
    assert resolver[INFRA].fires_at is None


def test_nothing_changes_by_itself_while_an_upstream_fires():
    """Its hold begins when it is over, and not before."""
    resolver = Resolver()
    for at in (0, 10):
        resolver.look(at, down(exempt=True), finding(PODS, exempt=True))
        assert resolver.wake_in is None


def test_what_was_active_does_not_wait_for_a_young_upstream():
    """It would not be held once its grace is over, so that it names only the end of that."""
    resolver = Resolver()
    young = finding(PODS, "young")
    assert resolver.look(0, finding(INFRA, exempt=True), finding(PODS, exempt=True)) == {
        INFRA: "firing",
        PODS: "secondary",
    }
    assert resolver.look(10, down(), young)[PODS] == "pending"
    assert resolver[PODS].by == ()
    assert resolver[PODS].fires_at == NOON + seconds(70)


def test_a_young_fault_that_an_upstream_does_not_explain_waits_for_its_grace_alone():
    both = finding(PODS, "never-ready"), finding(PODS, "was-ready", independent=True)
    resolver = Resolver()
    assert resolver.look(0, down(exempt=True), *both)[PODS] == "pending"
    assert resolver[PODS].by == ()
    assert resolver[PODS].fires_at == NOON + seconds(60)


def test_a_young_fault_that_an_upstream_does_not_explain_does_not_wait_for_a_young_one():
    """It would not be held once both graces are over."""
    resolver = Resolver()
    resolver.look(0, down(), finding(PODS, "was-ready", independent=True))
    assert resolver[PODS].by == ()


def test_a_young_fault_that_nothing_explains_does_not_let_go_of_one_that_is_explained():
    """It is told when its own grace is over, and alone."""
    resolver = Resolver()
    faults = finding(PODS, "never-ready", exempt=True), finding(PODS, "was-ready", independent=True)
    assert resolver.look(0, down(exempt=True), *faults)[PODS] == "suppressed"
    assert resolver[PODS].by == (KAITO,)


def test_a_fault_beside_an_independent_one_still_waits_for_the_hold():
    """An upstream that is just released holds it beyond its grace; the first to fire is foretold."""
    resolver = Resolver()
    resolver.look(0, down(exempt=True))
    resolver.look(60)
    explained = finding(PODS, "never-ready", transition=NOON + seconds(11))
    resolver.look(61, explained, finding(PODS, "was-ready", independent=True))
    assert resolver[PODS].fires_at == NOON + seconds(120)


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
