"""Rule 3 where an upstream is neither simply there nor simply gone."""

from reporter.catalogue.resources import DEPLOYMENTS
from tests.unit.resolution.building import Resolver, finding, snapshot

KAITO, PODS = "clusterKaitoControllerNotReady", "inferencesetModelPodsNotReady"
EPP = "inferencesetEPPNotReady"


def down(name="up", **fields):
    return finding(KAITO, name, **{"governs": True} | fields)


def test_an_upstream_that_may_not_be_told_yet_holds():
    """Its data is not confirmed, so that it may be well; nor is it told that it suppresses."""
    found = Resolver().look(
        0,
        down(exempt=True),
        finding(PODS, exempt=True),
        seen=snapshot(unconfirmed=[DEPLOYMENTS]),
    )
    assert found == {KAITO: "pending", PODS: "held"}


def test_one_of_several_young_faults_that_governs_is_enough_to_hold():
    found = Resolver().look(0, down("a"), down("b", governs=False), finding(PODS, exempt=True))
    assert found == {KAITO: "pending", PODS: "held"}


def test_one_of_several_faults_that_governs_is_enough_to_suppress():
    both = [down("a", exempt=True), down("b", exempt=True, governs=False)]
    found = Resolver().look(0, *both, finding(PODS, exempt=True))
    assert found == {KAITO: "firing", PODS: "suppressed"}


def test_an_upstream_that_cannot_be_read_any_more_neither_suppresses_nor_holds():
    """Nothing is known of it, and a permission that was taken away must not hide what is seen."""
    resolver = Resolver()
    resolver.look(0, down(exempt=True))
    blind = snapshot(unknown=[DEPLOYMENTS], unconfirmed=[DEPLOYMENTS], cause="forbidden")
    found = resolver.look(60, finding(PODS, exempt=True), seen=blind)
    assert found == {KAITO: "firing", PODS: "firing"}
    assert resolver[KAITO].stale


def test_what_is_no_upstream_holds_nothing_when_it_recovers():
    """There is nothing to wait for."""
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
