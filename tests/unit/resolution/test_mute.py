"""Rule 4: what a mute does to an episode that had already begun."""

from dataclasses import replace

import pytest

from reporter.catalogue import resources as r
from reporter.model.objects import MUTE
from reporter.stacks.kaito.reasons import WORKSPACES
from tests.unit.resolution.building import NOON, Resolver, finding, seconds, snapshot
from tests.unit.resolution.test_mutes import holding, obj

PODS, KAITO = "inferencesetModelPodsNotReady", "clusterKaitoControllerNotReady"
EPP = "inferencesetEPPNotReady"
BLIND = snapshot(unknown=[WORKSPACES])


def mutes(*names, base=None):
    """A snapshot in which pods with these names have a mute."""
    annotations = {MUTE: f"{PODS},{EPP}"}
    pods = ((r.PODS, obj(r.PODS, name, "demo", **annotations)) for name in names)
    return holding(*pods, base=base)


def fault(name="a", **fields):
    return finding(PODS, name, **{"exempt": True} | fields)


def test_a_muted_episode_keeps_its_start():
    """Even if the muted fault that began it is gone and another muted one is left."""
    resolver = Resolver()
    first, second = finding(PODS, "a", exempt=True), finding(PODS, "b", exempt=True)
    resolver.look(0, first, seen=mutes("a", "b"))
    resolver.look(10, first, second, seen=mutes("a", "b"))
    assert resolver.look(100, second, seen=mutes("a", "b")) == {PODS: "muted"}
    assert resolver[PODS].since == NOON


def test_a_muted_episode_beside_what_an_upstream_explains_keeps_its_start():
    resolver = Resolver()
    explained = finding(PODS, "a", exempt=True)
    own = finding(PODS, "b", exempt=True, independent=True)
    upstream = finding(KAITO, exempt=True, governs=True)
    resolver.look(0, explained, seen=mutes("a", "b"))
    for at in (10, 20):
        found = resolver.look(at, explained, own, upstream, seen=mutes("a", "b"))
        assert found == {KAITO: "firing", PODS: "muted"}
        assert resolver[PODS].since == NOON
    assert resolver.report.now == NOON + seconds(20)


@pytest.mark.parametrize("base", [None, BLIND], ids=["clearing", "stale"])
def test_a_fault_that_is_not_seen_any_more_is_muted(base):
    resolver = Resolver()
    resolver.look(0, fault())
    assert resolver[PODS].primary
    assert resolver.look(10, seen=mutes("a", base=base)) == {PODS: "muted"}
    assert not resolver[PODS].primary
    assert [mute.object.name for mute in resolver[PODS].mutes] == ["a"]
    assert resolver[PODS].stale is (base is not None)


@pytest.mark.parametrize(("muted", "becomes"), [("a", "muted"), ("b", "clearing")])
def test_what_only_an_event_on_record_tells_of_is_muted_by_its_object(muted, becomes):
    """The fault is gone when the next process starts, and the Event names the object."""
    before, after = Resolver(), Resolver()
    before.look(0, fault("a"))
    recorded = snapshot(events=before.events())
    seen = replace(recorded, tables={**recorded.tables, **mutes(muted).tables})
    assert after.look(10, seen=seen) == {PODS: becomes}


@pytest.mark.parametrize("muted", ["a", "b"])
def test_a_fault_that_is_not_seen_any_more_is_muted_with_all_the_others(muted):
    """As long as one of them is not muted, it is clearing."""
    resolver = Resolver()
    resolver.look(0, fault("a"), fault("b"))
    assert resolver.look(10, seen=mutes(muted)) == {PODS: "clearing"}
    assert resolver.look(20, seen=mutes("a", "b")) == {PODS: "muted"}


def test_a_young_fault_does_not_keep_what_is_clearing_from_being_muted():
    resolver = Resolver()
    resolver.look(0, fault("a"))
    for at in (10, 20):
        assert resolver.look(at, fault("b", exempt=False)) == {PODS: "clearing"}
    assert resolver.look(30, fault("b", exempt=False), seen=mutes("a")) == {PODS: "muted"}


def test_a_finding_that_is_stale_for_longer_than_its_fault_is_remembered_stays():
    """It is no longer known what a mute would have to be about."""
    resolver = Resolver()
    young = fault("b", exempt=False, budget=seconds(900))
    resolver.look(0, fault("a"))
    for at in (10, 80):
        assert resolver.look(at, young, seen=BLIND) == {PODS: "firing"}
    assert resolver.look(90, young, seen=mutes("a", "b", base=BLIND)) == {PODS: "firing"}


def test_a_secondary_fault_that_is_stale_is_muted():
    resolver = Resolver()
    resolver.look(0, fault(), finding(EPP, "a", exempt=True))
    unread = snapshot(unknown=[WORKSPACES, r.DEPLOYMENTS])
    assert resolver.look(10, seen=unread) == {PODS: "firing", EPP: "secondary"}
    assert resolver[EPP].by == (PODS,)
    found = resolver.look(20, seen=mutes("a", base=unread))
    assert found == {PODS: "muted", EPP: "muted"}
    assert resolver[EPP].by == ()


def test_a_secondary_fault_that_is_gone_is_not_listed_for_a_mute():
    resolver = Resolver()
    resolver.look(0, fault("b"), finding(EPP, "a", exempt=True))
    for at in (10, 20):
        assert resolver.look(at, fault("b"), seen=mutes("a")) == {PODS: "firing"}


def test_a_muted_fault_beside_one_that_an_upstream_explains():
    upstream = finding(KAITO, exempt=True, governs=True)
    own = fault("a", independent=True)
    found = Resolver().look(0, upstream, own, fault("b"), seen=mutes("a"))
    assert found == {KAITO: "firing", PODS: "muted"}


@pytest.mark.parametrize(("exempt", "gone_for"), [(True, 60), (False, 5)])
def test_a_told_fault_beside_a_muted_one_clears_as_any_other(exempt, gone_for):
    """It takes as long as a recovery, and the reporter wakes then."""
    resolver = Resolver(grace={PODS: 5})
    both = fault("a", exempt=exempt), fault("b", exempt=exempt)
    resolver.look(0, *both, seen=mutes("a"))
    assert resolver.look(5, *both, seen=mutes("a")) == {PODS: "firing"}
    assert resolver.look(6, both[0], seen=mutes("a")) == {PODS: "clearing"}
    assert resolver.wake_in == seconds(gone_for - 1)
    assert resolver.look(4 + gone_for, both[0], seen=mutes("a")) == {PODS: "clearing"}
    assert resolver.look(5 + gone_for, both[0], seen=mutes("a")) == {PODS: "muted"}


def test_what_clears_beside_a_muted_fault_outranks_others():
    """Otherwise they would be reported each time that it comes and goes."""
    resolver = Resolver()
    resolver.look(0, fault("a"), fault("b"), seen=mutes("a"))
    found = resolver.look(10, fault("a"), finding(EPP, "c", exempt=True), seen=mutes("a"))
    assert found == {PODS: "clearing", EPP: "secondary"}


def test_a_secondary_fault_beside_a_muted_one_does_not_clear():
    resolver = Resolver()
    muted, other = finding(EPP, "a", exempt=True), finding(EPP, "b", exempt=True)
    resolver.look(0, fault("c"), muted, other, seen=mutes("a"))
    assert resolver[EPP].disposition == "secondary"
    found = resolver.look(10, fault("c"), muted, seen=mutes("a"))
    assert found == {PODS: "firing", EPP: "muted"}
